"""What one sweep reads of hairs at rest, solved for and packed in one go; `rest` and `HairBlocks.pack` specify it.

The unloaded frame of a segment is its groomed one turned by D, and the hair without force is the product of these
turns, however the frames are turned about their segments: no frame is needed. With t the groomed tangent and p = -2 l
times the force of eq. 23, the equation at the top of `rest` makes

    D = (t x p,  |p| + k_bt + p . t)        over its length

so that, with G the product of the turns of the segments before, the hair without force points along G D t.
"""

# mypy: allow-untyped-defs

import math

from mane.simd.jit import njit, prange
from mane.skin._kernels_rotation import product, turned
from mane.skin.physical._kernels import BEND, END, HAIR_ROWS, ROOT, SEGMENT_ROWS, STRAIN, WEIGHTS
from mane.skin.physical.rest import LEAST_INVERSE


@njit(cache=True, error_model="numpy")
def unstretched(ex, ey, ez, sx, sy, sz):
    """Length l and unit tangent t with edge = l (stretch + t) (eq. 12): a quadratic in 1 / l."""
    a = ex * ex + ey * ey + ez * ez
    b = ex * sx + ey * sy + ez * sz
    c = sx * sx + sy * sy + sz * sz - 1.0
    inverse = max((b + math.sqrt(max(b * b - a * c, 0.0))) / a, LEAST_INVERSE / math.sqrt(a))
    tx, ty, tz = ex * inverse - sx, ey * inverse - sy, ez * inverse - sz
    scale = 1.0 / math.sqrt(tx * tx + ty * ty + tz * tz)
    return 1.0 / inverse, tx * scale, ty * scale, tz * scale


@njit(cache=True, error_model="numpy")
def mean_force(force, weight, i):
    """Force (eq. 10) at segment `i` of a hair whose guides count by `weight (K,)` and feel `force (K, N, 3)`."""
    x, y, z = 0.0, 0.0, 0.0
    for k in range(len(weight)):
        x += weight[k] * force[k, i, 0]
        y += weight[k] * force[k, i, 1]
        z += weight[k] * force[k, i, 2]
    return x, y, z


@njit(cache=True, error_model="numpy")
def pack_hair(
    points,
    force,
    weight,
    bend,
    strain,
    pull,
    share,
    keep,
    pivot,
    # out
    lane,
):
    """Fill `lane (R,)`, what the sweep reads of one hair; arguments as in `pack_blocks`, of that hair."""
    x, y, z = points[0, 0] - pivot[0], points[0, 1] - pivot[1], points[0, 2] - pivot[2]
    lane[BEND], lane[STRAIN] = 4.0 * bend, strain / share
    lane[ROOT], lane[ROOT + 1], lane[ROOT + 2] = x, y, z
    lane[WEIGHTS], lane[WEIGHTS + 1] = weight[1], weight[2]
    gx, gy, gz, gw, before = 0.0, 0.0, 0.0, 1.0, 0.0
    for i in range(len(points) - 1):
        nx, ny, nz = points[i + 1, 0] - pivot[0], points[i + 1, 1] - pivot[1], points[i + 1, 2] - pivot[2]
        ex, ey, ez = nx - x, ny - y, nz - z
        fx, fy, fz = mean_force(force, weight, i)
        l, tx, ty, tz = unstretched(ex, ey, ez, strain * fx, strain * fy, strain * fz)
        px = -2.0 * (pull * ex + share * l * fx)
        py = -2.0 * (pull * ey + share * l * fy)
        pz = -2.0 * (pull * ez + share * l * fz)
        stiffness = 8.0 * bend / (l + before)  # k_bt is 4 E I over the half segments on either side
        dx, dy, dz = ty * pz - tz * py, tz * px - tx * pz, tx * py - ty * px
        dw = math.sqrt(px * px + py * py + pz * pz) + stiffness + px * tx + py * ty + pz * tz
        scale = 1.0 / math.sqrt(dx * dx + dy * dy + dz * dz + dw * dw)
        gx, gy, gz, gw = product(gx, gy, gz, gw, dx * scale, dy * scale, dz * scale, dw * scale)
        vx, vy, vz = turned(gx, gy, gz, gw, tx, ty, tz)
        size = (l + before) / (4.0 * bend)
        at = HAIR_ROWS + i * SEGMENT_ROWS
        lane[at], lane[at + 1], lane[at + 2] = size * vx, size * vy, size * vz
        lane[at + END], lane[at + END + 1], lane[at + END + 2] = nx - keep * x, ny - keep * y, nz - keep * z
        x, y, z, before = nx, ny, nz, l


@njit(cache=True, error_model="numpy", parallel=True)
def pack_blocks(
    points,
    force,
    weight,
    of_hair,
    bend,
    strain,
    pull,
    share,
    keep,
    pivot,
    hair,
    # out
    data,
):
    """Fill `data (B, R, 32)` with the hairs `hair (B, 32)`, such that one sweep gives the groom with guides at rest.

    Args:
        points: of the groom (S, V, 3) [m], float32.
        force: that guides of each bundle feel at rest beside the hairs' segments (M, K, V - 1, 3) [weights].
        weight: of the guides of each hair (S, K), K at least 3.
        of_hair: bundle of each hair (S,).
        bend: E I of each hair over its weight (S,) [m^2].
        strain: weight of each hair over E A (S,).
        pull: alpha times drift.
        share: 1 - alpha.
        keep: see `_kernels.sweep_hairs`.
        pivot: where points are seen from (3,) [m], float64.
        hair: see `HairBlocks`.
        data: see `HairBlocks.empty_data`.
    """
    for b in prange(len(hair)):
        for lane in range(hair.shape[1]):
            s = hair[b, lane]
            pack_hair(
                points[s], force[of_hair[s]], weight[s], bend[s], strain[s], pull, share, keep, pivot, data[b, :, lane]
            )
