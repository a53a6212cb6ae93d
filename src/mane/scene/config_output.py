"""Tables of a scene about what comes after the guides: finishing, files, pictures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from mane.geometry.checks import require_choice
from mane.geometry.limits import Count, NotNegative, Range, check_limits

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
        of_skin: do first what the skin, or its target, goes with: `adaptive` with keep_lengths and keep_sides, others
            with nothing
        push_out: hairs come out of body and solids
        thickness: how far above the surface [m]
        subdivide: how often each segment is halved, smoothly; 0 leaves strands as they are
    """

    of_skin: bool = True
    push_out: bool = True
    thickness: NotNegative = 0.0
    subdivide: Annotated[int, Range(least=0, most=4)] = 0

    def __post_init__(self) -> None:
        check_limits(self)


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
    every: Count = 1
    movie: str | None = None
    metrics: str | None = None
    water: str | None = None
    log: str | None = None

    def __post_init__(self) -> None:
        check_limits(self)
        for name, suffixes in (("usd", USD), ("water", USD), ("movie", (".mp4",)), ("metrics", (".json",))):
            path = getattr(self, name)
            require(path is None or Path(path).suffix in suffixes, name, f"must end in {' or '.join(suffixes)}", path)

    def picture_count(self, frame_count: int) -> int:
        """Return how many pictures are drawn of so many frames; a movie has them all."""
        if self.movie is not None:
            return frame_count
        return 0 if self.pictures is None else len(range(0, frame_count, self.every))

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

    guide_stretch: NotNegative = 0.05
    hair_stretch: NotNegative = 0.1
    hair_penetration: NotNegative = 0.01
    hair_fallbacks: NotNegative = 0.01

    def __post_init__(self) -> None:
        check_limits(self)


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
    zoom: Annotated[float, Range(above=0, below=1e4)] = 1.0
    follow: bool = False
    look: str | None = None
    style_looks: tuple[str, ...] = ()
    finest: Annotated[float, Range(least=0, below=100)] = 0.15

    def __post_init__(self) -> None:
        from mane.render.cameras import FRAMED, direction_of
        from mane.render.looks import LOOKS

        direction_of(self.direction)
        require_choice("frame", self.frame, list(FRAMED))
        if self.look is not None:
            require_choice("look", self.look, [*LOOKS, AIR])
        for name in self.style_looks:
            require_choice("style_looks", name, list(LOOKS))
        check_limits(self)
        require(all(16 <= side <= 16384 for side in self.size), "size", "must be 16 to 16384 pixels", self.size)
