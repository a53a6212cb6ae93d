"""Guides as articulated chains without stretch (chang2002 3): `solver.ChainSolver`."""
