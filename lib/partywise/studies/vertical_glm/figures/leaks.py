"""Figures of vertical GLM: how much of a party's columns is seen, and whose identifiers are found."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from ....experiment.plotting.bars import Bars
from ....experiment.plotting.layout import Axis
from ....experiment.plotting.select import coordinate_of
from ....experiment.plotting.series import example_fit, example_fits_of
from .case_facts import ends

# Shares are ratios of dimensions.
ROUNDING = 1e-9
SPACE = {"leaked_share": "share of a party's column space\nthat one participant saw"}
IDENTIFIERS = {"attack_ids": "share of a party's identifiers that a dictionary finds"}


def _largest_share(cube: xr.Dataset, case: str, method: str, value: float) -> str:
    """The largest share, and after how many vectors it was first reached."""
    examples = example_fits_of(cube, case)
    sent, share = (example_fit(examples, f"leaked_{name}", method) for name in ("messages", "share"))
    known = np.isfinite(sent) & np.isfinite(share)
    sent, share = sent[known], share[known]
    if value <= 0:
        return f"nothing in {sent.max():.0f} vectors"
    return f"{value:.0%} after {sent[np.argmax(share >= value - ROUNDING)]:.0f} of {sent.max():.0f} vectors"


space_by_message = Bars(
    "What linear predictors of some iterations give away",
    Axis(SPACE, percent=True, bottom=0, top=1),
    select=partial(ends, most=6),
    words=_largest_share,
    fewest=2,
    size=(4.0, 3.0),
    note="first replicate and fold, fewest parties; a vector has one number per record",
    none="No case in this configuration in which methods send vectors of records.",
    caption="Share of a party's column space that one participant saw in the end, and after how many vectors of its "
    "records, in the first replicate and fold. A vector has one number per record; 100 % is all that the party's "
    "columns span.",
)


def _alignment(cube: xr.Dataset, case: str, method: str, value: float) -> str:
    """The share, and how records were aligned."""
    mode = coordinate_of(cube, "method", method, "alignment")
    return f"{value:.0%}" + (f" ({mode})" if mode else "")


identifiers_by_mode = Bars(
    "Whose identifiers the messages of aligning give away",
    Axis(IDENTIFIERS, percent=True, bottom=0, top=1),
    words=_alignment,
    none="No case whose records arrive unaligned in this configuration.",
    caption="Share of identifiers that a dictionary finds in what a participant saw, by how records were aligned.",
)
