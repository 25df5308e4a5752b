"""Means and standard errors over replicates, as a tidy table and as the text printed at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from .attributes import meanings
from .plan import Plan
from .run_totals import CELL, RUN, costs_more

MIB = 2.0**20
SLOT = ("case", "method", "parties", "epsilon")
# Behind an epsilon that stands at a delta of 1/n or more.
MARK, FLAG = "!", "delta_exceeds_1_over_n"
DELTAS = {"epsilon_claimed": "delta_claimed", CELL: "delta", RUN: "delta"}
HEADINGS = {
    "epsilon_claimed": "claimed",
    CELL: "certified",
    RUN: "whole run",
    "bytes_measured": "MiB sent",
}


def averages(cube: xr.Dataset, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over replicates of each replicate's mean over folds, its standard error, and the replicates behind it.

    Arrays over (case, method, parties, epsilon).  Undefined cells (NaN) are left out; the standard error is NaN
    where fewer than two replicates have a finite value.
    """
    with np.errstate(invalid="ignore"):
        each = cube[name].astype(float).mean("fold")
        count = each.notnull().sum("replicate")
        mean = each.mean("replicate")
        squares = ((each - mean) ** 2).where(each.notnull(), 0.0).sum("replicate", skipna=False)
        error = np.sqrt(squares / (count - 1).where(count > 1) / count.where(count > 0))
    return tuple(part.transpose(*SLOT).values for part in (mean, error, count))  # type: ignore[return-value, call-overload]


def summary_rows(plan: Plan, cube: xr.Dataset) -> list[dict[str, Any]]:
    """Tidy table: one row for each case, method, party count, epsilon and variable that has a value."""
    names = [str(name) for name in cube.data_vars if _is_scalar(cube, str(name))]
    found = {name: averages(cube, name) for name in names}
    rows = []
    for place, labels in slots(cube):
        for name, (mean, error, count) in found.items():
            if not count[place]:
                continue
            row: dict[str, Any] = {"variable": name, "units": cube[name].attrs["units"]}
            row["mean"] = repr(float(mean[place]))
            row["se"] = repr(float(error[place])) if np.isfinite(error[place]) else ""
            rows.append({"study": plan.study.name, **labels, **row, "replicates": int(count[place])})
    return rows


def _is_scalar(cube: xr.Dataset, name: str) -> bool:
    """Whether a variable is a number (or true/false) for each cell."""
    variable = cube[name]
    flags = variable.attrs.get("flag_meanings", "false true")
    return variable.dims == cube["status"].dims and variable.dtype.kind != "U" and flags == "false true"


def slots(cube: xr.Dataset) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    """Positions and labels over (case, method, parties, epsilon) that hold cells."""
    used = (cube["status"] > 0).any(["replicate", "fold"]).transpose(*SLOT).values
    for place in map(tuple, np.argwhere(used).tolist()):
        yield place, {dim: cube[dim].values[i].item() for dim, i in zip(SLOT, place, strict=True)}


def summary_text(plan: Plan, cube: xr.Dataset) -> str:
    """The table printed at the end of a run; what stands behind +- is a standard error over replicates."""
    names = [name for name in plan.study.summary if name in cube] + list(HEADINGS)
    found = {name: averages(cube, name) for name in names}
    dearer = {place for place, _ in slots(cube) if costs_more(found[RUN][0][place], found[CELL][0][place])}
    if not dearer:
        del found[RUN]
    names = list(found)
    vain = vain_slots(cube)
    table = [["case", "method", "parties", "target", *(HEADINGS.get(name, name) for name in names)]]
    for place, labels in slots(cube):
        row = [labels["case"], labels["method"], str(labels["parties"]), f"{labels['epsilon']:.4g}"]
        for name, (mean, error, count) in found.items():
            scale = MIB if cube[name].attrs["units"] == "byte" else 1.0
            value = f"{mean[place] / scale:.4g}" if count[place] else "-"
            if name == RUN and place not in dearer:
                value = "same" if count[place] else "-"
            value += MARK if place in vain.get(name, ()) else ""
            # The error that matters most in this case: the first variable that has a value here.
            with_error = set(row[4:]) <= {"-"} and np.isfinite(error[place])
            row.append(value + (f" +- {error[place] / scale:.2g}" if with_error else ""))
        table.append(row)
    lines = _aligned(table)
    title = f"{plan.study.title} ({plan.study.name})"
    deltas: dict[float, list[str]] = {}
    for case in plan.cases:
        deltas.setdefault(plan.delta(case), []).append(case)
    shown = [f"{delta:g}" + (f" ({', '.join(cases)})" if len(deltas) > 1 else "") for delta, cases in deltas.items()]
    notes = [f"epsilon at delta = {', '.join(shown)} for the unit {plan.spec.unit}; inf: nothing can be certified"]
    if dearer:
        notes.append("certified: the releases of one fit; whole run: those of all folds of a replicate together")
    if "delta_claimed" in cube and bool((cube["delta_claimed"] > cube["delta"]).any()):
        notes.append("claimed at the sum of the deltas that the source gives each release: delta_claimed in the cube")
    if any(vain.values()):
        notes.append(
            f"{MARK} the total delta is at least 1/n: publishing a random record meets it, so that it says nothing"
        )
    bad = int((~meanings(cube["status"]).isin(["ok", "not_in_design"])).sum())
    if bad:
        notes.append(f"{bad} fits did not converge or diverged: see status in the cube")
    return "\n".join([title, lines[0], "-" * len(lines[0]), *lines[1:], *(f"{note}." for note in notes), ""])


def vain_slots(cube: xr.Dataset) -> dict[str, set[tuple[int, ...]]]:
    """Positions over `SLOT` of the epsilons, claimed and certified, that are finite at a total delta of 1/n or more."""
    if FLAG not in cube:
        return {}
    found = {}
    for name, delta in DELTAS.items():
        if name not in cube:
            continue
        with np.errstate(invalid="ignore"):
            large = (cube[FLAG] == 1) & (cube[delta] * cube["n_protected"] >= 1) & np.isfinite(cube[name])
        marked = large.any(["replicate", "fold"]).transpose(*SLOT).values
        found[name] = {tuple(place) for place in np.argwhere(marked).tolist()}
    return found


def _aligned(table: list[list[str]]) -> list[str]:
    """Columns of equal width: the first two to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    places = list(enumerate(widths))
    rows = [[row[i].ljust(width) if i < 2 else row[i].rjust(width) for i, width in places] for row in table]
    return ["  ".join(row).rstrip() for row in rows]
