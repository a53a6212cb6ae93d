"""chai2017's figures 3, 4, 5 and 7: what carries a hair, what parts it, and how position correction flickers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.motion_keys import KeyframedMotion
from mane.body.shapes import Sphere
from mane.body.solid import Solid
from mane.geometry.checks import FloatArray
from mane.groom.groom import Groom, concatenate
from mane.groom.guides import Guides
from mane.measure.pictures import stack_rows
from mane.measure.reproduce import chai2017
from mane.measure.reproduce.chai2017_pictures import (
    DRAWN_WIDTH,
    FULL,
    PICTURE,
    QUICK_PICTURE,
    close_up,
    meshes,
    shown_numbers,
)
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.measure.study import parting
from mane.measure.study import parting_scenes as scenes
from mane.measure.study.parting import METHODS, Recording, Sizes
from mane.measure.study.parting_baselines import ParticleSkin
from mane.metrics.flicker import WINDOW, flicker
from mane.render.camera import Camera
from mane.render.debug_looks import FLAT, RISING, debug_colors
from mane.render.panels import Legend, side_by_side, with_legend
from mane.render.renderer import render
from mane.scene.simulation import Simulation
from mane.skin.adaptive.skin import AdaptiveSkin
from mane.skin.table import make_skin
from mane.strand.frame import GuideFrame

USUAL = Sizes(strands=1500, guides=60, vertices=16, seconds=1.2, train_seconds=0.5)
Image = NDArray[np.uint8]
# Linear RGB.
ORANGE, BLUE, RED, GREY, DARK = [0.4, 0.1, 0.004], [0.01, 0.06, 0.35], [0.35, 0.01, 0.01], [0.08] * 3, [0.004] * 3
GUIDE_WIDTH, LINE_WIDTH = 2.5e-3, 1.2e-3  # [m]

# Figure 3. Hairs are much longer than they are far from their guides, so the picture is this much wider than they are.
WIDENED = 4.0
LEAST_WEIGHT = 0.02  # that is drawn
MIXED = 4  # guides of the vertices of one hair

# Figure 4: four hairs in a row, the inner two guides, and a ball that comes up between them.
ROW, ROW_GUIDES, LENGTH, ROW_VERTICES = (-0.022, -0.016, 0.016, 0.022), (1, 2), 0.2, 24  # [m]
BALL, BALL_KEYS = 0.05, ((0.0, -0.27), (0.5, -0.14), (0.8, -0.14))  # [m]; [s], height [m]
BALL_SHOWN = (0.1, 0.4, 0.79)  # [s]

SEEN_AT = 0.7  # of a guide's length, where lines of the graph of figure 7 end


def run(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Draw what the paper explains its method by: weights, parted guides, flicker, and sets of two moments."""
    sizes = chai2017.QUICK if quick else USUAL
    size = QUICK_PICTURE if quick else PICTURE
    recording = parting.record(scenes.COMB, sizes, lambda text, share: tell(text, 0.7 * share))
    tell("drawing weights", 0.7)
    report.picture(
        "weights", _weights(recording, size), "one hair and what carries it, by vertices and as a whole (fig. 3)"
    )
    tell("drawing guides that a ball parts", 0.75)
    report.picture(
        "parted", _parted(report, size), "two hairs (blue) between two guides (orange) that a ball parts (fig. 4)"
    )
    tell("drawing flicker", 0.8)
    report.picture(
        "flicker", _flicker(recording, size), "three successive frames, coloured by the flicker of each hair (fig. 5)"
    )
    tell("drawing sets", 0.9)
    report.picture(
        "sets", _sets(report, recording, size), "two moments of sets that are chosen anew in every frame (fig. 7)"
    )
    tell("done", 1.0)


def painted(points: FloatArray, colors: object, width: float) -> Groom:
    """Strands (S, V, 3) [m] in linear RGB, one colour, one of each strand (S, 3), or of each vertex (S, V, 3)."""
    given = np.asarray(colors, np.float32)
    given = given[:, None] if given.ndim == 2 else given
    groom = Groom.from_uniform(np.ascontiguousarray(points, np.float32))
    return groom.with_vertex(
        width=np.full(len(groom.points), width, np.float32),
        color=np.ascontiguousarray(np.broadcast_to(given, points.shape)).reshape(-1, 3),
    )


def hues(count: int) -> FloatArray:
    """Linear RGB of so many things (N, 3), neighbours in number far apart."""
    hue = np.arange(count) * 0.618034 % 1.0
    colors: FloatArray = (0.12 + 0.118 * np.cos(2 * np.pi * (hue[:, None] + np.array([0, 1 / 3, 2 / 3])))).astype(
        np.float32
    )
    return colors


