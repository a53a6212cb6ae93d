"""The table of what can act on guides besides solids and air: `kind` of an interaction in a scene file."""

from __future__ import annotations

from mane.stage.table import Table
from mane.strand.ports import Part

INTERACTIONS: Table[Part] = Table(
    "kind",
    "mane.strand.ports:Part",
    {
        "attraction": "mane.contact.attraction.attraction:Attraction",
        "root_damping": "mane.contact.attraction.damping:RootDamping",
        "links": "mane.contact.links.links:StaticLinks",
        "strips": "mane.contact.strips.strips:TriangleStrips",
        "ties": "mane.contact.ties.ties:Ties",
        "grid": "mane.contact.grid.volume_grid:VolumeGrid",
        "adaptive": "mane.contact.adaptive.adaptive:AdaptiveGuides",
    },
)
