"""A grid fluid: staggered velocities between solids that move, kept free of divergence; it knows nothing of hair."""
