"""How guides carry every hair: a skin is bound once and then fills the full head from a `GuideFrame`.

`mane.skin(method, groom, guides, ...)` binds one (`table.py`, which lists the methods). That function has the name of
this room: `mane.skin` is the function, `from mane.skin.base import ...` reaches into the room.
"""
