"""guan2012 section 5: windows of more frames than three, and the bust in all frames of the window, not the last alone.

The paper tried both, as printed and without figures: no better, often over-fitted, and dearer. Ours are beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mane.measure.reproduce.reproduce import Report
from mane.reduced.canonical import BustSpace
from mane.reduced.dynamics import SINGULAR, Operator, design_rows, split_operator
from mane.reduced.evaluate import StyleError, style_errors
from mane.reduced.training import Fitted, MultilinearTraining, TrainingData, with_dynamics

Array = NDArray[np.float64]
HISTORIES = (1, 2, 3, 4)  # frames before, of the default
# Frames before, and frames of which the bust is known: as printed first, then with x_(t-1) and x_(t-2), then longer.
WINDOWS = ((2, 1), (2, 3), (3, 1), (3, 4), (4, 1), (4, 5))


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Dynamics of the styles that were learned, by least squares: what the untruncated tensor comes to there.

    Attributes:
        triangles: of a QR decomposition of the augmented vectors of each style, which has the same least squares.
        control_count: U.
        coefficient_count: d.
        order: frames of history.
    """

    triangles: tuple[Array, ...]
    control_count: int
    coefficient_count: int
    order: int

    @classmethod
    def of(cls, controls: Sequence[Array], coefficients: Sequence[Sequence[Array]], order: int) -> LeastSquares:
        """Of `controls[m] (T, U)` and `coefficients[c][m] (T, d)` of each style under the same motions."""
        triangles: list[Array] = []
        for own in coefficients:
            rows = [design_rows(control, y, order) for control, y in zip(controls, own, strict=True)]
            triangles.append(np.asarray(np.linalg.qr(np.concatenate(rows), mode="r"), np.float64))
        return cls(tuple(triangles), controls[0].shape[1], coefficients[0][0].shape[1], order)

    def operator(self, weights: Array) -> Operator:
        """Eq. 10 of the style that has all of the weights (C,)."""
        corner = int(np.argmax(weights))
        if not np.array_equal(weights, np.eye(len(weights))[corner]):
            raise ValueError("weights: must be those of a style that was learned")
        known = self.control_count + self.order * self.coefficient_count
        triangle = self.triangles[corner]
        solution = np.linalg.lstsq(triangle[:, :known], triangle[:, known:], rcond=SINGULAR)[0]
        matrix = np.asarray(solution.T, np.float64)
        return split_operator(matrix, self.control_count, self.coefficient_count, self.order)


def add_windows(
    report: Report, case: str, default: Fitted, printed: Fitted, train: TrainingData, test: TrainingData
) -> None:
    """Rows of the default with more and less history, and of the printed model with all windows of section 5."""
    for window in HISTORIES:
        training = MultilinearTraining(dimensions=default.model.coefficient_count, window=window)
        errors = style_errors(with_dynamics(default, training), test, with_floor=False)
        report.add(f"{case}, default", f"vertex error, test, window of {window + 1} frames", _mean(errors), "cm")
    tracks = [train.track(m) for m in range(train.motion_count)]
    some = range(0, train.motion_count, max(1, round(train.motion_count / test.motion_count)))
    for window, bodies in WINDOWS:
        own = f"{case}, as printed, window of {window + 1} frames, bust of {_frames(bodies)}"
        space = BustSpace(printed.model.space.body, window, bodies)
        controls = [space.controls(track, space.frames(track)) for track in tracks]
        dynamics = LeastSquares.of(controls, printed.coefficients, window)
        model = replace(printed.model, space=space, dynamics=dynamics)
        with np.errstate(over="ignore", invalid="ignore"):
            known = _mean(style_errors(model, train, with_floor=False, motions=some))
            unseen = _mean(style_errors(model, test, with_floor=False))
        operators = [dynamics.operator(row) for row in np.eye(len(dynamics.triangles))]
        report.add(own, "vertex error, training, some motions", known, "cm")
        report.add(own, "vertex error, test", unseen, "cm")
        report.add(own, "largest eigenvalue of the styles", max(one.spectral_radius for one in operators), "1")
        report.add(own, "numbers that a frame is predicted from", _width(operators[0]), "1")


def _frames(count: int) -> str:
    return "the last" if count == 1 else f"the last {count}"


def _mean(errors: Sequence[StyleError]) -> float:
    """Mean over the styles [cm]."""
    return 100 * float(np.mean([error.model for error in errors]))


def _width(operator: Operator) -> int:
    order, size = operator.history.shape[:2]
    return int(operator.control.shape[1] + order * size)
