"""The table of skins, and what makes one by its name."""

from __future__ import annotations

from typing import Any

from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.base import Skin
from mane.stage.protocol import needed
from mane.stage.table import Table
from mane.strand.source import GuideSource

SKINS: Table[Skin] = Table(
    "skin",
    "mane.skin.base:Skin",
    {
        "rigid": "mane.skin.rigid.skin:RigidSkin",
        "linear": "mane.skin.linear.skin:LinearSkin",
        "physical": "mane.skin.physical.skin:PhysicalSkin",
        "hsu2024": "mane.skin.hsu2024.skin:Hsu2024Skin",
        "adaptive": "mane.skin.adaptive.skin:AdaptiveSkin",
        "adaptive_two_way": "mane.skin.adaptive.two_way:TwoWaySkin",
        "volume": "mane.volume.skin:VolumeSkin",
        "individual": "mane.volume.individual_skin:IndividualSkin",
    },
)


def make_skin(name: str, groom: Groom, guides: Guides | GuideSource, **settings: Any) -> Skin:
    """Bind a groom to its guides by the method of that name.

    Args:
        name: of a method, see `SKINS`.
        groom: the dense hair at rest, all strands with the same vertex count.
        guides: what carries it; a `Simulation` (or any other source of guide frames) where the method should know how
            these guides were simulated: material, stiffening and forces at rest, and a body that deforms, as
            `mane simulate` binds it. Guides by themselves are taken for hair of the method's own default material.
        settings: keyword arguments of the method's class, in place of what the simulation would provide.
    """
    method, source = SKINS.find(name), None
    if isinstance(guides, GuideSource):
        settings = {**needed(method, guides.provide, given=settings), **settings}
        source, guides = guides, guides.guides
    skin: Skin = method.for_scene(groom=groom, guides=guides, **settings)
    if source is not None:
        skin.grow_on(source.provide("body"))
    return skin
