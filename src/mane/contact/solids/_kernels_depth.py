"""How deep strands are inside a solid at the end of a step."""

# mypy: allow-untyped-defs

from mane.body._kernels_solid import AFTER, to_local
from mane.contact.solids._kernels_trace import least_distance, measure_vertex
from mane.simd.jit import njit, prange


@njit(cache=True, error_model="numpy")
def strand_depth(solid, poses, points, first, measured):
    """How deep the deepest vertex from number `first` on is inside at the end of the step [m], at least 0."""
    depth = 0.0
    for j in range(first, len(points)):
        x = to_local(poses, AFTER, points[j, 0], points[j, 1], points[j, 2])
        if least_distance(solid, AFTER, x, measured, j) <= 0.0:
            depth = max(depth, -measure_vertex(solid, AFTER, x, measured, j))
    return depth


@njit(cache=True, error_model="numpy", parallel=True)
def measure_depth(
    solid,
    poses,
    points,
    is_held,
    is_active,
    # out
    measured,
    deepest,
):
    """Fill `deepest` (G,) with how deep a vertex of each strand is inside a solid at the end of the step [m]."""
    for s in prange(len(points)):
        first = (1 if is_held[s] else 0) if is_active[s] else points.shape[1]
        deepest[s] = strand_depth(solid, poses, points[s], first, measured[s])
