"""Adult: does a person earn more than 50 000 dollars a year (US census of 1994, UCI "Adult", complete cases).

The carrier holds the table with categories already as columns of 0 and 1; `load` gives the 14 columns of the source,
the levels of a category numbered in alphabetical order.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from ...core.errors import DataMissing
from ..carriers import zip_member
from ..catalogue import RESOURCES
from ..descriptions import TABLES, Column
from ..fetch import read_files
from ..reading import fail, require, to_numbers
from ..tables import Table

RESOURCE = "adult"
LABEL, OTHER_LABEL = "salary_>50K", "salary_<=50K"
ROWS, FEATURES = 45222, 104
NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
TABLE = TABLES["adult"]
NOTES = (TABLE.record,)
# The table as its authors divided it into training and test rows, complete cases.
SPLIT_RESOURCE = "adult_split"
LABELS = {"<=50K": 0.0, ">50K": 1.0}
MISSING = "?"
# The test file begins with a remark and ends its labels with a full stop.
REMARK, STOP = "|", "."
SPLIT_ROWS = (30162, 15060)


def load(folder: str | Path) -> Table:
    """Read ``folder`` (such as ``resources/adult``, filled by ``data.fetch``).

    Kohavi (1996), "Scaling up the accuracy of naive-Bayes classifiers: a decision-tree hybrid", KDD.
    """
    columns, y, sha256, notes = _read(folder)
    X = np.empty((len(y), len(TABLE.columns)))
    for j, about in enumerate(TABLE.columns):
        X[:, j] = _level_numbers(columns, about) if about.levels else columns[about.name]
    return Table(X, y, np.array(TABLE.names), TABLE.column_facts, sha256, notes)


def _level_numbers(columns: dict[str, np.ndarray], about: Column) -> np.ndarray:
    """(N,) number of the level, from one indicator of each level."""
    name = about.name
    there = {column for column in columns if column.startswith(f"{name}_")}
    wanted = [f"{name}_{level}" for level in about.levels]
    require(there == set(wanted), f"the levels of {name} are not the {len(wanted)} of the code book")
    one_hot = np.column_stack([columns[column] for column in wanted])
    require(bool((one_hot.sum(axis=1) == 1).all()), f"the indicators of {name} do not name one level in each row")
    return np.asarray(one_hot.argmax(axis=1).astype(float))


def _read(folder: str | Path) -> tuple[dict[str, np.ndarray], np.ndarray, dict[str, str], tuple[str, ...]]:
    """Checked columns, labels, SHA-256 and notes."""
    contents, sha256, notes = read_files(RESOURCE, folder)
    member = RESOURCES[RESOURCE].members[0]
    names, values = _table(contents[member.file], member.file)
    for name in (*NUMERIC, LABEL, OTHER_LABEL):
        require(name in names, f"{member.file} has no column {name}")
    columns = {name: values[:, place] for place, name in enumerate(names)}
    y, other = columns.pop(LABEL), columns.pop(OTHER_LABEL)
    require(bool(np.all(y + other == 1)), "the two columns of the label do not add up to 1")
    for name, column in columns.items():
        require(name in NUMERIC or bool(np.isin(column, (0, 1)).all()), f"column {name} is not an indicator")
    if sha256[member.file] == member.sha256:
        shape, expected = (len(y), len(columns)), (ROWS, FEATURES)
        require(shape == expected, f"{shape} rows and features where {expected} are expected")
    return columns, y, sha256, NOTES + notes


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


def load_split(folder: str | Path) -> Table:
    """Read ``folder`` (such as ``resources/adult_split``), whose rows its authors divided for training and tests.

    Kohavi (1996), "Scaling up the accuracy of naive-Bayes classifiers: a decision-tree hybrid", KDD.
    """
    contents, sha256, notes = read_files(SPLIT_RESOURCE, folder)
    members = RESOURCES[SPLIT_RESOURCE].members
    rows = [_rows(contents[member.file], member.file) for member in members]
    counts = tuple(map(len, rows))
    if all(sha256[member.file] == member.sha256 for member in members):
        require(counts == SPLIT_ROWS, f"{counts} complete rows where {SPLIT_ROWS} are expected")
    table = [row for part in rows for row in part]
    X = np.column_stack([_column(name, [row[j] for row in table]) for j, name in enumerate(TABLE.names)])
    y = np.array([LABELS[row[-1]] for row in table])
    train = np.arange(len(y)) < counts[0]
    return Table(X, y, np.array(TABLE.names), TABLE.column_facts, sha256, NOTES + notes, train=train)


def _rows(content: bytes, file: str) -> list[list[str]]:
    """The complete rows of a file without header, the label last."""
    try:
        read = list(csv.reader(io.StringIO(content.decode(), newline=""), skipinitialspace=True))
    except (UnicodeDecodeError, csv.Error):
        raise DataMissing(f"{file} cannot be read as CSV text: delete it and run again to fetch it.") from None
    rows = [[text.strip() for text in row] for row in read if row and not row[0].startswith(REMARK)]
    require(bool(rows), f"{file} has no rows")
    require(
        all(len(row) == len(TABLE.names) + 1 for row in rows), f"a row of {file} has not {len(TABLE.names) + 1} fields"
    )
    complete = [[*row[:-1], row[-1].removesuffix(STOP)] for row in rows if MISSING not in row]
    require(all(row[-1] in LABELS for row in complete), f"{file} has a label that is none of {', '.join(LABELS)}")
    return complete


def _column(name: str, texts: list[str]) -> np.ndarray:
    """Numbers, or numbers of levels."""
    levels = TABLE.column(name).levels
    if not levels:
        return to_numbers(texts, name)
    number = {level: float(k) for k, level in enumerate(levels)}
    strange = sorted(set(texts) - set(number))
    require(not strange, f"{name} has the level {strange[0] if strange else ''}, which is not in the code book")
    return np.array([number[text] for text in texts])
