"""chang2002 7.2, figure 6: two interwoven sets of hair unfold under gravity, with and without collisions.

Two bundles of parallel guides, the paper's chains, hang in a double helix. Links and strips exist within a set alone,
collisions are among all. Straight at heart, the hair falls: with collisions the sets slide around each other and unwind
from their tips, without they go through each other. Whether they do is counted: segments that cross, step by step, of
the two sets and of one. Hair that runs along other hair may pass through it by eq. 3, whose force at less than 8
degrees is below a hundredth; such crossings are counted apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mane.contact.links.links import StaticLinks
from mane.contact.strips._reference import LEAST_SCALE
from mane.contact.strips.strips import TriangleStrips
from mane.geometry.frames import segment_frames
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.measure.crossings import find_crossings, winding
from mane.measure.pictures import PAINTED, draw_row, locks, stack_rows
from mane.measure.reproduce.reproduce import Done, ProgressCallback, Report, task_of
from mane.render.camera import Camera
from mane.scene.simulation import Simulation
from mane.strand.model import Float64Array
from mane.strand.ports import Part

MODEL = "chain"
TURNS = 1.5
LENGTH = 0.35  # [m] of each hair
SEGMENTS = 30
AXIS = 0.013  # [m] from the axis of the braid to the middle of a set
SPACING = 0.005  # [m] between the guides of a set
THICKNESS = 0.004  # [m]: less than the spacing, so that no guide touches another as groomed
RATE = 6000.0  # [1/s] of the push, see `TriangleStrips`
FRICTION = 0.1
LINK_RATE = 120.0  # [1/s]: a set keeps together
FRAME_RATE, SUBSTEPS = 240.0, 4  # steps of a millisecond, looked at after every fourth
SECONDS = 1.5
SHOWN = (0.0, 0.1, 0.2, 0.4, 0.8, 1.5)  # [s]
SIZE = (180, 560)
COLORS = ((0.50, 0.20, 0.06), (0.05, 0.16, 0.35))  # linear RGB of the two sets
PARALLEL = float(np.degrees(np.arccos(1 - LEAST_SCALE)))  # [degrees]
LARGEST_TURN = np.pi / 4  # [rad] between two looks that are 1/240 s apart; a pass through the axis is a half turn


@dataclass
class Run:
    """What became of one simulation: frames to be shown by time, and what was counted at every look.

    `crossings` has a row for each: whether both segments are of one set, and the angle between them [degrees].
    """

    shown: list[Float64Array]
    crossings: list[tuple[bool, float]]
    turned: float
    largest_turn: float
    wound: float

    def count(self, *, within: bool, along: bool) -> int:
        """Crossings within a set or between the two, of segments that run along each other or of those that do not."""
        return sum(own == within and (angle < PARALLEL) == along for own, angle in self.crossings)


def run(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """Unfold the braid with and without collisions, count what went through what, draw both."""
    seconds = 0.1 if quick else SECONDS
    braid, sets = make_braid()
    runs = {}
    for number, (name, parts) in enumerate((("with", _colliding(sets)), ("without", _linked(sets)))):
        done = task_of(tell, f"{name} collisions", 0.45 * number, 0.45 * (number + 1))
        runs[name] = unfold(braid, sets, parts, seconds, done)
    for name, one in runs.items():
        _add_figures(report, name, one, promised=name == "with")
    _draw(report, runs, sets, seconds, quick)
    report.note("The paper shows figure 6 and gives no numbers: crossings and winding are our way of saying it.")
    report.note(
        f"Segments at less than {PARALLEL:.3g} degrees run along each other: eq. 3 lets them pass, and what passes is "
        "counted beside, not promised away."
    )
    report.note(
        "It takes steps of one millisecond, firm links within a set, a stiff push and a broad phase at every step "
        "(`broad_phase_interval=0`): with the defaults, five milliseconds, hair that is pulled hard over other hair "
        "sinks in."
    )
    tell("done", 1.0)


def make_braid() -> tuple[Float64Array, np.ndarray]:
    """Points of hair in a double helix [m], (G, V, 3), and which of the two sets each one belongs to, shape (G,)."""
    ring = np.linspace(0.0, 2.0 * np.pi, 6, endpoint=False)
    offsets = np.concatenate([[[0.0, 0.0]], SPACING * np.stack([np.cos(ring), np.sin(ring)], axis=1)])
    angle = np.linspace(0.0, 2.0 * np.pi * TURNS, SEGMENTS + 1)
    around = AXIS * 2.0 * np.pi * TURNS
    height = np.sqrt(LENGTH**2 - around**2)
    centre = np.stack([AXIS * np.cos(angle), -height * np.linspace(0, 1, SEGMENTS + 1), AXIS * np.sin(angle)], axis=1)
    shift = np.stack([offsets[:, 0], np.zeros(len(offsets)), offsets[:, 1]], axis=1)[:, None]
    one, two = centre + shift, centre * [-1, 1, -1] + shift
    return np.concatenate([one, two]), np.repeat([0, 1], len(offsets))


def _hanging(braid: Float64Array) -> Guides:
    """The same hair as it would hang straight down from its roots."""
    along = np.linalg.norm(np.diff(braid, axis=1), axis=2)
    straight = np.repeat(braid[:, :1], braid.shape[1], axis=1)
    straight[:, 1:, 1] -= np.cumsum(along, axis=1)
    return Guides.from_groom(Groom.from_uniform(straight.astype(np.float32)))


def _put(simulation: Simulation, points: Float64Array) -> None:
    """Lay the hair of a simulation along other points (G, V, 3), at rest."""
    memory = simulation.memory()
    memory["strand.points"][:, 1:] = points[:, 1:]
    memory["strand.orientations"][...] = segment_frames(memory["strand.points"])
    simulation.restore(memory)


def _linked(sets: np.ndarray) -> list[Part]:
    return [StaticLinks(rate=LINK_RATE, groups=sets, breaks_at=0.1, weakens_at=0.05)]


def _colliding(sets: np.ndarray) -> list[Part]:
    strips = TriangleStrips(groups=sets, thickness=THICKNESS, rate=RATE, friction=FRICTION, broad_phase_interval=0.0)
    return [*_linked(sets), strips]


def unfold(braid: Float64Array, sets: np.ndarray, parts: list[Part], seconds: float, done: Done) -> Run:
    """Simulate and look after every frame."""
    simulation = Simulation(_hanging(braid), MODEL, forces=parts, frame_rate=FRAME_RATE, substeps=SUBSTEPS)
    _put(simulation, braid)
    looks = round(seconds * FRAME_RATE)
    shown_at = {round(min(time, seconds) * FRAME_RATE) for time in SHOWN}
    points = simulation.frame.points.astype(np.float64)
    shown, winds, crossings = [points], [_wound(points, sets)], []
    for number in range(1, looks + 1):
        before, points = points, simulation.step().points.astype(np.float64)
        crossings += _found(before, points, sets)
        winds.append(_wound(points, sets))
        if number in shown_at:
            shown.append(points)
        done(number / looks)
    change = np.abs(np.diff(winds, axis=0))
    return Run(shown, crossings, float(winds[0][-1]), float(change.max()), float(winds[-1][-1]))


def _found(before: Float64Array, after: Float64Array, sets: np.ndarray) -> list[tuple[bool, float]]:
    """Crossings between two looks, as in `Run`."""
    pairs = find_crossings(before, after)
    strand, segment = np.divmod(pairs, SEGMENTS)
    edges = after[strand, segment + 1] - after[strand, segment]
    edges /= np.linalg.norm(edges, axis=2)[..., None]
    cosine = np.minimum(np.abs((edges[:, 0] * edges[:, 1]).sum(axis=1)), 1.0)
    own = sets[strand[:, 0]] == sets[strand[:, 1]]
    return list(zip(own.tolist(), np.degrees(np.arccos(cosine)).tolist(), strict=True))


def _wound(points: Float64Array, sets: np.ndarray) -> Float64Array:
    """How far the middles of the two sets wind around each other up to each vertex [rad], shape (V,)."""
    return winding(points[sets == 0].mean(axis=0), points[sets == 1].mean(axis=0))


def _add_figures(report: Report, name: str, one: Run, *, promised: bool) -> None:
    case = f"braid, {name} collisions"
    for where, within in (("of the two sets", False), ("within a set", True)):
        held = one.count(within=within, along=False)
        report.add(case, f"crossings of segments {where}", held, "1", target=0 if promised else None)
        report.add(case, f"crossings {where} of hair along hair", one.count(within=within, along=True), "1")
    report.add(
        case,
        "largest change of the winding angle in 1/240 s",
        one.largest_turn,
        "rad",
        target=LARGEST_TURN if promised else None,
    )
    report.add(case, "winding of the tips, first", one.turned, "rad")
    report.add(case, "winding of the tips, last", one.wound, "rad")


def _draw(report: Report, runs: dict[str, Run], sets: np.ndarray, seconds: float, quick: bool) -> None:
    colors = np.asarray(COLORS)[sets]
    everything = np.concatenate([np.concatenate(one.shown) for one in runs.values()]).reshape(-1, 3)
    size = (60, 160) if quick else SIZE
    camera = Camera.framing(everything, (0.3, 0.1, 1.0), aspect=size[0] / size[1])
    times = sorted({round(min(time, seconds) * FRAME_RATE) / FRAME_RATE for time in SHOWN})
    rows = [
        draw_row(
            [locks(points, width=0.6 * THICKNESS, colors=colors) for points in one.shown],
            [None] * len(one.shown),
            [f"{time:.2g} s" for time in times],
            camera=camera,
            size=size,
            title=f"{name} collisions: {len(one.crossings)} crossings",
            look=PAINTED,
        )
        for name, one in runs.items()
    ]
    report.picture(
        "braid", stack_rows(rows), "Two interwoven sets unfold, after figure 6: with collisions, and without"
    )
