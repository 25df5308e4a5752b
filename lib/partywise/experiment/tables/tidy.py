"""One row a fit: what a cube holds of its cells, as a table for a spreadsheet or a data frame."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Any

from ..plan import Plan
from ..results.columns import Columns

# What stands before the numbers of a fit; the first six are the dims of the cube.
KEYS = ("case", "method", "replicate", "parties", "fold", "epsilon")
TITLES = ("case_title", "method_title", "method_protocol")
# Fits that are turned into text at a time.
MOST_FITS = 1000


def tidy_names(columns: Columns) -> tuple[str, ...]:
    """Headings of the table: keys, titles, status, and all scalars of the cube."""
    return (*KEYS, *TITLES, "status", *columns.names())


def tidy_rows(plan: Plan, columns: Columns) -> Iterator[dict[str, Any]]:
    """The rows in the order of the cube, made part by part."""
    names = tidy_names(columns)
    scalars = names[len(KEYS) + len(TITLES) :]
    for block in columns.places.blocks:
        method = plan.methods[block.method]
        titles = (plan.cases[block.case].title, method.title, method.protocol_name)
        replicates, _, folds, _ = block.shape
        places = product(range(replicates), block.parties, range(folds), block.epsilons)
        for first in range(block.first, block.stop, MOST_FITS):
            at = slice(first, min(first + MOST_FITS, block.stop))
            values = zip(*(columns.shown(name, at) for name in scalars), strict=True)
            for place, row in zip(islice(places, at.stop - at.start), values, strict=True):
                yield dict(zip(names, (block.case, block.method, *place, *titles, *row), strict=True))
