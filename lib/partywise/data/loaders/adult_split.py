"""Adult as its authors divided it into training and test rows (UCI "Adult"), complete cases, 14 columns."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from ...core.errors import DataMissing
from ..catalogue import RESOURCES
from ..fetch import read_files
from ..reading import require, to_numbers
from ..tables import Table
from .adult import NOTES, TABLE

RESOURCE = "adult_split"
LABELS = {"<=50K": 0.0, ">50K": 1.0}
MISSING = "?"
# The test file begins with a remark and ends its labels with a full stop.
REMARK, STOP = "|", "."
ROWS = (30162, 15060)


def load(folder: str | Path) -> Table:
    """Read ``folder`` (such as ``resources/adult_split``, filled by ``data.fetch``).

    References
    ----------
    Kohavi (1996), "Scaling up the accuracy of naive-Bayes classifiers: a decision-tree hybrid", KDD.
    """
    contents, sha256, notes = read_files(RESOURCE, folder)
    members = RESOURCES[RESOURCE].members
    rows = [_rows(contents[member.file], member.file) for member in members]
    counts = tuple(map(len, rows))
    if all(sha256[member.file] == member.sha256 for member in members):
        require(counts == ROWS, f"{counts} complete rows where {ROWS} are expected")
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
