"""Draws the pictures of docs/methods: the same head with and without a method, a moment into the same motion.

python docs/draw_methods.py docs/images            (all of them, a few minutes; `make gallery` does it)
python docs/draw_methods.py docs/images links wind
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import mane
from mane.fluids import Grid, Jet, MovingSolid, Water, water_mesh
from mane.forces import AdaptiveGuides, Attraction, StaticLinks, Ties, TriangleStrips, VolumeGrid
from mane.pictures import contact_sheet, write_jpeg
from mane.skins import SolidAdjustment
from mane.winds import Airflow, HairShelter, SolidShelter

STRANDS, GUIDES, SIZE = 8_000, 96, (400, 400)
Make = Callable[[mane.Groom, mane.Guides], dict[str, Any]]  # arguments of a simulation


@dataclass(frozen=True)
class Case:
    """Panels of one picture.

    Attributes:
        style: of the hair.
        seconds: into the motion.
        panels: caption -> what makes the arguments of the simulation.
        motion: of the head.
        direction: that the camera looks from.
        shared: arguments of all panels; `guide_count` and `strands` are among them.
        body: what the hair grows on where it is not the style's own.
        look: of the hair.
        shown: points that the picture must show, in place of all [m].
    """

    style: str
    seconds: float
    panels: dict[str, Make]
    motion: str = "shake"
    direction: str | tuple[float, float, float] = "three-quarter"
    shared: dict[str, Any] = field(default_factory=dict)
    body: Callable[[], mane.Solid] | None = None
    look: str = "auburn"
    shown: tuple[tuple[float, float, float], ...] = ()


def nothing(groom: mane.Groom, guides: mane.Guides) -> dict[str, Any]:
    """Arguments of a simulation without the method."""
    return {}


def forces(*make: Callable[[mane.Guides], Any]) -> Make:
    """Arguments of a simulation with these forces, made anew."""
    return lambda groom, guides: {"forces": [one(guides) for one in make]}


def ball(friction: float) -> Make:
    """Arguments of a simulation with a ball that comes against the hair."""
    path = mane.motions.KeyframedMotion(
        [0.0, 0.6, 1.2], [[0.35, -0.08, 0.0], [0.09, -0.08, 0.02], [0.06, -0.08, 0.12]], np.tile([0, 0, 0, 1.0], (3, 1))
    )
    solid = mane.Solid(mane.shapes.Sphere((0.0, 0.0, 0.0), 0.05), path)
    return lambda groom, guides: {"solids": [solid], "contact": {"friction": friction}}


def rolling_ball() -> mane.Solid:
    """A ball that rolls over a carpet, deep in its pile."""
    path = mane.motions.KeyframedMotion(
        [0.0, 0.6], [[-0.12, 0.033, 0.0], [0.03, 0.033, 0.0]], np.tile([0, 0, 0, 1.0], (2, 1))
    )
    return mane.Solid(mane.shapes.Sphere((0.0, 0.0, 0.0), 0.03), path)


def shaking_fox() -> mane.Solid:
    """A fox that shakes itself."""
    return mane.make_creature().solid("shake", duration=1.5, frame_rate=96.0)


def skinned(method: str, **options: Any) -> Make:
    """Arguments of a simulation that another skin shows."""
    return lambda groom, guides: {"skin": method, "options": options}


CASES = {
    "models": Case(
        "wavy",
        0.62,
        {name: (lambda groom, guides, name=name: {"model": name}) for name in ("cosserat", "spring", "chain", "xpbd")},
    ),
    "attraction": Case(
        "curly",
        0.62,
        {
            "none": nothing,
            "rate 1": forces(lambda g: Attraction(rate=1.0)),
            "rate 20": forces(lambda g: Attraction(rate=20.0)),
        },
    ),
    "links": Case("wavy", 0.62, {"none": nothing, "links": forces(lambda g: StaticLinks(rate=60.0))}),
    "strips": Case("straight", 0.62, {"none": nothing, "strips": forces(lambda g: TriangleStrips())}),
    "ties": Case(
        "ponytail",
        0.62,
        {"none": nothing, "ties": forces(lambda g: Ties.of_style("ponytail", g))},
        direction="left",
    ),
    "grid": Case("straight", 0.62, {"none": nothing, "grid": forces(lambda g: VolumeGrid())}),
    "adaptive_guides": Case(
        "straight",
        0.7,
        {"24 guides": nothing, "and inserted ones": forces(lambda g: AdaptiveGuides(limit=64))},
        motion="still",
        shared={"wind": np.array([6.0, 1.0, -2.0]), "guide_count": 24},
    ),
    "wind": Case(
        "straight",
        0.8,
        {
            "still air": nothing,
            "wind": lambda groom, guides: {"wind": np.array([7.0, 0.0, 0.0])},
            "and shelter": lambda groom, guides: {
                "wind": np.array([7.0, 0.0, 0.0]),
                "shelters": [SolidShelter(), HairShelter()],
            },
        },
        motion="still",
        direction="front",
    ),
    "hsu2024": Case(
        "curly",
        0.62,
        {name: (lambda groom, guides, name=name: {"skin": name}) for name in ("linear", "hsu2024", "physical")},
    ),
    "air": Case(
        "straight",
        0.8,
        {
            "wind and shelters": lambda groom, guides: {
                "wind": np.array([3.0, 0.0, 0.0]),
                "shelters": [SolidShelter(), HairShelter()],
            },
            "air as a fluid": lambda groom, guides: {"air": Airflow((3.0, 0.0, 0.0), cell=0.025, scale=0.1)},
        },
        motion="still",
        direction="front",
    ),
    "volume": Case(
        "fox",
        0.5,
        {
            "physical": nothing,
            "volume": skinned("volume"),
            "volume, wet": skinned("volume", styles=("matted",), wetness=((0.0, 1.0),)),
        },
        motion="still",
        body=shaking_fox,
        look="painted",
    ),
    "individual": Case(
        "carpet",
        0.6,
        {"volume": skinned("volume"), "individual": skinned("individual")},
        motion="still",
        direction=(-0.6, 0.5, 1.0),
        shown=((-0.05, 0.0, -0.03), (0.07, 0.05, 0.04)),
        shared={"solids": [rolling_ball()], "guide_count": 32, "strands": 6_000, "contact": {"friction": 0.3}},
    ),
    "passes": Case(
        "straight",
        0.9,
        {
            "as skinned": lambda groom, guides: {**ball(0.3)(groom, guides), "skin": "linear"},
            "push_out": lambda groom, guides: {**ball(0.3)(groom, guides), "skin": "linear", "pushed": True},
        },
        motion="still",
    ),
    "contact": Case("straight", 0.9, {"friction 0": ball(0.0), "friction 0.6": ball(0.6)}, motion="still"),
}


def mesh_of(solid: mane.Solid, frame: mane.GuideFrame, pose: mane.Pose) -> mane.Mesh:
    """Triangles of a solid at the time of a frame."""
    if solid.animation is not None and solid.mesh is not None:
        return solid.mesh.with_points(solid.animation.points(frame.time))
    return (solid.shape.mesh() if solid.mesh is None else solid.mesh).transformed(pose.matrix)


def draw(name: str, folder: Path) -> Path:
    """Simulate and draw all panels of a case."""
    case = CASES[name]
    shared = dict(case.shared)
    groom = mane.styles.make(case.style, strands=shared.pop("strands", STRANDS), seed=1)
    guides = mane.select_guides(groom, shared.pop("guide_count", GUIDES), seed=1)
    body = mane.Solid(mane.styles.body(case.style)) if case.body is None else case.body()
    pictures = []
    for make in case.panels.values():
        arguments = {**shared, **make(groom, guides)}
        model, method = arguments.pop("model", "cosserat"), arguments.pop("skin", "physical")
        options, is_pushed = arguments.pop("options", {}), arguments.pop("pushed", False)
        sim = mane.Simulation(guides, model, body=body, head=mane.make_motion(case.motion), **arguments)
        skin = mane.skin(method, groom, sim, **options)
        passes = [SolidAdjustment(sim.solids)] if is_pushed else []
        points = skin(sim.rest)
        while sim.time < case.seconds:
            frame = sim.step()
            points = skin(frame)  # skins that swing by themselves see every frame
        for finish in passes:
            points = finish(points, frame)
        placed = zip(sim.solids, frame.solid_poses, strict=True)
        solids = [mesh_of(solid, frame, pose) for solid, pose in placed]
        shown = np.array(case.shown) if case.shown else mane.pictures.outline(groom, solids[0])
        (camera,) = mane.pictures.look_at([shown], direction=case.direction, aspect=1.0)
        hair = groom.with_points(points.reshape(-1, 3))
        pictures.append(mane.render(hair, solids, camera=camera, size=SIZE, look=case.look))
    return write_panels(name, folder, dict(zip(case.panels, pictures, strict=True)))


def draw_water(name: str, folder: Path) -> Path:
    """Pour water on a ball above a pool, and draw some moments of it."""
    ball = mane.Solid(mane.shapes.Sphere((0.0, 0.22, 0.0), 0.07))
    still = MovingSolid(ball, mane.Pose.identity(), mane.Pose.identity())
    grid = Grid((32, 48, 32), 0.0125, origin=(-0.2, 0.0, -0.2))
    water = Water(grid, jets=[Jet((0.0, 0.5, 0.02), velocity=(0.0, -1.2, 0.0), radius=0.035)])
    water.fill(lambda points: points[..., 1] - 0.06)
    (camera,) = mane.pictures.look_at(
        [np.array([[-0.2, 0.0, -0.2], [0.2, 0.5, 0.2]])], direction="three-quarter", aspect=1.0
    )
    panels: dict[str, Any] = {}
    for step in range(1, 16):
        water.step(1 / 24, [still])
        if step in (4, 9, 15):
            drawn = water_mesh(water.surface)
            picture = mane.render(None, [ball.shape.mesh()], camera=camera, size=SIZE, water=drawn)
            panels[f"{step / 24:.2f} s"] = picture
    return write_panels(name, folder, panels)


def write_panels(name: str, folder: Path, panels: dict[str, Any]) -> Path:
    """Write pictures side by side, each with its caption."""
    path = folder / f"method-{name}.jpg"
    write_jpeg(path, contact_sheet(list(panels.values()), list(panels), columns=len(panels)))
    return path


DRAWN: dict[str, Callable[[str, Path], Path]] = {**dict.fromkeys(CASES, draw), "water": draw_water}


def main(arguments: list[str]) -> None:
    """Draw the cases that are named, or all."""
    folder, *names = arguments or ["docs/images"]
    for name in names or DRAWN:
        sys.stdout.write(f"{DRAWN[name](name, Path(folder))}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
