"""`LearnedSource`: guide frames from a model that was learned, where a simulation would be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mane.body.mesh import Mesh
from mane.body.motion import Motion, Pose
from mane.body.motion_keys import KeyframedMotion
from mane.body.motion_presets import make_motion, turns_about_pivot
from mane.body.neck import find_neck
from mane.body.shapes import Shape
from mane.body.solid import Solid
from mane.contact.air.wind import AnyWind, as_wind
from mane.geometry.checks import require_choice
from mane.geometry.frames import segment_frames
from mane.geometry.limits import Count, NotNegative, check_arguments
from mane.groom.guides import Guides
from mane.reduced.canonical import BodyTrack, fitted_poses
from mane.reduced.dynamics import CoreTensor
from mane.reduced.factors import BEYOND
from mane.reduced.model import SAME_PLACE, HairModel
from mane.reduced.player import Frames, SolidSet
from mane.reduced.positions import METHODS, PLAYERS, PrintedCollisions
from mane.reduced.representation import lengths
from mane.reduced.sliders import SliderTrack, regions_of
from mane.stage.protocol import Memory
from mane.strand.frame import GuideFrame
from mane.strand.material import MATERIALS, Material
from mane.strand.model import STANDARD_GRAVITY, StrandModel
from mane.strand.root_motion import BoundRoots, RigidRoots, RootMoment, RootMotion, body_pose
from mane.strand.source import GuideSource
from mane.strand.surroundings import Surroundings

ROUNDING = 1e-6  # of a wind that is just as strong as it may be
SLOWEST = 1e-12  # [m/s] keeps still air finite
SAME_LENGTH = 1e-3  # relative; what simulations of styles of one length leave between their strands at rest
COLLISIONS = ("push", "off", *METHODS)
STARTS = ("settled", "printed")
# A body that moves against the head is nearly always this one.
REMEDY = 'the bust with joints is [body] mesh = "bust" with a motion, or mane.make_articulated_bust().solid("walk")'
OPTIONS = ("collisions", "every", "whiten", "start", "thickness")


class LearnedSource(GuideSource):
    """Plays a `HairModel`.

    Args:
        guides: strands of the groom that the model was learned of; their rest is what skins are bound to.
        hair_model: the model.
        sliders: value of each slider by name, see `SliderTrack`; those that are not given are as the groom is.
        head: the motion of the head.
        body: what the hair grows on.
        surroundings: solids besides.
        collide_with_body: whether hair is kept out of the body.
        wind: what blows, for a model that knows wind: a vector [m/s], a `Wind`, a function of (points, time); at most
            1.35 times as strong as the strongest that was learned, and a gust beyond counts as that.
        material: of the hair, which skins ask for, and which forces within strands are computed with.
        gravity: [m/s^2].
        frame_rate: frames per second: that of the model.
        collisions: "push" keeps vertices out of solids by their distance, from root to tip with lengths kept; "off";
            "A" and "B" are the methods of guan2012 section 6, against the body, for a model of positions.
        every: of those methods, that every so many guides are looked at: the sub-sample factor tau.
        whiten: of those methods, whether the distance from the prediction is measured in standard deviations of the
            coefficients, which is not printed: at the printed weights collisions hardly count otherwise.
        start: what hair begins as: "settled" on the head, or "printed": from the bust alone (t = 1, 2 of guan2012
            section 5), for a model of the tensor.
        thickness: how far above a solid hair lies [m].

    Attributes:
        as_groomed: values of all sliders at which hair is that of the groom, which sliders that are not given have.
    """

    name = "learned"
    label = "guides"
    version = 3  # as printed, every one of the first frames begins from the bust
    needs: ClassVar[tuple[str, ...]] = (
        "guides",
        "hair_model",
        "sliders",
        "head",
        "body",
        "surroundings",
        "collide_with_body",
        "wind",
        "material",
        "gravity",
        "frame_rate",
    )

    def __init__(
        self,
        guides: Guides,
        hair_model: HairModel,
        *,
        sliders: Mapping[str, Any] | None = None,
        head: Motion | None = None,
        body: Solid | Mesh | Shape | None = None,
        surroundings: Sequence[Solid] = (),
        collide_with_body: bool = True,
        wind: AnyWind = None,
        material: Material | str = "straight",
        gravity: ArrayLike = STANDARD_GRAVITY,
        frame_rate: float | None = None,
        collisions: str = "push",
        every: Count = 1,
        whiten: bool = False,
        start: str = "settled",
        thickness: NotNegative = 0.0,
    ) -> None:
        require_choice("collisions", collisions, COLLISIONS)
        require_choice("start", start, STARTS)
        check_arguments(LearnedSource, locals())
        model = hair_model
        if frame_rate is not None and abs(frame_rate - model.frame_rate) > 1e-6 * model.frame_rate:
            raise ValueError(
                f"frame_rate: must be {model.frame_rate:g}, which the model was learned at, got {frame_rate:g}"
            )
        if start == "printed" and not isinstance(model.dynamics, CoreTensor):
            raise ValueError(
                "start: as printed is for models of the tensor; `mane learn multilinear --paper` makes one"
            )
        if wind is not None and not model.space.has_wind:
            raise ValueError("wind: the model was learned without wind; an axis of winds in its dataset teaches it")
        self.guides, self.model, self.head = guides, model, head
        self.as_groomed = model.corner_sliders(model.corner_of(guides))
        self._groomed_length = model.rest_at(self.as_groomed)[1].sum(axis=1)
        self._track = SliderTrack.of(model, sliders or {}, guides=guides, start=self.as_groomed)
        self._surroundings = Surroundings(body, surroundings, collide_with_body=collide_with_body)
        self.solids, self.has_body = self._surroundings.solids, self._surroundings.body is not None
        _require_known_body(model, self._surroundings.body)
        self._wind = None if wind is None else as_wind(wind)
        self.material = MATERIALS[material] if isinstance(material, str) else material
        self._gravity = np.asarray(gravity, np.float32)
        self._strands = self.material.model(guides, gravity=gravity)
        self._masses = np.ascontiguousarray(self._strands.mass, np.float32)
        self._roots = self._root_motion()
        own = self._surroundings.body
        collides = collisions == "push"
        touched = own if collides and collide_with_body else None
        others = self.solids[1:] if self.has_body else self.solids
        self._solids = SolidSet(touched, others if collides else ())
        self._player = PLAYERS[model.representation.name](model, touched, thickness)
        self._reduced = self._reduced_collisions(collisions, every, whiten, collide_with_body)
        self._start = start
        self.frame_dt = 1.0 / model.frame_rate
        self.reset()

    def _reduced_collisions(
        self, method: str, every: int, whiten: bool, collide_with_body: bool
    ) -> PrintedCollisions | None:
        if method not in METHODS:
            return None
        body = self._surroundings.body if collide_with_body else None
        if body is None or self._track.maps:
            lacks = "a body that hair touches" if body is None else "sliders that are the same for all guides"
            raise ValueError(f"collisions: method {method} needs {lacks}")
        return PrintedCollisions(self.model, body, method, every, whiten)

    def _root_motion(self) -> RootMotion:
        body = self._surroundings.body
        if body is None or body.animation is None:
            return RigidRoots(self.guides.rest[:, 0].astype(np.float64))
        return BoundRoots(self._strands, self.guides.active, body)

    # -- what others may ask ---------------------------------------------------------------------------------------

    @property
    def touched(self) -> range:
        """Numbers of the solids that hair touches."""
        return self._surroundings.touched

    @property
    def may_change_lengths(self) -> bool:
        """Whether a slider changes the lengths of guides: styles of the model differ in them."""
        styles = lengths(self.model.rest).sum(axis=-1)
        return bool(np.abs(styles / self._groomed_length - 1.0).max() > SAME_LENGTH)

    @property
    def strands(self) -> StrandModel:
        """The guides as mechanics sees them."""
        return self._strands

    def provide(self, need: str) -> Any:
        """Return what a stage that needs it is given."""
        still = np.ones(self.guides.capacity)  # nothing was stiffened
        own = {"material": self.material, "guide_model": self._strands, "guide_stiffening": still}
        return own[need] if need in own else super().provide(need)

    @cached_property
    def rest(self) -> GuideFrame:
        """The guides as groomed, on the head in its rest pose."""
        points = self.guides.rest.astype(np.float32)
        still = np.zeros_like(points)
        weight = self._masses[..., None] * self._gravity
        hanging = np.cumsum(weight[:, ::-1], axis=1)[:, ::-1]
        rotations = np.zeros((len(points), 4), np.float32)
        rotations[:, 3] = 1
        return GuideFrame(
            points=points,
            velocity=still,
            orientations=segment_frames(points),
            cut_force=np.ascontiguousarray(hanging[:, 1:], np.float32),
            roots=points[:, 0].copy(),
            root_rotations=rotations,
            active=self.guides.active.copy(),
            weight=self.guides.weight.copy(),
            head=Pose.identity(),
            solid_poses=self._surroundings.poses(Pose.identity(), 0.0),
            time=0.0,
            is_rest_pose=True,
        )

    # -- frames ----------------------------------------------------------------------------------------------------

    def reset(self, head_pose: Pose | None = None, *, time: float = 0.0) -> GuideFrame:
        """Begin anew with hair at rest on a head that stands still, or as `start` says."""
        self.time = float(time)
        self._pose = head_pose if head_pose is not None else self._pose_at(self.time)
        self._player.set_sliders(self._track.at(self.time))
        self._require_wind()
        self._moment = RootMoment(self._pose, self.time, self._roots.at(self._pose, self.time))
        self._fill_window()
        self._player.begin(self._frame(), self._window[-1])
        self._player.settle(self._controls())
        self._bust_frames = 0
        if self._start == "printed":
            self._bust_frames = self.model.dynamics.order - 1
            self._player.show_bust_alone(self._controls())
        self._previous: tuple[Frames, Frames] | None = None
        self._current = self._made()
        return self._current

    def change_sliders(self, values: Mapping[str, Any]) -> bool:
        """Go on with other values of sliders, given as at first; where these have other regions nothing changes.

        Returns:
            Whether they were taken.
        """
        track = SliderTrack.of(self.model, values, guides=self.guides, start=self.as_groomed)
        now = track.at(self.time)
        if not np.array_equal(regions_of(self.model, now)[1], self._player.region):
            return False
        self._track = track
        self._player.set_sliders(now)
        return True

    def step(self, head_pose: Pose | None = None) -> GuideFrame:
        """Go one frame on and return the guides at its end; the head is where its motion has it, or at `head_pose`."""
        end = self.time + self.frame_dt
        pose = head_pose if head_pose is not None else self._pose_at(end)
        after = RootMoment(pose, end, self._roots.at(pose, end))
        follows = head_pose is None and self.head is not None
        jumps = follows and self.head is not None and self.head.teleported(self.time, end)
        self._previous = (self._current.points, self._current.velocity)
        if jumps or self._roots.jumps(self._moment, after, self.frame_dt):
            self._moment, self._pose, self.time = after, pose, end
            self._fill_window()  # hair is carried along, and nothing moves for some frames
            self._previous = None
        self.time, self._pose, self._moment = end, pose, after
        self._window[:-1] = self._window[1:]
        self._window[-1] = self._head_pose(after)
        if self._shapes is not None:
            self._shapes[:-1] = self._shapes[1:]
            self._shapes[-1] = self._body_points()
        if not self._track.is_constant:
            self._player.set_sliders(self._track.at(end))
        self._predict()
        self._current = self._made()
        return self._current

    def _predict(self) -> None:
        """Coefficients of this frame: as printed, the first ones follow from the bust alone, all others by eq. 10."""
        if self._bust_frames:
            self._bust_frames -= 1
            self._player.show_bust_alone(self._controls())
        else:
            self._player.synthesize(self._controls())

    def _fill_window(self) -> None:
        """Begin anew: in all frames before, the head stood where it is now."""
        count = self.model.space.steps + 1
        self._window = np.repeat(self._head_pose(self._moment)[None], count, axis=0)
        points = self._body_points()
        self._shapes = None if points is None else np.repeat(points[None], count, axis=0)

    def _seen(self) -> BodyTrack:
        """What the body did in the last frames."""
        wind = self._wind_now()
        return BodyTrack(self._window, self._shapes, None if wind is None else np.tile(wind, (len(self._window), 1)))

    def _wind_now(self) -> NDArray[np.float64] | None:
        """Velocity of the air at the head [m/s], (1, 3), no stronger than the model knows; None where none blows."""
        if self._wind is None:
            return None
        wind = self._wind.velocity(self._pose.position[None], self.time)
        return np.asarray(wind * min(1.0, self._strongest / max(float(np.linalg.norm(wind)), SLOWEST)))

    @property
    def _strongest(self) -> float:
        """The strongest wind that may blow [m/s]: as far beyond what was learned as a slider may go."""
        known = self.model.wind_speed
        return np.inf if known is None else (1 + BEYOND) * known

    def _require_wind(self) -> None:
        """Refuse a wind that is too strong from the beginning; a gust later counts as the strongest one."""
        if self._wind is None:
            return
        speed = float(np.linalg.norm(self._wind.velocity(self._pose.position[None], self.time)))
        if speed > self._strongest * (1 + ROUNDING):
            raise ValueError(
                f"wind: must be at most {self._strongest:.3g} m/s, {1 + BEYOND:g} times the strongest that the model "
                f"was learned with, got {speed:.3g} m/s"
            )

    def _frame(self) -> NDArray[np.float64]:
        """Canonical frame now (7,)."""
        shapes = None if self._shapes is None else self._shapes[-1:]
        return np.asarray(self.model.space.frames(BodyTrack(self._window[-1:], shapes))[0])

    def _controls(self) -> NDArray[np.float64]:
        """u_t of the newest frame of the window."""
        track = self._seen()
        return np.asarray(self.model.space.controls(track, self.model.space.frames(track))[-1])

    def _body_points(self) -> NDArray[np.float64] | None:
        """Points of a body that deforms which the model looks at [m], world, (B, 3)."""
        body, index = self._surroundings.body, self.model.space.body.index
        if body is None or body.animation is None or not self.model.space.body_count:
            return None
        pose = body_pose(body, self._pose, self.time)
        return np.asarray(pose.apply(body.animation.precise_points(self.time)[index]))

    def _head_pose(self, moment: RootMoment) -> NDArray[np.float64]:
        """Pose of the head (7,): of a body that deforms, as its roots tell it."""
        if self._roots.is_rigid:
            return np.concatenate([moment.head.position, moment.head.rotation])
        rest = self.guides.rest[:, 0].astype(np.float64)
        return np.asarray(fitted_poses(rest, moment.roots.positions[None])[0])

    def _made(self) -> GuideFrame:
        roots, frame = self._moment.roots, self._frame()
        poses = self._surroundings.poses(self._pose, self.time)
        touched = poses if self._solids.has_body or not self.has_body else poses[1:]
        where = np.ascontiguousarray(roots.positions, np.float32)
        turned = np.ascontiguousarray(roots.rotations, np.float32)
        points, velocity, orientations, cut_force = self._player.reconstruct(
            Pose(frame[:3], frame[3:]),
            where,
            turned,
            self._solids.arguments(touched, self.time),
            self._masses,
            self._gravity,
            self._previous,
            1.0 / self.frame_dt,
            coefficients=self._out_of_body(frame),
        )
        return GuideFrame(
            points=points,
            velocity=velocity,
            orientations=orientations,
            cut_force=cut_force,
            roots=where,
            root_rotations=turned,
            active=self.guides.active.copy(),
            weight=self.guides.weight.copy(),
            head=self._pose,
            solid_poses=poses,
            time=self.time,
            length_scale=self._length_scale(),
        )

    def _length_scale(self) -> Frames | None:
        """Lengths that sliders give the guides over those as groomed, (G,); None where they are the same."""
        scale = self._player.length / self._groomed_length
        return None if np.abs(scale - 1.0).max() <= SAME_LENGTH else np.asarray(scale, np.float32)

    def _out_of_body(self, frame: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Coefficients (1, d) that methods A and B make of the newest ones; None where neither is asked for."""
        body = self._surroundings.body
        if self._reduced is None or body is None:
            return None
        pose = body_pose(body, self._pose, self.time)
        newest, roots = self._player.past[0, -1], self._moment.roots.positions
        return self._reduced.solved(newest, frame, pose, self.time, roots)[None]

    def _pose_at(self, time: float) -> Pose:
        return Pose.identity() if self.head is None else self.head.pose(time)

    # -- checkpoints -----------------------------------------------------------------------------------------------

    def memory(self) -> Memory:
        """Coefficients, what the head did, and the last frame."""
        return {
            "past": self._player.past.copy(),
            "bust_frames": np.array(self._bust_frames),
            "window": self._window.copy(),
            "shapes": np.zeros((0, 0, 3)) if self._shapes is None else self._shapes.copy(),
            "head": np.concatenate([self._pose.position, self._pose.rotation]),
            "time": np.array(self.time),
            "points": self._current.points.copy(),
            "velocity": self._current.velocity.copy(),
        }

    def restore(self, memory: Mapping[str, NDArray[Any]]) -> None:
        """Go back to what `memory` returned; one that does not fit is refused, and nothing changed."""
        time, before = float(memory["time"]), self._track.at(self.time)
        self._player.set_sliders(self._track.at(time))
        for name, array in self.memory().items():
            if memory[name].shape != array.shape:
                self._player.set_sliders(before)
                raise ValueError(
                    f"checkpoint: {name} must have shape {array.shape}, got {memory[name].shape}; sliders, guides and "
                    "body must be those that it was written with"
                )
        self.time, self._pose = time, Pose(memory["head"][:3], memory["head"][3:])
        self._moment = RootMoment(self._pose, self.time, self._roots.at(self._pose, self.time))
        self._player.past[:] = memory["past"]
        self._bust_frames = int(memory["bust_frames"])
        self._window = np.array(memory["window"])
        self._shapes = np.array(memory["shapes"]) if memory["shapes"].size else None
        self._current = replace(self._current, points=memory["points"].copy(), velocity=memory["velocity"].copy())


