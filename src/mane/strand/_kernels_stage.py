"""Theta of the theta method, for all strand models (docs/decisions/0008).

A step is implicit Euler over a part theta of it, the stage, from which everything goes on to its end with the
velocities of that stage. One half of it would be the implicit midpoint rule, which keeps the energy of small
oscillations; all of it is Euler's.
"""

# mypy: allow-untyped-defs

# Of a calm step. Less, and hair that whips gains energy now and then.
THETA = 0.57
# A step is all stage where the load resists a vertex with this part of mass / dt, or pushes it by so much [m/s^2], or a
# segment turns by so much [rad]. What resists a vertex, a contact above all, is to stop it, and would throw it back if
# the stage were extrapolated. What pushes it is known at the start of the step only; springs among that need the whole
# of its impulse to be stable. A segment that turns by `CALM` goes on along a curve that the stage knows little of.
RESISTED, PUSHED, CALM = 0.25, 0.1, 0.5
