"""A four-legged animal made in code: form, skeleton, weights and motions."""

from __future__ import annotations

from mane.body.creature.anatomy import make_skeleton
from mane.body.creature.creature import Creature, make_creature
from mane.body.creature.motions import CREATURE_MOTIONS

__all__ = ["CREATURE_MOTIONS", "Creature", "make_creature", "make_skeleton"]
