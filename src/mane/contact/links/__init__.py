"""Static links between neighbouring strands (chang2002 4.1)."""
