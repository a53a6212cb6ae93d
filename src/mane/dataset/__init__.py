"""Many simulated sequences of hair: specs, Dask, Zarr, and readers of what came of them."""
