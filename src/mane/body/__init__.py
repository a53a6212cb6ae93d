"""What hair grows on and touches: meshes, distance fields, solids and their motion, bust and props."""
