"""What parts of the hair that touch do to each other: damped repulsion and friction, as stiff as a step allows."""

# mypy: allow-untyped-defs

import math

from mane.contact.strips._kernels import FASTMATH, kernel
from mane.contact.strips._kernels_contact import GAP, GIVE, LIGHT, LIMIT, NORMAL, SCALE, WEIGHT
from mane.simd.jit import njit, prange


@kernel
def load_strands(count, touched, records, busy):
    """Add the weights of every contact to `busy` (G V,), each by the scale of its stiffness."""
    for row in range(count.shape[0]):
        for n in range(count[row]):
            for c in range(4):
                busy[touched[row, n, c]] += records[row, n, SCALE] * abs(records[row, n, WEIGHT + c])


@njit(cache=True, error_model="numpy", fastmath=FASTMATH, parallel=True)
def give_way(table, busy, give):
    """Fill `give` (G, V) with |W| (G, V, V) times `busy` (G, V); see `contact.compliance`."""
    for g in prange(busy.shape[0]):
        for v in range(busy.shape[1]):
            give[g, v] = 0.0
        for w in range(busy.shape[1]):
            if busy[g, w] > 0.0:
                for v in range(busy.shape[1]):
                    give[g, v] += table[g, w, v] * busy[g, w]


@kernel
def weigh_contacts(count, touched, inv_mass, give, records):
    """Fill in what every contact has to move: its inverse mass, alone and with all that acts beside it [1/kg]."""
    for row in range(count.shape[0]):
        for n in range(count[row]):
            light, s = 0.0, 0.0
            for c in range(4):
                v = touched[row, n, c]
                weight = records[row, n, WEIGHT + c]
                light += weight * weight * inv_mass[v]
                s += abs(weight) * give[v]
            records[row, n, LIGHT], records[row, n, GIVE] = light, s


@kernel
def push_apart(count, touched, records, velocity, laws, dt, goes_on, force):
    """Add repulsion and friction of all contacts to `force` (G V, 3), in their order.

    `laws` are the rate of the spring [1/s], its damping ratio, the coefficient of friction, and the fastest that
    overlapping hair is pushed apart [m/s]. Where `goes_on`, records are of an earlier substep: their gaps follow.

    A contact of scale a (chang2002 eq. 3) is a spring of a times the stiffness k. Alone on its strands, which give way
    by w, it gets the impulse of an implicit step, a k dt depth / (1 + a k dt^2 w). With others beside it, a w becomes
    the sum over all of them, each by its own scale, which no sum of impulses overshoots (`contact.compliance`).
    """
    rate, ratio, friction, fastest = laws
    deepest = fastest * (dt + 2.0 * ratio / rate)  # at which spring and damper balance at that speed
    for row in range(count.shape[0]):
        for n in range(count[row]):
            light, s = records[row, n, LIGHT], records[row, n, GIVE]
            if light == 0.0 or s == 0.0:
                continue
            vx, vy, vz = 0.0, 0.0, 0.0
            for c in range(4):
                v = touched[row, n, c]
                weight = records[row, n, WEIGHT + c]
                vx += weight * velocity[v, 0]
                vy += weight * velocity[v, 1]
                vz += weight * velocity[v, 2]
            nx, ny, nz = records[row, n, NORMAL], records[row, n, NORMAL + 1], records[row, n, NORMAL + 2]
            speed = vx * nx + vy * ny + vz * nz
            if goes_on:
                records[row, n, GAP] += dt * speed  # velocities are those that led here from the last substep
            scale = records[row, n, SCALE]
            k = rate * rate / light
            resistance = k * dt * dt + 2.0 * ratio * rate / light * dt
            # As in links: overlap is undone as far as a step can, what comes is stopped as far as it can.
            firm, soft = 1.0 / (1.0 + k * dt * dt * s), 1.0 / (1.0 + resistance * s)
            depth = min(records[row, n, LIMIT] - records[row, n, GAP], deepest * soft / firm)
            normal = scale * (firm * k * dt * depth - soft * resistance * speed)
            if normal <= 0.0:
                continue
            # Friction stops the sliding at most.
            vx, vy, vz = vx - speed * nx, vy - speed * ny, vz - speed * nz
            sliding = math.sqrt(vx * vx + vy * vy + vz * vz)
            brake = min(friction * normal / sliding, scale / s) if sliding > 0.0 else 0.0
            fx, fy, fz = (
                (normal * nx - brake * vx) / dt,
                (normal * ny - brake * vy) / dt,
                (normal * nz - brake * vz) / dt,
            )
            for c in range(4):
                v = touched[row, n, c]
                weight = records[row, n, WEIGHT + c]
                force[v, 0] += weight * fx
                force[v, 1] += weight * fy
                force[v, 2] += weight * fz
