"""Guides as particles and springs (chai2017, after Selle): `solver.SpringSolver`."""
