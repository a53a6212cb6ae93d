"""Guides without simulation: models that were learned from simulations (guan2012)."""
