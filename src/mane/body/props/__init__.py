"""Things made in code that hair meets: comb, rod, hairbrush, hand, gears and toys."""

from __future__ import annotations

from mane.body.props.base import Prop
from mane.body.props.comb import make_comb
from mane.body.props.gears import make_gear, make_gears
from mane.body.props.hairbrush import make_hairbrush
from mane.body.props.hand import make_hand
from mane.body.props.moving_hand import make_moving_hand
from mane.body.props.rod import make_rod
from mane.body.props.toys import make_horse, make_urchin

__all__ = [
    "Prop",
    "make_comb",
    "make_gear",
    "make_gears",
    "make_hairbrush",
    "make_hand",
    "make_horse",
    "make_moving_hand",
    "make_rod",
    "make_urchin",
]
