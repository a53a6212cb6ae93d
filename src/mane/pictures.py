"""What pictures are made with beside `mane.render`: cameras, lights, and files of pictures and movies."""

from mane.render.cameras import follow, look_at, outline, turntable
from mane.render.lights import AmbientLight, DirectionalLight, PointLight, SpotLight, three_point
from mane.render.movie import MOVIE_SUFFIX, write_frames, write_movie, write_picture
from mane.render.sheet import contact_sheet, read_picture, write_jpeg, write_png

__all__ = [
    "MOVIE_SUFFIX",
    "AmbientLight",
    "DirectionalLight",
    "PointLight",
    "SpotLight",
    "contact_sheet",
    "follow",
    "look_at",
    "outline",
    "read_picture",
    "three_point",
    "turntable",
    "write_frames",
    "write_jpeg",
    "write_movie",
    "write_picture",
    "write_png",
]
