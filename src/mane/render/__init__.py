"""Pictures: hair, solids and light as images and movies.

`mane.render(groom, body, ...)` draws a picture: the module itself can be called, so that the short name of the most
common call and the name of the room are one.
"""

from __future__ import annotations

from mane.stage.callable_module import make_callable

make_callable(__name__, "mane.render.renderer:render")
