"""The coat of the creature: fur whose length, direction, density and colour vary over the whole animal."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np

from mane.body.creature import Creature, make_creature
from mane.body.creature.anatomy import NOSE
from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray
from mane.geometry.grid import UniformGrid
from mane.geometry.limits import Positive, Range
from mane.groom.groom import Groom
from mane.groom.roots import scatter_roots
from mane.groom.styles import _shaping as shaping
from mane.groom.styles.standing import lay_fur, on_skin

LONGEST = 0.075  # [m] of the hair in the middle of the tail, for which the table below is
FIELD_CELL = 0.005  # [m] of the distance field that keeps hair out of the body
CLEARANCE = 4e-4  # [m]
SMOOTHING = 12  # rounds in which every vertex takes over from its neighbours
COVER = 0.9  # area of all hairs, laid side by side, over that of the skin
THINNEST, WIDEST = 40e-6, 400e-6  # [m] diameter of a hair
TUFT = 0.012  # [m] between the middles of tufts
WAVE = 0.25  # how far tufts leave the direction of the coat
# So many hairs of the long coat are its undercoat, shorter by these factors and standing off so far at least: seen
# against the lie of the fur, between the roots of long hairs, skin would show.
UNDERCOAT, UNDERCOAT_LENGTH, UNDERCOAT_LIFT = 0.45, (0.35, 0.6), 0.34


class Coat(NamedTuple):
    """Fur on the skin that one joint carries.

    Attributes:
        length: [m].
        density: relative.
        lift: how far it stands off the skin, 0 to 1.
        direction: which way it lies, in the rest pose.
    """

    length: float
    density: float
    lift: float
    direction: tuple[float, float, float]


BACK, LEG, PAW = (0.0, -0.45, -1.0), (0.0, -1.0, -0.15), (0.0, -0.4, 1.0)
COATS = {
    "root": Coat(0.040, 1.0, 0.25, BACK),
    "pelvis": Coat(0.050, 1.0, 0.27, (0.0, -0.40, -1.0)),
    "spine_1": Coat(0.048, 1.2, 0.27, BACK),
    "spine_2": Coat(0.048, 1.2, 0.27, BACK),
    "chest": Coat(0.050, 1.0, 0.27, (0.0, -0.60, -1.0)),
    "neck_1": Coat(0.060, 1.1, 0.34, (0.0, -0.90, -0.80)),
    "neck_2": Coat(0.052, 1.2, 0.34, (0.0, -0.80, -0.80)),
    "head": Coat(0.015, 3.0, 0.20, (0.0, -0.10, -1.0)),
    "ear": Coat(0.011, 2.4, 0.20, (0.12, 1.0, -0.10)),
    "scapula": Coat(0.040, 1.2, 0.27, (0.0, -0.90, -0.80)),
    "shoulder": Coat(0.030, 1.4, 0.25, (0.0, -1.0, -0.50)),
    "elbow": Coat(0.015, 1.9, 0.16, LEG),
    "wrist": Coat(0.010, 2.6, 0.24, LEG),
    "forepaw": Coat(0.008, 2.8, 0.24, PAW),
    "hip": Coat(0.042, 1.3, 0.27, (0.0, -0.80, -0.70)),
    "knee": Coat(0.022, 1.8, 0.18, (0.0, -1.0, -0.70)),
    "hock": Coat(0.010, 2.6, 0.24, (0.0, -1.0, 0.20)),
    "hindpaw": Coat(0.008, 2.8, 0.24, PAW),
    "tail_1": Coat(0.052, 1.4, 0.30, (0.0, -0.27, -1.0)),
    "tail_2": Coat(0.064, 2.0, 0.36, (0.0, -0.50, -1.0)),
    "tail_3": Coat(0.074, 2.3, 0.40, (0.0, -0.53, -1.0)),
    "tail_4": Coat(0.076, 2.3, 0.40, (0.0, -0.40, -1.0)),
    "tail_5": Coat(0.068, 2.3, 0.34, (0.0, -0.22, -1.0)),
}

UNDERFUR, BARE = 0.6, 0.012  # as a share of the coat's colour, and linear RGB
RED, CREAM, BLACK = (0.40, 0.092, 0.016), (0.72, 0.66, 0.56), (0.022, 0.016, 0.013)  # linear RGB


def fox_body() -> Mesh:
    """The animal at rest, standing on y = 0."""
    return load_pelt().creature.mesh


def fox_skin() -> FloatArray:
    """Linear RGB and gloss of the animal under its coat, per vertex (N, 4).

    Underfur has the coat's colour and no gloss, or it would shine through as if it were bald; eyes and nose are dark.
    """
    pelt = load_pelt()
    # Faded over the width of a triangle: colours are blended across them, and a hard edge would be a zigzag.
    eye = 1 - shaping.smooth_step(pelt.creature.eye_distance, 0.009, 0.015)
    bare = np.maximum(eye, pelt.creature.is_bare)[:, None]
    color = np.float32(UNDERFUR) * pelt.color * (1 - bare) + np.float32(BARE) * bare
    return np.column_stack([color, bare]).astype(np.float32)


def fox(
    strands: int,
    vertices: int,
    seed: int,
    *,
    length: Positive = LONGEST,
    lift: Annotated[float, Range(least=0, most=2)] = 1.0,
) -> Groom:
    """A fox's coat; `length` [m] is that of the tail's longest hair, `lift` a factor on how far the fur stands off.

    Args:
        strands: how many.
        vertices: points per strand.
        seed: of everything random.
        length: of the tail's longest hair [m].
        lift: factor on how far the fur stands off: 0 lies flat, 2 is twice as far.
    """
    pelt, rng = load_pelt(), np.random.default_rng(seed)
    mesh = pelt.creature.mesh
    roots = scatter_roots(mesh, strands, density=pelt.density, seed=seed)
    lengths = on_skin("length", pelt.length, mesh, roots, ()) * np.float32(length / LONGEST)
    center = shaping.clump_centers(roots.points, int(np.clip(mesh.face_areas.sum() / TUFT**2, 1, strands)), rng)
    direction = on_skin("direction", pelt.direction, mesh, roots, (3,))
    direction = direction + WAVE * rng.standard_normal(direction.shape).astype(np.float32)[center]
    is_under = rng.random(strands) < UNDERCOAT * shaping.smooth_step(lengths * (LONGEST / length), 0.015, 0.035)
    lengths = np.where(is_under, lengths * rng.uniform(*UNDERCOAT_LENGTH, strands), lengths).astype(np.float32)
    lifts = np.maximum(on_skin("lift", pelt.lift, mesh, roots, ()), np.where(is_under, UNDERCOAT_LIFT, 0.0))
    lifts = np.clip(lifts * lift, 0, 1).astype(np.float32)
    points = lay_fur(roots, direction, lifts, lengths, vertices, rng, variation=0.12)
    # Short hair forms no tufts: drawn together, it would be pulled out of length.
    together = 0.6 * shaping.smooth_step(lengths, 0.5 * TUFT, 4.0 * TUFT)
    points = shaping.clump(points, center, together * rng.random(strands, np.float32) ** 0.5)
    points = shaping.keep_outside(np.ascontiguousarray(points, np.float32), pelt.field, CLEARANCE)
    width = np.clip(COVER * mesh.face_areas.sum() / (strands * lengths.mean()), THINNEST, WIDEST)
    groom = shaping.finish(points, roots, width=float(width), group_names=("fur",))
    return groom.with_strand(color=np.clip(on_skin("color", pelt.color, mesh, roots, (3,)), 0, 1))


class Pelt(NamedTuple):
    """The creature and its coat, painted on the vertices of its mesh.

    Attributes:
        creature: the animal at rest.
        field: signed distance to its skin.
        length: of the hair [m], shape (N,).
        density: relative, shape (N,), 0 on eyes, nose and soles.
        lift: how far hair stands off the skin, shape (N,).
        direction: which way it lies, unit vectors along the skin, shape (N, 3).
        color: linear RGB, shape (N, 3).
    """

    creature: Creature
    field: UniformGrid
    length: FloatArray
    density: FloatArray
    lift: FloatArray
    direction: FloatArray
    color: FloatArray


@lru_cache(maxsize=1)
def load_pelt() -> Pelt:
    """Return the creature and its coat; made once, then kept in memory and in the disk cache."""
    from mane.body.sdf import build_sdf

    creature = make_creature()
    return paint_pelt(creature, build_sdf(creature.mesh, cell_size=FIELD_CELL))


def paint_pelt(creature: Creature, field: UniformGrid) -> Pelt:
    """Paint the coat: what each joint's fur is like, blended as the skin is, with the face painted by place."""
    length, density, lift, direction = _painted_by_joint(creature)
    on_head = creature.joint_share("head")[:, None]
    points, normals = creature.mesh.points, creature.mesh.vertex_normals
    face_length, face_direction = _face(points)
    length = length + on_head[:, 0] * (face_length - COATS["head"].length)
    direction = direction * (1 - on_head) + face_direction * on_head
    # The belly's fur hangs back, not down off it.
    underside = shaping.smooth_step(-normals[:, 1], 0.3, 0.9)[:, None] * creature.joint_share("spine", "chest")[:, None]
    direction = direction * (1 - underside) + underside * np.array([0.0, -0.2, -1.0], np.float32)
    smooth = _smoothed(creature.mesh, np.column_stack([length, density, lift, direction]))
    direction = shaping.unit_vectors(shaping.tangential(smooth[:, 3:], normals))
    bald = np.where(creature.is_bare, 0, smooth[:, 1])
    return Pelt(creature, field, smooth[:, 0], bald.astype(np.float32), smooth[:, 2], direction, _painted(creature))


