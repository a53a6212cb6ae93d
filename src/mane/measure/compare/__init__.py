"""One scene with several models and skins, side by side: `mane compare`."""
