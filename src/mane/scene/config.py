"""What a scene says: one frozen dataclass per table of a scene file, its fields the keys of the table.

The same classes build a scene in Python. A line of `Attributes` is also what `mane new` writes beside the key.

```python
scene = Scene(groom=GroomTable(style="curly", strands=20_000), head=HeadTable(motion="shake"))
summary = run_scene(scene)
```
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from mane.geometry.checks import require_choice
from mane.geometry.limits import Choice, Count, Fraction, NotNegative, Positive, Range, check_limits
from mane.scene.config_body import BodyTable, HeadTable, Paths, Settings, SolidTable, Vector3
from mane.scene.config_output import BoundsTable, CameraTable, FinishTable, OutputTable, require
from mane.scene.options import TableError, check_settings

__all__ = [
    "AirFieldTable",
    "AirTable",
    "BodyTable",
    "BoundsTable",
    "CameraTable",
    "ContactTable",
    "FinishTable",
    "FramesTable",
    "GroomTable",
    "GuidesTable",
    "HandsTable",
    "HeadTable",
    "InteractionTable",
    "OutputTable",
    "PassTable",
    "Scene",
    "SkinTable",
    "SolidTable",
    "SourceTable",
    "StrandTable",
    "TargetTable",
    "WaterSourceTable",
    "WaterTable",
    "WindTable",
]

ALL = "all"  # [guides] count
# Of push_out behind keep_sides: so little is left to push that more rounds cost little, and lengths are kept better.
ROUNDS_BEHIND_SIDES = 8
MARKED = "marked"  # [guides] method
# Tables that hand every key which is not theirs to the thing that they name: an option of a style, a skin, a part.
OPEN_TABLES = (
    "groom",
    "body",
    "source",
    "solids",
    "air_fields",
    "water_sources",
    "interactions",
    "skin",
    "skin.target",
    "passes",
)


Wall = Annotated[str, Choice("slip", "no_slip", "sticky")]  # how solids hold air and water
# Sides of the box of [water], in the order of those of a grid.
WATER_SIDES = ("left", "right", "bottom", "top", "back", "front")


@dataclass(frozen=True)
class FramesTable:
    """Which frames are made.

    Attributes:
        start: number of the first frame, which shows time 0
        end: number of the last frame
        rate: frames per second
        preroll: time that the hair is given to come to rest before the first frame [s]
    """

    start: int = 1
    end: int = 48
    rate: Annotated[float, Range(above=0, below=1e4)] = 24.0
    preroll: Annotated[float, Range(least=0, below=1e4)] = 0.0

    def __post_init__(self) -> None:
        check_limits(self)
        require(self.end >= self.start, "end", f"must be at least start ({self.start})", self.end)

    @property
    def count(self) -> int:
        """Number of frames."""
        return self.end - self.start + 1


@dataclass(frozen=True)
class GroomTable:
    """The hair. A style's own options, such as `length`, are further keys of the table.

    Attributes:
        style: a procedural style; see `mane style --list`
        file: or a groom file: .usd .hair .data .npz ...
        strands: how many, of a style
        vertices: points per strand; without it as the style needs or the file has
        unit: unit of the file where it does not say, e.g. "cm"
        up: up axis of the file where it does not say: "x", "y", "z", "-x", "-y" or "-z"
        any_scale: takes hair and body of any size; else what cannot be hair, or not on that body, is refused
        settings: options of the style
    """

    style: str | None = None
    file: str | None = None
    strands: Count | None = None
    vertices: Annotated[int, Range(least=4)] | None = None
    unit: str | None = None
    up: str | None = None
    any_scale: bool = False
    settings: Settings = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.style is None) == (self.file is None):
            raise ValueError("style: must be given, or file, and not both")
        check_limits(self)
        if self.file is not None and self.strands is not None:
            raise ValueError("strands: is for styles; a file has the strands that it has")
        if self.style is not None and (self.unit or self.up):
            raise ValueError(f"{'unit' if self.unit else 'up'}: is for files; a style is in metres with Y up")


@dataclass(frozen=True)
class GuidesTable:
    """The strands that are simulated.

    Attributes:
        count: how many, or "all" to simulate every strand; without it 128, or all where there are fewer
        method: how they are chosen: "shape", "farthest", "random", or "marked" as guides in the file
        vertices: points per guide; without it as the groom, or the file of the guides, has
        file: a groom file with guides of your own; they are simulated as they are and are no hair of the result
        prim: path or paths in USD of the guides, in `file` or in the groom's own file
        attribute: of the groom's strands; those are guides where it is not zero
        unit: unit of `file` where it does not say
        up: up axis of `file` where it does not say
        register: guides of `file` that lie off the groom are scaled, turned and moved onto it
        model: a file that `mane learn` made of this groom; its guides are simulated, or played where it is a model of
            how they move
        sliders: of a model that is played: a number each, rows of time [s] and value, the name of a painted map, or a
            table with a value for each group of guides
        slider_file: a table (.csv) of keyframes: a column `time` [s], and one for each slider
    """

    count: Count | Literal["all"] | None = None
    method: Annotated[str, Choice("shape", "farthest", "random", MARKED)] = "shape"
    vertices: Annotated[int, Range(least=3)] | None = None
    file: str | None = None
    prim: Paths | None = None
    attribute: str | None = None
    unit: str | None = None
    up: str | None = None
    register: bool = True
    model: str | None = None
    sliders: Settings = field(default_factory=dict)
    slider_file: str | None = None

    def __post_init__(self) -> None:
        check_limits(self)
        given = [name for name in ("model", "file", "prim", "attribute") if getattr(self, name) is not None]
        if self.model is not None and len(given) > 1:
            raise ValueError(f"{given[1]}: must be left out with model, which tells all guides")
        for name in ("sliders", "slider_file"):
            if getattr(self, name) and self.model is None:
                raise ValueError(f"{name}: is for a model that is played; give its file as `model`")
        if self.attribute is not None and len(given) > 1:
            raise ValueError(f"attribute: must be left out where {given[0]} is given")
        if given and self.count is not None:
            raise ValueError(f"count: must be left out with {given[0]}, which tells all guides")
        if given and self.method not in ("shape", MARKED):
            raise ValueError(f"method: must be left out with {given[0]}, which tells all guides")
        for name in ("unit", "up"):
            if getattr(self, name) is not None and self.file is None:
                raise ValueError(f"{name}: is for a file of guides; that of the groom is in [groom]")
        if self.method == MARKED and self.count is not None:
            raise ValueError('count: must be left out with method "marked", which takes all that are marked')


@dataclass(frozen=True)
class SourceTable:
    """What makes the guides move. [strand], [contact], [wind] and [[interactions]] describe a simulation; settings of
    another kind are further keys of the table.

    Attributes:
        kind: what it is
        settings: of that kind
    """

    kind: str = "simulation"
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class StrandTable:
    """How guides move.

    Attributes:
        model: what a strand is to mechanics
        material: straight, wavy, curly, fine or coarse
        root: "clamped", "hinged" or "free"
        sag_free: the groom is what gravity makes of it, so that it does not sag
        stiffen_to_stand: strands that could not stand as groomed: "on" stiffens, "report" counts, "off" leaves them,
            and they fall into curls: rest shapes that hold hair up are curved; sag_free = false lets it hang
        gravity: [m/s^2]
        drag: air drag, as a share of that of a single hair
        cohesion: rate at which a style draws its hair back together, an attraction to the groom [1/s]; 0 for none
        substeps: steps per frame; without it as few as are no longer than 1/192 s (xpbd: 1 ms), and more where the head
            moves fast
        properties: of the material, in place of its own: young [Pa], radius [m], stiffness ...
        settings: of the model, here or in [strand.settings]:
    """

    model: str = "cosserat"
    material: str = "straight"
    root: Annotated[str, Choice("clamped", "hinged", "free")] = "clamped"
    sag_free: bool = True
    stiffen_to_stand: Annotated[str, Choice("on", "report", "off")] = "on"
    gravity: Vector3 = (0.0, -9.81, 0.0)
    drag: NotNegative = 0.1
    cohesion: Annotated[float, Range(least=0, below=1e4)] = 1.0
    substeps: Count | None = None
    properties: Settings = field(default_factory=dict)
    settings: Settings = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True)
class ContactTable:
    """How guides collide with body and solids.

    Attributes:
        mode: "hard" stops hair at the surface, "penalty" pushes back in proportion to the depth
        friction: Coulomb's coefficient; without it that of the hair: 0.3, or what a preset of the model says
        thickness: how far above the surface hair is stopped [m]
        push_out_speed: at which hair that got deeper inside than it was groomed comes out, at most [m/s]
        penalty_depth: how deep a vertex sinks in under penalty_load [m]
        penalty_load: in multiples of the vertex's own weight
    """

    mode: Annotated[str, Choice("hard", "penalty")] = "hard"
    friction: NotNegative | None = None
    thickness: NotNegative = 0.0
    push_out_speed: Positive = 0.5
    penalty_depth: Positive = 1e-4
    penalty_load: Positive = 10.0

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True)
class WindTable:
    """Wind.

    Attributes:
        velocity: mean velocity [m/s]
        gusts: standard deviation of the gusts over the mean speed; 0.1 over the sea, 0.3 between houses
        scale: size of the largest gusts [m]
        solids_shelter: head and solids keep the wind away
        hair_shelters: hair keeps the wind away from hair
    """

    velocity: Vector3 = (0.0, 0.0, 0.0)
    gusts: NotNegative = 0.0
    scale: Positive = 2.0
    solids_shelter: bool = True
    hair_shelters: bool = True

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True)
class AirTable:
    """The air as a fluid that feels the hair; [wind] then is what blows into its box, and shelters are not needed.

    Attributes:
        cell: edge of its cells [m]; without it the air does not feel the hair
        margin: of air around the hair at rest [m]
        hairs: that all guides together stand for
        triangles: hair is felt between guides too
        fibres: "jackson_james" for at least the drag of a porous medium where hair is dense, "alone" for single hairs
        wall: how body and solids hold the air: "slip", "no_slip" or "sticky"
        confinement: strength of vorticity confinement, which keeps small eddies turning
    """

    cell: Positive | None = None
    margin: Positive = 0.15
    hairs: Positive = 100_000.0
    triangles: bool = True
    fibres: Annotated[str, Choice("jackson_james", "alone")] = "jackson_james"
    wall: Wall = "no_slip"
    confinement: NotNegative = 0.0

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True)
class AirFieldTable:
    """Something that drives the air of [air]. Its settings are further keys of the table.

    Attributes:
        kind: "uniform", "gust" or "file" for a wind that comes in, "fan" or "vortex" for air that is stirred
        settings: of that kind
    """

    kind: str
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class WaterTable:
    """Water with a free surface in a box that stays where it is; guides feel it, it feels them, and hair gets wet.

    Attributes:
        cell: edge of its cells [m]; without it there is no water
        low: lowest corner of the box [m]
        high: highest corner of the box [m]; it is rounded up to whole cells
        pool: height of the surface of a pool at the start [m]; without it the box is empty
        outflow: sides that let water out: left, right, bottom, top, back, front
        tension: of the surface [N/m]; 0.072 for water, short steps
        hairs: that all guides together stand for
        wall: how body and solids hold the water: "slip", "no_slip" or "sticky"
        markers: particles in every cell beside the surface
        feels_hair: the water feels the hair; false for water first and hair after
        interval: least length of a step of the water [s]; hair in shorter steps feels it as it was after its last one
        uptake: water that soaked hair holds, over its own volume; 0 for hair that stays dry
        soaking: time within which hair under water takes up most of what it lacks [s]
        held: part of that water which does not drip, 0 to 1
        dripping: time within which most of the rest drips [s]
        lock: hairs that cling together in a lock where they are wet; 0 for none, and with styles of a skin
    """

    cell: Positive | None = None
    low: Vector3 = (-0.3, -0.4, -0.3)
    high: Vector3 = (0.3, 0.4, 0.3)
    pool: float | None = None
    outflow: tuple[str, ...] = ("top",)
    tension: NotNegative = 0.0
    hairs: Positive = 100_000.0
    wall: Wall = "slip"
    markers: Annotated[int, Range(least=0)] = 16
    feels_hair: bool = True
    interval: NotNegative = 0.0
    uptake: NotNegative = 2.0
    soaking: Positive = 0.1
    held: Fraction = 0.5
    dripping: Positive = 1.0
    lock: Annotated[int, Range(least=0)] = 24

    @property
    def wets(self) -> bool:
        """Whether hair gets wet."""
        return self.cell is not None and self.uptake > 0

    def __post_init__(self) -> None:
        check_limits(self)
        require(all(a < b for a, b in zip(self.low, self.high, strict=True)), "high", "must be above low", self.high)
        for name in self.outflow:
            require_choice("outflow", name, WATER_SIDES)


@dataclass(frozen=True)
class WaterSourceTable:
    """Something that brings water of [water] in or takes it away. Its settings are further keys of the table.

    Attributes:
        kind: "jet" for water that is poured or spouts, "drain" for a ball that swallows it
        settings: of that kind
    """

    kind: str
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class InteractionTable:
    """Something that acts on the guides besides. Its settings are further keys of the table.

    Attributes:
        kind: what acts
        settings: of that kind
    """

    kind: str
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class HandsTable:
    """What hands did to the hair besides moving head and solids.

    Attributes:
        file: of the salon's recording (.json): locks that were pulled, air that was blown, settings that were changed
    """

    file: str | None = None


@dataclass(frozen=True)
class TargetTable:
    """Another skin, which says where the hairs of a skin that pulls them somewhere belong: `physical` does. Settings of
    its method are further keys of the table.

    Attributes:
        method: by which hairs are put there
        settings: of the method
    """

    method: str
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class SkinTable:
    """How guides carry every hair. Settings of the method are further keys of the table.

    Attributes:
        method: in which way
        settings: of the method
        target: where a method that pulls hairs somewhere has them from
    """

    method: str = "physical"
    settings: Settings = field(default_factory=dict)
    target: TargetTable | None = None

    @property
    def learned(self) -> bool:
        """Whether it, or its target, reads a model that was learned of the whole groom."""
        return "model" in self.settings or (self.target is not None and "model" in self.target.settings)


@dataclass(frozen=True)
class PassTable:
    """Something else that is done to every hair after the skin. Its settings are further keys of the table.

    Attributes:
        kind: what is done
        settings: of that kind
    """

    kind: str
    settings: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class Scene:
    """A whole scene: what `read_scene` returns and `run_scene` runs.

    Attributes:
        groom: the hair
        seed: of everything random
        frames: which frames are made
        guides: the strands that are simulated
        source: what makes them move
        body: what the hair grows on
        head: how the head moves
        solids: what else hair collides with
        strand: how guides move
        contact: how they collide
        wind: wind
        air: the air as a fluid
        air_fields: what drives that air besides the wind
        water: water with a free surface
        water_sources: what brings that water in and takes it away
        interactions: what else acts on the guides, in this order
        hands: what hands did to them
        skin: how guides carry every hair
        finish: what is done to every hair after that
        passes: what else is done to it, in this order, after push_out and before subdivide of [finish]
        output: what is written
        camera: how pictures look
        bounds: what the last frame must keep to
        folder: that paths are relative to; the scene file's own
        locations: where each key was given, e.g. "scene.toml:14", for messages
        text: of the scene file, for the cache
    """

    groom: GroomTable
    seed: Annotated[int, Range(least=0)] = 0
    frames: FramesTable = field(default_factory=FramesTable)
    guides: GuidesTable = field(default_factory=GuidesTable)
    source: SourceTable = field(default_factory=SourceTable)
    body: BodyTable = field(default_factory=BodyTable)
    head: HeadTable = field(default_factory=HeadTable)
    solids: tuple[SolidTable, ...] = ()
    strand: StrandTable = field(default_factory=StrandTable)
    contact: ContactTable = field(default_factory=ContactTable)
    wind: WindTable = field(default_factory=WindTable)
    air: AirTable = field(default_factory=AirTable)
    air_fields: tuple[AirFieldTable, ...] = ()
    water: WaterTable = field(default_factory=WaterTable)
    water_sources: tuple[WaterSourceTable, ...] = ()
    interactions: tuple[InteractionTable, ...] = ()
    hands: HandsTable = field(default_factory=HandsTable)
    skin: SkinTable = field(default_factory=SkinTable)
    finish: FinishTable = field(default_factory=FinishTable)
    passes: tuple[PassTable, ...] = ()
    output: OutputTable = field(default_factory=OutputTable)
    camera: CameraTable = field(default_factory=CameraTable)
    bounds: BoundsTable = field(default_factory=BoundsTable)
    folder: Path = field(default_factory=Path, compare=False)
    locations: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    text: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        check_limits(self)
        if self.output.usd_layer:
            suffix = Path(self.groom.file or "").suffix
            if suffix not in (".usd", ".usda", ".usdc", ".usdz"):
                raise TableError("output", "usd_layer", "usd_layer: must be false unless groom.file is a USD file")
            if self.finish.subdivide:
                raise TableError("finish", "subdivide", "subdivide: must be 0 with usd_layer, which keeps vertices")
        if self.guides.count == ALL and self.skin == SkinTable():
            # Every hair is its own guide, and no other skin could do better than to follow it.
            object.__setattr__(self, "skin", SkinTable("rigid"))
        check_settings(self)

    @property
    def acting(self) -> tuple[InteractionTable, ...]:
        """All that acts on the guides: cohesion, unless the scene has an interaction of that kind, and interactions."""
        usual = InteractionTable("attraction", {"rate": self.strand.cohesion})
        has_own = any(table.kind == usual.kind for table in self.interactions)
        return self.interactions if has_own or not self.strand.cohesion else (usual, *self.interactions)

    @property
    def finishing(self) -> tuple[PassTable, ...]:
        """All finishing passes in their order: locks of wet hair, those of the skin, of [finish] and of [[passes]]."""
        clings = self.water.wets and self.water.lock and not self.skin.settings.get("styles")
        wet = (PassTable("wet_locks", {"hairs": self.water.lock}),) if clings else ()
        usual = self._of_skin()
        settings: dict[str, Any] = {"thickness": self.finish.thickness}
        if any(table.kind == "keep_sides" for table in usual):
            settings["rounds"] = ROUNDS_BEHIND_SIDES
        before = (PassTable("push_out", settings),) if self.finish.push_out else ()
        after = (PassTable("subdivide", {"levels": self.finish.subdivide}),) if self.finish.subdivide else ()
        return (*wet, *usual, *before, *self.passes, *after)

    def _of_skin(self) -> tuple[PassTable, ...]:
        """Passes that the skin and its target go with, but for kinds that the scene has itself."""
        from mane.skin.table import SKINS

        named = (self.skin,) if self.skin.target is None else (self.skin, self.skin.target)
        usual = [kind for table in named for kind in SKINS.find(table.method).passes] if self.finish.of_skin else []
        own = {table.kind for table in self.passes}
        return tuple(PassTable(kind) for kind in dict.fromkeys(usual) if kind not in own)

    def path(self, name: str) -> Path:
        """Return a path of the scene, seen from its folder."""
        return self.folder / name

    def to_dict(self) -> dict[str, Any]:
        """Return everything that decides the result, as plain values by table and key."""
        plain = dataclasses.asdict(dataclasses.replace(self, locations={}, text=""))
        return {name: plain[name] for name in SCENE_KEYS}


NOT_KEYS = ("folder", "locations", "text")
SCENE_KEYS = tuple(f.name for f in dataclasses.fields(Scene) if f.name not in NOT_KEYS)
