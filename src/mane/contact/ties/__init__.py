"""Hair ties, pins and clips."""
