"""Hairs rebuilt from the internal forces of their guides (hsu2024 4)."""
