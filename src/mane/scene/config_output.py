"""Tables of a scene about what comes after the guides: finishing, files, pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mane.geometry.checks import require_choice

USD = (".usd", ".usda", ".usdc")
AIR = "air"  # the look that shows the air


def require(condition: bool, name: str, wanted: str, got: Any) -> None:
    """Raise ValueError, which begins with the name of the field, unless a condition holds."""
    if not condition:
        raise ValueError(f"{name}: {wanted}, got {got!r}")


@dataclass(frozen=True)
class FinishTable:
    """What is done to every hair after the skin.

    Attributes:
        push_out: hairs come out of body and solids
        thickness: how far above the surface [m]
        subdivide: how often each segment is halved, smoothly; 0 leaves strands as they are
    """

    push_out: bool = True
    thickness: float = 0.0
    subdivide: int = 0

    def __post_init__(self) -> None:
        require(self.thickness >= 0, "thickness", "must be at least 0 m", self.thickness)
        require(0 <= self.subdivide <= 4, "subdivide", "must be between 0 and 4", self.subdivide)


@dataclass(frozen=True)
class OutputTable:
    """What is written; paths are beside the scene file.

    Attributes:
        cache: folder for the simulated guides: a stopped run goes on from it, and `mane bake` reads it
        usd: the full head as a USD stage with one file per frame
        usd_layer: write it as a layer over the groom's own USD file
        pictures: folder for pictures, PNG
        every: a picture of every so many frames
        movie: a movie, MP4
        metrics: quality of every frame, JSON
        water: surface of the water of [water], a USD mesh whose triangles change from frame to frame
        log: seconds of every stage of every frame, CSV; without it inside the cache
    """

    cache: str | None = None
    usd: str | None = None
    usd_layer: bool = False
    pictures: str | None = None
    every: int = 1
    movie: str | None = None
    metrics: str | None = None
    water: str | None = None
    log: str | None = None

    def __post_init__(self) -> None:
        require(self.every >= 1, "every", "must be at least 1", self.every)
        for name, suffixes in (("usd", USD), ("water", USD), ("movie", (".mp4",)), ("metrics", (".json",))):
            path = getattr(self, name)
            require(path is None or Path(path).suffix in suffixes, name, f"must end in {' or '.join(suffixes)}", path)

    @property
    def writes(self) -> bool:
        """Whether anything is written."""
        return any((self.cache, self.usd, self.pictures, self.movie, self.metrics, self.water, self.log))


@dataclass(frozen=True)
class BoundsTable:
    """What the last frame must keep to; a run that ends outside says so and exits with code 1.

    Attributes:
        guide_stretch: of the guides, over their length
        hair_stretch: of the full head, over its length
        hair_penetration: how much deeper a point of it is inside body or solids than it was groomed, roots apart [m]
        hair_fallbacks: share of hairs that the skin's method could not carry, which follow the mean of their guides
    """

    guide_stretch: float = 0.05
    hair_stretch: float = 0.1
    hair_penetration: float = 0.01
    hair_fallbacks: float = 0.01

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            require(getattr(self, name) >= 0, name, "must be at least 0", getattr(self, name))


@dataclass(frozen=True)
class CameraTable:
    """How pictures and the movie look.

    Attributes:
        size: width and height [pixels]
        direction: three-quarter, front, left, right, back, rear, above or top; or from the head to the camera, "x,y,z"
        frame: what fills the picture: all, hair or head
        zoom: so many times larger in the picture
        follow: the camera travels along with the head
        look: brown, black, blond, red ...; see `mane render --list`; air shows the air of [air] by streamlines
        style_looks: looks of the styles of skin volume, one for each, blended with them; by default `look`, ever wetter
        finest: hairs thinner than this are drawn as fewer, wider ones [pixels]; 0 draws every hair
    """

    size: tuple[int, int] = (960, 540)
    direction: str = "three-quarter"
    frame: str = "all"
    zoom: float = 1.0
    follow: bool = False
    look: str | None = None
    style_looks: tuple[str, ...] = ()
    finest: float = 0.15

    def __post_init__(self) -> None:
        from mane.render.cameras import FRAMED, direction_of
        from mane.render.looks import LOOKS

        direction_of(self.direction)
        require_choice("frame", self.frame, list(FRAMED))
        require(0 < self.zoom < 1e4, "zoom", "must be above 0 and below 10000", self.zoom)
        if self.look is not None:
            require_choice("look", self.look, [*LOOKS, AIR])
        for name in self.style_looks:
            require_choice("style_looks", name, list(LOOKS))
        require(0 <= self.finest < 100, "finest", "must be at least 0 pixels and below 100", self.finest)
        require(all(16 <= side <= 16384 for side in self.size), "size", "must be 16 to 16384 pixels", self.size)
