"""The physical skin once more, hair by hair in NumPy and double precision, from nothing but what the skin is given.

Nothing is read from a skin: places on guides, loads of guides, rests of hairs and turns at the roots are found from
groom, guides, material, settings and frame. Equations with numbers are those of hsu2024 section 4, the others those of
the docstrings of `mane.skin.physical.loads`, `rest` and `skin`. Where the skin has a closed form, this
solves the equation itself, by bisection.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mane.geometry import quaternion
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin import _reference as linear
from mane.skin._kernels_bundles import FASTEST, REACH, SLOWEST
from mane.skin.binding import GuideBinding, bind_guides
from mane.skin.bound import LEAST_PRESENCE
from mane.skin.bundles import LENGTH_RANGE, Bundles
from mane.skin.physical import _reference as reference
from mane.skin.physical._kernels_loads import EXACT_TURN, LARGEST_TURN
from mane.skin.physical.loads import REST_TURN
from mane.skin.physical.params import PhysicalParams
from mane.strand.frame import GuideFrame
from mane.strand.material import Material
from mane.strand.model import StrandModel

HALVINGS = 60  # of an interval, down to the last bit of a double
IDENTITY = np.array([0.0, 0.0, 0.0, 1.0])


def bisected(is_below: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Where `is_below` ceases to be true between `low` and `high`, for each number on its own."""
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        below = is_below(middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., 3) of length 1, or 0 where they are."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-300)


def joint_stiffness(bend: np.ndarray, length: np.ndarray) -> np.ndarray:
    """k_bt over the weight [m] of each joint (S, N): 4 E I over the half segments beside it."""
    rod = 0.5 * (length + np.pad(length, ((0, 0), (1, 0)))[:, :-1])
    return 4 * bend[:, None] / rod


# -- places on guides ------------------------------------------------------------------------------------------------


def arc_of(points: np.ndarray) -> np.ndarray:
    """Arc length [m] from the root to each vertex."""
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])


