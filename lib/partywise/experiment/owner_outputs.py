"""Outputs of one fit of own data for the owner of the data: predictions by the owner's ids, and the fitted model."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from ..federation.estimators.estimate_rows import EstimateRow, missing_reason

# Rows of predictions.csv that a fit keeps: held-out records first, then those that trained, both in their order.
MOST_ROWS = 100_000


@dataclass(frozen=True)
class OwnerReport:
    """Predictions and model of one fit.

    ids : (n,) str, the records by the owner's own names, each once
    held_out : (n,) bool, whether the fit did not use the record
    columns : name of a column of predictions.csv -> (n,) or, of curves, (n, m) floats; NaN where there is none
    model : names, numbers, text, lists and arrays, as models.json shall have them
    times : (m,) of curves, the points at which they are given
    left_out : records beyond `MOST_ROWS`
    """

    ids: np.ndarray
    held_out: np.ndarray
    columns: Mapping[str, np.ndarray] = field(default_factory=dict)
    model: Mapping[str, object] = field(default_factory=dict)
    times: np.ndarray | None = None
    left_out: int = 0

    def __post_init__(self) -> None:
        n, tail = len(self.ids), () if self.times is None else (len(self.times),)
        if len(set(self.ids.tolist())) != n:
            raise ValueError(f"ids has {n} entries that are not distinct: a record has one prediction a fit.")
        if self.held_out.shape != (n,):
            raise ValueError(f"held_out has shape {self.held_out.shape}: it marks each of the {n} records.")
        for name, values in self.columns.items():
            if values.shape != (n, *tail):
                raise ValueError(f"{name} has shape {values.shape}: there are {n} records and times {tail}.")

    def first(self, most: int) -> OwnerReport:
        """Return the report of at most so many rows: held-out records come before the others."""
        n_rows = max(1, most // (1 if self.times is None else len(self.times)))
        if len(self.ids) <= n_rows:
            return self
        chosen = np.sort(np.argsort(~self.held_out, kind="stable")[:n_rows])
        columns = {name: values[chosen] for name, values in self.columns.items()}
        lost = self.left_out + len(self.ids) - n_rows
        return OwnerReport(self.ids[chosen], self.held_out[chosen], columns, self.model, self.times, lost)


@dataclass(frozen=True)
class CanonicalQuestion:
    """A question that a release answers, in canonical form.

    text : the same for every order of its items and levels; order : (d,) entries of a release in the order of the text
    data : public description of the data of each owner, such as its file and how it is read
    """

    text: str
    order: np.ndarray
    data: Mapping[str, str]


def encode_report(home: OwnerReport) -> np.ndarray:
    """Bytes of a `OwnerReport` of at most `MOST_ROWS` rows; floats come back as the same doubles."""
    report = home.first(MOST_ROWS)
    content = {
        "ids": report.ids.tolist(),
        "held_out": report.held_out.astype(int).tolist(),
        "columns": {name: values.tolist() for name, values in report.columns.items()},
        "model": plain(report.model),
        "times": None if report.times is None else report.times.tolist(),
        "left_out": report.left_out,
    }
    return np.frombuffer(zlib.compress(json.dumps(content, separators=(",", ":")).encode(), 6), np.uint8)


def decode_report(content: np.ndarray) -> OwnerReport:
    """Return the report that `encode_report` encoded, its model as plain data."""
    entries = json.loads(zlib.decompress(content.tobytes()))
    return OwnerReport(
        np.array(entries["ids"], dtype=str),
        np.array(entries["held_out"], dtype=bool),
        {name: np.array(values, dtype=float) for name, values in entries["columns"].items()},
        entries["model"],
        None if entries["times"] is None else np.array(entries["times"], dtype=float),
        entries["left_out"],
    )


# Keys under which a model says why its numbers have no intervals, and what the intervals are of and rest on.
NO_INTERVALS, INTERVALS_OF = "no_intervals", "intervals_of"
# What of a model is estimated, by its keys; the rest is public.
ESTIMATED = (
    *("intercept", "part_of_intercept", "constant", "coefficient", "mean", "operator"),
    *("base", "threshold", "value", "values", "correlation", "covariance", "estimate"),
)
# Those of them that are what their block is called.
NAMED_BY_BLOCK = ("coefficient", "estimate")


def feature_name(row: Mapping[str, object]) -> str:
    """A column, or a column with the level for which it is 1."""
    return f"{row['column']} = {row['level']}" if "level" in row else str(row["column"])


def estimate_rows(model: Mapping[str, object], path: tuple[str, ...] = (), note: str = "") -> Iterator[EstimateRow]:
    """The numbers of a model that are estimated, by names; those that are undefined are left out.

    note : why the numbers have no intervals, where the model around them gives the reason
    """
    note = str(model.get(NO_INTERVALS, note))
    if "column" in model and "coefficient" not in model:
        path = (*path, feature_name(model))
    for key, item in model.items():
        if key in ESTIMATED:
            prefix, before = (path, "") if key in NAMED_BY_BLOCK else ((*path, key.replace("_", " ")), f"{key}_")
            (noise,) = _numbers(model.get(f"{before}noise_sd"), 1)
            lower, upper = _numbers(model.get(f"{before}interval"), 2)
            (centre,) = _numbers(model.get(f"{before}centre"), 1)
            labels = model.get("columns")
            for index, number in np.ndenumerate(np.asarray(item, dtype=float)):
                if not np.isnan(number):
                    entry = (labels[k] if isinstance(labels, list) else str(k + 1) for k in index)
                    name, why = " ".join((*prefix, *entry)), note if lower is None else ""
                    middle = None if lower is None else float(number) if centre is None else centre
                    yield EstimateRow(name, float(number), noise, lower, upper, why, middle)
        elif isinstance(item, Mapping):
            yield from estimate_rows(item, (*path, key), note)
        elif isinstance(item, list | tuple):
            for k, block in enumerate(item):
                if isinstance(block, Mapping):
                    label = block.get("name") or (feature_name(block) if "coefficient" in block else f"{key} {k + 1}")
                    yield from estimate_rows(block, (*path, str(label)), note)


def with_interval_reason(model: Mapping[str, object], estimate: object, options: object) -> Mapping[str, object]:
    """Return the model with what intervals are of and rest on, and the reason why numbers have none without one.

    options : of the protocol that made the estimate
    """
    if estimand := getattr(getattr(estimate, "intervals", None), "estimand", ""):
        model = {**model, INTERVALS_OF: estimand}
    if all(row.lower is not None or row.note for row in estimate_rows(model)):
        return model
    return {**model, NO_INTERVALS: missing_reason(estimate, options)}


def _numbers(value: object, count: int) -> list[float | None]:
    """Return ``count`` numbers; None for each without a value."""
    return [None] * count if value is None else np.ravel(np.asarray(value, dtype=float)).tolist()


def plain(value: object) -> object:
    """Arrays as lists, for a file that any reader of JSON takes: infinity is a word, what is undefined is null."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None if np.isnan(value) else str(value)
    return value
