"""The released sums in whole numbers: every record is event_mask or rounded by itself, and only integers are added."""

from __future__ import annotations

import numpy as np

from ...privacy.statistics.clips import LONGEST_BITS, ball_squares, ball_steps
from ...privacy.statistics.whole import Whole, whole
from ..tables import Relation

CELLS = "a record is in one cell"
SCORES = "2 Gamma, the longest contribution of a record"
# Steps to the length of the longest contribution: its sums over 2^33 records are exact in floats.
STEP_BITS = 20
assert STEP_BITS <= LONGEST_BITS


def whole_cells(counts: np.ndarray, relation: Relation = "replace_one", *, stratum: str = "*") -> Whole:
    """Counts of cells (A, 2 J + 1): a replaced record moves two of them by 1, an added or removed one a single one.

    Formal guarantee: l2 sensitivity sqrt(2), or 1; both are reached.
    """
    moved = 2 if relation == "replace_one" else 1
    return whole(counts, moved, 1.0, CELLS, relation=relation, stratum=stratum)


def whole_scores(contributions: np.ndarray, bound: float, *, stratum: str = "*") -> Whole:
    """The sum of contributions (n, P), each shrunk to length ``bound`` and rounded to whole steps.

    Formal guarantee: l2 sensitivity ``2 bound`` for replacing one record, whatever the records and the model.
    """
    step = bound / 2.0**STEP_BITS
    steps = ball_steps(contributions, bound, step)
    return whole(
        steps.records.sum(axis=0), 4 * ball_squares(bound, step), step, SCORES, stratum=stratum, clip_share=steps.share
    )
