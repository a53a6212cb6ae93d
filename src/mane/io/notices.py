"""What a reader or writer had to decide without being asked, said as warnings of classes that a caller can filter."""

from __future__ import annotations


class FileNotice(UserWarning):
    """Something about a file that the user should know; every notice of this room is one of these."""


class RepairNotice(FileNotice):
    """Damaged strands or triangles were mended or left out, and the rest was read."""


class AssumptionNotice(FileNotice):
    """The file does not state something, such as its units, and a stated value was assumed."""


class LossNotice(FileNotice):
    """The file format has no room for something, which was left out."""
