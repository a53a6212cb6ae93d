"""`mane bench volume`: hair in a tetrahedral mesh at the size of lee2018's bear, and a step of the mesh."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mane.body.characters import make_character
from mane.geometry.threads import most_threads, using_threads
from mane.groom.groom import Groom
from mane.measure.bench.io import write_plain
from mane.measure.bench.volume_hairs import add_rows
from mane.measure.figures import Figures
from mane.measure.timing import best_seconds
from mane.volume import _kernels_embed as kernels
from mane.volume._kernels_embed import HALF
from mane.volume.driver import SkinDriver
from mane.volume.embedding import SkinPlanes
from mane.volume.kdsm import Kdsm
from mane.volume.lattice import Float64Array
from mane.volume.mesh import TetMesh, mesh_around_body
from mane.volume.packed_styles import PackedStyles
from mane.volume.springs import SpringParams

STRANDS, POINTS = 540_078, 20_885_989  # lee2018 table 1, the bear
SPACING, REACH = 0.04, 0.05  # [m] some 3,900 nodes around the fox; the paper has 3,727
STYLES = 3  # beside the groom itself: four in all
TAU = np.float32(0.002)
NEAR = np.float32(0.03)  # [m]
KINEMATIC, BLENDED, STEP, MEMORY, PACKED = 0.35, 0.5, 60.0, 2.0, 1.2  # targets: s, s, ms, GB, GB
PAPER = "lee2018 table 1, 12 cores"


class Coat:
    """Random hair on a body, made in blocks: what the kernels read, and nothing else."""

    def __init__(self, mesh: TetMesh, skin: Any, strands: int, points: int) -> None:
        random = np.random.default_rng(1)
        counts = np.full(strands, points // strands)
        counts[: points - int(counts.sum())] += 1
        self.offsets = np.concatenate([[0], np.cumsum(counts)])
        face = np.sort(random.choice(len(skin.faces), strands, p=skin.face_areas / skin.face_areas.sum(dtype=float)))
        self.faces = skin.faces[face]
        self.weights = random.dirichlet((1.0, 1.0, 1.0), strands).astype(np.float32)
        roots = self.roots(skin.points.astype(np.float64))
        normal = skin.face_normals[face]
        lean = (normal + 0.5 * random.normal(size=normal.shape)).astype(np.float32)
        lean += normal * np.maximum(0.3 - (lean * normal).sum(axis=1, keepdims=True), 0)
        lean *= (0.02 + 0.025 * random.random((strands, 1))) / np.linalg.norm(lean, axis=1, keepdims=True)
        self.rest = np.empty((points, 3), np.float32)
        self.tets = np.empty(points, np.uint16)
        self.plane = np.empty(points, SkinPlanes(skin, float(NEAR)).kind)
        for start in range(0, strands, 20_000):
            part = slice(start, min(start + 20_000, strands))
            self._fill(mesh, part, roots[part], lean[part], face[part], mesh.patch_of_vertex[self.faces[part, 0]])

    def _fill(self, mesh: TetMesh, part: slice, roots: Any, lean: Any, face: Any, patch: Any) -> None:
        counts = np.diff(self.offsets[part.start : part.stop + 1])
        strand = np.repeat(np.arange(len(counts)), counts)
        first = self.offsets[part.start]
        along = np.arange(len(strand)) - (self.offsets[part.start : part.stop] - first)[strand]
        share = (along / (counts - 1)[strand]).astype(np.float32)[:, None]
        where = slice(first, first + len(strand))
        self.rest[where] = roots[strand] + share * lean[strand]
        found = mesh.locate(self.rest[where], patch[strand])
        self.tets[where] = np.where(found < 0, 0, found)
        # The first third of a hair stays above the triangle that it grows on.
        self.plane[where] = np.where((share[:, 0] > 0) & (share[:, 0] < 0.34), face[strand], -1)

    @property
    def nbytes(self) -> int:
        """Bytes of what a frame reads."""
        arrays = (self.offsets, self.rest, self.tets, self.plane, self.faces, self.weights)
        return sum(one.nbytes for one in arrays)

    def roots(self, skin: Float64Array) -> Any:
        """Follicles on a skin whose vertices are at `skin`."""
        return np.einsum("sc,scd->sd", self.weights, skin[self.faces]).astype(np.float32)


def run(*, quick: bool = False, progress: Callable[[str], None] | None = None) -> Figures:
    """Time the frame of a coat and a step of the mesh."""
    figures, tell = Figures("volume"), progress or (lambda text: None)
    share = 0.02 if quick else 1.0
    body = make_character("creature").solid("walk")
    skin, animation = body.skin, body.animation
    assert skin is not None
    assert animation is not None
    tell("volume: making the mesh")
    start = time.perf_counter()
    mesh = mesh_around_body(body, spacing=SPACING, reach=REACH)
    case = f"{mesh.node_count:,} nodes, {mesh.tet_count:,} tetrahedra"
    figures.add(case, "making the mesh", time.perf_counter() - start, "s")
    kdsm = Kdsm(mesh, SkinDriver(mesh, skin, SpringParams()))
    state = kdsm.settled(animation.precise_points(0.0))
    tell("volume: stepping the mesh")
    seconds, inverted, left = [], 0, 0
    for number in range(1, 5 if quick else 49):
        vertices = animation.precise_points(number / 96)
        start = time.perf_counter()
        state = kdsm.step(state, vertices, 1 / 96)
        seconds.append(time.perf_counter() - start)
        inverted, left = max(inverted, kdsm.report.inverted), max(left, kdsm.report.left)
    target = None if quick else STEP
    figures.add(case, "one step, walking", 1e3 * float(np.median(seconds)), "ms", target=target)
    figures.add(case, "inverted before recovery, at most", inverted, "1")
    figures.add(case, "left inverted", left, "1", target=0.0)
    sizes = [int(share * POINTS / 4), int(share * POINTS)]
    spent = []
    for points in sizes:
        strands = max(1, round(STRANDS * points / POINTS))
        tell(f"volume: {strands:,} strands, {points:,} points")
        coat = Coat(mesh, skin, strands, points)
        spent.append(_add_frames(figures, coat, mesh, state.nodes, animation.precise_points(0.5), skin, quick))
    growth = (spent[1] / spent[0]) / (sizes[1] / sizes[0])
    figures.add("a quarter to the whole", "growth of a frame over that of points", growth, "1")
    add_rows(figures, quick, tell)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    figures.add("process", "memory at most", peak, "GB", target=None if quick else MEMORY)
    tell("volume: writing a frame")
    _add_writing(figures, coat)
    return figures


def _add_writing(figures: Figures, coat: Coat) -> None:
    """Write a frame of the coat as animated USD, beside a plain file of the same bytes; both are on the disk then."""
    from mane.io.usd import UsdSequenceWriter

    groom = Groom(coat.rest, coat.offsets)
    with tempfile.TemporaryDirectory() as folder:
        plain = best_seconds(lambda: write_plain(Path(folder, "plain.bin"), coat.rest), 3)
        with UsdSequenceWriter.new(Path(folder, "coat.usda"), groom) as writer:
            times = iter((0.0, 1.0, 2.0))
            spent = best_seconds(lambda: writer.write(next(times), groom.points), 3)
    case = f"{groom.strand_count:,} strands, {len(groom.points):,} points"
    figures.add(case, "writing a frame as USD", spent, "s", reference=plain, source="plain file and fsync, same bytes")


def _add_frames(
    figures: Figures, coat: Coat, mesh: TetMesh, nodes: Float64Array, skin_now: Float64Array, skin: Any, quick: bool
) -> float:
    """Rows of one size; the seconds of a kinematic frame on all threads."""
    points = len(coat.rest)
    is_whole = points == POINTS
    case = f"{len(coat.offsets) - 1:,} strands, {points:,} points"
    planes, out = SkinPlanes(skin, float(NEAR)), np.empty_like(coat.rest)
    falloff, reach2 = np.float32(2 * SPACING), np.float32((4 * NEAR) ** 2)

    def kinematic() -> None:
        maps = mesh.affine_maps(nodes)
        kernels.carry_strands(
            coat.offsets,
            coat.rest,
            coat.tets,
            maps,
            coat.roots(skin_now),
            falloff,
            kernels.KEEP_DIRECTION,
            coat.plane,
            planes.at(skin_now),
            planes.rest,
            TAU,
            reach2,
            out,
        )

    repeats = 3 if quick else 5
    with using_threads(most_threads()):
        spent = best_seconds(kinematic, repeats, warm_up=True)
        target = KINEMATIC if is_whole else None
        reference = {"reference": 79.0, "source": PAPER} if is_whole else {}
        figures.add(case, "kinematic frame", spent, "s", target=target, **reference)
        copied = best_seconds(lambda: np.copyto(out, coat.rest), repeats, warm_up=True)
        figures.add(case, "plain copy of the points", copied, "s")
        _add_printed(figures, case, coat, mesh, nodes, out, repeats)
        _add_blended(figures, case, coat, mesh, nodes, skin_now, planes, out, is_whole, repeats)
    return spent


def _add_printed(
    figures: Figures, case: str, coat: Coat, mesh: TetMesh, nodes: Float64Array, out: Any, repeats: int
) -> None:
    """Eq. 1 as printed: weights and a gather of four nodes for every point, without roots, lengths and push-out."""
    weights = np.empty_like(coat.rest)
    for start in range(0, len(weights), 1_000_000):
        part = slice(start, start + 1_000_000)
        weights[part] = mesh.weights(coat.rest[part], coat.tets[part].astype(np.int64))[:, 1:]
    rounded = nodes.astype(np.float32)
    spent = best_seconds(
        lambda: kernels.embed_barycentric(coat.tets, weights, mesh.tets, rounded, out), repeats, warm_up=True
    )
    figures.add(case, "eq. 1 as printed, embedding alone", spent, "s")


def _add_blended(
    figures: Figures,
    case: str,
    coat: Coat,
    mesh: TetMesh,
    nodes: Float64Array,
    skin_now: Float64Array,
    planes: SkinPlanes,
    out: Any,
    is_whole: bool,
    repeats: int,
) -> None:
    """Every point between two styles."""
    styles = PackedStyles(mesh, STYLES, len(coat.rest))
    for number in range(STYLES):
        styles.units[number] = 1.1 * SPACING / HALF
        for start in range(0, len(coat.rest), 1_000_000):
            part = slice(start, start + 1_000_000)
            seen = coat.rest[part] - styles.middles[coat.tets[part]] - np.float32(0.002 * number)
            styles.places[number, part] = np.rint(seen / styles.units[number] + HALF).clip(0, 2**16 - 1)
        styles.tets[number] = coat.tets
    level = np.full(len(coat.rest), 1.4, np.float32)
    held = coat.nbytes + styles.nbytes + level.nbytes + out.nbytes
    figures.add(case, "hair and four styles, held", held / 1e9, "GB", target=PACKED if is_whole else None)
    figures.add(case, "hair without styles, held", (coat.nbytes + out.nbytes) / 1e9, "GB")
    falloff, reach2 = np.float32(2 * SPACING), np.float32((4 * NEAR) ** 2)

    def blended() -> None:
        kernels.blend_strands(
            coat.offsets,
            coat.rest,
            coat.tets,
            *styles.arrays,
            level,
            mesh.affine_maps(nodes),
            coat.roots(skin_now),
            falloff,
            coat.plane,
            planes.at(skin_now),
            planes.rest,
            TAU,
            reach2,
            out,
        )

    reference = {"reference": 80.0, "source": PAPER} if is_whole else {}
    target = BLENDED if is_whole else None
    figures.add(case, "blended frame", best_seconds(blended, repeats, warm_up=True), "s", target=target, **reference)
