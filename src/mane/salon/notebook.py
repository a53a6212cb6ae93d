"""`mane.show`: the salon in a notebook, of a simulation that a script made, a scene, or any file of `mane salon`."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from mane.groom.groom import Groom
from mane.salon.doors import OpenSalon, require_extra, require_page
from mane.salon.programs import Program, SimulationProgram
from mane.salon.scenes import salon_program
from mane.scene.config import Scene
from mane.strand.source import GuideSource

# Pages that may show the salon in a frame: notebooks on this machine, and those of editors.
NOTEBOOKS = "http://localhost:* http://127.0.0.1:* https://localhost:* https://127.0.0.1:* vscode-webview: vscode-file:"
LEAST_PIXELS = 100


def show(
    thing: GuideSource | Scene | str | os.PathLike[str] | None = None,
    groom: Groom | str | os.PathLike[str] | None = None,
    *,
    skin: str = "linear",
    settings: Sequence[str] = (),
    height: int = 560,
    output: str | os.PathLike[str] | None = None,
    port: int = 0,
) -> View:
    """Show hair in a notebook, to be combed by hand; as the last line of a cell its value is the view.

    A simulation that a script made is stepped by the view, in a thread, until it is closed; the script must not step it
    meanwhile, and finds it where the hands left it. Scenes and files run in a process of their own.

    Args:
        thing: a `Simulation`, a `Scene`, or a file as `mane salon` takes it; None for a head of waves.
        groom: hair that a simulation's guides carry, by default the guides alone; or the file that a model belongs to.
        skin: how guides of a simulation carry it.
        settings: of a file, `key=value` texts in place of what it says.
        height: of the view [pixels].
        output: folder that the page may save files to.
        port: to listen at; 0 for a free one.
    """
    if not (isinstance(height, int) and height >= LEAST_PIXELS):
        raise ValueError(f"height: must be a whole number of at least {LEAST_PIXELS} pixels, got {height!r}")
    require_extra()
    require_page()
    folder = None if output is None else Path(output)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    program = _program(thing, groom, skin, settings)
    return View(OpenSalon(program, folder=folder, port=port, frame_ancestors=NOTEBOOKS), height)


def _program(thing: Any, groom: Any, skin: str, settings: Sequence[str]) -> Program:
    if isinstance(thing, GuideSource):
        if groom is not None and not isinstance(groom, Groom):
            raise ValueError(
                f"groom: must be a Groom with a simulation, got {type(groom).__name__}; read_groom reads one"
            )
        return SimulationProgram.of(thing, groom, skin)
    if isinstance(groom, Groom):
        raise ValueError("groom: must be a file unless a simulation is shown; write_groom writes one")
    if isinstance(thing, Scene):
        return Program(thing)
    if thing is not None and not isinstance(thing, str | os.PathLike):
        raise ValueError(f"thing: must be a Simulation, a Scene or a file, got {type(thing).__name__}")
    return salon_program(None if thing is None else Path(thing), settings, groom=None if groom is None else Path(groom))


class View:
    """A salon that a notebook shows; `close()` ends it, and so does leaving it as a context manager.

    Attributes:
        salon: the open salon.
        height: of the frame [pixels].
    """

    def __init__(self, salon: OpenSalon, height: int) -> None:
        self.salon, self.height = salon, height

    @property
    def address(self) -> str:
        """What a browser opens."""
        return self.salon.address

    def _repr_html_(self) -> str:
        """A frame with the page, which notebooks show."""
        if not self.salon.is_alive:
            return f"<p>{html.escape(self.salon.error or 'this view is closed')}</p>"
        source = html.escape(self.address, quote=True)
        return f'<iframe src="{source}" width="100%" height="{self.height}" style="border: 0" title="mane"></iframe>'

    def __repr__(self) -> str:
        return f"View({self.address})" if self.salon.is_alive else "View(closed)"

    def close(self) -> None:
        """End the view; a simulation goes on by its own motions from where it is."""
        self.salon.close()

    def __enter__(self) -> View:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
