"""Movies: numbered pictures, or MP4 through the encoder that comes with `imageio-ffmpeg`.

    hair.png -> hair.0001.png, hair.0002.png, ...     each appears whole
    hair.mp4 -> hair.mp4                              appears when the last frame is encoded

Whatever goes wrong, no half file is left behind.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mane.geometry.checks import require_positive
from mane.io.atomic import atomic_path, check_writable
from mane.render.exr import write_exr
from mane.render.extras import import_extra
from mane.render.sheet import Image, checked_image, write_png

MOVIE_SUFFIX = ".mp4"
QUALITY = 16  # constant rate factor of H.264: below 18 the eye sees no loss, and thin hair needs the bits
PATIENCE_SECONDS = 60.0  # for the encoder to end once it has all frames

# suffix -> who writes one picture: display RGB as uint8, or linear light as floats
PICTURE_WRITERS: dict[str, Callable[[Path, ArrayLike], None]] = {".png": write_png, ".exr": write_exr}


def frame_path(path: str | os.PathLike[str], number: int) -> Path:
    """File of one frame: `hair.0012.png` for frame 12 of `hair.png`; -3 becomes `hair.-0003.png`."""
    file = Path(path)
    return file.with_name(f"{file.stem}.{'-' if number < 0 else ''}{abs(number):04d}{file.suffix}")


def write_frames(
    path: str | os.PathLike[str], images: Iterable[ArrayLike], *, numbers: Sequence[int] | None = None
) -> list[Path]:
    """Write pictures as numbered files (see `frame_path`) and return their paths.

    Args:
        path: e.g. `hair.png` or `hair.exr`; its folder must exist. Files of other numbers that are there already stay.
        images: for PNG display RGB, uint8, shape (H, W, 3) each; for EXR see `write_exr`. Taken one at a time.
        numbers: of the frames; 1, 2, 3, ... by default.
    """
    with FrameWriter(path, numbers) as writer:
        return [writer.write(image) for image in images]


def write_movie(path: str | os.PathLike[str], images: Iterable[ArrayLike], *, fps: float = 24.0) -> int:
    """Write pictures as an MP4 movie and return how many there were; the file appears whole or not at all.

    Args:
        path: of the movie, `.mp4`.
        images: display RGB, uint8, all of one shape (H, W, 3); taken one at a time.
        fps: frames per second.
    """
    with MovieWriter(path, fps=fps) as writer:
        for image in images:
            writer.write(image)
        return writer.count


def write_picture(path: str | os.PathLike[str], image: ArrayLike) -> None:
    """Write one picture, PNG or EXR by its suffix; see `write_png` and `write_exr`.

    Args:
        path: of the file, by its suffix .png or .exr.
        image: (H, W, 3) or (H, W, 4): uint8 for PNG, float32 for EXR.
    """
    file = Path(path)
    _picture_writer(file)(file, image)


def _picture_writer(path: Path) -> Callable[[Path, ArrayLike], None]:
    suffix = path.suffix.lower()
    if suffix not in PICTURE_WRITERS:
        raise ValueError(f"{path}: must end in {' or '.join(PICTURE_WRITERS)} for pictures, got {path.suffix!r}")
    return PICTURE_WRITERS[suffix]


class FrameWriter:
    """Writes pictures as numbered files, in a `with` block; arguments as in `write_frames`."""

    def __init__(self, path: str | os.PathLike[str], numbers: Sequence[int] | None = None) -> None:
        self.path = Path(path)
        _picture_writer(self.path)
        check_writable(frame_path(path, 0))
        if numbers is not None and len(set(numbers)) != len(numbers):
            raise ValueError("numbers: must differ from each other, got one twice")
        self._numbers = numbers
        self._count = 0

    def write(self, image: ArrayLike) -> Path:
        """Write the next picture and return its file; it is complete when this returns."""
        number = self._count + 1
        if self._numbers is not None:
            if self._count >= len(self._numbers):
                raise ValueError(f"numbers: must be as many as images, got only {len(self._numbers)}")
            number = self._numbers[self._count]
        file = frame_path(self.path, number)
        write_picture(file, image)
        self._count += 1
        return file

    def __enter__(self) -> FrameWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing is left to do: every file is complete."""


