"""Pulls towards a target shape, and damping relative to the roots."""
