"""How guides carry every hair: the skins with their settings, and what is done to every hair after them.

`mane.skin(method, groom, guides)` and `[skin] method` name an entry of `SKINS`, `[[passes]]` one of `FINISHING_PASSES`.
A skin of your own derives from `Skin`, a pass from `FinishingPass`; one entry in the table makes it known everywhere.
"""

from mane.skin.adaptive.model import AdaptiveModel
from mane.skin.adaptive.params import AdaptiveParams
from mane.skin.adaptive.skin import AdaptiveSkin
from mane.skin.adaptive.two_way import TwoWayParams, TwoWaySkin
from mane.skin.base import Skin
from mane.skin.binding import GuideBinding, bind_guides
from mane.skin.finish.passes import (
    FINISHING_PASSES,
    FinishingPass,
    HermiteSubdivision,
    LengthKeeping,
    SolidAdjustment,
)
from mane.skin.finish.sides import SideKeeping, SidesParams
from mane.skin.finish.volume import VolumeKeeping, VolumeParams
from mane.skin.hsu2024.skin import Hsu2024Params, Hsu2024Skin
from mane.skin.linear.skin import LinearSkin
from mane.skin.physical.params import PhysicalParams
from mane.skin.physical.skin import PhysicalSkin
from mane.skin.rigid.skin import RigidSkin
from mane.skin.table import SKINS

__all__ = [
    "FINISHING_PASSES",
    "SKINS",
    "AdaptiveModel",
    "AdaptiveParams",
    "AdaptiveSkin",
    "FinishingPass",
    "GuideBinding",
    "HermiteSubdivision",
    "Hsu2024Params",
    "Hsu2024Skin",
    "LengthKeeping",
    "LinearSkin",
    "PhysicalParams",
    "PhysicalSkin",
    "RigidSkin",
    "SideKeeping",
    "SidesParams",
    "Skin",
    "SolidAdjustment",
    "TwoWayParams",
    "TwoWaySkin",
    "VolumeKeeping",
    "VolumeParams",
    "bind_guides",
]
