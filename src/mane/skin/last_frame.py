"""By what stages of hair that remember frames know the last one, and when to begin anew."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from mane.strand.frame import GuideFrame

NO_FRAME = b""  # of a stage that has seen none
DIGEST_BYTES = 16
LONGEST_PAUSE = 1.0  # [s] a frame that comes so much later begins anew


def frame_digest(frame: GuideFrame) -> bytes:
    """A digest of a frame's time, guides and solids, `DIGEST_BYTES` long, equal for frames that are equal to the bit.

    A picture that is saved, or a page that is opened, asks for hair that has been made before. A stage that remembers
    frames must not take that for a frame behind the last one; its memory holds the digest, so that it knows its last
    frame after `restore`, too.
    """
    poses = [(*pose.position, *pose.rotation) for pose in (frame.head, *frame.solid_poses)]
    digest = blake2b(digest_size=DIGEST_BYTES)
    for array in (np.float64(frame.time), np.array(poses, np.float64), frame.points, frame.weight, frame.active):
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()
