"""`LinearSkin`: linear hair skinning (hsu2024 eq. 9), quick and smooth; hair shortens where guides part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from mane.skin.linear_blend import LinearBlend


class LinearSkin(LinearBlend):
    """Every vertex moves by the weighted sum of its guides' displacements, as `LinearBlend` says.

    Limitations: positions are blended, so lengths and curls are not kept where the guides of a hair go different ways.
    """

    name = "linear"
    can_be_target = True
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ({}, {"binding": "nearest", "count": 5})
