"""Guides as Cosserat rods, one constraint after the other (hsu2024 3 as printed): `solver.XpbdSolver`."""
