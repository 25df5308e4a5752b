"""Protocol: exact tables whose counts every party rounds.

Source: rounding to the nearest 5 or 10, to midpoints of 6, or at random, in the rules of statistical offices and
research environments.  No epsilon is claimed, and none holds: counts of nested subsets jump at single records.

Message   from, to          payload
tables    parties, server   `Clear`: rounded sums (d,) and a mask, 9 bytes each
"""

from __future__ import annotations

from functools import partial

from ....federation.run import Run
from ..model import EpidemiologyEstimate
from ..options import RoundedOptions
from ..published import round_counts
from .common import estimate_in_clear


def fit(run: Run) -> EpidemiologyEstimate:
    """Add the rounded counts of all parties."""
    options: RoundedOptions = run.spec.options
    return estimate_in_clear(run, partial(round_counts, base=options.base, how=options.how))
