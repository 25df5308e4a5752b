"""Adult: does a person earn more than 50 000 dollars a year (US census of 1994, UCI "Adult", complete cases).

The carrier holds the table with categories already as columns of 0 and 1; all levels of a category are there, so
the columns of each category add up to the intercept and the moment matrix is ill-conditioned.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from ...errors import DataMissing
from ..carriers import zip_member
from ..catalogue import RESOURCES
from ..curves import fail, require
from ..fetch import read_files
from ..tables import LabelledTable, Range, scale

RESOURCE = "adult"
LABEL, OTHER_LABEL = "salary_>50K", "salary_<=50K"
ROWS, FEATURES = 45222, 104
CODEBOOK = "codes of the census file"
PUBLIC = {
    "age": Range(17, 90, CODEBOOK + ": persons over 16, top code 90"),
    "education-num": Range(1, 16, CODEBOOK),
    "capital-gain": Range(0, 99999, CODEBOOK + ": top code"),
    "hours-per-week": Range(1, 99, CODEBOOK + ": top code"),
}
INDICATOR = Range(0, 1, "an indicator")
NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
NOTES = ("The record of the privacy unit is a person.",)


def load(folder: str | Path) -> LabelledTable:
    """Read ``folder`` (such as ``resources/adult``, filled by ``resources.fetch``).

    Returns
    -------
    LabelledTable
        45 222 persons, 6 numeric features and 98 indicators.

    Raises
    ------
    DataMissing
        When the file is absent or changed, or one of the named checks fails.

    References
    ----------
    Kohavi (1996), "Scaling up the accuracy of naive-Bayes classifiers: a decision-tree hybrid", KDD.
    """
    contents, sha256, notes = read_files(RESOURCE, folder)
    member = RESOURCES[RESOURCE].members[0]
    names, values = _table(contents[member.file], member.file)
    for name in (*NUMERIC, LABEL, OTHER_LABEL):
        require(name in names, f"{member.file} has no column {name}")
    columns = {name: values[:, place] for place, name in enumerate(names)}
    y, other = columns.pop(LABEL), columns.pop(OTHER_LABEL)
    require(bool(np.all(y + other == 1)), "the two columns of the label do not add up to 1")
    for name, column in columns.items():
        require(name in NUMERIC or bool(np.isin(column, (0, 1)).all()), f"column {name} is no indicator")
    public = PUBLIC | {name: INDICATOR for name in columns if name not in NUMERIC}
    X, ranges = scale(columns, public)
    if sha256[member.file] == member.sha256:
        require(X.shape == (ROWS, FEATURES), f"{X.shape} rows and features where {(ROWS, FEATURES)} are expected")
    return LabelledTable(X, y, np.array(list(columns)), ranges, np.zeros(len(y), dtype=int), sha256, NOTES + notes)


def _table(content: bytes, file: str) -> tuple[list[str], np.ndarray]:
    """Header and values of the one CSV file in the archive."""
    try:
        text = zip_member(content, "adult.csv", file).decode()
    except UnicodeDecodeError:
        raise DataMissing(f"{file} holds no adult.csv: delete the file and run again to fetch it.") from None
    header, _, body = text.partition("\n")
    try:
        values = np.loadtxt(io.StringIO(body), delimiter=",", ndmin=2)
    except ValueError as error:
        fail(f"adult.csv is not numeric ({error})")
    names = header.strip().split(",")
    require(values.shape[1] == len(names), f"adult.csv has {values.shape[1]} columns and {len(names)} names")
    return names, values
