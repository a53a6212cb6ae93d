"""Libraries that only some pictures need, found when they are needed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def require_extra(module: str, extra: str) -> None:
    """Raise ValueError that says which extra of mane brings an optional library, unless it is installed."""
    if find_spec(module) is None:
        raise ValueError(f"{module}: is not installed; get it with: pip install 'mane[{extra}]'")


def import_extra(module: str, extra: str) -> Any:
    """Import an optional library, or raise ValueError that says which extra of mane brings it."""
    require_extra(module, extra)
    try:
        return import_module(module)
    except ImportError as error:
        why = " ".join(str(error).split())
        raise ValueError(f"{module}: cannot be loaded ({why}); try: pip install --upgrade 'mane[{extra}]'") from None
