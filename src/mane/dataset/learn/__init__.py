"""Learning from full simulation: what `mane learn` makes of datasets."""
