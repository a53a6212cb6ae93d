"""`WaterSink`: the surface of the water of a run as one USD mesh whose triangles change from frame to frame."""

from __future__ import annotations

from pathlib import Path

from mane.body.mesh import Mesh
from mane.geometry.checks import FloatArray
from mane.scene.sinks import OutputRequest, Sink
from mane.strand.frame import GuideFrame


class WaterSink(Sink):
    """Gathers the surfaces of all frames and writes them after the last; a run that is resumed shows it all again.

    Args:
        path: the USD file.
        rate: frames per second.
    """

    name = "water"
    examples = ({"water": "water.usdc"},)
    label = "write water"
    needs_hair = False

    def __init__(self, path: Path, rate: float) -> None:
        self.path, self._rate = path, rate
        self._meshes: dict[int, Mesh | None] = {}

    @classmethod
    def for_output(cls, request: OutputRequest) -> WaterSink | None:
        """Return a sink where the surface is asked for."""
        path = request.path(request.output.water)
        return None if path is None else cls(path, request.assembly.scene.frames.rate)

    def open(self, *, resume: bool) -> None:
        """Forget the frames of another run."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._meshes.clear()

    def has(self, index: int) -> bool:
        """Whether the frame was seen in this run; the file is written as a whole."""
        return index in self._meshes

    def write(self, index: int, frame: GuideFrame, points: FloatArray | None) -> None:
        """Keep the surface of a frame."""
        self._meshes[index] = frame.water

    def make_part(self, index: int, frame: GuideFrame, points: FloatArray | None) -> Mesh | None:
        """Return the surface of a frame."""
        return frame.water

    def add_part(self, index: int, part: Mesh | None) -> None:
        """Keep the surface of a frame that another process read."""
        self._meshes[index] = part

    def close(self) -> list[Path]:
        """Write the file."""
        from mane.io.usd.write_surface import write_surface

        if not self._meshes:
            return []
        numbers = sorted(self._meshes)
        return [write_surface(self.path, [self._meshes[n] for n in numbers], self._rate, start=float(numbers[0]))]
