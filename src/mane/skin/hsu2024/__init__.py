"""Algorithm 1 of hsu2024 line by line: `skin.Hsu2024Skin`."""