def _painted_by_joint(creature: Creature) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Length, density, lift and direction per vertex, from `COATS` by the weights of the joints."""
    rows = []
    for name in creature.skeleton.names:
        coat = COATS[name.removesuffix("_left").removesuffix("_right")]
        x, y, z = coat.direction
        rows.append([coat.length, coat.density, coat.lift, -x if name.endswith("_right") else x, y, z])
    table = np.array(rows, np.float32)
    weights, indices = creature.skinned.joint_weights, creature.skinned.joint_indices
    values = np.einsum("nk,nkc->nc", weights, table[indices]).astype(np.float32)
    return values[:, 0], values[:, 1], values[:, 2], values[:, 3:]


def _face(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Length [m] (N,) and direction (N, 3) of the fur of the head: away from the nose, long on the cheeks."""
    x, y, z = points.T
    away = points - np.array(NOSE, np.float32)
    behind_muzzle = 1 - shaping.smooth_step(z, 0.325, 0.375)
    cheek = shaping.smooth_step(np.abs(x), 0.020, 0.045) * shaping.smooth_step(0.490 - y, 0.0, 0.030)
    cheek = cheek * (1 - shaping.smooth_step(z, 0.315, 0.355))
    length = 0.0055 + 0.010 * behind_muzzle + 0.022 * cheek
    down = np.array([0.0, -0.5, -0.2], np.float32)
    return length.astype(np.float32), shaping.unit_vectors(away) + cheek[:, None] * down


