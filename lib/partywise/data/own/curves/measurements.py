"""The measurements of one curve with their places in a file, and the records that several curves share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ....core.errors import DataMissing
from ....core.notes import note_left_out

if TYPE_CHECKING:
    from .settings import OwnCurves

LOG = logging.getLogger("partywise")


@dataclass(frozen=True)
class Measurements:
    """Measurements of one curve, in the order of the file.

    name : curve and file, for messages
    ids : distinct ids in the order of the file; record : (T,) number of each measurement's id
    time, value : (T,) float; a missing value is NaN
    place : where measurement i is in the file
    domain : start and end of the curve
    """

    name: str
    ids: list[str]
    record: np.ndarray
    time: np.ndarray
    value: np.ndarray
    place: Callable[[int], str]
    domain: tuple[float, float]

    def refuse(self, bad: np.ndarray, what: str) -> None:
        """Raise ``DataMissing`` for the first bad measurement; ``{value}`` and ``{time}`` in the text are its own."""
        count = int(np.count_nonzero(bad))
        if count:
            i = int(np.argmax(bad))
            more = f" ({count} such values)" if count > 1 else ""
            fault = what.format(value=self.value[i], time=self.time[i])
            raise DataMissing(f"{self.name} in {self.place(i)} {fault}{more}.")

    def check_finite(self) -> None:
        """Times are finite and no value is infinite."""
        self.refuse(~np.isfinite(self.time), "has the time {time}: times must be finite numbers")
        self.refuse(np.isinf(self.value), "is {value}: correct it, or mark it as missing")

    def check_ids(self, column: str) -> None:
        """Every measurement has an id."""
        if "" in self.ids:
            self.refuse(self.record == self.ids.index(""), f"has no {column}: every row needs the id of its record")

    def within(self, domain: tuple[float, float], ignore: bool) -> Measurements:
        """The measurements inside a domain; those outside are an error unless they are to be ignored."""
        inside = (self.time >= domain[0]) & (self.time <= domain[1])
        if not ignore:
            self.refuse(
                ~inside,
                f"has the time {{time:g}}, outside the domain [{domain[0]:g}, {domain[1]:g}]: is the time in another "
                "unit? correct domain, or set outside to ignore if these rows belong to another curve",
            )
        return self.subset(inside)

    def subset(self, chosen: np.ndarray) -> Measurements:
        """The chosen measurements, a mask (T,)."""
        rows, place = np.flatnonzero(chosen), self.place
        return replace(
            self,
            record=self.record[rows],
            time=self.time[rows],
            value=self.value[rows],
            place=lambda i: place(int(rows[i])),
        )

    def check_once(self, column: str) -> None:
        """No record has two measurements at one time."""
        order = np.lexsort((self.time, self.record))
        same = (np.diff(self.record[order]) == 0) & (np.diff(self.time[order]) == 0)
        if same.any():
            i, j = sorted(order[int(np.argmax(same)) :][:2].tolist())
            more = f" ({int(same.sum())} such pairs)" if same.sum() > 1 else ""
            raise DataMissing(
                f"{self.name} has two values for {column} {self.ids[self.record[i]]!r} at time {self.time[i]:g}, in "
                f"{self.place(i)} and {self.place(j)}{more}: keep one."
            )

    def with_values(self, time: np.ndarray, value: np.ndarray, domain: tuple[float, float]) -> Measurements:
        """Return a copy with other times, values and domain."""
        return replace(self, time=time, value=value, domain=domain)

    def has_gap(self) -> np.ndarray:
        """(number of ids,) bool: some value is missing."""
        return np.bincount(self.record[np.isnan(self.value)], minlength=len(self.ids)) > 0

    def gaps(self) -> tuple[np.ndarray, np.ndarray]:
        """Number of measured values and longest time without one, both (number of ids,)."""
        known = ~np.isnan(self.value)
        record, time = self.record[known], self.time[known]
        order = np.lexsort((time, record))
        record, time = record[order], time[order]
        count = np.bincount(record, minlength=len(self.ids))
        longest = np.full(len(self.ids), self.domain[1] - self.domain[0])
        seen = count > 0
        first = np.cumsum(count)[seen] - count[seen]
        last = np.cumsum(count)[seen] - 1
        longest[seen] = np.maximum(time[first] - self.domain[0], self.domain[1] - time[last])
        inner = np.diff(record) == 0
        np.maximum.at(longest, record[1:][inner], np.diff(time)[inner])
        return count, longest


def drop_gaps(
    ids: list[str], measured: Mapping[str, Measurements], settings: OwnCurves
) -> tuple[list[str], dict[str, Measurements]]:
    """The records whose curves are measured well enough, and the curves on these records alone."""
    dropped: set[str] = set()
    for curve in measured.values():
        if settings.max_gap is None and settings.missing == "refuse":
            _refuse_missing(curve, ids)
        count, longest = curve.gaps()
        few = count < settings.min_points
        # Times in fractions do not add up exactly.
        wide = curve.has_gap() if settings.max_gap is None else longest > settings.max_gap * (1 + 1e-9)
        chosen = np.isin(curve.ids, ids) & (few | wide)
        bad = [curve.ids[i] for i in np.flatnonzero(chosen)]
        if bad and settings.missing == "refuse":
            raise DataMissing(_sentence(curve, bad, count, longest, settings))
        dropped |= set(bad)
        why = "which have too few values or too long a gap"
        note_left_out(curve.name, len(ids), len(bad), why, "records")
    complete = [name for name in ids if name not in dropped]
    LOG.info("records: %d of the %d that all files share", len(complete), len(ids))
    if len(complete) < settings.min_records:
        why = f", {len(ids) - len(complete)} of them dropped for gaps," if dropped else ""
        raise DataMissing(
            f"{len(ids)} records are in all files{why} where min_records is {settings.min_records}: bring more "
            "records, allow longer gaps (max_gap), or lower min_records."
        )
    return complete, {
        key: curve.subset(np.isin(np.array(curve.ids)[curve.record], complete)) for key, curve in measured.items()
    }


def _sentence(curve: Measurements, bad: list[str], count: np.ndarray, longest: np.ndarray, settings: OwnCurves) -> str:
    i = curve.ids.index(bad[0])
    more = f" ({len(bad)} such records)" if len(bad) > 1 else ""
    if count[i] < settings.min_points:
        fault = f"has {count[i]} of the {settings.min_points} values that min_points asks for in record {bad[0]!r}"
    else:
        fault = f"has no value for {longest[i]:g} in record {bad[0]!r} where max_gap is {settings.max_gap:g}"
    return f"{curve.name} {fault}{more}: set missing to drop to leave such records out, or complete them."


def _refuse_missing(curve: Measurements, ids: list[str]) -> None:
    missing = np.isnan(curve.value) & np.isin(np.array(curve.ids)[curve.record], ids)
    if missing.any():
        records = len(set(curve.record[missing].tolist()))
        i = int(np.argmax(missing))
        raise DataMissing(
            f"{curve.name} has missing values ({int(missing.sum())} in {records} of the records, the first in "
            f"{curve.place(i)}): fill them in, set missing to drop to leave these records out, or set max_gap to "
            "the longest time that smoothing may bridge."
        )
