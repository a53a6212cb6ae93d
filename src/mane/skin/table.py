"""The table of skins, and what makes one by its name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mane.geometry.checks import require_choice
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.base import Skin

# name -> module and class; the same table feeds `mane.skin`, scene files, the benchmark and the contract tests.
SKINS = {
    "rigid": ("mane.skin.rigid", "RigidSkin"),
    "linear": ("mane.skin.linear", "LinearSkin"),
    "physical": ("mane.skin.physical", "PhysicalSkin"),
}


def make_skin(name: str, groom: Groom, guides: Guides, **settings: Any) -> Skin:
    """Bind a groom to its guides by the method of that name; `settings` are the keyword arguments of its class."""
    require_choice("skin", name, list(SKINS))
    module, attribute = SKINS[name]
    skin: Skin = getattr(import_module(module), attribute)(groom, guides, **settings)
    return skin
