"""Benchmarks: `mane bench NAME`."""
