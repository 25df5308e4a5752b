"""Differences as text: at most a screen, with a count of what is left off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from pandas import DataFrame, MultiIndex

from .difference import (
    CELLS,
    CONFIGURATION,
    EPSILON,
    KINDS,
    MOVED,
    NO_ERROR,
    ONE_ONLY,
    STATUS,
    VERSIONS,
    Difference,
    DifferenceEntry,
)
from .shifts import Label

LINES = 40
# Instead of a number of entries a kind, where even one is too much for a screen.
HEADINGS_ONLY, VERDICTS_ONLY = 0, -1
HEADINGS = {
    CONFIGURATION: "keys of the configuration",
    EPSILON: "epsilons that moved",
    STATUS: "fits that came to another end",
    MOVED: "means that moved by more than two standard errors",
    NO_ERROR: "means that moved, of a single replicate and so without a standard error",
    ONE_ONLY: "defined in one of the two only",
    CELLS: "fits that only one of the two has",
}
PAIRED = "paired by replicate"
SAMPLES = "two samples, other random numbers"


def text(findings: Sequence[Difference], only_changed: bool = False) -> str:
    """A verdict for each cube and the first entries of each kind, as many as fit into ``LINES`` lines.

    only_changed : leave out cubes in which nothing differs, and the names of unchanged cases
    """
    listed = [finding for finding in findings if not (only_changed and finding.equal)]
    end = [*_versions(findings), f"{sum(not finding.equal for finding in findings)} of {len(findings)} cubes differ."]
    room = LINES - len(end)
    for most in (*range(LINES, 0, -1), HEADINGS_ONLY, VERDICTS_ONLY):
        # What is too long is not made to its end.
        lines = list(islice((line for finding in listed for line in _cube(finding, most, only_changed)), room + 1))
        if len(lines) <= room:
            break
    if len(lines) > room:
        lines = [*lines[: room - 1], f"and {len(listed) - room + 1:,} cubes more"]
    return "\n".join([*lines, *end])


def _cube(finding: Difference, most: int, only_changed: bool) -> Iterator[str]:
    yield _short(_verdict(finding))
    for kind in KINDS if most > VERDICTS_ONLY and finding.slots else ():
        if entries := finding.of(kind):
            yield f"  {_heading(finding, kind, entries)}"
            ordered = _spread(entries) if kind in (MOVED, NO_ERROR) else entries
            yield from _table(ordered[:most])
            if len(entries) > most > HEADINGS_ONLY:
                yield f"    and {len(entries) - most:,} more"
    if finding.equal_cases and not finding.equal and not only_changed and most > VERDICTS_ONLY:
        yield _short(f"  cases without a difference: {', '.join(map(str, finding.equal_cases))}")


def _verdict(finding: Difference) -> str:
    if finding.equal:
        return f"{finding.name}: no difference in {finding.slots:,} cells"
    if not finding.slots and not finding.of(CONFIGURATION):
        return f"{finding.name}: only in the {'first' if finding.entries[0].first == 'yes' else 'second'}"
    counts = [
        (len({entry.where for entry in finding.of(MOVED)}), "cells moved by more than two standard errors"),
        (len({entry.where for entry in finding.of(EPSILON)}), "cells with another epsilon"),
        (len(finding.of(CONFIGURATION)), "keys differ"),
    ]
    words = ", ".join(f"{count:,} {what}" for count, what in counts)
    return f"{finding.name}: {words}; {finding.slots:,} cells in both"


def _heading(finding: Difference, kind: str, entries: Sequence[DifferenceEntry]) -> str:
    if kind != MOVED:
        return f"{HEADINGS[kind]} ({len(entries):,})"
    test = PAIRED if finding.paired else SAMPLES
    chance = f"; by chance {finding.by_chance:.0f} of {finding.n_tests:,}" if finding.n_tests else ""
    return f"{HEADINGS[kind]} ({len(entries):,}; {test}{chance})"


def _spread(entries: Sequence[DifferenceEntry]) -> list[DifferenceEntry]:
    """The clearest of every variable first, then the second of every variable, and so on."""
    ranks: dict[str, int] = {}
    ordered = []
    for entry in sorted(entries, key=lambda entry: -_clear(entry)):
        ranks[entry.variable] = ranks.get(entry.variable, -1) + 1
        ordered.append((ranks[entry.variable], entry))
    return [entry for _, entry in sorted(ordered, key=lambda pair: pair[0])]


def _clear(entry: DifferenceEntry) -> float:
    """Standard errors, or the relative difference where there is none."""
    if entry.z is not None and not np.isnan(entry.z):
        return abs(entry.z)
    assert not isinstance(entry.first, str) and not isinstance(entry.second, str)
    size = max(abs(entry.first), abs(entry.second))
    return abs(entry.difference or 0.0) / size if np.isfinite(size) and size else float("inf")


def _table(entries: Sequence[DifferenceEntry]) -> list[str]:
    """Entries of a kind, one on a line: where it is to the left, what differs next to it."""
    if not entries:
        return []
    frame = DataFrame(map(_numbers, entries), MultiIndex.from_tuples(map(_place, entries))).fillna("")
    return [f"    {line.rstrip()}" for line in frame.to_string(header=False, sparsify=False).splitlines()]


def _place(entry: DifferenceEntry) -> tuple[str, ...]:
    """Name and slot."""
    if not entry.where:
        return (entry.variable,)
    case, method, parties, epsilon = entry.where
    return entry.variable, str(case), str(method), f"J = {parties}", f"ε = {epsilon:g}"


def _numbers(entry: DifferenceEntry) -> list[str]:
    """Both values, and what is known of their difference."""
    old, new = _values(entry.first, entry.second)
    row = [f"{old} -> {new}"]
    if entry.error is not None and not np.isnan(entry.error):
        row.append(f"by {entry.difference:.3g} +- {entry.error:.2g}")
    if entry.replicates is not None:
        row.append(f"{entry.replicates} replicate{'s' if entry.replicates != 1 else ''}")
    if entry.fits is not None and entry.kind != CELLS:
        row.append(f"{entry.fits} fit{'s' if entry.fits != 1 else ''}")
    return row


def _values(old: Label, new: Label) -> tuple[str, str]:
    """Two values in as many digits as distinguish them."""
    if isinstance(old, str) or isinstance(new, str):
        return _short(str(old), 50), _short(str(new), 50)
    for digits in (4, 6, 9, 17):
        if (texts := (f"{old:.{digits}g}", f"{new:.{digits}g}"))[0] != texts[1]:
            return texts
    return repr(old), repr(new)


def _short(line: str, most: int = 120) -> str:
    return line if len(line) <= most else f"{line[: most - 4]} ..."


def _versions(findings: Sequence[Difference]) -> Iterator[str]:
    """Yield a line with the numbers of cubes in which code, lock and revision differ, and packages by versions."""
    both = [finding for finding in findings if finding.slots]
    parts = []
    for name, label in zip(VERSIONS, ("code", "lock", "revision"), strict=True):
        parts.append(f"{label} differs in {sum(name in finding.versions for finding in both)} of {len(both)}")
    packages = {name: pair for finding in both for name, pair in finding.versions.items() if name not in VERSIONS}
    parts += [f"{name} {old or '-'} -> {new or '-'}" for name, (old, new) in packages.items()]
    if both:
        yield "; ".join(parts)
