"""`SpringNet`: the particles and springs that stand for guides in the `spring` model (Selle, Lentine, Fedkiw 2008).

Every segment carries one auxiliary particle beside its middle, at a right angle to it, a quarter turn further about the
strand from one segment to the next. Vertices and auxiliary particles in turn make one zigzag, whose every four
consecutive particles form a tetrahedron, on straight runs too:

```
   number     0      1      2      3      4      5      6      7
   particle   x_-1   a_-1   x_0    a_0    x_1    a_1    x_2    a_2 ...       x vertices, a auxiliary particles,
              '-- ghosts --'                                                 ghosts turn with the head (the clamp)
```

Particle p has a spring to each of p-1, p-2 and p-3 (edge, bending and torsion springs of the zigzag):

| spring        | of an auxiliary particle a_j  | of a vertex x_(j+1)            |
|---------------|-------------------------------|--------------------------------|
| to p-1        | x_j, brace                    | a_j, brace                     |
| to p-2        | a_(j-1), resists twist        | x_j, the segment itself        |
| to p-3        | x_(j-1), resists bending to a | a_(j-1), resists bending too   |

and an altitude spring on the tetrahedron p-3 ... p, between the auxiliary particle at one end of it (a_j or a_(j-1))
and the opposite face, which is the triangle of the neighbouring segment. Which pair it acts on is fixed: Selle's choice
of the shortest of seven pairs, made anew every step, switches forces on and off.
The braces are as stiff as the segments, so a segment and its auxiliary particle are a rigid triangle; what remains of a
joint are three turns against three springs and two altitudes, and those are given the rod's E I and G J.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from mane.geometry import quaternion
from mane.geometry.checks import IntArray
from mane.strand.model import Float64Array, RootKind, StrandModel
from mane.strand.spring.joints import Joints, calibrated, soundness

GHOSTS = 2  # particles in front of the root
TO_BRACE, TO_NEXT, TO_FAR = 0, 1, 2  # the springs of a particle: to p-1, p-2, p-3
AUXILIARY, VERTEX = slice(GHOSTS + 1, None, 2), slice(GHOSTS + 2, None, 2)  # a segment's particles, its start apart

# Distance of an auxiliary particle from its segment over the segment's length. A twisting moment bends a joint as well,
# to a side that goes round with the auxiliary particles, by (segment / distance) / 2^0.5 of what a bending moment does:
# the further away they are, the less strands zigzag. But within a bend they must not come near its centre: distance
# times the groomed turn of a joint is at most `INSIDE`.
FARTHEST, NEAREST, INSIDE = 2.5, 1.0, 0.5

# Share of a strand's mass that auxiliary particles carry if they are a segment's length away; further out it is less by
# the square, so that their inertia against twist is the same. It must be above zero; a hair has next to none.
AUXILIARY_MASS = 0.02

QUARTER = 0.5 * np.pi
STRAIGHT = 1e-6  # a strand that bends by less than this part of its length has no direction of its own
# Quarter turns go on the same way round unless the other leaves a joint this much better levers. A joint is a little
# softer to one side than to the other, which cancels over four joints that go round, and adds up where they do not.
# With 2, strands that are groomed bent get joints so poor that they come out of a head shake in waves.
TIE = 1.4


@dataclass(frozen=True, eq=False)
class SpringNet:
    """Springs of G strands with P = 2 V + 1 particles each, numbered as above; all float64.

    Attributes:
        rest_points: particles in the groomed shape [m], shape (G, P, 3).
        mass: [kg], shape (G, P); zero for ghosts.
        stiffness: of the springs to p-1, p-2, p-3 [N/m], shape (G, P, 3); zero where there is none.
        rest_length: of the same [m], shape (G, P, 3).
        altitude_stiffness: of the altitude spring of p-3 ... p [N/m], shape (G, P).
        rest_altitude: signed by the orientation of the tetrahedron [m], shape (G, P).
        damping: time constant of all springs of a particle [s], shape (G, P).
        is_held: particles that follow the head, shape (G, P).
        frames: of the segments as groomed, twist-free, quaternions, shape (G, N, 4).
        azimuth: cosine and sine of the auxiliary particle's angle in its segment's frame, shape (G, N, 2).
        offset: distance of each auxiliary particle from the middle of its segment [m], shape (G, N).
    """

    rest_points: Float64Array
    mass: Float64Array
    stiffness: Float64Array
    rest_length: Float64Array
    altitude_stiffness: Float64Array
    rest_altitude: Float64Array
    damping: Float64Array
    is_held: NDArray[np.bool_]
    frames: Float64Array
    azimuth: Float64Array
    offset: Float64Array

    def taken(self, rows: IntArray) -> SpringNet:
        """Return the net of some of the strands."""
        return SpringNet(**{each.name: getattr(self, each.name)[rows] for each in fields(self)})

    @property
    def joint_stiffness(self) -> Float64Array:
        """Stiffness [N/m] of the five springs of each joint, as in `joints`, shape (G, N, 5); a copy."""
        twist, bend = self.stiffness[:, AUXILIARY, TO_NEXT], self.stiffness[:, AUXILIARY, TO_FAR]
        altitudes = (self.altitude_stiffness[:, AUXILIARY], self.altitude_stiffness[:, VERTEX])
        return np.stack([twist, bend, self.stiffness[:, VERTEX, TO_FAR], *altitudes], axis=-1)

    def with_joint_stiffness(self, joint: Float64Array) -> SpringNet:
        """Return the same net with other springs in its joints, shape (G, N, 5)."""
        stiffness, altitude = self.stiffness.copy(), self.altitude_stiffness.copy()
        stiffness[:, AUXILIARY, TO_NEXT] = joint[..., 0]
        stiffness[:, AUXILIARY, TO_FAR] = joint[..., 1]
        stiffness[:, VERTEX, TO_FAR] = joint[..., 2]
        altitude[:, AUXILIARY], altitude[:, VERTEX] = joint[..., 3], joint[..., 4]
        return self.with_springs(stiffness, self.rest_length, altitude)

    def with_springs(self, stiffness: Float64Array, rest_length: Float64Array, altitude: Float64Array) -> SpringNet:
        """Return the same particles with other springs."""
        return replace(self, stiffness=stiffness, rest_length=rest_length, altitude_stiffness=altitude)


def interleaved(clamp: Float64Array, points: Float64Array, auxiliary: Float64Array) -> Float64Array:
    """Put ghosts (G, 2, ...), vertices (G, V, ...) and auxiliary particles (G, N, ...) in the order of the net."""
    strands, vertices = points.shape[:2]
    out = np.empty((strands, GHOSTS + 2 * vertices - 1, *points.shape[2:]))
    out[:, :GHOSTS] = clamp
    out[:, GHOSTS::2] = points
    out[:, GHOSTS + 1 :: 2] = auxiliary
    return out


def make_net(model: StrandModel) -> SpringNet:
    """Build the net of guides: stiffness from the rod's constants, no spring strained in the groomed shape."""
    frames = twist_free_frames(model.rest_points)
    offset = _offsets(model)
    angle = _angles(model, frames, offset)
    azimuth = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    particles = _place(model, frames, azimuth, offset)
    strands, count = particles.shape[:2]
    length = spring_lengths(particles)
    stiffness = np.zeros((strands, count, 3))
    stiffness[:, VERTEX, TO_NEXT] = model.stretch_stiffness / length[:, VERTEX, TO_NEXT]
    for which in (AUXILIARY, VERTEX):
        stiffness[:, which, TO_BRACE] = model.stretch_stiffness / length[:, which, TO_BRACE]
    damping = np.zeros((strands, count))
    damping[:, AUXILIARY] = damping[:, VERTEX] = model.damping
    net = SpringNet(
        particles,
        _masses(model, offset),
        stiffness,
        length,
        np.zeros((strands, count)),
        altitudes_of(particles),
        damping,
        _held(model),
        frames,
        azimuth,
        offset,
    )
    struts = ((VERTEX, TO_NEXT), (AUXILIARY, TO_BRACE), (VERTEX, TO_BRACE))
    strut = np.stack([stiffness[:, which, spring] for which, spring in struts], axis=-1)
    return without_clamp(net.with_joint_stiffness(calibrated(Joints.of(particles), strut, model)), model.root_kind)


