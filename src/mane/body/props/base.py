"""`Prop`: a thing made in code that hair meets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from mane.body.mesh import Mesh
from mane.body.motion import Motion
from mane.body.shapes import MIN_RESOLUTION, Shape
from mane.body.solid import Solid
from mane.geometry.limits import Range

Resolution = Annotated[int, Range(least=MIN_RESOLUTION, whole=True)]  # segments in a turn


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
