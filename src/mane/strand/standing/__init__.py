"""Grooms that stand: how stiff strands must be not to fall out of their groomed shape."""
