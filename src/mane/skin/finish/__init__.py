"""Finishing passes: what is done to every hair after any skin."""