def without_clamp(net: SpringNet, root_kind: NDArray[np.int8]) -> SpringNet:
    """Take the springs to the ghosts away from strands that nothing clamps."""
    loose = root_kind != RootKind.CLAMPED
    stiffness, altitude = net.stiffness.copy(), net.altitude_stiffness.copy()
    stiffness[loose, GHOSTS + 1, TO_NEXT:] = 0.0
    stiffness[loose, GHOSTS + 2, TO_FAR] = 0.0
    altitude[loose, GHOSTS + 1 : GHOSTS + 3] = 0.0
    return net.with_springs(stiffness, net.rest_length, altitude)


def spring_lengths(particles: Float64Array) -> Float64Array:
    """Length of each spring [m], shape (G, P, 3); one where a particle has none, to keep divisions finite."""
    length = np.ones((*particles.shape[:2], 3))
    for which in range(3):
        apart = particles[:, which + 1 :] - particles[:, : -which - 1]
        length[:, which + 1 :, which] = np.linalg.norm(apart, axis=-1)
    length[:, : GHOSTS + 1] = 1.0
    return length


def altitudes_of(particles: Float64Array) -> Float64Array:
    """Signed altitude of each particle's tetrahedron [m], shape (G, P); zero where there is none."""
    out = np.zeros(particles.shape[:2])
    for p in range(GHOSTS + 1, particles.shape[1]):
        apex, base, first, second = tetrahedron(p)
        normal = np.cross(particles[:, first] - particles[:, base], particles[:, second] - particles[:, base])
        normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
        out[:, p] = (normal * (particles[:, apex] - particles[:, base])).sum(axis=-1)
    return out