def _painted(creature: Creature) -> FloatArray:
    """Colours of a red fox (N, 3): cream below, black on the lower legs and behind the ears, a pale tip of the tail."""
    points, normals = creature.mesh.points, creature.mesh.vertex_normals
    _, y, z = points.T
    below = shaping.smooth_step(-normals[:, 1], -0.15, 0.55)
    trunk = creature.joint_share("spine", "chest", "pelvis")
    throat = creature.joint_share("neck", "head", "chest", "scapula") * shaping.smooth_step(z, 0.10, 0.16)
    throat = throat * (1 - shaping.smooth_step(y, 0.448, 0.472))
    breast = shaping.smooth_step(-normals[:, 1] + 0.55 * normals[:, 2], 0.10, 0.60)
    muzzle = creature.joint_share("head") * (1 - shaping.smooth_step(y, 0.444, 0.463))
    pale = np.maximum.reduce([below * trunk, throat * breast, muzzle])
    pale = np.maximum(pale, 1 - shaping.smooth_step(z, -0.615, -0.555))
    front = shaping.smooth_step(normals[:, 2], 0.0, 0.4)
    ears = creature.joint_share("ear") * shaping.smooth_step(y, 0.530, 0.560)
    pale = np.maximum(pale, creature.joint_share("ear") * front * 0.7)
    stocking = creature.joint_share("elbow", "wrist", "forepaw", "hock", "hindpaw", "knee")
    dark = np.maximum(stocking * (1 - shaping.smooth_step(y, 0.105, 0.175)), ears * (1 - front))
    color = np.array(RED) + pale[:, None] * (np.array(CREAM) - RED)
    return np.asarray(color + dark[:, None] * (BLACK - color), np.float32)


def _smoothed(mesh: Mesh, values: FloatArray) -> FloatArray:
    """Values (N, C), each taken over in part from its neighbours along the edges of the mesh, a few times."""
    faces = mesh.faces.astype(np.int64)
    start, end = faces.reshape(-1), np.roll(faces, -1, axis=1).reshape(-1)
    count = np.bincount(start, minlength=mesh.vertex_count).astype(np.float64)[:, None]
    smooth = values.astype(np.float64)
    for _ in range(SMOOTHING):
        total = np.stack([np.bincount(start, column[end], mesh.vertex_count) for column in smooth.T], axis=1)
        smooth = 0.5 * smooth + 0.5 * total / count
    return smooth.astype(np.float32)
