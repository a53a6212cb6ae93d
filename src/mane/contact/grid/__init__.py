"""Friction and pressure of a head of hair on a grid."""
