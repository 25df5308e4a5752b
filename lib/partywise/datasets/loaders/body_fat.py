"""Body fat of 252 men by underwater weighing, with 13 measurements a tape and a scale can give."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..carriers import bzip2
from ..catalogue import RESOURCES
from ..fetch import read_files
from ..reading import read_columns, require, to_numbers
from ..tables import Table, stack_columns

RESOURCE = "body_fat"
RESPONSE, THRESHOLD = "siri", 18.0
# What a tape, a scale and a calendar can give.
FEATURES = (
    *("age", "weight", "height", "neck", "chest", "abdom", "hip"),
    *("thigh", "knee", "ankle", "biceps", "forearm", "wrist"),
)
ROWS, POSITIVE = 252, 139
NOTES = (
    "The record of the privacy unit is a man.",
    "The label 1 is more than 18 % of body fat (Siri's equation). Two recordings are known to be wrong and stay: a "
    "height of 29.5 inches and a body fat of 0.",
    "brozek, density, adipos and free are functions of the response (or of weight and height) and are left out.",
)


def load(folder: str | Path) -> Table:
    """Read ``folder`` (such as ``resources/body_fat``, filled by ``datasets.fetch``).

    References
    ----------
    Johnson (1996), "Fitting percentage of body fat to simple body measurements", Journal of Statistics Education 4.
    """
    contents, sha256, notes = read_files(RESOURCE, folder)
    member = RESOURCES[RESOURCE].members[0]
    text = bzip2(contents[member.file], member.file)
    columns = {
        name: to_numbers(values, name)
        for name, values in read_columns(text, (RESPONSE, *FEATURES), member.file).items()
    }
    siri = columns.pop(RESPONSE)
    require(bool(np.isfinite(siri).all()), f"column {RESPONSE} has a missing value")
    y = (siri > THRESHOLD).astype(float)
    X, facts = stack_columns(columns, {})
    if sha256[member.file] == member.sha256:
        require((len(y), int(y.sum())) == (ROWS, POSITIVE), f"{len(y)} rows, {y.sum():.0f} above {THRESHOLD:g} %")
    return Table(X, y, np.array(FEATURES), facts, sha256, NOTES + notes)
