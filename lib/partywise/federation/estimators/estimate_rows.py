"""An estimate as a table: a name, a number, the noise of privacy in it and its interval, where there are any."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np


class EstimateRow(NamedTuple):
    """One number of an estimate.

    noise_sd : standard deviation that the noise of privacy gives it; None without noise, or where it is not computed
    lower, upper : ends of its 95 % interval over records and noise; None where the method has none
    note : why it has no interval, such as a bias that no epsilon removes
    """

    name: str
    estimate: float
    noise_sd: float | None = None
    lower: float | None = None
    upper: float | None = None
    note: str = ""


def table_of(rows: Iterable[EstimateRow]) -> bytes:
    """Rows as a CSV file, every number to its last bit; what there is none of is an empty entry."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(EstimateRow._fields)
    for name, *numbers, note in rows:
        writer.writerow([name, *("" if number is None else repr(number) for number in numbers), note])
    return text.getvalue().encode()


def rows_of(content: object) -> Iterator[EstimateRow]:
    """List what a place holds, number by number; text and what other places hold are left out."""
    for path, value in _numbers(content, ()):
        for entry, number in np.ndenumerate(np.asarray(value)):
            yield EstimateRow(" ".join((".".join(path), *map(str, entry))).strip(), number.item())


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
