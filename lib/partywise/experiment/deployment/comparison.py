"""Whether published files are those that follow from configuration and measurements, but for last digits of numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...federation.publication import files
from .release_folder import Rebuilt

# How far a number may be from the one that is computed again: of an estimate, and of a cost.
ESTIMATE, COST = 1e-8, 1e-9


def first_difference(given: Mapping[str, bytes], made: Rebuilt) -> str:
    """What of the files is not what follows from configuration and measurements, as a sentence; empty if all is."""
    shown = made.files.get(files.ESTIMATE)
    if (shown is not None) != (files.ESTIMATE in given):
        return f"{files.ESTIMATE} is {'missing' if shown else 'published'}, and must {'' if shown else 'not '}be there"
    if shown is not None and (where := estimate_differs(given[files.ESTIMATE], shown.value)):
        return f"{files.ESTIMATE} is not what the program makes of the measurements: {where}"
    for name in (files.MEASUREMENTS, files.CONFIGURATION):
        if given[name] != made.files[name].value:
            return f"{name} is not as the program writes it"
    told = files.decode_json(files.STATEMENT, given[files.STATEMENT])
    # An estimate of another machine may differ in its last digits: its digest is compared with the file.
    wanted = dict(made.statement)
    wanted["files"] = wanted["files"] | {
        name: files.digest_of(given[name]) for name in (files.ESTIMATE,) if name in given
    }
    path = next(_differences(told, wanted, ()), None)
    return f"{files.STATEMENT} has another {path} than the program states" if path else ""


def _differences(told: Any, wanted: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Where two values of JSON differ by more than the last digits of numbers."""
    name = " of ".join(reversed(path)) or "form"
    if isinstance(told, dict) and isinstance(wanted, dict):
        for key in sorted(told.keys() | wanted.keys()):
            if key not in told or key not in wanted:
                yield f"{key} of {name}" if path else key
            else:
                yield from _differences(told[key], wanted[key], (*path, key))
    elif isinstance(told, list) and isinstance(wanted, list) and len(told) == len(wanted):
        for k, (one, other) in enumerate(zip(told, wanted, strict=True)):
            yield from _differences(one, other, (*path, str(k)))
    elif type(told) is float and isinstance(wanted, float):
        if abs(told - wanted) > COST * max(abs(wanted), 1e-300):
            yield name
    elif type(told) is not type(wanted) or told != wanted:
        yield name


def estimate_differs(given: bytes, wanted: bytes) -> str:
    """The first number of an estimate that is another one, in words; empty where none is."""
    rows, others = ([*csv.reader(io.StringIO(one.decode("utf-8"), newline=""))] for one in (given, wanted))
    if len(rows) != len(others):
        return f"it has {len(rows)} rows, not {len(others)}"
    for row, other in zip(rows, others, strict=True):
        if row[:2] != other[:2] or not _near(row[2:], other[2:]):
            return f"{' '.join(row)[:80]} where it has {' '.join(other)[:80]}"
    return ""


def _near(given: Sequence[str], wanted: Sequence[str]) -> bool:
    if list(given) == list(wanted):
        return True
    try:
        (one,), (other,) = map(float, given), map(float, wanted)
    except ValueError:
        return False
    return abs(one - other) <= ESTIMATE * max(abs(other), 1.0)