# -- figure 3 ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Links:
    """What carries one hair.

    Attributes:
        hair: number of it.
        vertex: of the hair, that a link ends at, shape (L,).
        guide: slot of the guide that it comes from, shape (L,).
        guide_vertex: of that guide, shape (L,).
        weight: shape (L,).
    """

    hair: int
    vertex: NDArray[np.int64]
    guide: NDArray[np.int64]
    guide_vertex: NDArray[np.int64]
    weight: NDArray[Any]


def particle_links(skin: ParticleSkin, hair: int) -> Links:
    """Every vertex has guide vertices of its own (fig. 3a)."""
    guide, guide_vertex, weight = skin.sources(hair)
    vertex = np.broadcast_to(np.arange(len(guide))[:, None], guide.shape)
    return _kept(hair, vertex, guide, guide_vertex, weight)


def strand_links(recording: Recording, hair: int) -> Links:
    """Every vertex has the vertices of its own number on the guides of a set (fig. 3b)."""
    skin = AdaptiveSkin(recording.groom, recording.simulation.guides, model=recording.model)
    weight = skin.sets.weights(skin.tables, np.array([hair]), skin.chosen)[0].T  # (V, M)
    vertex = np.broadcast_to(np.arange(len(weight))[:, None], weight.shape)
    return _kept(hair, vertex, np.broadcast_to(skin.sets.slots[hair], weight.shape), vertex, weight)


def _kept(hair: int, vertex: object, guide: object, guide_vertex: object, weight: NDArray[Any]) -> Links:
    kept = weight > LEAST_WEIGHT
    return Links(hair, *(np.asarray(one)[kept] for one in (vertex, guide, guide_vertex, weight)))


def _weights(recording: Recording, size: tuple[int, int]) -> Image:
    skin = ParticleSkin(recording.motion, recording.model.guides)
    rest, own = recording.groom.as_uniform(), recording.groom.as_uniform()[recording.model.guides]
    hair = _shown_hair(recording, skin, rest, own)
    both = {
        "(a) particle-wise [33]": particle_links(skin, hair),
        "(b) strand by strand": strand_links(recording, hair),
    }
    guides = np.unique(np.concatenate([links.guide for links in both.values()]))
    towards = np.asarray(recording.scene.view, np.float64)
    seen = _widened(np.concatenate([rest[hair][None], own[guides]]), towards)
    tall = (size[0], 2 * size[1])
    camera = Camera.framing(seen.reshape(-1, 3), towards, aspect=tall[0] / tall[1], margin=0.05)
    colors = hues(len(guides))
    images, captions = [], []
    for name, links in both.items():
        slot = np.searchsorted(guides, links.guide)
        ends = np.stack([seen[0][links.vertex], seen[1 + slot, links.guide_vertex]], axis=1)
        is_used = np.isin(guides, links.guide)
        lines = [painted(ends[[k]], colors[slot[k]], LINE_WIDTH * np.sqrt(links.weight[k])) for k in range(len(ends))]
        drawn = [painted(seen[1:][is_used], colors[is_used], GUIDE_WIDTH), painted(seen[:1], DARK, GUIDE_WIDTH), *lines]
        images.append(render(concatenate(drawn), camera=camera, size=tall, look=FLAT))
        captions.append(f"{name}\n{is_used.sum()} guides, {len(ends)} weights above {LEAST_WEIGHT:g}")
    return side_by_side(images, captions, title="a hair (dark), its guides, and its weights")


def _shown_hair(recording: Recording, skin: ParticleSkin, rest: FloatArray, own: FloatArray) -> int:
    """A hair whose vertices have guides that differ, the one of them with the nearest guides, to have both in sight."""
    best, least = int(recording.others[0]), np.inf
    for hair in recording.others:
        links = particle_links(skin, int(hair))
        apart = np.linalg.norm(rest[hair][links.vertex] - own[links.guide, links.guide_vertex], axis=1).max()
        if len(np.unique(links.guide)) >= MIXED and apart < least:
            best, least = int(hair), apart
    return best


def _widened(points: FloatArray, towards: NDArray[np.float64]) -> FloatArray:
    """Strands (S, V, 3) [m], `WIDENED` times as far apart across the view, seen upright."""
    right = np.cross([0.0, 1.0, 0.0], towards)
    right /= np.linalg.norm(right)
    across = (points - points.reshape(-1, 3).mean(axis=0)) @ right
    wide: FloatArray = (points + (WIDENED - 1) * across[..., None] * right).astype(np.float32)
    return wide


# -- figure 4 ------------------------------------------------------------------------------------------------------


