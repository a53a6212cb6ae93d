"""`PictureSink`: pictures and a movie of the run, drawn once for both, beside the simulation (`drawing`).

A movie cannot be continued, so its frames are kept as pictures until all are there.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mane.geometry.checks import FloatArray
from mane.geometry.threads import current_threads
from mane.groom.groom import Groom
from mane.scene.config_output import AIR
from mane.scene.drawing import DrawingProcess, Picture, can_draw_beside
from mane.scene.drawn_bodies import DrawnBodies
from mane.scene.sinks import Job, OutputRequest, Sink
from mane.skin.guide_values import GuideValues
from mane.strand.frame import GuideFrame

if TYPE_CHECKING:
    from mane.render.camera import Camera
    from mane.render.looks import Look
    from mane.scene.build import Assembly

PICTURE = "picture.png"


class PictureSink(Sink):
    """Draws frames.

    Args:
        assembly: what is drawn.
        folder: for pictures, or None.
        movie: file of a movie, or None.
        drawn: numbers of the frames whose pictures go to the folder; the movie has all.
        numbers: of all frames, for the camera.
        drawing: the process that draws, if one was begun; it is the caller's to end if no picture is wanted.
    """

    name = "pictures"
    examples = ({"pictures": "pictures"}, {"movie": "hair.mp4"})
    label = "draw"

    def __init__(
        self,
        assembly: Assembly,
        *,
        folder: Path | None,
        movie: Path | None,
        drawn: Container[int],
        numbers: range,
        drawing: DrawingProcess | None = None,
    ) -> None:
        self._assembly = assembly
        self._folder, self._movie, self._drawn_numbers, self._numbers = folder, movie, drawn, numbers
        self._reel = None if movie is None else movie.with_name(f"{movie.name}.frames")
        self._is_resumed = False
        self._begun = drawing
        self._process: DrawingProcess | None = None

    @classmethod
    def for_output(cls, request: OutputRequest) -> PictureSink | None:
        """Return a sink where pictures or a movie are asked for."""
        folder, movie = request.path(request.output.pictures), request.path(request.output.movie)
        if folder is None and movie is None:
            return None
        drawn = request.numbers[:: request.output.every]
        return cls(
            request.assembly,
            folder=folder,
            movie=movie,
            drawn=drawn,
            numbers=request.numbers,
            drawing=request.drawing,
        )

    def open(self, *, resume: bool) -> None:
        """Make the folders, and see that movies can be made at all."""
        self._is_resumed = resume
        if self._assembly.scene.camera.look == AIR:
            from mane.scene import air_picture

            air_picture.air_of(self._assembly.source)  # says where there is none
        if self._movie is not None:
            from mane.render.movie import MovieWriter

            MovieWriter(self._movie, fps=self._assembly.scene.frames.rate)  # says what is missing
        for folder in (self._folder, self._reel):
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
        if can_draw_beside(sum(not self.has(index) for index in self._numbers)):
            self._process = self._begun or DrawingProcess()

    def _files(self, index: int) -> list[Path]:
        """Files that a frame is drawn to."""
        from mane.render.movie import frame_path

        folders = [self._folder if index in self._drawn_numbers else None, self._reel]
        return [frame_path(folder / PICTURE, index) for folder in folders if folder is not None]

    def has(self, index: int) -> bool:
        """Whether all pictures of the frame are there, or none is wanted."""
        files = self._files(index)
        return not files or (self._is_resumed and all(file.is_file() for file in files))

    def write(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Draw the frame."""
        picture = self._picture(index, frame, points)
        self._check_shows(index, picture.draw(self._drawn))

    def take(self, index: int, frame: GuideFrame, points: FloatArray | None) -> Job | None:
        """Have the frame drawn by a process of its own, or draw it where few pictures are wanted."""
        if self._process is None:
            self.write(index, frame, points)
            return None
        picture, process, rest = self._picture(index, frame, points), self._process, self._drawn
        picture = replace(picture, points=picture.points.copy())
        return lambda: self._check_shows(index, process.draw(picture, rest))

    def _picture(self, index: int, frame: GuideFrame, points: FloatArray | None) -> Picture:
        """What is to be drawn of a frame; its points are only lent."""
        from mane.render.looks import LOOKS, STYLE_LEVEL

        assert points is not None
        table, flat = self._assembly.scene.camera, points.reshape(-1, 3)
        looks: Sequence[str | Look] = [self._look(self._drawn)]
        level = self._assembly.hair_stage.skin.style_level(frame.time, self._drawn.points)
        vertex, groom = {}, None
        if looks[0] == AIR:
            from mane.scene import air_picture

            groom = air_picture.with_streaks(self._drawn.with_points(flat), air_picture.air_of(self._assembly.source))
            looks = [air_picture.LOOK]
        elif level is not None:
            vertex, looks = {STYLE_LEVEL: level}, self._style_looks(str(looks[0]))
        elif frame.wet is not None and looks[0] in LOOKS:
            held = self._guide_values(frame.wet.held, points.shape[1])
            vertex = {STYLE_LEVEL: held.reshape(-1)}
            looks = [LOOKS[str(looks[0])], replace(LOOKS[str(looks[0])], wetness=1.0)]
        options = {
            "camera": self._cameras[self._numbers.index(index)],
            "look": looks,
            "size": table.size,
            "finest": table.finest,
            "body_color": self._body_color,
            "threads": current_threads(),
            "water": frame.water,
        }
        return Picture(self._files(index), flat, self._shown.at(frame), options, vertex, groom)

    def _check_shows(self, index: int, is_blank: bool) -> None:
        """Refuse a run whose first picture shows nothing."""
        if index == self._numbers[0] and is_blank:
            for file in self._files(index):
                file.unlink(missing_ok=True)
            is_whole = self._assembly.scene.camera.zoom == 1
            remedy = "strands are too thin to be seen, widen them" if is_whole else "a smaller zoom shows more"
            raise ValueError(f"{self._files(index)[0]}: would be blank; {remedy}")

    def make_part(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Draw the frame, if a picture of it is wanted; files are all that there is to add."""
        if self._files(index):
            self.write(index, frame, points)

    def close(self) -> list[Path]:
        """Encode the movie and name what was made."""
        if self._process is not None:
            self._process.close()
        made = [] if self._folder is None else [self._folder]
        if self._movie is not None and self._reel is not None:
            self._encode(self._movie, self._reel)
            made.append(self._movie)
        return made

    def _encode(self, movie: Path, reel: Path) -> None:
        from mane.render.movie import frame_path, write_movie
        from mane.render.sheet import read_picture

        def pictures() -> Any:
            for index in self._numbers:
                yield read_picture(frame_path(reel / PICTURE, index))

        write_movie(movie, pictures(), fps=self._assembly.scene.frames.rate)
        for index in self._numbers:
            frame_path(reel / PICTURE, index).unlink()
        with suppress(OSError):  # somebody else's files are in it
            reel.rmdir()

    @cached_property
    def _guide_values(self) -> GuideValues:
        """Carries the wetness of guides to every hair."""
        return GuideValues(self._assembly.hair.groom, self._assembly.guides)

    @cached_property
    def _drawn(self) -> Groom:
        """The strands with numbers, from which looks make the colour of each: a moving root must not change it."""
        groom = self._assembly.hair_stage.drawn(self._assembly.source.rest)
        return groom if "id" in groom.strand else groom.with_strand(id=np.arange(groom.strand_count, dtype=np.int32))

    def _look(self, groom: Groom) -> str:
        has_color = "color" in groom.strand or "color" in groom.vertex
        return self._assembly.scene.camera.look or ("painted" if has_color else "brown")

    def _style_looks(self, first: str) -> list[str | Look]:
        """Looks of the groom and of the styles of its skin: those of the scene, or the first one, ever wetter."""
        from mane.render.looks import LOOKS

        named = self._assembly.scene.camera.style_looks
        if named:
            return [first, *named]
        count = max(len(self._assembly.scene.skin.settings.get("styles", ())), 1)
        return [replace(LOOKS[first], wetness=number / count) for number in range(count + 1)]

    @cached_property
    def _body_color(self) -> FloatArray:
        """Linear RGB and gloss of body and solids, per vertex of all of them: the style's own where it is drawn."""
        from mane.groom import styles
        from mane.render.solids import CLAY, HORN

        has_body, meshes = self._assembly.source.has_body, self._shown.still
        of_solids = [CLAY if has_body and number == 0 else HORN for number in range(len(meshes))]
        colors = [
            np.tile(np.array([*color, 1.0], np.float32), (mesh.vertex_count, 1))
            for color, mesh in zip(of_solids, meshes, strict=True)
        ]
        style = self._assembly.scene.groom.style
        own = None if style is None or not self._assembly.source.has_body else styles.body_color(style)
        if own is not None and len(own) == len(colors[0]):
            colors[0] = own
        return np.concatenate(colors) if colors else np.zeros((0, 4), np.float32)

    @cached_property
    def _shown(self) -> DrawnBodies:
        return DrawnBodies(self._assembly.source)

    @cached_property
    def _cameras(self) -> list[Camera]:
        """One camera per frame: it frames what [camera] asks for, as groomed, at every pose that the head will take."""
        from mane.render.cameras import follow, look_at
        from mane.scene.outlines import deforming_outlines, head_poses, rigid_outlines

        scene, source, groom = self._assembly.scene, self._assembly.source, self._assembly.hair.groom
        times = [(index - scene.frames.start) / scene.frames.rate for index in self._numbers]
        poses = head_poses(source.head, times)
        if source.has_body and source.solids[0].animation is not None:
            shown = deforming_outlines(groom, source.solids[0], poses, times, scene.camera.frame)
        else:
            body = self._shown.still[0] if source.has_body else None
            shown = rigid_outlines(groom, body, poses, scene.camera.frame)
        preset = follow if scene.camera.follow else look_at
        aspect = scene.camera.size[0] / scene.camera.size[1]
        cameras = preset(shown, direction=scene.camera.direction, aspect=aspect)
        zoom = scene.camera.zoom
        return cameras if zoom == 1 else [camera.zoomed(zoom) for camera in cameras]