def tetrahedron(p: int) -> tuple[int, int, int, int]:
    """Particles of the tetrahedron p-3 ... p: the apex of its altitude, then the opposite face."""
    if (p - GHOSTS) % 2:
        return p, p - 3, p - 2, p - 1
    return p - 3, p - 2, p - 1, p


def twist_free_frames(points: Float64Array) -> Float64Array:
    """Frames of the segments of curves (G, V, 3), carried along by the smallest rotations, shape (G, N, 4)."""
    tangent = np.diff(points, axis=1)
    tangent /= np.linalg.norm(tangent, axis=-1, keepdims=True)
    frames = np.empty((*tangent.shape[:2], 4))
    previous, carried = np.array([0.0, 0.0, 1.0]), quaternion.identity((len(points),), np.float64)
    for j in range(tangent.shape[1]):
        carried = quaternion.multiply(quaternion.between_vectors(previous, tangent[:, j]), carried)
        frames[:, j] = quaternion.normalize(carried)
        previous = tangent[:, j]
    return frames


def _direction(frame: Float64Array, angle: Float64Array) -> Float64Array:
    local = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=-1)
    out: Float64Array = quaternion.rotate(frame, local)
    return out


def _offsets(model: StrandModel) -> Float64Array:
    """Distance of each auxiliary particle from its segment [m], shape (G, N)."""
    along = np.diff(model.rest_points, axis=1) / model.rest_length[..., None]
    turn = 2.0 * np.arcsin(np.clip(0.5 * np.linalg.norm(np.diff(along, axis=1), axis=-1), 0.0, 1.0))
    turn = np.pad(turn, ((0, 0), (1, 1)))
    sharper = np.maximum(np.maximum(turn[:, 1:], turn[:, :-1]), INSIDE / FARTHEST)
    offset: Float64Array = np.maximum(INSIDE / sharper, NEAREST) * model.rest_length
    return offset


