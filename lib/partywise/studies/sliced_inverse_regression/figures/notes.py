"""Lines under Tables 1 to 4: how to read a cell, how many reproduce, what was fitted, what an epsilon promises."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from ....experiment.plotting.select import plan_behind
from ....experiment.plotting.style import look
from ....inverse_regression.options import FITTED_FACTOR
from .marks import FEWEST, PRINTED_REPLICATES, Entry, counts, printed

# Behind an epsilon at a delta of 1/n or more.
VAIN = "†"


def remarks(cube: xr.Dataset, found: Sequence[Entry], high: bool) -> list[str]:
    """Lines under a table."""
    lines = legend(found)
    for method in printed(found):
        own = [entry for entry in found if entry.method == method and entry.judged]
        for title, part in _parts(own, high) if own else []:
            number_of = counts(part)
            text = ", ".join(f"{value} {mark}" for mark, value in number_of.items())
            lines.append(f"{look(cube, method).label}{title}: {text}, of {sum(number_of.values())} cells.")
    if sizes := sorted({entry.n for entry in found if entry.vain}):
        lines.append(
            f"{VAIN} The deltas of all releases of a client add up to 1/n or more (n = {', '.join(map(str, sizes))}): "
            "publishing a random record meets that, so that this ε promises nothing, whatever the mechanism."
        )
    lines.append(fitted(cube, found, high))
    lines += kept(cube, found)
    lines.append(
        "The published methods have no finite certified ε: slice edges, c_R, singular vectors behind the noise"
        + (" and index sets" if high else "")
        + " come from the data. Their columns show what was claimed, not what holds."
    )
    return lines


def legend(found: Sequence[Entry]) -> list[str]:
    """How to read a cell: judged ones by z and mark, those of few replicates by the source's bracket."""
    few = sorted({entry.replicates for entry in found if not entry.judged})
    many = sorted({entry.replicates for entry in found if entry.judged})
    lines = [
        f"First line of a cell: our mean over {_span(few + many)} replicates"
        + (", with its standard error" if many else "")
        + (f" from {FEWEST} replicates on" if many and few else "")
        + ". Second: the source's mean and its bracket b, of the size of a standard deviation over "
        f"{PRINTED_REPLICATES} replicates.",
    ]
    if few:
        within = _span([f"{entry.expected:.1f}" for entry in sorted(found, key=_replicates) if not entry.judged])
        lines.append(
            f"No verdict on cells of {_span(few)} replicates, fewer than {FEWEST}: their third line is the difference "
            f"in brackets b, and chance alone makes it as large as {within} b (two standard deviations)."
        )
    if many:
        lines.append(
            "Third: z of the difference, and the mark: = |z| at most 2;  ≈ ratio within 12 %;  s saturated, where "
            "nearly every choice matches: no evidence;  ≠ not reproduced, with ours / theirs."
        )
    if any(entry.approximate for entry in found):
        lines.append("≈ before a number: the bracket has two decimals and is at most 0.02.")
    return lines


def _replicates(entry: Entry) -> int:
    return entry.replicates


def _span(values: Sequence[object]) -> str:
    """One value, or the first and the last."""
    return f"{values[0]}" if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def kept(cube: xr.Dataset, found: Sequence[Entry]) -> list[str]:
    """What screening with a proof keeps, at most clients; nothing for tables without screening."""
    if "support_kept" not in cube:
        return []
    most = max(entry.clients for entry in found)
    cases = sorted({entry.case for entry in found})
    told = []
    for method in dict.fromkeys(entry.method for entry in found):
        share = float(cube["support_kept"].sel(case=cases, method_label=method, parties=most).mean())
        if np.isfinite(share):
            told.append(f"{look(cube, method).label} {100 * share:.0f} %")
    return [f"Share of the true support that screening keeps at K = {most}: {', '.join(told)}."] if told else []


def _parts(own: Sequence[Entry], high: bool) -> list[tuple[str, list[Entry]]]:
    """The row that has two readings is counted once in each."""
    readings = {(e.model, e.row) for e in own if e.n != e.row and not high}
    if not readings:
        return [("", list(own))]
    plain = [e for e in own if e.n == e.row]
    other = [e for e in own if e.n != e.row or (e.model, e.row) not in readings]
    sizes = sorted({(e.row, e.n) for e in own if e.n != e.row})
    said = ", ".join(f"row {row} read as n = {n}" for row, n in sizes)
    return [(", rows as printed", plain), (f", {said}", other)]


def fitted(cube: xr.Dataset, found: Sequence[Entry], high: bool) -> str:
    """The options in force that were fitted to the tables."""
    parts = []
    for method in printed(found):
        options = plan_behind(cube).methods[method].options
        parts.append(f"{look(cube, method).label}: aggregation {options.chosen_aggregation}")
        if options.mechanism == "iid" and options.iid_variance == "fitted":
            parts[-1] += f", variance {FITTED_FACTOR:g} log(1.25/δ)/(nε) in place of proposition 2"
        parts[-1] += f", covariance noise {options.cov_scale:g} × lemma 1 on clipped records"
    screen = " Screening keeps the best s columns of each slice: the source states no threshold." if high else ""
    others = sorted({(entry.row, entry.n) for entry in found if not high and entry.row != entry.n})
    origin = "".join(f"; the row {row} read as n = {n} is an inference, too" for row, n in others)
    return f"Fitted to these cells: {'; '.join(parts)}{origin}.{screen}"
