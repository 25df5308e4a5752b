"""Differences between two cubes, for a reader: keys, epsilons, fits that failed, means, cells that only one has.

``compare`` reports which bits moved; this module reports which findings did.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import xarray as xr

from ..results.attributes import meanings
from ..results.compare import align, bits_differ, cube_pairs
from ..results.cube import DIMS, open_cube
from .shifts import FOLD, REPLICATE, SLOT, Label, Place, Shift, shifts

# Kinds of entries, in the order in which they are told.
CONFIGURATION, EPSILON, STATUS = "configuration", "epsilon", "status"
MOVED, NO_ERROR, ONE_ONLY, CELLS = "moved", "no_error", "one_only", "cells"
KINDS = (CONFIGURATION, EPSILON, STATUS, MOVED, NO_ERROR, ONE_ONLY, CELLS)
VERSIONS = ("code_sha256", "lock_sha256", "git_commit")
ABSENT = "(absent)"


@dataclass(frozen=True)
class DifferenceEntry:
    """One thing that differs.

    kind : one of ``KINDS``; where : labels of the slot, empty for a key of the configuration
    variable : its name, or the dotted path of a key; first, second : in the two cubes
    difference, error, replicates : of means, see `Shift`
    fits : number of fits behind it, in the slots that are counted by fits
    """

    kind: str
    where: Place
    variable: str
    first: Label
    second: Label
    difference: float | None = None
    error: float | None = None
    z: float | None = None
    replicates: int | None = None
    fits: int | None = None


@dataclass(frozen=True)
class Difference:
    """Differences between two cubes.

    name : of the cube; paired : whether replicates share their random numbers; slots : that both hold
    entries : what differs; n_tests : number of means with a positive standard error
    by_chance : how many of these exceed two standard errors on average where only the draws changed
    equal_cases : those in which nothing differs; versions : name -> (first, second) where they differ
    """

    name: str
    paired: bool
    slots: int
    entries: tuple[DifferenceEntry, ...]
    n_tests: int
    by_chance: float
    equal_cases: tuple[str, ...]
    versions: Mapping[str, tuple[str, str]]

    def of(self, kind: str) -> list[DifferenceEntry]:
        """Entries of a kind."""
        return [entry for entry in self.entries if entry.kind == kind]

    @property
    def equal(self) -> bool:
        """Whether nothing differs that is listed here; hashes of code and lock do not count."""
        return not self.entries


def differences(first: Path, second: Path) -> Iterator[Difference]:
    """Yield the differences of two cubes, or of the cubes at the same places below two folders."""
    for name, old_path, new_path in cube_pairs(first, second):
        if old_path is None or new_path is None:
            old, new = ("no" if path is None else "yes" for path in (old_path, new_path))
            cells = DifferenceEntry(CELLS, (), "the whole cube", old, new)
            yield Difference(name, False, 0, (cells,), 0, 0.0, (), {})
        else:
            yield difference(name, open_cube(old_path), open_cube(new_path))


def difference(name: str, first: xr.Dataset, second: xr.Dataset) -> Difference:
    """Return the differences of two cubes of one study."""
    pair = _Pair(first, second)
    keys = differing_keys(first.attrs["config_json"], second.attrs["config_json"])
    means = list(shifts(first, second, pair.variables_with_means, pair.paired))
    tested = [shift for shift in means if shift.by_chance]
    entries = (
        *(DifferenceEntry(CONFIGURATION, (), key.path, key.first, key.second) for key in keys),
        *pair.epsilons(),
        *pair.statuses(),
        *(_entry(shift) for shift in means if shift.kind),
        *pair.alone(),
    )
    changed = {entry.where[0] for entry in entries if entry.where}
    versions = {key: (first.attrs.get(key, ""), second.attrs.get(key, "")) for key in VERSIONS}
    versions |= _packages(first.attrs, second.attrs)
    return Difference(
        name,
        pair.paired,
        int(pair.shared_slots.sum()),
        entries,
        len(tested),
        sum(shift.by_chance for shift in tested),
        tuple(case for case in first["case"].values.tolist() if case not in changed),
        {key: values for key, values in versions.items() if values[0] != values[1]},
    )


def _entry(shift: Shift) -> DifferenceEntry:
    numbers = (shift.difference, shift.error, shift.z, shift.replicates)
    return DifferenceEntry(shift.kind, shift.where, shift.variable, shift.first, shift.second, *numbers)


def _packages(first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Versions of packages by name."""
    old, new = (json.loads(attrs.get("software_versions", "{}")) for attrs in (first, second))
    return {name: (old.get(name, ""), new.get(name, "")) for name in sorted({*old, *new})}


