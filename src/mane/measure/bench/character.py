"""`mane bench character`: what hair on a body that deforms costs, stage by stage, beside the same body moved rigidly.

A coat of fur on the creature that walks, and long hair on a bust whose head turns on its neck; rigid, the same meshes
are carried about by a motion of the head. What contact of guides costs beyond a rigid body is promised for bodies of
some 20,000 triangles and 400 guides x 25.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mane.body.articulated_bust import make_articulated_bust
from mane.body.character import Character
from mane.body.creature import make_creature
from mane.body.deforming.surface import DeformingSurface
from mane.body.motion_presets import make_motion
from mane.groom import styles
from mane.groom.select import select_guides
from mane.measure.bench.interpolation import measure_interpolation
from mane.measure.bench.pipeline import stage_seconds
from mane.measure.figures import Figures
from mane.measure.timing import best_seconds
from mane.scene.config import BodyTable, FramesTable, GroomTable, GuidesTable, HeadTable, Scene, SkinTable
from mane.scene.simulation import Simulation
from mane.stage.clock import StageClock

Progress = Callable[[str], None]

FRAMES, WARM_FRAMES = 24, 4
GUIDES = 400
SUBSTEPS = 8  # of a frame of film
MORE_FOR_CONTACT = 10.0  # [ms] per frame beyond a rigid body
MORE_FOR_PUSH_OUT = 1.5  # times that of a rigid body
BUST_CELL = 0.0037  # [m]: some 20,000 triangles
FRAME_RATE = 24.0
CELL_SIZES = (0.012, 0.007, 0.004)  # [m]: some 6,000, 22,000 and 67,000 triangles
GROWTH_STRANDS = (25_000, 50_000, 100_000)


@dataclass(frozen=True)
class Case:
    """Hair on a character: how it moves, and what carries the same mesh rigidly."""

    style: str
    strands: int
    vertices: int
    guides: int
    motion: str
    rigid: str

    @property
    def name(self) -> str:
        """How the table calls it."""
        return f"{self.style}, {self.guides} guides x {self.vertices}, {self.strands:,} hairs"

    def scene(self, *, deforms: bool, frames: int) -> Scene:
        """The scene with a body that deforms or one that is carried."""
        return Scene(
            groom=GroomTable(style=self.style, strands=self.strands, vertices=self.vertices),
            seed=1,
            frames=FramesTable(end=frames + WARM_FRAMES + 2),
            guides=GuidesTable(count=self.guides, method="farthest"),
            body=BodyTable(motion=self.motion) if deforms else BodyTable(),
            head=HeadTable(motion="still" if deforms else self.rigid),
            skin=SkinTable("physical"),
        )


CASES = (Case("fox", 100_000, 8, 400, "walk", "walk"), Case("straight", 100_000, 25, 400, "look_around", "turn"))
# Whose contact is measured by itself: style, character, vertices of 400 guides, motion, and that of a rigid one.
TOUCHING: tuple[tuple[str, Callable[[], Character], int, str, str], ...] = (
    ("straight", lambda: make_articulated_bust(BUST_CELL), 25, "look_around", "turn"),
    ("fox", make_creature, 25, "walk", "walk"),
    ("fox", make_creature, 8, "walk", "walk"),
)
QUICK = Case("fox", 2_000, 8, 24, "walk", "walk")


def run(*, quick: bool = False, progress: Progress | None = None) -> Figures:
    """Time whole frames of both kinds; compiling is not counted."""
    tell = progress or (lambda text: None)
    figures = Figures("character")
    frames = 2 if quick else FRAMES
    for case in (QUICK,) if quick else CASES:
        tell(f"character: {case.name}")
        _compare(figures, case, frames)
    for style, make, vertices, motion, rigid in () if quick else TOUCHING:
        tell(f"character: contact of {style} x {vertices}")
        _measure_contact(figures, style, make(), vertices, (motion, rigid), frames)
    for cell_size in CELL_SIZES[:1] if quick else CELL_SIZES:
        tell(f"character: triangles of {1e3 * cell_size:g} mm")
        _measure_refresh(figures, cell_size, 2 if quick else FRAMES)
    for strands in (500,) if quick else GROWTH_STRANDS:
        tell(f"character: {strands:,} hairs")
        _measure_hairs(figures, replace(QUICK if quick else CASES[0], strands=strands), frames)
    for motion in ("walk",) if quick else ("walk", "shake"):
        tell(f"character: {motion} at 24 samples per second")
        measure_interpolation(figures, motion)
    return figures


def _compare(figures: Figures, case: Case, frames: int) -> None:
    deforming = stage_seconds(case.scene(deforms=True, frames=frames), frames)
    rigid = stage_seconds(case.scene(deforms=False, frames=frames), frames)
    for stage, seconds in deforming.items():
        figures.add(case.name, f"{stage}, body deforms", 1e3 * seconds, "ms")
        figures.add(case.name, f"{stage}, body rigid", 1e3 * rigid.get(stage, 0.0), "ms")
    ratio = deforming["finish"] / rigid["finish"]
    figures.add(case.name, "push-out over rigid", ratio, "1", target=MORE_FOR_PUSH_OUT)


def _measure_contact(
    figures: Figures, style: str, character: Character, vertices: int, motions: tuple[str, str], frames: int
) -> None:
    """Contact of guides alone, with a body that deforms and with the same one carried about."""
    groom = styles.make(style, strands=10 * GUIDES, vertices=vertices, seed=1)
    guides = select_guides(groom, GUIDES, method="farthest", seed=1)
    duration = (frames + WARM_FRAMES + 2) / FRAME_RATE
    body = character.solid(motions[0], duration=duration, frame_rate=2 * FRAME_RATE)
    deforming = _contact_seconds(Simulation(guides, body=body), frames)
    rigid = _contact_seconds(Simulation(guides, body=character.mesh, head=make_motion(motions[1])), frames)
    case = f"{style}, {GUIDES} guides x {vertices}, body of {character.mesh.face_count:,} triangles"
    figures.add(case, "contact, body deforms", 1e3 * deforming, "ms")
    figures.add(case, "contact, body rigid", 1e3 * rigid, "ms")
    more = 1e3 * (deforming - rigid)
    figures.add(case, "contact of guides beyond rigid", more, "ms", target=MORE_FOR_CONTACT)


def _contact_seconds(simulation: Simulation, frames: int) -> float:
    """Median seconds of a frame that go into contact, of frames in motion."""
    simulation.clock = clock = StageClock()
    spent = []
    for _ in range(WARM_FRAMES + frames):
        clock.end_frame()
        simulation.step()
        spent.append(clock.frame["contact"])
    return float(np.median(spent[WARM_FRAMES:]))


def _measure_refresh(figures: Figures, cell_size: float, repeats: int) -> None:
    """What a frame costs before any hair is asked for: points, the tree of every substep, the field of the frame."""
    creature = make_creature(cell_size)
    animation = creature.animated("walk")
    surface, times = DeformingSurface(animation), iter(np.arange(1, 4 * repeats + 8) / 24)
    case = f"creature, {creature.mesh.face_count:,} triangles"

    def move() -> None:
        end = next(times)
        for step in range(SUBSTEPS):
            surface.during(end - (SUBSTEPS - step) / SUBSTEPS / 24, end - (SUBSTEPS - 1 - step) / SUBSTEPS / 24)

    move()
    figures.add(case, f"tree of {SUBSTEPS} substeps", 1e3 * best_seconds(move, repeats), "ms")
    animation.field.at(next(times))
    figures.add(case, "field of a frame", 1e3 * best_seconds(lambda: animation.field.at(next(times)), repeats), "ms")
    figures.add(case, "points of a sample", 1e3 * best_seconds(lambda: animation.points(next(times)), repeats), "ms")


def _measure_hairs(figures: Figures, case: Case, frames: int) -> None:
    seconds = stage_seconds(case.scene(deforms=True, frames=frames), frames)
    for stage in ("skin", "finish"):
        per_vertex = 1e9 * seconds[stage] / (case.strands * case.vertices)
        figures.add(f"{case.strands:,} hairs", f"{stage} per vertex", per_vertex, "ns")
