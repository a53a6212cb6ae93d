"""How heads and solids move: keyframes, spins, presets, and files of poses.

`mane.make_motion(name)` makes one of `MOTIONS`, `mane.read_motion(path)` reads one; whatever has the methods of
`Motion` is one too.
"""

from mane.body.motion import Motion, Twist
from mane.body.motion_files import write_motion
from mane.body.motion_keys import KeyframedMotion
from mane.body.motion_presets import MOTIONS
from mane.body.motion_spin import SpinMotion

__all__ = ["MOTIONS", "KeyframedMotion", "Motion", "SpinMotion", "Twist", "write_motion"]
