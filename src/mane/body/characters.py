"""`CHARACTERS`: bodies that mane can make itself, with joints and motions."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from mane.body.character import Character, MakeMotion
from mane.body.skeleton import Skeleton
from mane.geometry.checks import require_choice

# Name -> module of the function that makes it, the function, the table of its motions, and what makes its joints alone.
CHARACTERS = {
    "bust": ("mane.body.articulated_bust", "make_articulated_bust", "BUST_MOTIONS", "make_skeleton"),
    "creature": ("mane.body.creature", "make_creature", "CREATURE_MOTIONS", "make_skeleton"),
}


def character_motions(name: str) -> Mapping[str, MakeMotion]:
    """Return the motions of a character by name; asking for them makes no character."""
    motions: Mapping[str, MakeMotion] = _of(name, 2)
    return motions


def make_character(name: str) -> Character:
    """Make a character of the table."""
    character: Character = _of(name, 1)()
    return character


def character_skeleton(name: str) -> Skeleton:
    """Return the joints of a character, without making its skin."""
    skeleton: Skeleton = _of(name, 3)()
    return skeleton


def character_motion(name: str, motion: str) -> MakeMotion:
    """Return the function that makes a motion of a character; asking for it makes no character."""
    motions = character_motions(name)
    require_choice("motion", motion, list(motions))
    return motions[motion]


def _of(name: str, part: int) -> Any:
    require_choice("character", name, list(CHARACTERS))
    entry = CHARACTERS[name]
    return getattr(import_module(entry[0]), entry[part])
