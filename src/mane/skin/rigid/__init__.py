"""Hairs that copy their guide from root frame to root frame (chang2002 5.1)."""