class _Pair:
    """Two cubes over the cells that both hold."""

    def __init__(self, first: xr.Dataset, second: xr.Dataset) -> None:
        self.cubes = first, second
        self.held = tuple(cube["status"].transpose(*DIMS) > 0 for cube in self.cubes)
        in_first, in_second = align(*self.held)
        self.both = in_first & in_second
        seeds = {(root_seed(cube.attrs["config_json"]), cube.attrs["source"].rpartition(" ")[2]) for cube in self.cubes}
        self.paired = len(seeds) == 1

    @cached_property
    def names(self) -> list[str]:
        """Numbers over the six dims that both cubes hold."""
        first, second = self.cubes
        return [
            str(name)
            for name in first.data_vars
            if name in second.data_vars and set(DIMS) == set(first[name].dims) and _is_number(first[name])
        ]

    @cached_property
    def variables_with_means(self) -> list[str]:
        """Variables that have a mean and a standard error: all but the epsilons."""
        return [name for name in self.names if not is_epsilon(self.cubes[0], name)]

    @property
    def shared_slots(self) -> np.ndarray:
        return self.both.any([REPLICATE, FOLD]).values

    def epsilons(self) -> Iterator[DifferenceEntry]:
        """Claimed and certified epsilons that moved at all in some fit: one entry a slot, with the first fit's."""
        for name in self.names:
            if is_epsilon(self.cubes[0], name):
                old, new = align(*(cube[name].transpose(*DIMS) for cube in self.cubes))
                different = bits_differ(old.values.astype(float), new.values.astype(float)) & self.both.values
                yield from self._fits(EPSILON, name, different, old.values, new.values)

    def statuses(self) -> Iterator[DifferenceEntry]:
        """Fits that came to another end, such as `ok` in one cube and `diverged` in the other."""
        old, new = align(*(meanings(cube["status"]).transpose(*DIMS) for cube in self.cubes))
        different = (old.values != new.values) & self.both.values
        yield from self._fits(STATUS, "status", different, old.values, new.values)

    def _fits(
        self, kind: str, name: str, different: np.ndarray, a: np.ndarray, b: np.ndarray
    ) -> Iterator[DifferenceEntry]:
        """Fits that differ, together where slot, old and new value are the same."""
        counts: Counter[tuple[Place, Label, Label]] = Counter()
        labels = {dim: self.both[dim].values.tolist() for dim in SLOT}
        for place in np.argwhere(different):
            at = dict(zip(DIMS, place.tolist(), strict=True))
            where = tuple(labels[dim][at[dim]] for dim in SLOT)
            counts[where, a[tuple(place)].item(), b[tuple(place)].item()] += 1
        for (where, old, new), fits in counts.items():
            yield DifferenceEntry(kind, where, name, old, new, fits=fits)

    def alone(self) -> Iterator[DifferenceEntry]:
        """Slots with fits that only one of the cubes holds: how many fits each has there."""
        counts = [_fit_counts(cells) for cells in self.held]
        shared = _fit_counts(self.both)
        for where in dict.fromkeys([*counts[0], *counts[1]]):
            a, b = counts[0].get(where, 0), counts[1].get(where, 0)
            if a + b > 2 * shared.get(where, 0):
                yield DifferenceEntry(CELLS, where, "fits", a, b, fits=a + b - 2 * shared.get(where, 0))


