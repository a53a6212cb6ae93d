"""The table of the creature's motions."""

from __future__ import annotations

from mane.body.character import MakeMotion
from mane.body.creature.breath import breathe
from mane.body.creature.shake import shake
from mane.body.creature.violent import violent
from mane.body.creature.walk import walk

CREATURE_MOTIONS: dict[str, MakeMotion] = {"walk": walk, "shake": shake, "breathe": breathe, "violent": violent}
