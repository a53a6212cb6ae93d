"""How guides carry every hair: a skin is bound once and then fills the full head from a `GuideFrame`.

`mane.skin(method, groom, guides, ...)` binds one: the module itself can be called, so that the short name of the most
common call and the name of the room are one. `table.SKINS` lists the methods.
"""

from __future__ import annotations

from mane.stage.callable_module import make_callable

make_callable(__name__, "mane.skin.table:make_skin")