def _require_known_body(model: HairModel, body: Solid | None) -> None:
    """Refuse a body whose points are not those that the model looks at."""
    space, moves = model.space, body is not None and body.animation is not None
    if not space.body_count or not (moves or space.needs_points):
        return
    if body is None or not moves:
        kind = "nothing" if body is None else "one that is rigid with the head"
        raise ValueError(f"body: must be that of the training, which moves against the head, got {kind}; {REMEDY}")
    known, index = space.body.rest, space.body.index
    points = np.zeros((0, 3)) if body.mesh is None else body.mesh.points
    if len(points) <= index.max():
        raise ValueError(
            f"body: must be that of the training, whose mesh has at least {index.max() + 1:,} vertices, got "
            f"{len(points):,}; {REMEDY}"
        )
    off = float(np.abs(points[index] - known).max())
    if not off <= SAME_PLACE:
        raise ValueError(
            f"body: must be that of the training, and has vertices {1e3 * off:.3g} mm from there at rest; {REMEDY}"
        )


def play(
    model: HairModel, head: Motion | Sequence[Pose] | str | None, frames: int | None, settings: Mapping[str, Any]
) -> Iterator[GuideFrame]:
    """See `HairModel.play`."""
    names = {factor.name for factor in model.factors}
    rest = {name: value for name, value in settings.items() if name not in names}
    sliders = _together(rest.pop("sliders", None), {name: settings[name] for name in settings if name in names})
    unknown = sorted(rest.keys() - {*LearnedSource.needs, *OPTIONS, "solids"} | rest.keys() & {"hair_model"})
    if unknown:
        model.checked_sliders({unknown[0]: 0.0})
    if "solids" in rest:
        rest["surroundings"] = rest.pop("solids")
    guides = rest.pop("guides", None) or model.guides()
    motion, count = _motion_of(head, rest.get("body"), guides, model.frame_rate)
    source = LearnedSource(guides, model, sliders=sliders, head=motion, **rest)
    return _frames_of(source, frames if frames is not None else count)


