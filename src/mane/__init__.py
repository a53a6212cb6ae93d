"""mane: a full head of hair, or a coat of fur, from a few hundred simulated guide strands.

```python
import mane

groom = mane.styles.make("curly", strands=100_000, seed=1)
guides = mane.select_guides(groom, 128, seed=1)
mane.write_groom("curly.usd", groom)
```

Every public name is listed in `PUBLIC` and loaded when it is first used, so that `import mane` is quick.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version as _version
from typing import Any

__version__ = _version("mane")

# public name -> the module that owns it (a name equal to its module's last part is the module itself)
PUBLIC = {
    # what hair is
    "Groom": "mane.groom.groom",
    "concatenate": "mane.groom.groom",
    "styles": "mane.groom.styles",
    "resample": "mane.groom.resample",
    "bind_roots": "mane.groom.binding",
    "Guides": "mane.groom.guides",
    "select_guides": "mane.groom.select",
    "grow": "mane.groom.grow",
    "repair": "mane.groom.repair",
    "depenetrate": "mane.groom.depenetrate",
    # what it grows on and touches
    "Mesh": "mane.body.mesh",
    "make_bust": "mane.body.bust",
    "build_sdf": "mane.body.sdf",
    "shapes": "mane.body.shapes",
    "props": "mane.body.props",
    "Solid": "mane.body.solid",
    "Pose": "mane.body.motion",
    "make_motion": "mane.body.motion_presets",
    "read_motion": "mane.body.motion_files",
    # files
    "read_groom": "mane.io",
    "write_groom": "mane.io",
    "read_mesh": "mane.io",
    "write_mesh": "mane.io",
    # pictures
    "preview": "mane.render.preview",
}
_MODULES = {"styles", "shapes", "props"}

__all__ = ["PUBLIC", "__version__", *PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'mane' has no attribute {name!r}")
    module = import_module(PUBLIC[name])
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *PUBLIC])
