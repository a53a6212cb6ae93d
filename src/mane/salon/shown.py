"""What a page must know once: hairs at rest, their look, and solids."""

from __future__ import annotations

import numpy as np

from mane.body._kernels_shapes import CAPSULE
from mane.body.motion import Pose
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.render import _kernels_shading as tables
from mane.render.looks import LOOKS, Look
from mane.render.shading import pack_look
from mane.salon.protocol import encode
from mane.scene.config import Scene
from mane.scene.hair import Hair

WIDTH = 80e-6  # [m] of a hair whose groom does not say
FULL_HEAD = 100_000  # hairs; fewer are drawn wider, so that a head of them covers as much


def even_order(count: int, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """An order of hairs of which every beginning is an even sample."""
    return np.random.default_rng(seed).permutation(count)


def shuffled(hair: Hair, seed: int) -> Groom:
    """The hairs of a scene, ready for a skin, in such an order, with numbers that looks make their colours of."""
    order = even_order(hair.groom.strand_count, seed)
    groom = hair.groom.take(order)
    return groom if "id" in groom.strand else groom.with_strand(id=order.astype(np.int32))


def hair_message(groom: Groom, guides: Guides) -> bytes:
    """Hairs at rest, as seen from a pivot near them, which keeps float32 exact."""
    pivot = groom.roots.astype(np.float64).mean(axis=0)
    points = groom.as_uniform()
    width = groom.strand["width"].mean() if "width" in groom.strand else WIDTH
    return encode(
        "hair",
        strands=groom.strand_count,
        vertices=points.shape[1],
        guides=guides.capacity,
        guide_vertices=guides.vertex_count,
        width=float(width),
        pivot=pivot,
        rest=points - pivot,
        guide_rest=guides.rest.astype(np.float64) - pivot,
    )


def look_of(scene: Scene) -> Look:
    """The look of a scene that a page can draw: one of fibres; debugging looks are views of their own there."""
    look = LOOKS.get(scene.camera.look or "", LOOKS["brown"])
    return look if look.model == "marschner" else LOOKS["brown"]


def look_message(groom: Groom, look: Look) -> bytes:
    """Colours and the fibre's tables, those that `render/` draws with."""
    packed = pack_look(look)
    colors = np.sqrt(np.clip(look.strand_colors(groom), 0.0, 1.0))
    return encode(
        "look",
        colors=np.rint(255.0 * colors).astype(np.uint8),
        header=packed[: tables.HEADER_SIZE],
        lobes=packed[tables.LOBE_TABLE : tables.SPREAD_TABLE],
        spread=packed[tables.SPREAD_TABLE : tables.SHARE_TABLE],
        shares=packed[tables.SHARE_TABLE : tables.LIGHT_BALANCE],
        balance=packed[tables.LIGHT_BALANCE :],
    )


def solid_message(number: int, name: str, solid: Solid, *, is_prop: bool) -> bytes:
    """A solid in its own frame as triangles."""
    mesh = solid.mesh if solid.mesh is not None else None
    if mesh is None:
        assert solid.shape is not None
        mesh = solid.shape.mesh(12 if len(solid.shape.pack()[0]) > 1 else 40)
    points: FloatArray = mesh.points
    return encode("solid", number=number, name=name, is_prop=int(is_prop), points=points, faces=mesh.faces)


RADIUS_OF_CAPSULE = 7  # its column in a packed shape
FIELD_NODES = 96  # along the longest side
FIELD_MARGIN = 0.02  # [m] around the solid
FINEST_CELL = 0.002  # [m]


def field_message(number: int, solid: Solid) -> bytes:
    """Distances to a solid on a grid that a graphics card reads between the nodes."""
    low, high = (bound.astype(np.float64) for bound in solid.at(0.0).surface.bounds)
    cell = _cell(low, high)
    low, high = low - FIELD_MARGIN, high + FIELD_MARGIN
    nodes = np.ceil((high - low) / cell).astype(np.int64) + 1
    axes = [low[c] + cell * np.arange(nodes[c]) for c in range(3)]
    z, y, x = np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
    points = np.stack([x, y, z], axis=-1).reshape(-1, 3).astype(np.float32)
    distance = solid.placed(Pose.identity(), 0.0).distance(points)
    return encode("field", number=number, low=low, cell=cell, nodes=nodes, distance=distance)


def shape_message(number: int, solid: Solid) -> bytes:
    """The shapes that a solid is made of."""
    assert solid.shape is not None
    kinds, params = solid.shape.pack()
    return encode("shape", number=number, kinds=kinds, params=params)


THINNEST = 2.0  # cells that the thinnest part of a solid must be thick in radius


def has_field(solid: Solid) -> bool:
    """Whether a grid can show a solid: it does not deform, is finite, and none of its parts is too thin."""
    if solid.animation is not None:
        return False
    if solid.shape is None:
        return True
    bounds = np.asarray(solid.shape.bounds)
    if not np.isfinite(bounds).all():
        return False
    kinds, numbers = solid.shape.pack()
    radius = numbers[kinds == CAPSULE, RADIUS_OF_CAPSULE].min(initial=np.inf)
    return len(kinds) == 1 or bool(radius >= THINNEST * _cell(*bounds))


def _cell(low: FloatArray, high: FloatArray) -> float:
    """Between nodes of the grid of a solid with these bounds [m]."""
    return max(float((high - low).max() + 2 * FIELD_MARGIN) / (FIELD_NODES - 1), FINEST_CELL)
