"""The pictures of `mane demo`: moments of the movie, and one frame under two skins with a few of its hairs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from mane.geometry.checks import FloatArray
from mane.measure.captions import describe
from mane.measure.pictures import stack_rows
from mane.measure.study.skin_pictures import draw_few, hairs_in_front
from mane.metrics.table import MetricTable
from mane.render.movie import frame_path
from mane.render.panels import side_by_side
from mane.render.sheet import read_picture, write_png
from mane.scene.build import Assembly
from mane.scene.cache import Cache
from mane.scene.config import SkinTable
from mane.scene.loop import play_cache
from mane.scene.sink_metrics import MetricsSink
from mane.scene.sink_pictures import PICTURE, PictureSink
from mane.scene.sinks import Sink
from mane.stage.clock import StageClock
from mane.strand.frame import GuideFrame

HALF_SIZE = (720, 720)  # of each half of the comparison [pixels]
FEW_SIZE = (720, 420)  # of the few hairs below it [pixels]
SKINS = ("linear", "physical")
SHOWN_METRICS = ("length_error", "kink", "curvature_distance", "penetration_rate")
MOMENTS = 4
MOMENT_SHAPE = 8 / 9  # width over height, cut from the middle of the movie's pictures


def draw_stills(folder: Path, numbers: list[int], rate: float, file: Path) -> Path:
    """Lay the middle of some pictures of the movie side by side, from the `folder` that they were drawn into."""
    chosen = [numbers[part * len(numbers) // MOMENTS] for part in range(min(MOMENTS, len(numbers)))]
    images = []
    for index in chosen:
        picture = read_picture(frame_path(folder / PICTURE, index))
        width = min(round(MOMENT_SHAPE * picture.shape[0]), picture.shape[1])
        left = (picture.shape[1] - width) // 2
        images.append(picture[:, left : left + width])
    captions = [f"{(index - numbers[0]) / rate:.2g} s" for index in chosen]
    write_png(file, side_by_side(images, captions))
    return file


def compare_skins(assembly: Assembly, cache: Cache, file: Path) -> tuple[Path, str]:
    """Draw the frame with the most movement under each skin, with what was measured; returns also a table.

    Below are a few of the hairs, each in a colour of its own: what a skin does to one is lost among so many.
    """
    index = _wildest(cache, assembly)
    numbers = range(cache.frames[0], cache.frames[-1] + 1)
    table, pictures, captions, hairs = MetricTable(), [], [], []
    with TemporaryDirectory() as folder:
        for skin in SKINS:
            dressed = _with_skin(assembly, skin)
            meter, keeper = MetricsSink(Path(folder) / f"{skin}.json", dressed), _Keeper()
            drawing = PictureSink(dressed, folder=Path(folder) / skin, movie=None, drawn=[index], numbers=numbers)
            play_cache(cache, dressed, [meter, drawing, keeper], [index])
            means = meter.means
            table.add(skin, {name: means[name] for name in SHOWN_METRICS})
            pictures.append(read_picture(frame_path(Path(folder) / skin / PICTURE, index)))
            captions.append(f"{skin}\n{describe(means['length_error'], means['kink'])}")
            hairs.append(keeper.points)
    heads = side_by_side(pictures, captions, title=f"Frame {index}: the same guides carry hair in two ways")
    few = hairs_in_front(hairs[0])
    strands = side_by_side(
        draw_few([points[few] for points in hairs], FEW_SIZE),
        [f"{len(few)} of these hairs, {skin}" for skin in SKINS],
    )
    write_png(file, stack_rows([heads, strands]))
    return file, table.to_markdown()


class _Keeper(Sink):
    """Keeps the points of the last frame."""

    name = label = "keep"
    points: FloatArray

    def open(self, *, resume: bool) -> None:
        """Nothing is needed."""

    def has(self, index: int) -> bool:
        """It has no frame of an earlier run."""
        return False

    def write(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Keep a copy."""
        assert points is not None
        self.points = points.copy()


def _wildest(cache: Cache, assembly: Assembly) -> int:
    """Number of the frame in which guides are furthest from where the head alone would have carried them."""

    def drift(index: int) -> float:
        frame = cache.read_frame(index)
        carried = frame.head.apply(assembly.source.rest.points)
        return float(np.linalg.norm(frame.points - carried, axis=2).mean())

    return max(cache.frames, key=drift)


def _with_skin(assembly: Assembly, skin: str) -> Assembly:
    scene = assembly.scene
    camera = replace(scene.camera, size=HALF_SIZE, finest=0.0)
    scene = replace(scene, skin=SkinTable(skin, scene.skin.settings), camera=camera)
    return replace(assembly, scene=scene, clock=StageClock())
