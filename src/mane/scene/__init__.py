"""The frame loop: `Simulation`, scene files, caches and comparisons."""
