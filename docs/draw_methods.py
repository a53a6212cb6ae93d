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
from mane.forces import AdaptiveGuides, Attraction, StaticLinks, Ties, TriangleStrips, VolumeGrid
from mane.pictures import contact_sheet, write_jpeg
from mane.winds import HairShelter, SolidShelter

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
        shared: arguments of all panels.
    """

    style: str
    seconds: float
    panels: dict[str, Make]
    motion: str = "shake"
    direction: str = "three-quarter"
    shared: dict[str, Any] = field(default_factory=dict)


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
    "contact": Case("straight", 0.9, {"friction 0": ball(0.0), "friction 0.6": ball(0.6)}, motion="still"),
}


def mesh_of(solid: mane.Solid) -> mane.Mesh:
    """Triangles of a solid where it stands at rest."""
    return solid.shape.mesh() if solid.mesh is None else solid.mesh


def draw(name: str, case: Case, folder: Path) -> Path:
    """Simulate and draw all panels of a case."""
    groom = mane.styles.make(case.style, strands=STRANDS, seed=1)
    shared = dict(case.shared)
    guides = mane.select_guides(groom, shared.pop("guide_count", GUIDES), seed=1)
    body = mane.styles.body(case.style)
    pictures = []
    for make in case.panels.values():
        arguments = {**shared, **make(groom, guides)}
        model, method = arguments.pop("model", "cosserat"), arguments.pop("skin", "physical")
        sim = mane.Simulation(guides, model, body=mane.Solid(body), head=mane.make_motion(case.motion), **arguments)
        skin = mane.skin(method, groom, sim)
        frame = sim.rest
        while sim.time < case.seconds:
            frame = sim.step()
        hair = groom.with_points(skin(frame).reshape(-1, 3))
        placed = zip(sim.solids, frame.solid_poses, strict=True)
        solids = [mesh_of(solid).transformed(pose.matrix) for solid, pose in placed]
        shown = mane.pictures.outline(groom, body)
        (camera,) = mane.pictures.look_at([shown], direction=case.direction, aspect=1.0)
        pictures.append(mane.render(hair, solids, camera=camera, size=SIZE, look="auburn"))
    path = folder / f"method-{name}.jpg"
    write_jpeg(path, contact_sheet(pictures, list(case.panels), columns=len(pictures)))
    return path


def main(arguments: list[str]) -> None:
    """Draw the cases that are named, or all."""
    folder, *names = arguments or ["docs/images"]
    for name in names or CASES:
        sys.stdout.write(f"{draw(name, CASES[name], Path(folder))}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
