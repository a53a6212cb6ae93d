"""Plain functions on arrays: rotations, frames along curves, arc length, grids, spatial index."""
