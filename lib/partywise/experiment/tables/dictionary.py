"""The table of one row per fit, and what the columns of all tables next to a cube mean: one row for each column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

from ...privacy.ledger.total import MEANINGS
from ..cells import COMMON, STATUS
from ..jobs import COLUMNS as TIMINGS
from ..plan import Plan
from ..results.assemble import COORDS
from ..results.columns import CubeColumns
from ..results.labels import dim_of
from .wire import WIRE

Entry = tuple[str, str]
# Fits that are turned into text at a time.
MOST_FITS = 1000
# What stands before the numbers of a fit: the dims of the cube, and `TITLES`.
KEYS = ("case", "method", "replicate", "parties", "fold", "epsilon")
STUDY = {"study": ("name of the study", "1")}
LABELS: dict[str, Entry] = {word: COORDS[dim_of(word)] for word in KEYS}
TARGET = {"epsilon_target": COORDS["epsilon"]}
TITLES: dict[str, Entry] = {
    "case_title": ("title of the case", "1"),
    "method_title": ("title of the method", "1"),
    "method_protocol": ("protocol of the method", "1"),
    "status": (f"what became of the fit: {', '.join(STATUS[1:])}", "1"),
}
SUMMARY: dict[str, Entry] = {
    "variable": ("name of the variable in the cube and in tidy.csv", "1"),
    "units": ("unit of mean and se", "1"),
    "mean": ("mean over replicates of each replicate's mean over folds", "that of the variable"),
    "se": (
        "standard error of that mean; empty where fewer than two replicates have a value",
        "that of the variable",
    ),
    "replicates": ("replicates in which the variable has a value", "1"),
    "folds": ("folds of each replicate", "1"),
    "heading": ("name of the variable over a column of summary.txt", "1"),
    "better": ("which values are better: lower, higher or neither", "1"),
}
LEDGER: dict[str, Entry] = {
    "step": ("position of the release in its ledger, from 0", "1"),
    "release_id": ("name of the release: sent again it stays one row", "1"),
    "owner": ("party whose data the release is computed from", "1"),
    "mechanism": (
        "distribution of the noise; none for a value sent in the clear, cipher for one that crosses closed",
        "1",
    ),
    "unit": ("what changes between neighbouring data sets; of what is in the clear or closed, what is so", "1"),
    "depends_on": ("fields of the data that the value is computed from", "1"),
    "mu": ("Gaussian-DP parameter of one application; inf without noise", "1"),
    "rho": ("zCDP parameter of one application", "1"),
    "epsilon": ("pure-DP parameter of one application", "1"),
    "k": ("number of answers of a randomised response", "1"),
    "rate": ("probability with which sampling includes a record in one application", "1"),
    "count": ("number of applications, each with that profile", "1"),
    "epsilon_distance": ("loss for each unit of distance, of a mechanism whose guarantee depends on it", "1"),
    "delta_numeric": ("what all applications add to delta in addition to the profile", "1"),
    "sensitivity": ("bound on how far one neighbouring change moves the statistic", "that of the statistic"),
    "norm": ("norm of the sensitivity", "1"),
    "certificate": ("where the bound comes from, in the words of the code", "1"),
    "noise_digest": ("digest of the released value: tells a second draw from the same one", "1"),
    "relation": ("neighbouring relation of the profile", "1"),
    "audience": ("who may see the release; * is everybody", "1"),
    "stratum": ("public part of the records that the release is about, as partition/cell; * is all", "1"),
    "trust_model": ("who is trusted with the raw value", "1"),
    "sampler": ("random source that drew the noise", "1"),
    "data_dependent_parameters": ("releases that its parameters, or the value itself, were taken from", "1"),
    "certified": ("whether its guarantee is proved", "1"),
    "epsilon_claimed": COMMON["epsilon_claimed"],
    "knows": ("places that know the noise or the records behind the row: nothing is proved against them", "1"),
    "key_holders": ("of a cipher: with all of them, one of its audience opens it", "1"),
    "owners": ("all whose data are in the release, where these are several", "1"),
    "shares": ("share of the variance of the noise that each of several adds, by name", "1"),
    "tv": ("distance in total variation of what is drawn from the stated distribution", "1"),
    "exact": ("whether nothing that the certificate does not bound can move what was noised", "1"),
    "cells": ("cells of one partition, such as folds, that hold all records which the release read; empty: any", "1"),
    "range": ("length of an interval that holds the losses of one application, of a pick; empty: not a pick", "1"),
    "prev_hash": ("hash of the row before", "1"),
    "hash": ("hash of the row and of all before it", "1"),
}
MEANINGS_OF_TOTALS: dict[str, Entry] = {name: (meaning, "1") for name, meaning in MEANINGS.items()} | {
    "epsilon_certified": (
        "epsilon of the distinct releases of all folds of the replicate together, for the worst coalition",
        "1",
    ),
    "ledger_sha256": ("end of the hash chain of these releases", "1"),
}
MESSAGES: dict[str, Entry] = dict(
    zip(
        WIRE,
        (
            ("number of equal messages on this line", "1"),
            ("who sends; the first and the last of several", "1"),
            ("who receives; the first and the last of several", "1"),
            ("name of the value; the first and the last of several", "1"),
            ("release, cipher, public (free by a stated argument) or clear (unprotected)", "1"),
            ("mechanism of a release, key holder of a cipher, reason of a public value, units of a clear one", "1"),
            ("shape of the array, empty for a single number", "1"),
            ("size of these messages together, as serialised", "byte"),
        ),
        strict=True,
    )
)
COSTS: dict[str, Entry] = {
    "cells": ("number of fits", "1"),
    "cpu_seconds": ("processor time of these fits together", "s"),
    "peak_megabytes": ("largest memory of a job, the interpreter included", "MB"),
}
SLOT: dict[str, Entry] = {word: LABELS[word] for word in ("case", "method", "parties", "epsilon")}
GROUP: dict[str, Entry] = {word: LABELS[word] for word in ("case", "method", "replicate", "parties")}

PREDICTIONS: dict[str, Entry] = LABELS | {
    "epsilon_certified": COMMON["epsilon_certified"],
    "id": (
        "record, as the owner's files call it, behind one ' where it begins with = + - @ or ' and is not a number: "
        "take one ' off the begin to join; it stays with whoever runs the simulation",
        "1",
    ),
    "time": ("point of a curve", "that of the curves"),
    "held_out": ("1 if the fit did not use the record, 0 if it trained on it", "1"),
    "observed": ("value of the owner's file, of curves the smoothed one: private", "that of the response"),
    "predicted": ("probability of label 1, or mean of the response, by the fit", "that of the response"),
}
PREDICTED: Entry = ("what the fit makes of the record's own features", "1")


def tables(columns: CubeColumns, predictions: Sequence[str] = ()) -> dict[str, dict[str, Entry]]:
    """Columns of each table in their order: meaning and unit."""
    described = {**LABELS, **TITLES, **{name: columns.described[name] for name in columns.names()}}
    costs = LABELS | COSTS
    return {
        "tidy.csv": {name: described[name] for name in tidy_names(columns)},
        "summary.csv": STUDY | SLOT | SUMMARY,
        "ledger.csv": STUDY | GROUP | TARGET | LEDGER,
        "ledger_totals.csv": STUDY | GROUP | TARGET | MEANINGS_OF_TOTALS,
        "wire.md": MESSAGES,
        "timings.csv": {name: costs[name] for name in TIMINGS},
        "predictions.csv": {name: PREDICTIONS.get(name, PREDICTED) for name in predictions},
    }


def dictionary_rows(columns: CubeColumns, predictions: Sequence[str] = ()) -> Iterator[dict[str, str]]:
    """One row for each column of each table: ``table``, ``column``, ``meaning``, ``unit``; predictions: its columns."""
    for table, entries in tables(columns, predictions).items():
        for name, (meaning, unit) in entries.items():
            yield {"table": table, "column": name, "meaning": meaning, "unit": unit}


def tidy_names(columns: CubeColumns) -> tuple[str, ...]:
    """Headings of the table: keys, titles, status, and all scalars of the cube."""
    return (*KEYS, *TITLES, *columns.names())


def tidy_rows(plan: Plan, columns: CubeColumns) -> Iterator[dict[str, object]]:
    """The rows in the order of the cube, made part by part."""
    names, scalars = tidy_names(columns), ("status", *columns.names())
    for block in columns.places.blocks:
        method = plan.methods[block.method]
        titles = (plan.cases[block.case].title, method.title, method.protocol_name)
        replicates, _, folds, _ = block.shape
        places = product(range(replicates), block.parties, range(folds), block.epsilons)
        for first in range(block.first, block.stop, MOST_FITS):
            at = slice(first, min(first + MOST_FITS, block.stop))
            values = zip(*(columns.display_values(name, at) for name in scalars), strict=True)
            for place, row in zip(islice(places, at.stop - at.start), values, strict=True):
                yield dict(zip(names, (block.case, block.method, *place, *titles, *row), strict=True))
