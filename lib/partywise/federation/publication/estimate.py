"""What a place holds in the end, as a table of numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping

import numpy as np

COLUMNS = ("quantity", "entry", "value")


def estimate_of(held: object) -> bytes:
    """What a place holds, number by number; text and what is held elsewhere are left out."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for path, value in _numbers(held, ()):
        for entry, number in np.ndenumerate(np.asarray(value)):
            writer.writerow((".".join(path), " ".join(map(str, entry)), repr(number.item())))
    return text.getvalue().encode()


def _numbers(value: object, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(value, Mapping):
        # Names of what stands around a value say nothing about it.
        for key, item in value.items():
            if key == "mapping":
                for name, inner in item:
                    yield from _numbers(inner, (*path, str(name)))
            elif key == "from":
                # What is assembled of values of several places, without the public arguments beside them.
                yield from _numbers([one for one in item if isinstance(one, Mapping) and "value" in one], path)
            elif key not in ("type", "places", "assembled by", "party", "function"):
                yield from _numbers(item, path if key in ("value", "each") else (*path, key))
    elif isinstance(value, list | tuple):
        for k, item in enumerate(value):
            yield from _numbers(item, path if len(value) == 1 or isinstance(item, Mapping) else (*path, str(k)))
    elif isinstance(value, np.ndarray | np.generic | bool | int | float) and np.asarray(value).dtype.kind in "biuf":
        yield path, value
