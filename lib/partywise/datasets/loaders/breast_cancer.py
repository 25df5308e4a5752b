"""Breast cancer, Wisconsin (diagnostic): is a tumour benign, from 30 measurements of cell nuclei.

The file is a part of the pinned scikit-learn, which is neither installed nor imported for it.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from ..catalogue import RESOURCES
from ..fetch import read_files
from ..reading import fail, require
from ..tables import Table, stack_columns

RESOURCE = "breast_cancer"
ROWS, FEATURES, BENIGN = 569, 30, 357
MEASURED = (
    *("radius", "texture", "perimeter", "area", "smoothness"),
    *("compactness", "concavity", "concave points", "symmetry", "fractal dimension"),
)
NAMES = [f"{statistic} {name}" for statistic in ("mean", "error", "worst") for name in MEASURED]
NOTES = ("The record of the privacy unit is a patient.", "The label 1 is benign, as in the file.")


def load(folder: str | Path) -> Table:
    """Read ``folder`` (such as ``resources/breast_cancer``, filled by ``datasets.fetch``).

    References
    ----------
    Street, Wolberg and Mangasarian (1993), "Nuclear feature extraction for breast tumor diagnosis", SPIE 1905.
    """
    contents, sha256, notes = read_files(RESOURCE, folder)
    member = RESOURCES[RESOURCE].members[0]
    rows = list(csv.reader(io.StringIO(contents[member.file].decode(errors="replace"))))
    require(len(rows) > 1 and len(rows[0]) >= 2, f"{member.file} has no rows")
    try:
        stated = (int(rows[0][0]), int(rows[0][1]))
        values = np.array(rows[1:], dtype=float)
    except ValueError as error:
        fail(f"{member.file} is not numeric ({error})")
    require(values.shape == (stated[0], stated[1] + 1), f"{values.shape} values where the first row states {stated}")
    require(stated[1] == FEATURES, f"{stated[1]} features where {FEATURES} are expected")
    y = values[:, -1]
    X, facts = stack_columns({name: values[:, place] for place, name in enumerate(NAMES)}, {})
    if sha256[member.file] == member.sha256:
        require((len(y), int(y.sum())) == (ROWS, BENIGN), f"{len(y)} rows, {y.sum():.0f} benign")
    return Table(X, y, np.array(NAMES), facts, sha256, NOTES + notes)
