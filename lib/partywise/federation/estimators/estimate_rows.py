"""An estimate as a table: a name, a number, the noise of privacy in it and its interval, where there are any."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ...models.intervals import NOT_COMPUTED, REASONS, interval_reason, reason_name, reason_of


class EstimateRow(NamedTuple):
    """One number of an estimate.

    noise_sd : standard deviation that the noise of privacy gives it; None without noise, or where it is not computed
    lower, upper : ends of its 95 % interval over records and noise; None where the method has none
    note : why it has no interval, as of `partywise.models.intervals.reason_of`
    centre : of its interval, where that is not the estimate
    """

    name: str
    estimate: float
    noise_sd: float | None = None
    lower: float | None = None
    upper: float | None = None
    note: str = ""
    centre: float | None = None

    @property
    def interval(self) -> str:
        """``95 %``, or the short name of the reason why there is none."""
        name = self.note.partition(":")[0]
        return "95 %" if self.lower is not None else name if name in REASONS else reason_name(NOT_COMPUTED.reason)


def missing_reason(estimate: object, options: object) -> str:
    """Return why numbers of an estimate have no interval, where others may have some; options are of its protocol."""
    return interval_reason(estimate, options) or reason_of("later")


def interval_status(estimate: object, options: object) -> str:
    """Return ``known`` where numbers of an estimate have intervals, otherwise the short name of the reason."""
    reason = interval_reason(estimate, options)
    return reason_name(reason) if reason else "known"


def table_of(rows: Iterable[EstimateRow]) -> bytes:
    """Rows as a CSV file, every number to its last bit; what there is none of is an empty entry."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*EstimateRow._fields, "interval"])
    for row in rows:
        cells = (cell if isinstance(cell, str) else "" if cell is None else repr(cell) for cell in row)
        writer.writerow([*cells, row.interval])
    return text.getvalue().encode()


def rows_of(content: object, note: str = "") -> Iterator[EstimateRow]:
    """List what a place holds, number by number; text and what other places hold are left out.

    note : why the numbers have no intervals
    """
    for path, value in _numbers(content, ()):
        for entry, number in np.ndenumerate(np.asarray(value)):
            yield EstimateRow(" ".join((".".join(path), *map(str, entry))).strip(), number.item(), note=note)


def _numbers(value: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, Mapping):
        # Names of what stands around a value say nothing about it.
        for key, item in value.items():
            if key == "mapping":
                for name, inner in item:
                    yield from _numbers(inner, (*path, str(name)))
            elif key == "from":
                # What is assembled of values of several places, without the public arguments beside them.
                yield from _numbers(
                    [entry for entry in item if isinstance(entry, Mapping) and {"value", "each"} & entry.keys()], path
                )
            elif key not in ("type", "places", "assembled by", "party", "function"):
                yield from _numbers(item, path if key in ("value", "each") else (*path, key))
    elif isinstance(value, list | tuple):
        for k, item in enumerate(value):
            yield from _numbers(item, path if len(value) == 1 or isinstance(item, Mapping) else (*path, str(k)))
    elif isinstance(value, np.ndarray | np.generic | bool | int | float) and np.asarray(value).dtype.kind in "biuf":
        yield path, value
