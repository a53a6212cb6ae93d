"""Surfaces that deform: the triangles of an animated mesh during one step, asked for distances exactly."""
