"""`DatasetStyles`: a dataset whose axes are factors, as training reads it: styles under the same motions.

An axis with plain values is a factor: a slider with its levels. An axis of winds is none: the wind is known in every
frame, turns against the head while the head turns, and so is a control of the model. As guan2012 prints it, it is a
factor like any other (`wind = "factor"`).
"""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mane.body.solid import Solid
from mane.dataset.dataset import Dataset, SequenceReader
from mane.dataset.sequences import PlannedSequence
from mane.dataset.simulate import assemble
from mane.dataset.spec import AxisTable
from mane.geometry import quaternion
from mane.geometry.checks import first_not_finite
from mane.reduced.canonical import BodyShape, BodyTrack, body_points, fitted_poses, to_canonical
from mane.reduced.factors import Factor, corner_levels
from mane.reduced.model import MAX_FACTORS
from mane.reduced.representation import directions, lengths
from mane.scene.config_body import BodyTable, is_mesh_file

Frames = NDArray[np.float32]
WIND = "wind.velocity"
LEARNED_FROM = "train"  # the split
LEAST_MOTIONS = 2
SAME_ROOT = 1e-5  # [m] by which roots of two styles may differ
SAME_HEAD = 1e-9
# [degrees] from upright in which hair may settle. It hangs along gravity, and so that much off in the head's frame: at
# the tips of half a metre this is 2.6 cm, of which a model would be wrong for good.
MOST_TILT = 3.0
SAME_TILT = 0.1  # [degrees]: heads this near each other are as upright, and the one that moves less is taken
HEAD_RADIUS = 0.1  # [m] by which turns are compared with distances


