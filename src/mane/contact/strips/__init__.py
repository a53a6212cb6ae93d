"""Hair against hair: triangle strips between guides (chang2002 4.2)."""
