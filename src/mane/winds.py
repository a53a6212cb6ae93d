"""What blows on hair, what keeps it away, and the air as a fluid that feels the hair.

`wind=` of `mane.Simulation` takes a `Wind`, `shelters=` what stands in it, and `air=` an `Airflow` in place of both;
`[wind]`, `[air]` and `[[air_fields]]` say the same in a scene, with the keys of `FIELDS`.
"""

from mane.contact.air.airflow import Airflow
from mane.contact.air.fields import FIELDS, Fan, PlacedField, Vortex, WindFile
from mane.contact.air.shelter import HairShelter, Shelter, SolidShelter
from mane.contact.air.wind import GustingWind, UniformWind, Wind

__all__ = [
    "FIELDS",
    "Airflow",
    "Fan",
    "GustingWind",
    "HairShelter",
    "PlacedField",
    "Shelter",
    "SolidShelter",
    "UniformWind",
    "Vortex",
    "Wind",
    "WindFile",
]
