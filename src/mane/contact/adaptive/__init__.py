"""Guides that are inserted where neighbours drift apart (chang2002 4.3)."""