def _parted(report: Report, size: tuple[int, int]) -> Image:
    groom, solid = row_of_hairs()
    guides = Guides.chosen(groom, np.array(ROW_GUIDES))
    ways = {"sets that are chosen anew": {}, "fixed sets": {"use_motion": False, "use_solids": False}}
    made = {name: _carried_row(groom, guides, solid, settings) for name, settings in ways.items()}
    every = _hanging(Guides.chosen(groom, np.arange(len(ROW))), solid)
    made["every hair simulated"] = [every.step().points.copy() for _ in range(len(made["fixed sets"]))]
    numbers = [round(t * parting.FRAME_RATE) for t in BALL_SHOWN]
    corners = np.concatenate([made[name][number].reshape(-1, 3) for name in made for number in numbers])
    camera = Camera.framing(corners, (0.0, 0.0, 1.0), aspect=size[0] / size[1], margin=0.05)
    colors = np.array([ORANGE if number in ROW_GUIDES else BLUE for number in range(len(ROW))])
    rows = []
    for name, frames in made.items():
        deepest = [inside(solid, (number + 1) / parting.FRAME_RATE, frames[number]) for number in numbers]
        report.add(f"two hairs between two guides, {name}", "deepest in the ball", 1e3 * max(deepest), "mm")
        images = [
            render(
                painted(frames[number], colors, GUIDE_WIDTH),
                solid.at((number + 1) / parting.FRAME_RATE).mesh(),
                camera=camera,
                size=size,
                look=FLAT,
            )
            for number in numbers
        ]
        captions = [f"{t:.2f} s\n{1e3 * depth:.1f} mm inside" for t, depth in zip(BALL_SHOWN, deepest, strict=True)]
        rows.append(side_by_side(images, captions, title=name))
    return stack_rows(rows)


def row_of_hairs() -> tuple[Groom, Solid]:
    """Four hairs that hang in a row, and a ball that comes up between them."""
    along = np.linspace(0.0, -LENGTH, ROW_VERTICES)
    points = np.zeros((len(ROW), ROW_VERTICES, 3), np.float32)
    points[:, :, 0], points[:, :, 1] = np.array(ROW)[:, None], along
    keys = np.array(BALL_KEYS)
    places = np.stack([np.zeros(len(keys)), keys[:, 1], np.zeros(len(keys))], axis=1)
    motion = KeyframedMotion(keys[:, 0], places, np.tile([0.0, 0.0, 0.0, 1.0], (len(keys), 1)))
    return Groom.from_uniform(points), Solid(Sphere((0.0, 0.0, 0.0), BALL), motion)


def _hanging(guides: Guides, solid: Solid) -> Simulation:
    """Hairs beside a ball that is slippery, so that none comes to lie on top of it."""
    contact = {"friction": 0.0}
    return Simulation(guides, head="still", solids=[solid], contact=contact, frame_rate=parting.FRAME_RATE)


def _carried_row(groom: Groom, guides: Guides, solid: Solid, settings: dict[str, bool]) -> list[FloatArray]:
    simulation = _hanging(guides, solid)
    skin = make_skin("adaptive", groom, simulation, **settings)
    return [skin(simulation.step(), copy=True) for _ in range(round(BALL_KEYS[-1][0] * parting.FRAME_RATE))]


def inside(solid: Solid, time: float, points: FloatArray) -> float:
    """How deep the deepest of some vertices is in a solid [m]."""
    distance = solid.at(time).distance(np.ascontiguousarray(points.reshape(-1, 3), np.float32))
    return max(-float(distance.min()), 0.0)


# -- figure 5 ------------------------------------------------------------------------------------------------------


def _flicker(recording: Recording, size: tuple[int, int]) -> Image:
    def skinned() -> parting.Carried:
        return parting.carried(recording, METHODS["adaptive"](recording))

    made = {
        "adaptive, as skinned": _all(skinned()),
        "adaptive, position correction": _all(parting.pushed_out(recording, skinned())),
        FULL: list(recording.truth),
    }
    measured = {name: flicker_of(frames) for name, frames in made.items()}
    # The three frames in which hair near solids flickers most by position correction; flicker looks back.
    corrected = measured["adaptive, position correction"]
    near = recording.is_near[WINDOW - 1 :]
    total = np.where(near, corrected, 0).sum(axis=1) / np.maximum(near.sum(axis=1), 1)
    first = int(np.clip(total.argmax() - 1, 0, max(len(total) - 3, 0)))
    shown = range(first, min(first + 3, len(total)))
    limit = float(np.quantile(corrected[shown], 0.99)) or 1.0
    legend = Legend("flicker", "0", f"{1e3 * limit:.2g} mm", RISING)
    rows = []
    for name, frames in made.items():
        images, captions = [], []
        for k in shown:
            number = k + WINDOW - 1
            solids = meshes(recording, number)
            camera = close_up(recording, first + WINDOW - 1, meshes(recording, first + WINDOW - 1), size)
            groom = recording.groom.with_points(frames[number].reshape(-1, 3))
            groom = debug_colors("weight", groom, values=measured[name][k], limit=limit).paint(groom)
            image = render(groom, solids, camera=camera, size=size, look=FLAT, hair_width=DRAWN_WIDTH)
            images.append(with_legend(image, legend))
            own = measured[name][k][recording.is_near[number]]
            mean = 1e3 * float(np.sqrt(np.mean(own**2))) if len(own) else 0.0
            captions.append(f"{(number + 1) / parting.FRAME_RATE:.2f} s\n{mean:.3f} mm near solids")
        rows.append(side_by_side(images, captions, title=name))
    return stack_rows(rows)