class DatasetStyles:
    """Sequences of a split, by style and motion.

    Args:
        dataset: made with combine = "grid".
        split: which of its sequences.
        least: motions that there must be.
        wind: what an axis of winds is: a "control", or a "factor".

    Raises:
        ValueError: factors or motions do not fit, a sequence that is planned is not there, or no motion begins
            upright; names the dataset and what is missing.

    Attributes:
        settled_in: number of the motion in whose first frame hair is at rest; None where that is one to learn from, and
            these are others.
    """

    def __init__(
        self, dataset: Dataset, split: str = LEARNED_FROM, least: int = LEAST_MOTIONS, wind: str = "control"
    ) -> None:
        self.dataset, self.split, self._name = dataset, split, dataset.store.path
        self._wind_kind = wind
        self._known_heads: dict[int, NDArray[np.float64]] = {}
        self._known_tracks: dict[int, BodyTrack] = {}
        spec = dataset.spec
        if spec.combine != "grid":
            raise ValueError(f'{self._name}: must be made with combine = "grid", got "{spec.combine}"')
        self._winds = [axis for axis in spec.axes if axis.all_keys == (WIND,) and wind == "control"]
        axes = [axis for axis in spec.axes if axis not in self._winds]
        self.has_wind = bool(self._winds)
        if len(axes) > MAX_FACTORS:
            raise ValueError(f"{self._name}: must have at most {MAX_FACTORS} factors, got {len(axes)} axes")
        self.factors = tuple(self._factor(axis) for axis in axes)
        planned = {one.motion for one in self._sequences()}
        if len(planned) < least:
            raise ValueError(f"{self._name}: must have at least {least} motions of split {split!r}, got {len(planned)}")
        self._readers = {self._key(one): one for one in dataset.split(split)}
        self._require_all()
        self.motions = sorted({motion for _, motion in self._readers})
        first = self._reader(0, 0)
        self.frame_rate = float(first.attributes["frame_rate"]) / spec.store.every
        self.strands, self.groomed = self._groomed()
        for field in ("points", "head"):
            if field not in first.fields:
                raise ValueError(f"{self._name}: must store {field!r} of every frame; [store] fields of its spec says")
        self.is_deforming = "body" in first.fields
        if not self.is_deforming:
            self._require_rigid_body()
        self._require_known_wind()
        self.settled_in = self._settling_motion()
        self.rest = self._rest_to_learn_from() if self.settled_in is None else self._settled(self.settled_in)

    def _factor(self, axis: AxisTable) -> Factor:
        try:
            return Factor.of_levels(axis.label, axis.levels(), axis.scale)
        except ValueError as error:
            raise ValueError(f"{self._name}: {error}") from None

    def _key(self, sequence: SequenceReader | PlannedSequence) -> tuple[tuple[int, ...], str]:
        """Levels of the factors of a sequence; its motion and wind."""
        levels = tuple(self._level(factor, sequence.factors[factor.name]) for factor in self.factors)
        wind = "".join(f" wind {_plain(sequence.factors[axis.label])}" for axis in self._winds)
        return levels, sequence.motion + wind

    def _level(self, factor: Factor, value: Any) -> int:
        plain = [_plain(level) for level in factor.levels]
        return plain.index(_plain(value))

    def _require_all(self) -> None:
        """Refuse a split that lacks what is planned of it: a model would know less than its spec says."""
        for one in self._sequences():
            if self._key(one) in self._readers:
                continue
            at = ", ".join(f"{name}={_plain(value)!r}" for name, value in one.factors.items())
            failed = " ".join(self.dataset.failures.get(one.index, "").split())
            raise ValueError(
                f"{self._name}: lacks motion {one.motion!r}{' at ' if at else ''}{at}"
                f"{f', which could not be simulated ({failed})' if failed else ''}; every style needs every motion, "
                "and `mane dataset` with the same spec goes on with it"
            )

    def _reader(self, corner: int, motion: int) -> SequenceReader:
        return self._readers[corner_levels(self.factors)[corner], self.motions[motion]]

    def _sequences(self) -> list[PlannedSequence]:
        """All that is planned of the split, in the order of their numbers."""
        return [one for one in self.dataset.plan if one.split == self.split]

    def _require_rigid_body(self) -> None:
        """Refuse a body that deforms and is not stored: nothing would tell where the head is, or what shoulders do."""
        seen: set[str] = set()
        for one in self._sequences():
            table = {f.name: getattr(self.dataset.spec.scene.body, f.name) for f in fields(BodyTable)}
            table |= {key.removeprefix("body."): v for key, v in one.settings.items() if key.startswith("body.")}
            moves = table["motion"] is not None
            if not moves and is_mesh_file(table["mesh"]) and str(table) not in seen:
                seen.add(str(table))
                moves = self._assembled_body(one).animation is not None
            if moves:
                raise ValueError(
                    f"{self._name}: must store 'body' of every frame, since that of sequence {one.index} deforms; add "
                    "it to [store] fields of its spec, and make the dataset again"
                )

    def _require_known_wind(self) -> None:
        """Refuse wind that no control and no slider tells of: it would be in the hair for good."""
        has_axis = any(WIND in axis.all_keys for axis in self.dataset.spec.axes)
        for one in self._sequences():
            table = self.dataset.spec.scene.wind
            velocity = one.settings.get(WIND, table.velocity)
            if not any(velocity):
                continue
            if one.settings.get("wind.gusts", table.gusts):
                raise ValueError(
                    f"{self._name}: [wind] gusts must be 0 to learn from, since no frame stores them, got "
                    f"{one.settings.get('wind.gusts', table.gusts)} in sequence {one.index}"
                )
            if not has_axis:
                raise ValueError(
                    f"{self._name}: [wind] velocity must be 0, or an axis, to learn from, got {_plain(velocity)} in "
                    f'sequence {one.index}; an axis with key = "{WIND}" and [0, 0, 0] among its values teaches wind'
                )
        for axis in self._winds:
            if not any(not any(level) for level in axis.levels()):
                raise ValueError(
                    f"{self._name}: axis {axis.label!r} must have a wind of [0, 0, 0] among its values, in which hair "
                    f"comes to rest, got {[_plain(level) for level in axis.levels()]}"
                )

    def _groomed(self) -> tuple[NDArray[np.int64], Frames]:
        rests = [self._reader(c, 0).rest for c in range(len(corner_levels(self.factors)))]
        first = rests[0]
        for number, rest in enumerate(rests):
            is_same = rest["guides"].shape == first["guides"].shape and (rest["source"] == first["source"]).all()
            off = np.abs(rest["guides"][:, 0] - first["guides"][:, 0]).max() if is_same else np.inf
            if off > SAME_ROOT:
                raise ValueError(
                    f"{self._name}: style {number} has other guides than style 0; styles need the same strands with "
                    'the same roots, as of [guides] count = "all"'
                )
        return np.asarray(first["source"]), np.stack([np.asarray(rest["guides"], np.float32) for rest in rests])

    def _settled(self, motion: int) -> Frames:
        """Hair of every style at the start of a motion, as seen from the head: after [frames] preroll it has settled.

        Lengths stay those of the groom.
        """
        heads = self._first_heads(motion)[:1]
        found = []
        for corner, groomed in enumerate(self.groomed):
            own = self._finite(self._reader(corner, motion), "points", range(1))
            first = to_canonical(heads, own.astype(np.float64))[0]
            edges = directions(first.astype(np.float32)) * lengths(groomed)[..., None]
            found.append(np.concatenate([groomed[:, :1], groomed[:, :1] + np.cumsum(edges, axis=1)], axis=1))
        return np.stack(found)

    def _settling_motion(self) -> int | None:
        """Of the motions without wind the one that begins most upright, and moves least then.

        A recording may begin on a tilted head, on which hair hangs otherwise than at rest: all controls are zero for
        an upright head alone. None where rest is that of the motions to learn from; ValueError where none will do.
        """
        calm = [m for m in range(self.motion_count) if not self._blows(m)]
        tilts = {m: _tilt(self._first_heads(m)[0]) for m in calm}
        least = min(tilts.values())
        if least <= MOST_TILT:
            near = [m for m in calm if tilts[m] <= min(least + SAME_TILT, MOST_TILT)]
            return min(near, key=lambda m: _first_step(self._first_heads(m)))
        if self.split != LEARNED_FROM and self.dataset.split(LEARNED_FROM):
            return None
        nearest = self.motions[min(calm, key=lambda m: tilts[m])]
        raise ValueError(
            f"{self._name}: a motion must begin with an upright head, on which hair comes to rest, got tilts of "
            f"{least:.1f} degrees and more (motion {nearest!r}), at most {MOST_TILT:g} may be; begin a recording where "
            "the head is upright, or add a motion by name"
        )

    def _rest_to_learn_from(self) -> Frames:
        """Hair at rest as a model that is learned from this dataset has it."""
        return DatasetStyles(self.dataset, LEARNED_FROM, least=1, wind=self._wind_kind).rest

    def _first_heads(self, motion: int) -> NDArray[np.float64]:
        """Poses of the head in the first two frames of a motion, or in the only one."""
        reader = self._reader(0, motion)
        if not self.is_deforming:
            return self._heads(reader)[:2]
        roots = self._finite(reader, "points", range(min(2, reader.frame_count)))[:, :, 0]
        return fitted_poses(self.groomed[0][:, 0].astype(np.float64), roots)

    def _blows(self, motion: int) -> bool:
        reader = self._reader(0, motion)
        return any(np.any(reader.factors[axis.label]) for axis in self._winds)

    def motions_at(self, wind: Any) -> list[int]:
        """Numbers of the motions with a wind [m/s]."""
        return [
            number
            for number in range(len(self.motions))
            if all(_plain(self._reader(0, number).factors[axis.label]) == _plain(wind) for axis in self._winds)
        ]

    @property
    def motion_count(self) -> int:
        """Number of motions, winds counted apart, M."""
        return len(self.motions)

    @property
    def body(self) -> BodyShape:
        """Some points of the body at rest."""
        return self._body()

    @lru_cache(maxsize=1)  # noqa: B019 - one dataset, read once
    def _body(self) -> BodyShape:
        mesh = self.solid(0).mesh
        if mesh is None:
            raise ValueError(f"{self._name}: needs a body that is a mesh for this kind of model")
        return body_points(mesh.points)

    def _assembled_body(self, sequence: PlannedSequence) -> Solid:
        source = assemble(sequence.scene(self.dataset.spec)).source
        if not source.has_body:
            raise ValueError(f"{self._name}: needs a body that is a mesh for this kind of model")
        return source.solids[0]

    def solid(self, motion: int) -> Solid:
        """The body under a motion, as the scene of its sequence has it."""
        index = self._reader(0, motion).index
        return self._assembled_body(next(one for one in self.dataset.plan if one.index == index))

    def start(self, motion: int) -> float:
        """Time of the first frame of a motion [s]."""
        return float(self._reader(0, motion).times[0])

    def track(self, motion: int) -> BodyTrack:
        """What the body does in a motion; read once, since a body that deforms has many vertices."""
        if motion not in self._known_tracks:
            self._known_tracks[motion] = self._track(motion)
        return self._known_tracks[motion]

    def _track(self, motion: int) -> BodyTrack:
        reader = self._reader(0, motion)
        heads = self._heads(reader)
        points = None
        if self.is_deforming:
            whole = range(reader.frame_count)
            points = self._finite(reader, "body", whole)[:, self.body.index].astype(np.float64)
            roots = self._finite(reader, "points", whole)[:, :, 0]
            heads = fitted_poses(self.groomed[0][:, 0].astype(np.float64), roots)
        wind = None
        for axis in self._winds:
            wind = np.broadcast_to(np.asarray(reader.factors[axis.label], np.float64), (len(heads), 3))
        return BodyTrack(heads, points, wind)

    def points(self, corner: int, motion: int, rows: slice = slice(None)) -> Frames:
        """Hair of a style under a motion [m], world, in those of its frames, (T, G, V, 3).

        Raises:
            ValueError: a number is not finite, or the head did something else than in the first style.
        """
        reader, first = self._reader(corner, motion), self._reader(0, motion)
        if reader.shape("points") != first.shape("points") or self._heads_differ(reader, first):
            raise ValueError(
                f"{self._name}: sequence {reader.index} moves its head otherwise than sequence {first.index}; styles "
                "need the same motions"
            )
        return self._finite(reader, "points", range(reader.frame_count)[rows])

    def _finite(self, reader: SequenceReader, field: str, frames: range) -> NDArray[Any]:
        """Frames of a field, read; ValueError where a number is not finite."""
        values = reader.read(field, frames.start, frames.stop, frames.step)
        bad = first_not_finite(values)
        if bad is not None:
            found = "nan" if np.isnan(values[bad]).any() else "infinity"
            where = f"sequence {reader.index}: {field}"
            raise ValueError(f"{self._name}: {where} must be finite, got {found} in frame {frames[bad]}")
        return values

    def _heads_differ(self, reader: SequenceReader, first: SequenceReader) -> bool:
        return reader is not first and bool(np.abs(self._heads(reader) - self._heads(first)).max() > SAME_HEAD)

    def _heads(self, reader: SequenceReader) -> NDArray[np.float64]:
        """Poses of the head (T, 7), read once: small pieces are what a store is slow at."""
        if reader.index not in self._known_heads:
            heads = self._finite(reader, "head", range(reader.frame_count))
            self._known_heads[reader.index] = np.asarray(heads, np.float64)
        return self._known_heads[reader.index]


def _tilt(head: NDArray[np.float64]) -> float:
    """Angle [degrees] between the axis of a head at a pose (7,) and the vertical: pitch and roll, whatever it faces."""
    up = quaternion.rotate(head[3:], np.array([0.0, 1.0, 0.0]))
    return float(np.degrees(np.arctan2(np.hypot(up[0], up[2]), up[1])))


def _first_step(heads: NDArray[np.float64]) -> float:
    """How far a head goes from the first of some poses (T, 7) to the last [m], turns counted at its surface."""
    turn = quaternion.angle_between(heads[0, 3:], heads[-1, 3:])
    return float(np.linalg.norm(heads[-1, :3] - heads[0, :3]) + HEAD_RADIUS * turn)


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
