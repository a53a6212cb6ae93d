"""What acts on guides besides gravity, and how to add a force of your own.

`forces=[...]` of `mane.Simulation` takes objects of these classes, `[[interactions]]` of a scene names them by the keys
of `INTERACTIONS`. A force of your own derives from `Force` (it adds to a `Load`), one that moves vertices after the
step from `Constraint`; one entry in `INTERACTIONS` makes it known to scene files, `mane compare` and `mane bench`.
"""

from mane.contact.adaptive.adaptive import AdaptiveGuides, AdaptiveParams
from mane.contact.air.drag import Drag
from mane.contact.air.waterflow import Waterflow
from mane.contact.air.wet_guides import WetGuides
from mane.contact.attraction.attraction import Attraction
from mane.contact.attraction.damping import RootDamping
from mane.contact.grid.volume_grid import VolumeGrid
from mane.contact.links.links import StaticLinks
from mane.contact.solids.contact import ContactParams, SolidContact
from mane.contact.solids.projection import ProjectionParams, SolidProjection
from mane.contact.strips.params import StripParams
from mane.contact.strips.strips import TriangleStrips, WispCollisions
from mane.contact.table import INTERACTIONS
from mane.contact.ties.ties import Tie, TieParams, Ties
from mane.strand.ports import Constraint, Force, GuideLoad, Load, StrandView

__all__ = [
    "INTERACTIONS",
    "AdaptiveGuides",
    "AdaptiveParams",
    "Attraction",
    "Constraint",
    "ContactParams",
    "Drag",
    "Force",
    "GuideLoad",
    "Load",
    "ProjectionParams",
    "RootDamping",
    "SolidContact",
    "SolidProjection",
    "StaticLinks",
    "StrandView",
    "StripParams",
    "Tie",
    "TieParams",
    "Ties",
    "TriangleStrips",
    "VolumeGrid",
    "Waterflow",
    "WetGuides",
    "WispCollisions",
]
