"""Credit cards: does a client default in the next month (Taiwan 2005, UCI "Default of credit card clients")."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..catalogue import RESOURCES
from ..descriptions import TABLES
from ..fetch import read_files
from ..reading import read_columns, require, to_numbers
from ..tables import Table

RESOURCE, LABEL = "credit_default", "default-payment-next-month"
TABLE = TABLES["credit_default"]
# The carrier holds these two as indicators.
EDUCATION = tuple(f"EDUCATION_{k}" for k in range(7))
MARRIAGE = tuple(f"MARRIAGE_{k}" for k in range(4))
ROWS, POSITIVE = 30_000, 6636
NOTES = (TABLE.record,)


def load(folder: str | Path) -> Table:
    """Read ``folder`` (such as ``resources/credit_default``, filled by ``data.fetch``).

    Yeh and Lien (2009), "The comparisons of data mining techniques for the predictive accuracy of probability of
    default of credit card clients", Expert Systems with Applications 36.
    """
    contents, sha256, notes = read_files(RESOURCE, folder)
    member = RESOURCES[RESOURCE].members[0]
    plain = tuple(name for name in TABLE.names if name not in ("EDUCATION", "MARRIAGE"))
    read = read_columns(contents[member.file], (*plain, *EDUCATION, *MARRIAGE, LABEL), member.file)
    columns = {name: to_numbers(values, name) for name, values in read.items()}
    y = columns[LABEL]
    require(bool(np.isin(y, (0, 1)).all()), f"{LABEL} is neither 0 nor 1 in some row")
    columns["EDUCATION"], columns["MARRIAGE"] = (level_numbers(columns, names) for names in (EDUCATION, MARRIAGE))
    X = np.column_stack([columns[name] for name in TABLE.names])
    if sha256[member.file] == member.sha256:
        shape, expected = (*X.shape, int(y.sum())), (ROWS, len(TABLE.names), POSITIVE)
        require(shape == expected, f"{shape} rows, columns and defaults where {expected} are expected")
    return Table(X, y, np.array(TABLE.names), TABLE.column_facts, sha256, NOTES + notes)


def level_numbers(columns: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    """(N,) number of the level, from one indicator of each level."""
    one_hot = np.column_stack([columns[name] for name in names])
    right = bool(np.isin(one_hot, (0, 1)).all() and (one_hot.sum(axis=1) == 1).all())
    require(right, f"the indicators {names[0]} to {names[-1]} do not name one level in each row")
    return np.asarray(one_hot.argmax(axis=1).astype(float))
