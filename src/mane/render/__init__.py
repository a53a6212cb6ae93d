"""Pictures: hair, solids and light as images and movies.

`mane.render(groom, body, ...)` draws a picture: the module itself can be called, so that the short name of the most
common call and the name of the room are one.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **settings: Any) -> Any:
        from mane.render.renderer import render

        return render(*args, **settings)


sys.modules[__name__].__class__ = _CallableModule
