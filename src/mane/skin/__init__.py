"""How guides carry every hair: a skin is bound once and then fills the full head from a `GuideFrame`.

`mane.skin(method, groom, guides, ...)` binds one: the module itself can be called, so that the short name of the most
common call and the name of the room are one. `table.SKINS` lists the methods.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **settings: Any) -> Any:
        from mane.skin.table import make_skin

        return make_skin(*args, **settings)


sys.modules[__name__].__class__ = _CallableModule