def _all(hairs: parting.Carried) -> list[FloatArray]:
    return [points for _, points in hairs]


def flicker_of(frames: Sequence[FloatArray]) -> FloatArray:
    """Flicker of each hair at every frame that has three before it [m], shape (F - 3, S)."""
    return np.stack([flicker(*frames[k : k + WINDOW]) for k in range(len(frames) - WINDOW + 1)])


# -- figure 7 ------------------------------------------------------------------------------------------------------


def _sets(report: Report, recording: Recording, size: tuple[int, int]) -> Image:
    solids, guides = recording.simulation.solids, recording.simulation.guides
    skin = AdaptiveSkin(
        recording.groom,
        guides,
        model=recording.model,
        solids=solids,
        body=solids[0],
        use_motion=True,
        use_solids=True,
    )
    numbers, rows = shown_numbers(recording), []
    for number, frame in enumerate(recording.frames):
        points = skin(frame)
        if number in numbers:
            rows.append(_moment(report, recording, skin, frame, points, number, size))
    return stack_rows(rows)


def _moment(
    report: Report,
    recording: Recording,
    skin: AdaptiveSkin,
    frame: GuideFrame,
    points: FloatArray,
    number: int,
    size: tuple[int, int],
) -> Image:
    solids = meshes(recording, number)
    camera = close_up(recording, number, solids, size)
    colors = hues(len(frame.points))
    serving = serving_guides(recording, skin, number)
    is_connected = connected(skin)
    pairs = skin.graph.scale.pairs
    at = round(SEEN_AT * (frame.points.shape[1] - 1))
    lines = painted(frame.points[pairs, at], np.where(is_connected[:, None], BLUE, RED), LINE_WIDTH)
    guides = painted(frame.points, colors, GUIDE_WIDTH)
    grey = painted(frame.points, np.where(serving[:, None], RED, GREY), GUIDE_WIDTH)
    panels = {
        f"guides\n{len(frame.points)} of them": guides,
        "hair\nin the colours of its guides, by weight": painted(points, blended_colors(skin, colors), DRAWN_WIDTH),
        f"guides of hairs near the solid (red)\n{serving.sum()} of them": grey,
        f"guide graph: connected (blue), parted (red)\n{(~is_connected).sum()} of {len(pairs)} pairs parted": lines,
    }
    time = (number + 1) / parting.FRAME_RATE
    report.add(f"sets at {time:.2f} s", "pairs of guides that are parted", 100 * float((~is_connected).mean()), "%")
    report.add(f"sets at {time:.2f} s", "guides of hairs near the solid", float(serving.sum()), "1")
    images = [render(groom, solids, camera=camera, size=size, look=FLAT) for groom in panels.values()]
    return side_by_side(images, list(panels), title=f"{recording.scene.name}, {time:.2f} s")


def blended_colors(skin: AdaptiveSkin, colors: FloatArray) -> FloatArray:
    """Colours of guides (G, 3), blended for every vertex as its hair is in the last frame, (S, V, 3)."""
    weights = skin.sets.weights(skin.tables, np.arange(len(skin.chosen)), skin.chosen)
    blended: FloatArray = np.einsum("smv,smc->svc", weights, colors[skin.sets.slots])
    return blended


def serving_guides(recording: Recording, skin: AdaptiveSkin, number: int) -> NDArray[np.bool_]:
    """Which guides carry a hair that is near a solid, (G,)."""
    serving = np.zeros(skin.guides.capacity, np.bool_)
    for hair in np.flatnonzero(recording.is_near[number]):
        serving[skin.hangs_on(int(hair))] = True
    return serving


def connected(skin: AdaptiveSkin) -> NDArray[np.bool_]:
    """Which pairs of guides that share a hair are connected in the last frame, (P,)."""
    i, j = skin.graph.scale.pairs.T
    bits: NDArray[np.bool_] = (skin.graph.edges[i, j // 64] >> (j % 64).astype(np.uint64) & np.uint64(1)).astype(
        np.bool_
    )
    return bits
