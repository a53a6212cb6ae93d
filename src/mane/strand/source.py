"""`GuideSource`: what makes the guides of one frame after the other: a simulation, a cache, a learned model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from numpy.typing import NDArray

from mane.body.motion import Motion, Pose
from mane.body.solid import Solid
from mane.groom.guides import Guides
from mane.stage import memory as checkpoints
from mane.stage.clock import NO_CLOCK, StageClock
from mane.stage.protocol import Stage
from mane.strand.frame import GuideFrame
from mane.strand.ports import GuideLoad
from mane.strand.stepping import StepReport


class GuideSource(Stage):
    """Makes guide frames.

    Attributes:
        guides: whose frames they are, at rest.
        head: the motion of the head, or None.
        solids: what hair may touch, body first, if there is one: the order of `GuideFrame.solid_poses`.
        has_body: whether the first of the solids is what the hair grows on.
        report: how the last step went; None where nothing is known of it.
        note: what a user should know of these guides, in one line, or "".
        clock: counts the time of what it is made of.
    """

    family = "source"
    label = "guides"

    guides: Guides
    head: Motion | None = None
    solids: tuple[Solid, ...] = ()
    has_body: bool = False
    report: StepReport | None = None
    note: str = ""
    clock: StageClock = NO_CLOCK

    @abstractmethod
    def reset(self, head_pose: Pose | None = None, *, time: float = 0.0) -> GuideFrame:
        """Begin anew with guides at rest on a head at `head_pose`, by default where its motion has it at `time` [s]."""

    @abstractmethod
    def step(self) -> GuideFrame:
        """Go one frame on and return the guides at its end."""

    @property
    @abstractmethod
    def rest(self) -> GuideFrame:
        """The guides at rest on the head in its rest pose, whatever they are doing now."""

    @property
    def touched(self) -> range:
        """Numbers of the solids that hair touches."""
        return range(len(self.solids))

    @property
    def may_change_lengths(self) -> bool:
        """Whether its guides may get other lengths than at rest (`GuideFrame.length_scale`)."""
        return False

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Everything that it is made of and whose memory belongs to a checkpoint, itself first."""
        return (self,)

    def provide(self, need: str) -> Any:
        """Return what a stage that needs it is given, see `mane.stage.protocol.NEEDS`.

        None where there is none; LookupError for what the source does not know.
        """
        own: dict[str, Callable[[], Any]] = {
            "guides": lambda: self.guides,
            "head": lambda: self.head,
            "body": lambda: self.solids[0] if self.has_body else None,
            "solids": lambda: self.solids,
            "touched": lambda: self.touched,
            "rest": lambda: self.rest,
        }
        return own[need]()

    def receive(self, load: GuideLoad | None) -> None:
        """Let what a skin found out about the last frame act on the guides of the next; None for nothing."""
        if load is not None:
            raise ValueError(f"source: {self.name!r} takes no forces back from a skin; choose another skin or source")

    def checkpoint(self) -> dict[str, NDArray[Any]]:
        """Everything that is needed to continue exactly, as arrays by name; copies."""
        return checkpoints.save(self.stages)

    def load_checkpoint(self, checkpoint: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `checkpoint` returned, in a source that was made in the same way."""
        checkpoints.load(self.stages, checkpoint)
