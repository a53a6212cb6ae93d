"""`HairScales`: hairs of a groom where guides are longer or shorter than theirs, as with the sliders of learned hair.

Skins know hairs and guides of one length each. Guides of another one are seen as long as at rest, with the directions
that they have; the hairs that a skin makes of those grow by as much as their guides did, each from its root:

```
   guides now -- shrunk to their rest lengths --> guides -- skin --> hairs of the groom's lengths -- grown --> hairs now
```

So whatever a method expects of lengths stays true, and no method need know of sliders.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mane.geometry.checks import FloatArray, IntArray
from mane.groom.groom import Groom
from mane.groom.guides import Guides
from mane.skin.binding import GuideBinding, bind_guides
from mane.strand.frame import GuideFrame


class HairScales:
    """Lengths of all hairs over those of the groom: the mean of the guides around each root.

    Args:
        groom: the hairs at rest.
        guides: what carries them, at rest.
    """

    def __init__(self, groom: Groom, guides: Guides) -> None:
        self._groom, self._guides = groom, guides
        self._binding: GuideBinding | None = None  # made when a frame first has other lengths: simulations never do

    def of(self, frame: GuideFrame) -> FloatArray | None:
        """Lengths at a frame over those of the groom, (S,), float32; None where they are the same."""
        if frame.length_scale is None:
            return None
        if self._binding is None:
            self._binding = bind_guides(self._groom, self._guides)
        own = frame.length_scale[self._binding.guides]
        # Counted from the first guide on, so that hairs between guides of one scale have that scale exactly.
        more = np.einsum("sk,sk->s", self._binding.weights, own - own[:, :1])
        scale: FloatArray = own[:, 0] + more
        return scale


def as_long_as_at_rest(frame: GuideFrame) -> GuideFrame:
    """Return a frame whose guides have the directions that they have, and their lengths at rest."""
    if frame.length_scale is None:
        return frame
    share = 1.0 / frame.length_scale
    points, velocity = frame.points.copy(), frame.velocity.copy()
    grow(points, share)
    grow(velocity, share)
    return replace(frame, points=points, velocity=velocity, length_scale=None)


def rest_as_long_as_now(rest: FloatArray, scale: FloatArray | None, rows: IntArray) -> FloatArray:
    """Return hairs at rest, (H, V, 3) [m], as long as `Skin.length_scale` says; they are hairs `rows` (H,) of all."""
    return rest if scale is None else rest * scale[rows, None, None]


def grow(points: FloatArray, scale: FloatArray) -> None:
    """Scale strands, `points` (S, V, 3), each by its own `scale` (S,) from its root, in place."""
    roots, beyond = points[:, :1], points[:, 1:]
    beyond -= roots
    beyond *= scale[:, None, None]
    beyond += roots
