"""guan2012 figure 5: styles between those that were learned, beyond and mixed; how far they are from simulations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mane.body.articulated_bust import make_articulated_bust
from mane.body.mesh import Mesh
from mane.body.motion_presets import make_motion
from mane.body.solid import Solid
from mane.dataset.dataset import Dataset
from mane.dataset.learn.styles import DatasetStyles
from mane.groom import styles as grooms
from mane.measure.pictures import locks
from mane.measure.reproduce.reproduce import Report
from mane.reduced.calibrate import calibrated, slider_error
from mane.reduced.evaluate import blend_error
from mane.reduced.factors import corner_levels
from mane.reduced.model import HairModel
from mane.reduced.source import LearnedSource
from mane.render.camera import Camera
from mane.render.movie import write_movie
from mane.render.panels import side_by_side
from mane.render.renderer import render

PICTURE, QUICK_PICTURE = (360, 460), (96, 120)
SHOWN = 6  # frames of a movie in a row
SHOWN_OF_BUST, BETWEEN_SHOWN = 4, 12  # moments, frames
LOCK = 4e-3  # [m] width that a guide is drawn with
VIEW = (0.5, 0.1, 1.0)  # direction that pictures are seen from


def add_between(report: Report, model: HairModel, test: DatasetStyles) -> HairModel:
    """Softness between its levels, as the slider says and calibrated; returns the model with its slider calibrated.

    It is calibrated by the first frame of one motion, in which hair has settled and nothing has moved yet, and measured
    on the others.
    """
    made = calibrated(model, test)
    others = [motion for motion in range(test.motion_count) if motion != test.settled_in]
    for corner, levels in enumerate(corner_levels(test.factors)):
        sliders = {
            own.name: own.place(other.levels[level])
            for own, other, level in zip(model.factors, test.factors, levels, strict=True)
        }
        case = ", ".join(f"{name} {value:.2f}" for name, value in sliders.items())
        weights, rest = model.weights(sliders), test.rest[corner]
        rigid = blend_error(model, weights, test, corner, rest, motions=others).rigid
        report.add(case, "vertex error, test, hair carried rigidly", 100 * rigid, "cm")
        for name, one in (("as the slider says", model), ("calibrated", made)):
            off = slider_error(one, sliders, test, corner, others)
            report.add(case, f"vertex error, test, {name}", 100 * off, "cm")
    report.note(
        "Sliders are calibrated by the first frame of one test motion between the levels, hair at rest, and measured "
        f"on the {len(others)} other ones."
    )
    return made


def add_lengths(report: Report, model: HairModel, lengths: Dataset, positions: Sequence[float]) -> None:
    """Soft hair of lengths that were not learned, half way and beyond: at rest as the slider has it, and as it was."""
    test = DatasetStyles(lengths, "test", least=1)
    for corner, position in enumerate(positions):
        sliders = {"length": position, "softness": 1.0}
        case = f"length {position:g}, softness 1"
        known = blend_error(model, model.weights(sliders), test, corner, test.rest[corner])
        report.add(case, "vertex error, test", 100 * slider_error(model, sliders, test, corner), "cm")
        report.add(case, "vertex error, test, hair at rest as it was simulated", 100 * known.model, "cm")
        report.add(case, "vertex error, test, hair carried rigidly", 100 * known.rigid, "cm")
    report.note(
        "Between and beyond lengths the blend of motions is right; what is off is hair at rest. The style cuts hair "
        "over the face at the brow, so that it does not grow with the setting as the blend of two lengths does."
    )


def draw_styles(report: Report, model: HairModel, quick: bool) -> None:
    """Fig. 5: short, medium, long, longer than any that was learned, and two mixtures, in motion."""
    body = Solid(grooms.body("straight"))
    roots = model.groomed[0][:, 0]
    fringe, stripes = roots[:, 2] > 0.04, np.arange(model.guide_count) % 2 == 0
    shown: dict[str, Any] = {
        "length 0": 0.0,
        "0.5": 0.5,
        "1": 1.0,
        "1.35": 1.35,
        "short in front": np.where(fringe, 0.0, 1.0),
        "every second short": np.where(stripes, 0.0, 1.0),
    }
    made = {name: _shaken(model, body, sliders={"length": value, "softness": 1.0}) for name, value in shown.items()}
    image = _side_by_side(made, quick, framed="1.35")
    report.picture("styles", image, "fig. 5: lengths between and beyond, and mixed over the scalp")


def draw_winds(report: Report, model: HairModel, winds: Mapping[str, Sequence[float]], quick: bool) -> None:
    """One model in several winds [m/s], under the same motion of the head."""
    body = Solid(grooms.body("straight"))
    made = {name: _shaken(model, body, wind=np.array(wind)) for name, wind in winds.items()}
    report.picture("winds", _side_by_side(made, quick), "the default model in winds that it was learned in, in motion")


def draw_bust(report: Report, model: HairModel, quick: bool) -> None:
    """Hair on a bust whose head turns on its neck: four moments of a motion that was not learned from."""
    body, made = make_articulated_bust().solid("dance", seed=99), {}
    source = LearnedSource(model.guides(), model, body=body)
    for number in range(1, SHOWN_OF_BUST * BETWEEN_SHOWN + 1):
        frame = source.step()
        if number % BETWEEN_SHOWN == 0:
            made[f"{frame.time:.2f} s"] = body.at(frame.time).mesh(), frame.points
    report.picture("bust", _side_by_side(made, quick), "the default model on a bust with joints that dances")


def _side_by_side(made: Mapping[str, tuple[Mesh, np.ndarray]], quick: bool, framed: str | None = None) -> Any:
    """Bodies and guides (G, V, 3) [m] by their captions; all of them are in sight, or the one that is `framed`."""
    size = QUICK_PICTURE if quick else PICTURE
    shown = list(made.values()) if framed is None else [made[framed]]
    corners = np.concatenate([np.concatenate([mesh.points, points.reshape(-1, 3)]) for mesh, points in shown])
    camera = Camera.framing(corners, VIEW, aspect=size[0] / size[1], margin=0.02)
    images = [render(locks(hair, width=LOCK), [mesh], camera=camera, size=size) for mesh, hair in made.values()]
    return side_by_side(images, list(made))


def draw_sliders(report: Report, model: HairModel, quick: bool) -> None:
    """A movie of hair whose length and softness are changed while the head moves; some of its frames as a picture."""
    count, size = (SHOWN, QUICK_PICTURE) if quick else (round(4 * model.frame_rate), PICTURE)
    end = (count - 1) / model.frame_rate
    keyframes = {
        name: [[share * end, value] for share, value in rows]
        for name, rows in (
            ("length", [[0.0, 0.0], [0.4, 1.2], [0.75, 0.3], [1.0, 0.3]]),
            ("softness", [[0.0, 0.0], [0.6, 0.0], [1.0, 1.0]]),
        )
    }
    mesh = grooms.body("straight")
    frames = list(model.play(make_motion("random", seed=5, amplitude=0.5), frames=count, body=Solid(mesh), **keyframes))
    corners = np.concatenate([frame.points.reshape(-1, 3) for frame in frames])
    camera = Camera.framing(np.concatenate([corners, mesh.points]), VIEW, aspect=size[0] / size[1], margin=0.02)
    shown, images = np.linspace(0, count - 1, SHOWN).astype(int).tolist(), {}

    def drawn() -> Iterator[Any]:
        for number, frame in enumerate(frames):
            solid = Mesh(frame.head.apply(mesh.points).astype(np.float32), mesh.faces)
            image = render(locks(frame.points, width=LOCK), [solid], camera=camera, size=size)
            if number in shown:
                images[number] = image
            yield image

    write_movie(report.folder / "sliders.mp4", drawn(), fps=model.frame_rate)
    times = [frames[number].time for number in images]
    names = [
        ", ".join(f"{name} {np.interp(time, *np.transpose(rows)):.2f}" for name, rows in keyframes.items())
        for time in times
    ]
    caption = "hair while its sliders move (sliders.mp4); at the right it is short again, and soft"
    report.picture("sliders", side_by_side(list(images.values()), names), caption)


def _shaken(model: HairModel, body: Solid, **settings: Any) -> tuple[Mesh, np.ndarray]:
    """The body and the guides (G, V, 3) [m] in the middle of a motion of the head."""
    source = LearnedSource(
        model.guides(), model, head=make_motion("random", seed=5, amplitude=0.5), body=body, **settings
    )
    for _ in range(40):
        frame = source.step()
    assert body.mesh is not None
    return Mesh(frame.head.apply(body.mesh.points).astype(np.float32), body.mesh.faces), frame.points
