"""`RunLog`: the seconds of every stage of every frame, as a CSV file that can be read while the run goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mane.io.atomic import explained

COLUMNS = ("frame", "stage", "seconds")


class RunLog:
    """One row per frame and stage, and rows `guide stretch` [1], `guide penetration` [m] and those of the full head:
    `hair stretch` and so on, the fields of `mane.scene.head_meter.HairReport`.

    Args:
        path: of the file.
        keep_before: rows of frames before this one stay, those of a run that is resumed; None begins anew.
    """

    def __init__(self, path: Path, keep_before: int | None) -> None:
        self.path = path
        rows = []
        if keep_before is not None and path.is_file():
            rows = [row for row in path.read_text(encoding="utf-8").split("\n")[1:] if _is_before(row, keep_before)]
        path.write_text("\n".join([",".join(COLUMNS), *rows]) + "\n", encoding="utf-8")

    def write(self, frame: int | str, values: Mapping[str, float]) -> None:
        """Append the values of a frame, or of the time before the first ("setup")."""
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write("".join(f"{frame},{name},{value:.6g}\n" for name, value in values.items()))
        except OSError as error:
            raise explained(error, self.path) from error


def _is_before(row: str, frame: int) -> bool:
    """Whether a row is complete and of an earlier frame."""
    cells = row.split(",")
    try:
        return len(cells) == len(COLUMNS) and int(cells[0]) < frame
    except ValueError:
        return False