def closest_arcs(points: np.ndarray, guide: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Arc lengths (P,) of the places of a polyline closest to `points (P, 3)`, each from its `low` to its `high`."""
    arc, edge = arc_of(guide), np.diff(guide, axis=0)
    length, gap = np.diff(arc), points[:, None] - guide[:-1]
    low, high = low[:, None], high[:, None]
    along = (gap * edge).sum(axis=2) / length
    along = np.clip(along, np.maximum(low - arc[:-1], 0.0), np.minimum(high - arc[:-1], length))
    off = np.linalg.norm(gap - (along / length)[..., None] * edge, axis=2)
    off[(arc[1:] < low) | (arc[:-1] > high)] = np.inf
    return (arc[:-1] + along)[np.arange(len(points)), off.argmin(axis=1)]


def course(hairs: np.ndarray, guide: np.ndarray) -> tuple[float, float]:
    """b and c of s = (b + c a) a, from arc lengths a of `hairs (H, V, 3)` to the closest ones s of a guide."""
    end = arc_of(guide)[-1]
    own, found = [], []
    for hair in hairs:
        a = arc_of(hair)[1:]
        low, high = np.maximum(a - REACH * end, 0.0), np.minimum(a + REACH * end, end)
        s = np.where(low < end, closest_arcs(hair[1:], guide, low, high), end)
        beside = np.cumprod(s < (1 - 1e-5) * end, dtype=bool)  # until the hair goes on where the guide ends
        own.append(a[beside])
        found.append(s[beside])
    a, s = np.concatenate(own), np.concatenate(found)
    if not len(a):
        return 1.0, 0.0
    if 1 - (a**3).sum() ** 2 / ((a**2).sum() * (a**4).sum()) > 1e-9:  # not all at one place
        b, c = np.linalg.lstsq(np.stack([a, a * a], axis=1), s, rcond=None)[0]
        if all(SLOWEST <= slope <= FASTEST for slope in (b, b + 2 * c * a.max())):
            return float(b), float(c)
    return float(np.clip((s @ a) / (a @ a), SLOWEST, FASTEST)), 0.0


def places_beside(
    groom: Groom, guides: Guides, binding: GuideBinding, transport: np.ndarray | None = None
) -> np.ndarray:
    """Vertex number, with fraction, of the place on each guide that goes with each vertex of each hair (S, K, V).

    Hairs with the same guides and of lengths within a factor of `LENGTH_RANGE`, counted from the shortest, share them.
    With a `transport` (S, K, 3, 3), hairs are first carried to the root of each guide and turned back by it.
    """
    hairs, rest = groom.as_uniform().astype(np.float64), guides.rest.astype(np.float64)
    length = groom.lengths.astype(np.float64)
    out = np.empty((*binding.guides.shape, hairs.shape[1]))
    followers: dict[tuple[int, ...], list[int]] = {}
    for s, own in enumerate(binding.guides):
        followers.setdefault(tuple(own), []).append(s)
    for own, numbers in followers.items():
        rows = np.array(numbers)
        size = np.floor(np.log(length[rows] / length[rows].min()) / np.log(LENGTH_RANGE))
        for kind in np.unique(size):
            bundle = rows[size == kind]
            a = np.mean([arc_of(hair) for hair in hairs[bundle]], axis=0)
            for k, g in enumerate(own):
                beside = hairs[bundle]
                if transport is not None:
                    beside = rest[g, 0] + (beside - beside[:, :1]) @ transport[bundle, k]
                b, c = course(beside, rest[g])
                reached = np.maximum.accumulate((b + c * a) * a)
                out[bundle, k] = np.interp(reached, arc_of(rest[g]), np.arange(rest.shape[1]))
    return out


def one_each(binding: GuideBinding, places: np.ndarray) -> Bundles:
    """Every hair in a bundle of its own."""
    return Bundles(np.arange(len(places), dtype=np.int32), binding.guides, places.astype(np.float32))


# -- rest ------------------------------------------------------------------------------------------------------------


def rest_of(points: np.ndarray, force: np.ndarray, bend: np.ndarray, strain: np.ndarray, params: PhysicalParams):
    """Rest of hairs `points (S, V, 3)` that sweeps leave as they are where they feel `force (S, N, 3)` [weights].

    Frames may be turned about their segments in any way: a sweep turns with them.
    """
    assert not (params.overshoots and params.stretch_by_blend), "a length that depends on the unloaded tangent"
    edge = np.diff(points, axis=1)
    # Eq. 12 as groomed: the edge is l (stretch + t) with a unit tangent t.
    stretch = force / params.drift if params.stretch_by_blend else strain[:, None, None] * force
    assert np.linalg.norm(stretch, axis=2).max() < 1, "a segment that could have any length"
    largest = (1 + np.linalg.norm(stretch, axis=2)) / np.linalg.norm(edge, axis=2)
    inverse = bisected(
        lambda x: np.linalg.norm(x[..., None] * edge - stretch, axis=2) < 1, np.zeros_like(largest), largest
    )
    length, tangent = 1 / inverse, unit(inverse[..., None] * edge - stretch)
    frames = quaternion.between_vectors(reference.E3, tangent)
    stiffness = joint_stiffness(bend, length)
    # Eq. 22 and 23 as groomed: the hair is on its target.
    off = edge / length[..., None]
    v = -2 * length[..., None] * (params.alpha * params.drift * off + (1 - params.alpha) * force)
    unloaded = unloaded_frames(frames, v, stiffness, 2 * length * params.alpha * params.drift * params.overshoots)
    before = np.concatenate([np.tile(IDENTITY, (len(points), 1, 1)), frames[:, :-1]], axis=1)
    first = quaternion.multiply(quaternion.conjugate(before), unloaded)
    again = balanced_rest(frames, before, v, stiffness) if params.feels_beyond else first
    return reference.Hairs(length, first, again, bend, strain)


def unloaded_frames(frames: np.ndarray, v: np.ndarray, stiffness: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """Orientations that eq. 17 turns to `frames`: in the plane of the tangent and v, on the side of v.

    By eq. 22 as printed v grows by `pull` along the unloaded tangent.
    """
    tangent = reference.axis(frames)
    around = np.cross(tangent, v)
    side = np.cross(around, tangent)

    def turned_by(angle):
        return quaternion.multiply(quaternion.from_axis_angle(around, angle), frames)

    def goes_beyond(angle):
        q = turned_by(angle)
        pulled = v + pull[..., None] * reference.axis(q)
        b = -stiffness[..., None] * q
        found = reference.axis(reference.orientation(pulled, b, reference.estimated_multiplier(pulled, b)))
        return (found * side).sum(-1) < 0

    angle = bisected(goes_beyond, np.zeros(stiffness.shape), np.full(stiffness.shape, np.pi))
    return turned_by(angle)


def balanced_rest(frames: np.ndarray, before: np.ndarray, v: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
    """Rest rotations with which `frames` are in balance, from tip to root: (A - lambda) q = b (eq. 14 and 15).

    b = -k p - k' p': p is what the segment before predicts, p' the same of the segment beyond, both of length 1.
    """
    rest, beyond = np.empty_like(frames), np.zeros_like(frames[:, 0])
    for i in reversed(range(frames.shape[1])):
        q, k = frames[:, i], stiffness[:, i, None]
        d = reference.act(v[:, i], q) + beyond
        along = (d * q).sum(-1, keepdims=True)
        square = k * k - (d * d).sum(-1, keepdims=True) + along * along
        assert square.min() > 0, "a joint that cannot hold the groom"
        p = ((along + np.sqrt(square)) * q - d) / k
        rest[:, i] = quaternion.multiply(quaternion.conjugate(before[:, i]), p)
        beyond = k * quaternion.multiply(q, quaternion.conjugate(rest[:, i]))
    return rest


# -- loads of guides -------------------------------------------------------------------------------------------------


def sideways(turn: np.ndarray, along: np.ndarray, half_stiffness: np.ndarray) -> np.ndarray:
    """c of c = T (sqrt(p^2 + c^2) + K - p): what turns a segment by an angle of which T is the tangent of the half."""
    most = turn * (np.abs(along) + half_stiffness - along) / (1 - turn)
    return bisected(
        lambda c: c < turn * (np.hypot(along, c) + half_stiffness - along), np.zeros_like(most), most + 1e-300
    )


@dataclass
class PlainLoads:
    """Loads of guides in weights of a guide: cut forces, and the moments that bend them."""

    model: StrandModel
    params: PhysicalParams
    rest_frame: GuideFrame | None

    def __post_init__(self):
        model, params = self.model, self.params
        self.gravity = np.linalg.norm(model.gravity)
        self.weight = model.mass.sum(axis=1) * self.gravity
        self.bend = model.bend_stiffness.mean(axis=1) / self.weight
        still = np.zeros((model.strand_count, model.segment_count, 3))
        if params.sag_free and self.rest_frame is not None:
            still = self.limited(self.rest_frame.cut_force)
        elif params.sag_free:
            for i in range(model.segment_count):
                still[:, i] = model.mass[:, i + 1 :].sum(axis=1)[:, None] * model.gravity / self.weight[:, None]
        if params.carries_moments:
            still = self.bearable(still)
            self.rest = rest_of(model.rest_points, still, self.bend, np.zeros(len(still)), params)
        self.at_rest = still

    def limited(self, cut: np.ndarray) -> np.ndarray:
        """Cut forces [N] in weights, none of them above the largest."""
        force = cut / self.weight[:, None, None]
        size = np.linalg.norm(force, axis=2, keepdims=True)
        return np.where(size > self.params.largest_force, self.params.largest_force * unit(force), force)

    def bearable(self, force: np.ndarray) -> np.ndarray:
        """The same with no more across a segment than turns it by `REST_TURN`."""
        edge = np.diff(self.model.rest_points, axis=1)
        length, tangent, share = np.linalg.norm(edge, axis=2), unit(edge), 1 - self.params.alpha
        tension = (force * tangent).sum(-1, keepdims=True)
        across = force - tension * tangent
        p = length * (share * tension[..., 0] + self.params.alpha * self.params.drift)
        most = sideways(np.full(p.shape, REST_TURN), p, 0.5 * joint_stiffness(self.bend, length)) / (share * length)
        size = np.maximum(np.linalg.norm(across, axis=2), 1e-300)
        return tension * tangent + across * np.minimum(most / size, 1.0)[..., None]

    def of_frame(self, frame: GuideFrame, turns: np.ndarray) -> np.ndarray:
        force = self.limited(frame.cut_force.astype(np.float64))
        if not self.params.carries_moments:
            return force
        load, share, length = np.empty_like(force), 1 - self.params.alpha, self.rest.length
        stiffness = joint_stiffness(self.bend, length)
        tangents, before = unit(np.diff(frame.points.astype(np.float64), axis=1)), turns
        for i in range(length.shape[1]):
            unloaded = quaternion.multiply(before, self.rest.first[:, i])
            t, d = tangents[:, i], reference.axis(unloaded)
            cosine = (d * t).sum(-1)
            angle = np.arctan2(np.linalg.norm(np.cross(d, t), axis=1), cosine)
            tension = (force[:, i] * t).sum(-1)
            p = length[:, i] * (share * tension + self.params.alpha * self.params.drift)
            c = sideways(as_read(np.tan(0.5 * angle)), p, 0.5 * stiffness[:, i])
            load[:, i] = tension[:, None] * t + (c / (share * length[:, i]))[:, None] * unit(cosine[:, None] * t - d)
            before = quaternion.multiply(quaternion.between_vectors(d, t), unloaded)
        return load


def as_read(turn: np.ndarray) -> np.ndarray:
    """Turns up to `EXACT_TURN` as they are, others by a hyperbola that goes on from there towards `LARGEST_TURN`."""
    room = LARGEST_TURN - EXACT_TURN
    beyond = LARGEST_TURN - room**2 / (room + np.maximum(turn - EXACT_TURN, 0.0))
    return np.where(turn <= EXACT_TURN, turn, beyond)


def placed(load: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Load (M, 3) of one guide in the middle of segments between `places (V,)`, whose own middles are at 1/2, 3/2..."""
    middle, own = 0.5 * (places[1:] + places[:-1]), np.arange(len(load)) + 0.5
    return np.stack([np.interp(middle, own, load[:, c]) for c in range(3)], axis=1)


# -- hairs -----------------------------------------------------------------------------------------------------------


@dataclass
class Given:
    """What the sweeps of `mane.skin.physical._reference` want, and how far each hair hangs on its guides."""

    hairs: reference.Hairs
    guidance: reference.Guidance
    rules: reference.Rules
    share: np.ndarray
    alone: np.ndarray

    def swept(self, count: int = 1, distance=None) -> np.ndarray:
        """Points (S, V, 3) after so many sweeps."""
        given = self.hairs, self.guidance, self.rules
        points, frames = reference.sweep(*given, distance=distance)
        for _ in range(count - 1):
            points, frames = reference.sweep(*given, frames, distance)
        return self.alone + self.share[:, None, None] * (points - self.alone)


def given_to(
    groom: Groom,
    guides: Guides,
    frame: GuideFrame,
    *,
    binding: str = "triangle",
    count: int = 3,
    material: Material | None = None,
    guide_model: StrandModel | None = None,
    guide_stiffening: np.ndarray | None = None,
    rest: GuideFrame | None = None,
    targets: np.ndarray | None = None,
    **settings,
) -> Given:
    """What hairs are made of and what they feel; arguments as those of `PhysicalSkin`, targets in place of a skin."""
    params = PhysicalParams(**settings)
    material = material or Material()
    bound = bind_guides(groom, guides, binding, count)
    beside = places_beside(groom, guides, bound)
    loads = PlainLoads(guide_model or material.model(guides), params, rest)
    stiffening = np.ones(guides.capacity) if guide_stiffening is None else guide_stiffening
    model = material.model(groom)
    weight = model.mass.sum(axis=1) * loads.gravity
    bend, strain = model.bend_stiffness.mean(axis=1) / weight, weight / model.stretch_stiffness.mean(axis=1)
    turns = quaternion.normalize(frame.root_rotations.astype(np.float64))
    turns = reference.nearest_sign(frame.head.rotation, turns)
    now = loads.of_frame(frame, turns)
    hairs = groom.as_uniform().astype(np.float64)
    present = np.where(frame.active, frame.weight, 0).astype(np.float64)
    even = np.linspace(0, guides.vertex_count - 1, hairs.shape[1])
    still, felt = np.zeros((2, len(hairs), hairs.shape[1] - 1, 3))
    turned, share = np.empty((len(hairs), 4)), np.empty(len(hairs))
    for s, own in enumerate(bound.guides):
        w = bound.weights[s].astype(np.float64)
        there, share[s] = linear.present_weights(w, present[own], LEAST_PRESENCE)
        bend[s] *= w @ stiffening[own]
        if params.carries_moments:
            factor = w @ (groom.lengths[s] / guides.strands.lengths[own].astype(np.float64)) ** 3
            bend[s] *= factor
            strain[s] /= max(factor, 1.0)
        for k, g in enumerate(own):
            places = beside[s, k] if params.carries_moments else even
            still[s] += w[k] * placed(loads.at_rest[g], places)
            felt[s] += there[k] * placed(now[g], places)
        turned[s] = there @ turns[own] + (1 - there.sum()) * frame.head.rotation
    if targets is None:
        bundles = one_each(bound, beside)
        targets = linear.linear_hairs(groom.as_uniform(), guides.rest, bound, bundles, frame, LEAST_PRESENCE)
    rules = reference.Rules(
        *(params.alpha, params.drift, params.overshoots, params.stretch_by_blend),
        *(params.penetration, params.drift_gain_used),
    )
    solved = rest_of(hairs, still, bend, strain, params)
    guidance = reference.Guidance(felt, np.asarray(targets, np.float64), quaternion.normalize(turned))
    return Given(solved, guidance, rules, share, frame.head.apply(hairs))
