"""hsu2024 section 5.1 on a groom that an artist made: the paper's came from MetaHumans, reconstructions and scans.

The file is that of the environment variable MANE_GROOM, or `../shared/data/Ratboy_mohawk.tfx`; without either the scene
is left out with a line.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mane.body.mesh import Mesh
from mane.groom.groom import Groom
from mane.groom.repair import repair
from mane.groom.resample import resample
from mane.io.grooms import read_groom
from mane.measure.captions import describe
from mane.measure.reproduce.hsu2024 import QUICK, QUICK_GUIDES, QUICK_STRANDS, Sizes, carry_by_all, draw
from mane.measure.reproduce.reproduce import ProgressCallback, Report
from mane.measure.study.skin import METHODS, PRINTED_GUIDES, PRINTED_METHODS, SkinScene, record_groom

VARIABLE = "MANE_GROOM"
USUAL = Path("../shared/data/Ratboy_mohawk.tfx")
VERTICES = 16
SHORTEST = 0.02  # part of the longest strand; a file may hold strands of no length at all


@dataclass(frozen=True, eq=False)
class BareScene(SkinScene):
    """A scene whose hair grows on nothing: files of strands often come without a head."""

    def make_body(self) -> Mesh | None:
        """Nothing."""
        return None


def real_groom(report: Report, *, quick: bool, tell: ProgressCallback) -> None:
    """A groom from a file, shaken."""
    path = Path(os.environ.get(VARIABLE, USUAL))
    if not path.exists():
        report.note(f"Left out: there is no groom at {path.name}; set {VARIABLE} to a file of strands.")
        tell("left out", 1.0)
        return
    sizes = QUICK if quick else Sizes(sampled=200, measured=2_000)
    tell(f"reading {path.name}", 0.0)
    groom = prepared(path, QUICK_STRANDS if quick else None)
    guides = QUICK_GUIDES if quick else 128
    scene = BareScene(f"{path.stem}, shaken", "straight", "shake", guides=guides)
    for name, methods, settings, start, suffix in (
        ("methods", METHODS, {}, 0.0, ""),
        ("as_printed", PRINTED_METHODS, {"guide_method": PRINTED_GUIDES}, 0.5, ", xpbd"),
    ):
        tell(f"simulating {guides} guides and {sizes.sampled} of {groom.strand_count:,} hairs", start)
        recording = record_groom(scene, groom, sampled=sizes.sampled, seconds=sizes.seconds, **settings)
        found, carried = carry_by_all(report, recording, methods, sizes, tell, start + 0.2, guides=suffix)
        captions = {method: describe(one["length_error"], one["kink"]) for method, one in found.items()}
        draw(report, name, recording, carried, captions, quick=quick)
    report.note(
        f"{path.name}: {groom.strand_count:,} strands resampled to {VERTICES} vertices, of material 'straight'."
    )
    tell("done", 1.0)


def prepared(path: Path, most: int | None = None) -> Groom:
    """Strands of a file, mended, without the very short ones, at most so many, all with `VERTICES` vertices."""
    groom, _ = repair(read_groom(path))
    long = np.flatnonzero(groom.lengths > SHORTEST * groom.lengths.max())
    kept = long[:: -(-len(long) // most)] if most else long
    return resample(groom.take(kept), vertices=VERTICES).groom
