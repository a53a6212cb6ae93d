"""Pictures of a dataset: a sheet with one frame of many sequences, histograms, and a movie of every sequence."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mane.body.cache import content_key
from mane.body.mesh import Mesh
from mane.body.motion import Pose
from mane.dataset.dataset import Dataset, SequenceReader, open_dataset
from mane.dataset.export import rest_groom, strands_field
from mane.dataset.simulate import assemble
from mane.io.atomic import atomic_write
from mane.render.cameras import follow, outline
from mane.render.renderer import render
from mane.render.sheet import Image, contact_sheet

SHEET_SIZE = (320, 340)
MOST_ON_SHEET = 24


class SequencePainter:
    """Draws frames of one sequence: every hair where it is stored, else the guides, on the body where its pose is.

    Args:
        dataset: that the sequence belongs to.
        reader: the sequence.
        size: of the pictures [pixels].
    """

    def __init__(self, dataset: Dataset, reader: SequenceReader, size: tuple[int, int]) -> None:
        self._reader, self._size = reader, size
        self._field, self._rest = strands_field(reader), rest_groom(reader)
        self._scene = next(one for one in dataset.plan if one.index == reader.index).scene(dataset.spec)
        self._solids = assemble(self._scene).source.solids if "head" in reader.fields else ()
        self._has_body = bool(self._solids) and self._scene.body.mesh != "none"
        self._poses = reader["solids"] if "solids" in reader.fields else None
        self._heads = reader["head"] if "head" in reader.fields else None

    def draw(self, frame: int) -> Image:
        """Return the picture of a stored frame, display RGB, (H, W, 3)."""
        points = self._reader.read(self._field, frame, frame + 1)[0]
        groom = self._rest.with_points(points.reshape(-1, 3))
        meshes = list(self._meshes(frame))
        aspect = self._size[0] / self._size[1]
        (camera,) = follow([outline(groom, *meshes[:1])], direction="three-quarter", aspect=aspect)
        look = self._scene.camera.look or "brown"
        image: Image = render(groom, meshes, camera=camera, look=look, size=self._size, finest=0.15)
        return image

    def _meshes(self, frame: int) -> Iterator[Mesh]:
        """Body and solids, as far as their poses are stored."""
        for number, solid in enumerate(self._solids):
            pose = self._pose(number, frame)
            if pose is None:
                continue
            still = solid.mesh if solid.mesh is not None else solid.shape.mesh()  # type: ignore[union-attr]
            time = float(self._reader.times[frame])
            points = still.points if solid.animation is None else solid.animation.points(time)
            yield still.with_points(pose.apply(points))

    def _pose(self, number: int, frame: int) -> Pose | None:
        if self._poses is not None:
            row = self._poses[frame, number]
        elif number == 0 and self._has_body and self._heads is not None:
            row = self._heads[frame]
        else:
            return None
        return Pose(row[:3], row[3:])


def draw_sheet(dataset: Dataset, *, count: int = 12, columns: int = 4) -> Image:
    """Return a sheet with the middle frame of up to `count` sequences, spread over the dataset."""
    readers = _spread(list(dataset), min(count, MOST_ON_SHEET))
    if not readers:
        raise ValueError(f"{dataset.store.path}: holds no sequence yet; run its spec")
    pictures = [SequencePainter(dataset, one, SHEET_SIZE).draw(one.frame_count // 2) for one in readers]
    return contact_sheet(pictures, [_caption(one) for one in readers], min(columns, len(readers)))


def _spread(items: list[Any], count: int) -> list[Any]:
    """So many of the items, or all where there are fewer, spread evenly."""
    count = min(count, len(items))
    return [items[(2 * i + 1) * len(items) // (2 * count)] for i in range(count)]


def _caption(reader: SequenceReader) -> str:
    factors = ", ".join(f"{name} {_short(value)}" for name, value in reader.factors.items())
    return f"{reader.index} {reader.split} {reader.motion.partition('-')[2]}{factors and ': '}{factors}"


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def draw_movie(dataset: Dataset, reader: SequenceReader, path: Path, size: tuple[int, int], every: int = 1) -> int:
    """Write a movie of a sequence and return how many frames it has."""
    from mane.render.movie import write_movie

    painter, times = SequencePainter(dataset, reader, size), reader.times
    step = float(times[1] - times[0]) if len(times) > 1 else 1 / 24
    frames = range(0, reader.frame_count, every)
    return write_movie(path, (painter.draw(frame) for frame in frames), fps=1 / (step * every))


def draw_sequence(path: str, index: int, folder: str, size: tuple[int, int], every: int) -> dict[str, Any]:
    """Write the movie of one sequence; what a worker runs. One that is there already is left alone."""
    file = movie_file(Path(folder), index)
    if not file.exists():
        dataset = open_dataset(path)
        reader = next(one for one in dataset if one.index == index)
        draw_movie(dataset, reader, file, size, every)
    return {"index": index, "file": os.fspath(file)}


def movie_file(folder: Path, index: int) -> Path:
    """Path of the movie of a sequence."""
    return folder / f"{index:06d}.mp4"


MOVIES = "movies.json"  # beside the movies: what each of them shows


def remove_old_movies(dataset: Dataset, folder: Path, size: tuple[int, int], every: int) -> int:
    """Remove movies of another size, of other frames or of other data, and return how many; the others stay.

    What the movies show is written beside them after the old ones are gone, so a run may be killed at any moment.
    """
    wanted = {}
    for reader in dataset:
        wanted[f"{reader.index:06d}"] = content_key(*size, every, reader.attributes["sha256"][strands_field(reader)])
    try:
        there = json.loads((folder / MOVIES).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        there = {}
    old = [movie_file(folder, int(name)) for name, key in wanted.items() if there.get(name) != key]
    old = [file for file in old if file.exists()]
    for file in old:
        file.unlink()
    with atomic_write(folder / MOVIES) as opened:
        opened.write(json.dumps(wanted, indent=1).encode())
    return len(old)


# -- numbers ---------------------------------------------------------------------------------------------------------


def histograms(dataset: Dataset, bins: int = 24) -> dict[str, tuple[list[float], list[int]]]:
    """Return edges and counts of what tells sequences apart: largest speed, stretch and penetration, each factor."""
    values: dict[str, list[float]] = {}
    for reader in dataset:
        if "velocity" in reader.fields:
            speed = np.linalg.norm(reader["velocity"].astype(np.float64), axis=-1)
            values.setdefault("largest speed [m/s]", []).append(float(speed.max()))
        values.setdefault("largest stretch [%]", []).append(100 * float(reader.attributes["largest_stretch"]))
        values.setdefault("deepest penetration [mm]", []).append(1e3 * float(reader.attributes["deepest_penetration"]))
        for name, value in reader.factors.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                values.setdefault(name, []).append(float(value))
    made = {}
    for name, found in values.items():
        counts, edges = np.histogram(found, bins=min(bins, max(1, len(set(found)))))
        made[name] = ([float(edge) for edge in edges], [int(count) for count in counts])
    return made


def draw_histograms(dataset: Dataset, size: tuple[int, int] = (320, 220)) -> Image:
    """Return a sheet of bar charts, one per quantity of `histograms`."""
    found = histograms(dataset)
    if not found:
        raise ValueError(f"{dataset.store.path}: holds no sequence yet; run its spec")
    charts = [_bars(counts, size) for _, counts in found.values()]
    captions = [f"{name}: {edges[0]:.3g} to {edges[-1]:.3g}" for name, (edges, _) in found.items()]
    return contact_sheet(charts, captions, min(3, len(charts)))


def _bars(counts: list[int], size: tuple[int, int]) -> Image:
    from PIL import Image as PillowImage
    from PIL import ImageDraw

    picture = PillowImage.new("RGB", size, (248, 248, 248))
    draw = ImageDraw.Draw(picture)
    width, top = (size[0] - 20) / len(counts), max(counts)
    for i, count in enumerate(counts):
        height = (size[1] - 30) * count / max(top, 1)
        box = (10 + i * width + 1, size[1] - 10 - height, 10 + (i + 1) * width - 1, size[1] - 10)
        draw.rectangle(box, fill=(0, 114, 178))
    draw.text((12, 4), f"up to {top} of {sum(counts)} sequences", fill=(40, 40, 40))
    return np.asarray(picture)
