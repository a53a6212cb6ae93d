"""Guides as discrete Cosserat rods (hsu2024 3): `solver.CosseratSolver`."""
