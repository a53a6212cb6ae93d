"""Numbers that tell methods apart: length, kinks, curvature, penetration, flicker, distance to a reference."""
