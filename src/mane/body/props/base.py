"""`Prop`: a thing made in code that hair meets."""

from __future__ import annotations

from dataclasses import dataclass

from mane.body.mesh import Mesh
from mane.body.motion import Motion
from mane.body.shapes import Shape
from mane.body.solid import Solid
from mane.geometry.checks import require_positive


@dataclass(frozen=True, eq=False)
class Prop:
    """A thing in its own frame, as a formula for contact and as triangles for drawing.

    Attributes:
        name: what it is.
        mesh: closed triangles that face out; parts may overlap.
        shape: the same as exact primitives, however thin; None where only the mesh tells.
        motion: how it moves when nobody says otherwise; None stands still.
    """

    name: str
    mesh: Mesh
    shape: Shape | None = None
    motion: Motion | None = None

    def solid(self, motion: Motion | None = None) -> Solid:
        """Return it as something that hair touches: exact where it has a shape, else through its distance field.

        It moves by `motion`, or by its own where none is given.
        """
        return Solid(self.shape or self.mesh, motion or self.motion)


def check_sizes(prop: str, **sizes: float) -> None:
    """Raise ValueError unless all sizes [m] are finite and above zero."""
    for name, size in sizes.items():
        require_positive(f"{prop}.{name}", size)


def check_count(where: str, count: int, least: int) -> None:
    """Raise ValueError unless `count` is a whole number of at least `least`."""
    if not (isinstance(count, int) and count >= least):
        raise ValueError(f"{where}: must be a whole number of at least {least}, got {count}")