class MovieWriter:
    """Encodes pictures as an MP4 movie (H.264, 4:2:0), in a `with` block.

    The file takes its name when the block ends without an error. After an error or an interruption nothing is left
    behind, and an older file of that name stays as it was. A picture with an odd side gets its last row or column
    twice, since 4:2:0 needs even sides.

    Attributes:
        path: of the movie.
        count: frames taken so far.
    """

    def __init__(self, path: str | os.PathLike[str], *, fps: float = 24.0) -> None:
        self.path = Path(path)
        if self.path.suffix.lower() != MOVIE_SUFFIX:
            raise ValueError(f"{self.path}: must end in {MOVIE_SUFFIX}, got {self.path.suffix!r}")
        require_positive("fps", fps)
        check_writable(self.path)
        self._fps = fps
        self._encoder = str(import_extra("imageio_ffmpeg", "movie").get_ffmpeg_exe())
        self._stack = ExitStack()
        self._partial: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._messages: Any = None
        self._shape: tuple[int, ...] = ()
        self.count = 0

    def __enter__(self) -> MovieWriter:
        self._partial = self._stack.enter_context(atomic_path(self.path))
        self._messages = self._stack.enter_context(tempfile.TemporaryFile())
        return self

    def write(self, image: ArrayLike) -> Path:
        """Encode the next picture, display RGB (H, W, 3) uint8, of the same shape as those before."""
        pixels = _with_even_sides(checked_image(f"images[{self.count}]", image))
        if self._process is None:
            self._shape = pixels.shape
            self._process = self._started(width=pixels.shape[1], height=pixels.shape[0])
        if pixels.shape != self._shape:
            raise ValueError(
                f"images[{self.count}]: must have the shape of the first one {self._shape}, got {pixels.shape}"
            )
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(pixels.tobytes())
        except OSError:
            raise self._failure() from None
        self.count += 1
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the encoder and give the file its name; or stop it and remove what there is."""
        try:
            if kind is None:
                self._finish()
        except BaseException as fault:
            self._stop()
            self._stack.__exit__(type(fault), fault, fault.__traceback__)
            raise
        self._stop()
        self._stack.__exit__(kind, error, trace)

    def _started(self, *, width: int, height: int) -> subprocess.Popen[bytes]:
        assert self._partial is not None, "a MovieWriter is used in a `with` block"
        # The colour conversion is spelled out: left alone, the encoder takes the matrix of standard-definition video
        # and players that of high definition, and hair turns greenish.
        command = [
            *(self._encoder, "-y", "-hide_banner", "-loglevel", "error"),
            *("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{self._fps:.6f}", "-i", "-"),
            *("-vf", "scale=out_color_matrix=bt709:out_range=tv:flags=accurate_rnd+full_chroma_int,format=yuv420p"),
            *("-c:v", "libx264", "-preset", "medium", "-crf", str(QUALITY), "-pix_fmt", "yuv420p"),
            *("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv"),
            *("-movflags", "+faststart", "-an", str(self._partial)),
        ]
        # In a session of its own, Ctrl-C is for us alone: the encoder is ended by `_stop`.
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._messages,
            start_new_session=True,
        )

    def _finish(self) -> None:
        if self._process is None:
            raise ValueError(f"{self.path}: must have at least one picture, got none")
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
            code = self._process.wait(PATIENCE_SECONDS + self.count)
        except (OSError, subprocess.TimeoutExpired):
            raise self._failure() from None
        if code != 0:
            raise self._failure()

    def _failure(self) -> OSError:
        """The error to raise when the encoder gave up, with the last thing that it said."""
        self._stop()
        self._messages.seek(0)
        said = self._messages.read().decode("utf-8", "replace").split("\n")
        words = [line.strip() for line in said if line.strip()]
        why = words[-1] if words else "it ended without a word"
        return OSError(f"{self.path}: cannot be encoded ({why}); check the space on its disk and try again")

    def _stop(self) -> None:
        """End the encoder if it still runs; what it wrote is thrown away by who asked."""
        if self._process is None:
            return
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()


def _with_even_sides(pixels: Image) -> Image:
    height, width = pixels.shape[:2]
    if height % 2 == 0 and width % 2 == 0:
        return pixels
    return np.pad(pixels, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
