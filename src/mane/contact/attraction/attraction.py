"""`Attraction`: pulls guides towards a target shape, the groom itself or an animated one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from mane.contact.attraction import _kernels as kernels
from mane.geometry.checks import as_array, require_choice, require_finite
from mane.geometry.limits import NotNegative, check_arguments
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.strand.halfway import halfway_points
from mane.strand.model import Float64Array, StrandModel
from mane.strand.ports import Force, Load, StrandView
from mane.strand.roots import RootPose
from mane.strand.variation import Layout, Varying, require_range, resolve

FRAMES = ("head", "world")

Target = Callable[[float], ArrayLike] | ArrayLike | None


class Attraction(Force):
    """A damped spring from every vertex to its place in a target shape: x'' = rate^2 (target - x) + damping.

    The strength is a rate, so that it means the same for thick and thin hair and for any number of vertices: left to it
    alone, a vertex closes the gap within some 5 / rate seconds. Where other forces push with an acceleration a, it
    stays a / rate^2 away; at a rate of 10 per second, gravity on a target that does not carry itself makes 10 cm.

    Args:
        target: the shape, of the guides' vertices [m], shape (G, V, 3); or a function of the time [s] that returns one
            (an animated groom); or None for the groom itself.
        rate: angular frequency of the spring [1/s], any `Varying`; a painted map of 0 to 1 times a rate is
            `Painted("attraction", high=20)`. 0 pulls nothing.
        damping: damping ratio of the spring; 1 comes back without swinging over.
        frame: "head": the target is given in the rest pose of the head, like the groom, and each strand of it is
            carried by its own root. "world": it is where it should be, as an animated groom of another tool is.
        guides: whose painted maps `rate` may name.
    """

    name = "attraction"
    needs = ("guides",)
    is_mutual = False

    def __init__(
        self,
        target: Target = None,
        *,
        rate: Varying = 10.0,
        damping: NotNegative = 1.0,
        frame: str = "head",
        guides: Guides | Groom | None = None,
    ) -> None:
        require_choice("frame", frame, FRAMES)
        require_range("rate", rate, at_least=0)
        check_arguments(Attraction, locals())
        if target is None and frame == "world":
            raise ValueError("target: the groom moves with the head, so it needs frame='head', got 'world'")
        self.target = target
        self.damping = damping
        self.frame = frame
        self._rate_given = rate
        self._guides = guides
        self._rate: Float64Array = np.empty((0, 0))
        self._before: Float64Array = np.empty((0, 0, 3))
        self._after: Float64Array = np.empty((0, 0, 3))
        self._still: Float64Array | None = None

    def prepare(self, model: StrandModel) -> None:
        """Lay the rate out over the strands."""
        layout = Layout.of_model(model, self._guides)
        self._rate = resolve("attraction.rate", self._rate_given, layout, at_least=0)
        self._before, self._after = np.empty((2, *model.rest_points.shape))
        if self.target is None:
            self._still = model.rest_points
        elif not callable(self.target):
            self._still = _checked(self.target, model)

    def add(self, strands: StrandView, load: Load) -> None:
        """Add the pull towards where the target is at the end of the step, and its motion during it."""
        model = strands.model
        before = self._place(model, strands.roots_before, strands.time - strands.dt, self._before)
        after = self._place(model, strands.roots_after, strands.time, self._after)
        kernels.add_pull(
            strands.points,
            before,
            after,
            model.mass,
            self._rate,
            self.damping,
            strands.dt,
            load.force,
            load.resistance,
        )

    def _place(self, model: StrandModel, roots: RootPose, time: float, out: Float64Array) -> Float64Array:
        """Target in the world at `time` [m], shape (G, V, 3)."""
        shape = self._still
        if shape is None:
            assert callable(self.target)
            shape = _checked(self.target(time), model)
        if self.frame == "world":
            return shape
        kernels.carry(shape, np.ascontiguousarray(model.rest_points[:, 0]), roots.rotations, roots.positions, out)
        return out


def _checked(target: ArrayLike, model: StrandModel) -> Float64Array:
    own = model.own_count
    shape: Float64Array = as_array("attraction.target", target, model.rest_points[:own].shape, np.float64)
    require_finite("attraction.target", shape)
    slots = model.parents[own:]
    between = halfway_points(shape, slots, shape[slots, 0].mean(axis=1), model.rest_length[own:])
    return np.concatenate([shape, between])
