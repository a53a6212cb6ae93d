"""Scenes of the papers, with their figures beside ours: `mane reproduce PAPER`."""
