"""Figures of vertical GLM: how much of a party's columns is seen, and whose identifiers are found."""

from __future__ import annotations

import numpy as np
import xarray as xr

from ....experiment.plotting.bars import Bars
from ....experiment.plotting.layout import Axis
from ....experiment.plotting.select import coordinate_of, title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of
from ....experiment.tables.templates import TypesetTable

# Shares are ratios of dimensions.
ROUNDING = 1e-9
SPACE = "How much of a party's column space do the messages give away?"
IDENTIFIERS = {"attack_ids": "share of a party's identifiers that a dictionary finds"}


def space_by_message(cube: xr.Dataset) -> TypesetTable:
    """Share of a party's column space that one participant saw, per case and method, and after how many vectors.

    A vector has one number per record; 100 % is everything that the columns of the party span. The first replicate and
    fold at the fewest parties.
    """
    rows = list[dict[str, object]]()
    for case in cases_of(cube, "leaked_share"):
        for method in methods_of(cube, case):
            sent, share = _share_by_vector(cube, case, method)
            if len(share):
                largest = float(share.max())
                after = int(sent[np.argmax(share >= largest - ROUNDING)]) if largest > 0 else ""
                row: dict[str, object] = {"data": title(cube, "case", case), "method": title(cube, "method", method)}
                rows.append(row | {"column space seen, %": round(100 * largest, 1), "after so many vectors": after})
    if not rows:
        return TypesetTable(SPACE, (), ("No case in this configuration in which methods send vectors of records.",))
    return TypesetTable(SPACE, rows, ("A vector has one number per record. First replicate and fold, fewest parties.",))


def _share_by_vector(cube: xr.Dataset, case: str, method: str) -> tuple[np.ndarray, np.ndarray]:
    """Vectors that were sent and the share that they span, of the fit without a target; empty where none is known."""
    examples = example_fits_of(cube, case)
    here = (examples["example_method"].values == method) & np.isinf(examples["example_epsilon"].values)
    if not here.any():
        return np.zeros(0), np.zeros(0)
    sent, share = (example_fit(examples, f"leaked_{name}", method) for name in ("messages", "share"))
    known = np.isfinite(sent) & np.isfinite(share)
    return sent[known], share[known]


def _alignment(cube: xr.Dataset, case: str, method: str, value: float) -> str:
    """The share, and how records were aligned."""
    mode = coordinate_of(cube, "method", method, "alignment")
    return f"{value:.0%}" + (f" ({mode})" if mode else "")


identifiers_by_mode = Bars(
    "Whose identifiers do the messages of aligning give away?",
    Axis(IDENTIFIERS, percent=True, bottom=0, top=1),
    words=_alignment,
    none="No case whose records arrive unaligned in this configuration.",
    caption="Share of identifiers that a dictionary finds in what a participant saw, by how records were aligned.",
)