def _fit_counts(cells: xr.DataArray) -> dict[Place, int]:
    """Number of fits of each slot that has one."""
    counts = cells.sum([REPLICATE, FOLD]).transpose(*SLOT)
    labels = [counts[dim].values.tolist() for dim in SLOT]
    return {
        tuple(values[i] for values, i in zip(labels, place, strict=True)): int(counts.values[tuple(place)])
        for place in np.argwhere(counts.values).tolist()
    }


def _is_number(variable: xr.DataArray) -> bool:
    """Whether a variable is a number or a truth value, no text and no flag of words."""
    words = variable.attrs.get("flag_meanings", "false true")
    return variable.dtype.kind in "fiub" and words == "false true"


def is_epsilon(cube: xr.Dataset, name: str) -> bool:
    """Whether a variable is an epsilon that is claimed or certified: no mean, it is proved or it is not."""
    meaning = str(cube[name].attrs.get("long_name", ""))
    return name.startswith(("epsilon_claimed", "epsilon_certified")) or ("epsilon" in meaning and "certif" in meaning)


def rows(findings: Sequence[Difference]) -> Iterator[dict[str, object]]:
    """Everything that differs as a table, one row an entry, and one for each version that differs."""
    for finding in findings:
        for entry in finding.entries:
            labels = dict(zip(("case", "method", "parties", "epsilon"), entry.where or ("",) * 4, strict=True))
            values = {"variable": entry.variable, "first": entry.first, "second": entry.second}
            numbers = {"difference": entry.difference, "se": entry.error, "z": entry.z, "replicates": entry.replicates}
            test = ("paired" if finding.paired else "two samples") if entry.error is not None else ""
            yield {
                "cube": finding.name,
                "kind": entry.kind,
                **labels,
                **values,
                **numbers,
                "test": test,
                "fits": entry.fits,
            }
        for name, (old, new) in finding.versions.items():
            blank = dict.fromkeys(("difference", "se", "z", "replicates", "test", "fits"))
            labels = dict.fromkeys(("case", "method", "parties", "epsilon"), "")
            yield {
                "cube": finding.name,
                "kind": "version",
                **labels,
                "variable": name,
                "first": old,
                "second": new,
            } | blank


@dataclass(frozen=True)
class Key:
    """A key whose value differs; ``(absent)`` where a configuration does not have it."""

    path: str
    first: str
    second: str


def differing_keys(first: str, second: str) -> Iterator[Key]:
    """Keys that differ between the ``config_json`` of two cubes, in the order in which they were written.

    What only one of them has, such as a case, is one key, however much is below it.
    """
    old, new = _as_written(first), _as_written(second)
    yield from _differing(old, new, "")


def root_seed(text: str) -> object:
    """The root seed of a ``config_json``."""
    return json.loads(text).get("root_seed")


def _as_written(text: str) -> dict[str, object]:
    """The tree of keys as a configuration file has it."""
    config = dict(json.loads(text))
    study, seed = config.pop("study", ""), config.pop("root_seed", None)
    return {"root_seed": seed, "studies": {study: config}}


def _differing(old: object, new: object, path: str) -> Iterator[Key]:
    if old is not _NOTHING and new is not _NOTHING and old == new:
        return
    first, second = _children(old), _children(new)
    if not first or not second:
        yield Key(path, _value_text(old), _value_text(new))
        return
    for key in dict.fromkeys([*first, *second]):
        below = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}".lstrip(".")
        yield from _differing(first.get(key, _NOTHING), second.get(key, _NOTHING), below)


_NOTHING = object()


def _children(value: object) -> Mapping[str | int, object]:
    """Return the children of a mapping, or of a list that has mappings, by key or index; else none."""
    if isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):
        return dict(enumerate(value))
    return value if isinstance(value, Mapping) else {}


def _value_text(value: object) -> str:
    if value is _NOTHING:
        return ABSENT
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return text.replace("Infinity", ".inf")
