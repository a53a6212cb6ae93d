"""A comb: a spine and thin teeth."""

from __future__ import annotations

from mane.body.props.base import Prop, Resolution
from mane.body.shapes import Box, Capsule, Shape, Union
from mane.geometry.limits import Positive, Whole, check_arguments

SPINE_OVERHANG = 0.006  # [m] of spine beyond the outer teeth


def make_comb(
    *,
    teeth: Whole = 28,
    tooth_length: Positive = 0.030,
    spacing: Positive = 0.005,
    tooth_radius: Positive = 0.0005,
    spine_height: Positive = 0.012,
    spine_thickness: Positive = 0.004,
    resolution: Resolution = 12,
) -> Prop:
    """Make a comb like a wide-toothed hand comb, 15 cm long.

    ```
          y
      ____|____  spine_height     The spine lies along X and the teeth point to -Y. The origin is in the middle of
     |____|____|_ x               the spine's lower edge, from which the teeth grow; their tips are at
      | | | | |   tooth_length    y = -tooth_length. Combing runs along Z, across the flat side.
    ```

    Args:
        teeth: number of teeth.
        tooth_length: from the spine to the tip [m], more than `tooth_radius`.
        spacing: from the axis of a tooth to the next [m], more than a tooth is thick.
        tooth_radius: of the round teeth [m].
        spine_height: [m], along Y.
        spine_thickness: [m], along Z.
        resolution: segments around a tooth in the mesh.
    """
    check_arguments(make_comb, locals(), "comb.")
    if spacing <= 2 * tooth_radius:
        raise ValueError(f"comb.spacing: must exceed a tooth's thickness of {2 * tooth_radius:g} m, got {spacing:g}")
    if tooth_length <= tooth_radius:
        raise ValueError(f"comb.tooth_length: must exceed the radius of {tooth_radius:g} m, got {tooth_length:g}")
    width = (teeth - 1) * spacing
    half_size = (0.5 * width + SPINE_OVERHANG, 0.5 * spine_height, 0.5 * spine_thickness)
    parts: list[Shape] = [Box((0.0, 0.5 * spine_height, 0.0), half_size, rounding=0.9 * min(half_size))]
    for i in range(teeth):
        x = i * spacing - 0.5 * width
        # A tooth starts in the middle of the spine, where no rounding of its edge can part them.
        parts.append(Capsule((x, 0.5 * spine_height, 0.0), (x, tooth_radius - tooth_length, 0.0), tooth_radius))
    shape = Union(parts)
    return Prop("comb", shape.mesh(resolution), shape)
