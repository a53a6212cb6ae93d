"""Pictures: hair, solids and light as images and movies.

`mane.render(groom, body, ...)` draws a picture (`renderer.py`). That function has the name of this room: `mane.render`
is the function, `from mane.render.camera import ...` reaches into the room.
"""
