"""mane: a full head of hair, or a coat of fur, from a few hundred simulated guide strands.

```python
import mane

groom = mane.styles.make("curly", strands=100_000, seed=1)
guides = mane.select_guides(groom, 128, seed=1)
mane.write_groom("curly.usd", groom)
```

Every public name is listed in `PUBLIC` and loaded when it is first used, so that `import mane` is quick. Those of one
subject stand together in a module: `mane.forces`, `mane.winds`, `mane.fluids`, `mane.volumes`, `mane.strands`,
`mane.skins`, `mane.learning`, `mane.motions`, `mane.scenes`, `mane.pictures`, `mane.styles`, `mane.shapes`,
`mane.props` and `mane.metrics`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version as _version
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names again, for type checkers and editors; a test compares the two
    from mane import fluids as fluids
    from mane import forces as forces
    from mane import learning as learning
    from mane import metrics as metrics
    from mane import motions as motions
    from mane import pictures as pictures
    from mane import scenes as scenes
    from mane import skins as skins
    from mane import strands as strands
    from mane import volumes as volumes
    from mane import winds as winds
    from mane.body import props as props
    from mane.body import shapes as shapes
    from mane.body.articulated_bust import make_articulated_bust as make_articulated_bust
    from mane.body.bust import make_bust as make_bust
    from mane.body.creature import make_creature as make_creature
    from mane.body.mesh import Mesh as Mesh
    from mane.body.motion import Pose as Pose
    from mane.body.motion_presets import make_motion as make_motion
    from mane.body.neck import find_neck as find_neck
    from mane.body.scale import check_scale as check_scale
    from mane.body.sdf import build_sdf as build_sdf
    from mane.body.skeleton import JointAnimation as JointAnimation
    from mane.body.skeleton import Skeleton as Skeleton
    from mane.body.skeleton import SkinnedMesh as SkinnedMesh
    from mane.body.solid import Solid as Solid
    from mane.dataset.dataset import open_dataset as open_dataset
    from mane.dataset.run import run_dataset as run_dataset
    from mane.dataset.spec import read_spec as read_spec
    from mane.dataset.spread import bake_on_cluster as bake_on_cluster
    from mane.groom import styles as styles
    from mane.groom.binding import bind_roots as bind_roots
    from mane.groom.depenetrate import depenetrate as depenetrate
    from mane.groom.groom import Groom as Groom
    from mane.groom.groom import concatenate as concatenate
    from mane.groom.grow import grow as grow
    from mane.groom.guides import Guides as Guides
    from mane.groom.register import register_guides as register_guides
    from mane.groom.repair import repair as repair
    from mane.groom.repair import repair_arrays as repair_arrays
    from mane.groom.resample import resample as resample
    from mane.groom.select import select_guides as select_guides
    from mane.groom.select import shape_distances as shape_distances
    from mane.io import read_body as read_body
    from mane.io import read_groom as read_groom
    from mane.io import read_mesh as read_mesh
    from mane.io import write_groom as write_groom
    from mane.io import write_mesh as write_mesh
    from mane.io.motions import read_motion as read_motion
    from mane.io.usd.write_character import write_usd_character
    from mane.measure.compare.compare import compare as compare
    from mane.reduced.model import HairModel as HairModel
    from mane.render.camera import Camera as Camera
    from mane.render.looks import LOOKS as LOOKS
    from mane.render.looks import Look as Look
    from mane.render.renderer import render as render
    from mane.salon.notebook import show as show
    from mane.scene.config import Scene as Scene
    from mane.scene.loop import bake_cache as bake_cache
    from mane.scene.loop import run_scene as run_scene
    from mane.scene.scene_file import SceneError as SceneError
    from mane.scene.scene_file import read_scene as read_scene
    from mane.scene.simulation import Simulation as Simulation
    from mane.skin.table import make_skin
    from mane.strand.frame import GuideFrame as GuideFrame
    from mane.strand.material import Material as Material
    from mane.strand.roots import RootPose as RootPose
    from mane.strand.stepping import SolverDiverged as SolverDiverged

    skin = make_skin
    write_character = write_usd_character

__version__ = _version("mane")

# public name -> the module that owns it, with the name it has there where that is another; a module is its own
PUBLIC = {
    # what hair is
    "Groom": "mane.groom.groom",
    "concatenate": "mane.groom.groom",
    "styles": "mane.groom.styles",
    "resample": "mane.groom.resample",
    "bind_roots": "mane.groom.binding",
    "Guides": "mane.groom.guides",
    "select_guides": "mane.groom.select",
    "shape_distances": "mane.groom.select",
    "register_guides": "mane.groom.register",
    "grow": "mane.groom.grow",
    "repair": "mane.groom.repair",
    "repair_arrays": "mane.groom.repair",
    "depenetrate": "mane.groom.depenetrate",
    # what it grows on and touches
    "Mesh": "mane.body.mesh",
    "make_bust": "mane.body.bust",
    "make_articulated_bust": "mane.body.articulated_bust",
    "make_creature": "mane.body.creature",
    "build_sdf": "mane.body.sdf",
    "shapes": "mane.body.shapes",
    "props": "mane.body.props",
    "Solid": "mane.body.solid",
    "Skeleton": "mane.body.skeleton",
    "JointAnimation": "mane.body.skeleton",
    "SkinnedMesh": "mane.body.skeleton",
    "check_scale": "mane.body.scale",
    "find_neck": "mane.body.neck",
    "Pose": "mane.body.motion",
    "make_motion": "mane.body.motion_presets",
    "read_motion": "mane.io.motions",
    "motions": "mane.motions",
    # files
    "read_groom": "mane.io",
    "write_groom": "mane.io",
    "read_mesh": "mane.io",
    "write_mesh": "mane.io",
    "read_body": "mane.io",
    "write_character": "mane.io.usd.write_character:write_usd_character",
    # how guides move
    "Simulation": "mane.scene.simulation",
    "SolverDiverged": "mane.strand.stepping",
    "strands": "mane.strands",
    "forces": "mane.forces",
    "winds": "mane.winds",
    "fluids": "mane.fluids",
    "volumes": "mane.volumes",
    "HairModel": "mane.reduced.model",
    "Material": "mane.strand.material",
    "GuideFrame": "mane.strand.frame",
    "RootPose": "mane.strand.roots",
    # scene files
    "Scene": "mane.scene.config",
    "SceneError": "mane.scene.scene_file",
    "scenes": "mane.scenes",
    "read_scene": "mane.scene.scene_file",
    "run_scene": "mane.scene.loop",
    "bake_cache": "mane.scene.loop",
    "compare": "mane.measure.compare.compare",
    # many sequences
    "read_spec": "mane.dataset.spec",
    "run_dataset": "mane.dataset.run",
    "open_dataset": "mane.dataset.dataset",
    "bake_on_cluster": "mane.dataset.spread",
    "learning": "mane.learning",
    # how they carry every hair
    "skin": "mane.skin.table:make_skin",
    "skins": "mane.skins",
    "metrics": "mane.metrics",
    # pictures
    "render": "mane.render.renderer",
    "pictures": "mane.pictures",
    "Camera": "mane.render.camera",
    "Look": "mane.render.looks",
    "LOOKS": "mane.render.looks",
    "show": "mane.salon.notebook",
}
MODULES = (
    "fluids",
    "forces",
    "learning",
    "metrics",
    "motions",
    "pictures",
    "props",
    "scenes",
    "shapes",
    "skins",
    "strands",
    "styles",
    "volumes",
    "winds",
)

__all__ = ["MODULES", "PUBLIC", "__version__", *PUBLIC]


def __getattr__(name: str) -> Any:
    if name not in PUBLIC:
        raise AttributeError(f"module 'mane' has no attribute {name!r}")
    owner, _, other = PUBLIC[name].partition(":")
    module = import_module(owner)
    value = module if name in MODULES else getattr(module, other or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *PUBLIC])


class _Surface(ModuleType):
    """Keeps public names what they are: `mane.skin` and `mane.render` are functions, and rooms have these names too.

    Python sets a package's attribute to each submodule that is imported, which would put the rooms in their place.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        is_room = isinstance(value, ModuleType) and name in PUBLIC and PUBLIC[name] != value.__name__
        if not is_room:
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Surface