def _together(table: Mapping[str, Any] | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """Sliders that are given together, `sliders={...}`, and one by one; ValueError where a value is given twice."""
    if table is not None and not isinstance(table, Mapping):
        raise ValueError(f"sliders: must be a table of sliders and their values, got {table!r}")
    twice = sorted((table or {}).keys() & named.keys())
    if twice:
        raise ValueError(f"{twice[0]}: is given twice, by itself and in sliders; leave one out")
    return {**(table or {}), **named}


def _motion_of(
    head: Motion | Sequence[Pose] | str | None, body: Any, guides: Guides, rate: float
) -> tuple[Motion | None, int | None]:
    if head is None or isinstance(head, Motion):
        return head, None
    if isinstance(head, str):
        mesh = body.mesh if isinstance(body, Solid) else body if isinstance(body, Mesh) else None
        pivot = find_neck(mesh, guides.roots) if turns_about_pivot(head) else np.zeros(3)
        return make_motion(head, pivot=pivot), None
    times = np.arange(len(head)) / rate
    return KeyframedMotion(times, [pose.position for pose in head], [pose.rotation for pose in head]), len(head)


def _frames_of(source: LearnedSource, count: int | None) -> Iterator[GuideFrame]:
    if count is None or count > 0:
        yield source.reset()
    number = 1
    while count is None or number < count:
        yield source.step()
        number += 1