def _angles(model: StrandModel, frames: Float64Array, offset: Float64Array) -> Float64Array:
    """Angle of each auxiliary particle about its segment, in its frame [rad], shape (G, N).

    They go on by quarter turns. Either way round makes a sound joint on a straight run. Where the groom bends so much
    that one way leaves the joint's springs hardly any lever, the other is taken: a larger volume spanned by the turns
    that they resist.
    """
    step = np.diff(model.rest_points, axis=1)
    ways = (QUARTER, -QUARTER)

    def score(j: int, before: Float64Array, way: float) -> Float64Array:
        out_before = _direction(frames[:, j - 1], before) * offset[:, j - 1, None] - 0.5 * step[:, j - 1]
        out_after = _direction(frames[:, j], before + way) * offset[:, j, None] + 0.5 * step[:, j]
        return soundness(-step[:, j - 1], out_before, out_after, step[:, j])

    angle = np.empty(frames.shape[:2])
    # Half a quarter off the plane of bending, so that springs share it, and at the clamp, which bends most, one of them
    # on either side.
    starts = [_first_angle(model, frames[:, 0]) + (number + 1.5) * QUARTER for number in range(4)]
    scores = [np.maximum(*(score(1, start, way) for way in ways)) for start in starts]
    angle[:, 0] = np.choose(_best_of(scores), starts)
    for j in range(1, frames.shape[1]):
        best = _best_of([score(j, angle[:, j - 1], way) for way in ways])
        angle[:, j] = angle[:, j - 1] + np.choose(best, ways)
    return angle


def _first_angle(model: StrandModel, frame: Float64Array) -> Float64Array:
    """Angle in the first segment's frame of a direction that turns with the scene: where the strand bends to.

    A straight strand has no such direction; it takes gravity's, and if it hangs or stands, any.
    """
    points = model.rest_points
    bent = quaternion.rotate(quaternion.conjugate(frame), (points - points[:, :1]).mean(axis=1))[:, :2]
    sagging = quaternion.rotate(quaternion.conjugate(frame), np.broadcast_to(model.gravity, points[:, 0].shape))[:, :2]
    is_bent = np.linalg.norm(bent, axis=1) > STRAIGHT * model.strand_length
    sags = np.linalg.norm(sagging, axis=1) > STRAIGHT * np.linalg.norm(model.gravity)
    chosen = np.where(is_bent[:, None], bent, np.where(sags[:, None], sagging, [1.0, 0.0]))
    angle: Float64Array = np.arctan2(chosen[:, 1], chosen[:, 0])
    return angle


def _best_of(scores: list[Float64Array]) -> NDArray[np.int64]:
    """Which of the candidates scores best in each strand; the first, unless another is clearly better."""
    best = np.zeros(len(scores[0]), np.int64)
    score = scores[0].copy()
    for number, candidate in enumerate(scores[1:], start=1):
        better = candidate > TIE * score
        best[better], score[better] = number, candidate[better]
    return best


def _place(model: StrandModel, frames: Float64Array, azimuth: Float64Array, offset: Float64Array) -> Float64Array:
    points = model.rest_points
    local = np.concatenate([azimuth, np.zeros((*azimuth.shape[:2], 1))], axis=-1) * offset[..., None]
    auxiliary = 0.5 * (points[:, 1:] + points[:, :-1]) + quaternion.rotate(frames, local)
    first = points[:, 1] - points[:, 0]
    behind = np.stack([-local[:, 0, 1], local[:, 0, 0], local[:, 0, 2]], axis=-1)  # a quarter turn back is -(this)
    clamp = np.stack([-first, -0.5 * first - quaternion.rotate(frames[:, 0], behind)], axis=1) + points[:, :1]
    return interleaved(clamp, points, auxiliary)


def _masses(model: StrandModel, offset: Float64Array) -> Float64Array:
    """Masses of all particles; every vertex gives a share of its own to its segments' auxiliary particles."""
    half = model.mass.copy()
    half[:, 1:-1] *= 0.5
    share = AUXILIARY_MASS * (model.rest_length / offset) ** 2
    vertices = model.mass.copy()
    vertices[:, 1:] -= share * half[:, 1:]
    vertices[:, :-1] -= share * half[:, :-1]
    return interleaved(np.zeros((model.strand_count, GHOSTS)), vertices, share * (half[:, 1:] + half[:, :-1]))


def _held(model: StrandModel) -> NDArray[np.bool_]:
    held = np.zeros((model.strand_count, GHOSTS + 2 * model.vertex_count - 1), np.bool_)
    held[:, :GHOSTS] = True
    held[:, GHOSTS] = model.root_kind != RootKind.FREE
    return held
