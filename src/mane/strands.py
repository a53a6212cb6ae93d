"""What a strand is to mechanics: the strand models with their settings, materials, and values that vary along a strand.

`model=` of `mane.Simulation` and `[strand] model` name an entry of `SOLVERS`; its settings are the fields of the class
of settings beside it. `material=` takes a `mane.Material` or a name of `MATERIALS`.
"""

from mane.strand.chain.solver import ChainParams, ChainSolver
from mane.strand.cosserat.solver import CosseratParams, CosseratSolver
from mane.strand.material import MATERIALS, make_material
from mane.strand.model import RootKind, StrandModel
from mane.strand.solver import SOLVERS, StrandSolver
from mane.strand.spring.solver import SpringParams, SpringSolver
from mane.strand.state import StrandState
from mane.strand.stepping import StepReport
from mane.strand.variation import Curve, Painted, Vary
from mane.strand.xpbd.solver import XpbdParams, XpbdSolver

__all__ = [
    "MATERIALS",
    "SOLVERS",
    "ChainParams",
    "ChainSolver",
    "CosseratParams",
    "CosseratSolver",
    "Curve",
    "Painted",
    "RootKind",
    "SpringParams",
    "SpringSolver",
    "StepReport",
    "StrandModel",
    "StrandSolver",
    "StrandState",
    "Vary",
    "XpbdParams",
    "XpbdSolver",
    "make_material",
]
