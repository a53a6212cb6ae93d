"""A tetrahedral mesh of the air around a character that carries hair: the mesh, its motions, its file, hair styles.

`mane.skin("volume", groom, sim)` and `[skin] method = "volume"` need none of it; these are for loops of your own.
"""

from mane.fluid.wet_hair import WetHair, WettingParams
from mane.volume.dynamic import DynamicMesh, DynamicParams
from mane.volume.file import read_kdsm, write_kdsm
from mane.volume.immersed import MeshDrag, occupancy, point_volumes
from mane.volume.individual_skin import IndividualSkin, IndividualSkinParams
from mane.volume.mesh import TetMesh, mesh_around_body, mesh_around_hair
from mane.volume.motion import MeshMotion, PlayedMesh, SteppedMesh
from mane.volume.params import VolumeParams
from mane.volume.shot import record_shot
from mane.volume.skin import VolumeSkin
from mane.volume.styles import clumped, matted, sagged
from mane.volume.support import HairSupport, SupportParams

__all__ = [
    "DynamicMesh",
    "DynamicParams",
    "HairSupport",
    "IndividualSkin",
    "IndividualSkinParams",
    "MeshDrag",
    "MeshMotion",
    "PlayedMesh",
    "SteppedMesh",
    "SupportParams",
    "TetMesh",
    "VolumeParams",
    "VolumeSkin",
    "WetHair",
    "WettingParams",
    "clumped",
    "matted",
    "mesh_around_body",
    "mesh_around_hair",
    "occupancy",
    "point_volumes",
    "read_kdsm",
    "record_shot",
    "sagged",
    "write_kdsm",
]
