"""USD in and out: curves as grooms, meshes as bodies, characters as UsdSkel, results over the artist's own file.

OpenUSD itself (`pxr`) is imported by the functions that need it, never here.
"""

from mane.io.usd.layer import write_usd_layer
from mane.io.usd.read_body import UsdBody, read_usd_body, read_usd_mesh
from mane.io.usd.read_curves import read_usd_groom
from mane.io.usd.sequence import UsdSequenceWriter
from mane.io.usd.source import CurvesPrim, UsdGroom, UsdSource
from mane.io.usd.write import write_usd_groom
from mane.io.usd.write_character import write_usd_character

__all__ = [
    "CurvesPrim",
    "UsdBody",
    "UsdGroom",
    "UsdSequenceWriter",
    "UsdSource",
    "read_usd_body",
    "read_usd_groom",
    "read_usd_mesh",
    "write_usd_character",
    "write_usd_groom",
    "write_usd_layer",
]
