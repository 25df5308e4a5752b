"""Protocol: exact tables, of which a party refuses each that has a small cell.

Source: disclosure settings of DataSHIELD (dsBase 6.3, threshold 3): a table with a count below the threshold,
other than 0, is not returned.  No epsilon is claimed, and none holds: differences of two allowed tables are exact.

Message   from, to          payload
tables    parties, server   `Clear`: sums (d,), and the mask of refused ones, 9 bytes each
"""

from __future__ import annotations

from functools import partial

from ....federation.run import Run
from ..model import EpidemiologyEstimate
from ..options import SuppressedOptions
from ..published import suppress
from .common import estimate_in_clear


def fit(run: Run) -> EpidemiologyEstimate:
    """Add the tables that no party refuses."""
    options: SuppressedOptions = run.spec.options
    return estimate_in_clear(run, partial(suppress, threshold=options.threshold))
