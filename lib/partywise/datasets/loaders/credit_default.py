"""Credit cards: does a client default in the next month (Taiwan 2005, UCI "Default of credit card clients")."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..catalogue import RESOURCES
from ..curves import read_columns, require, to_numbers
from ..fetch import read_files
from ..tables import ColumnTable, Declared, levels, steps

RESOURCE, LABEL = "credit_default", "default-payment-next-month"
ROWS, POSITIVE = 30_000, 6636
MONTHS = ("0", "2", "3", "4", "5", "6")
# The carrier holds these two as indicators.
EDUCATION = tuple(f"EDUCATION_{k}" for k in range(7))
MARRIAGE = tuple(f"MARRIAGE_{k}" for k in range(4))
PAY = tuple(f"PAY_{month}" for month in MONTHS)
BILLS = tuple(f"BILL_AMT{k}" for k in range(1, 7))
PAYMENTS = tuple(f"PAY_AMT{k}" for k in range(1, 7))
NAMES = ("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", *PAY, *BILLS, *PAYMENTS)
CODES = "code book of the table"
NOTES = ("The record of the privacy unit is a client.",)


def declared() -> dict[str, Declared]:
    """Edges of limit, sex, education, marriage, age and payment status; amounts have none."""
    thousands = steps((20, 30, 50), (80, 20, 100), (150, 50, 300), (400, 100, 500))
    limits = Declared(
        tuple(1000.0 * cut for cut in thousands), (0.0, 1e6), "limits that banks grant, in Taiwan dollars"
    )
    status = f"{CODES}: months of delay, 0 and below for none; more than 3 are rare"
    found = {
        "LIMIT_BAL": limits,
        "SEX": levels(2, CODES),
        "EDUCATION": levels(len(EDUCATION), f"{CODES}: 1 to 4, and 0, 5, 6 for what it does not name"),
        "MARRIAGE": levels(len(MARRIAGE), f"{CODES}: 1 to 3, and 0 for what it does not name"),
        "AGE": Declared(steps((20.5, 5, 65.5)), (18.0, 80.0), "years of adults, five at a time"),
    }
    found |= {name: Declared(steps((-1.5, 1, 3.5)), (-2.0, 9.0), status) for name in PAY}
    return found | {name: Declared(None, None, "amounts are declared by nobody") for name in (*BILLS, *PAYMENTS)}


def load(folder: str | Path) -> ColumnTable:
    """Read ``folder`` (such as ``resources/credit_default``, filled by ``datasets.fetch``).

    References
    ----------
    Yeh and Lien (2009), "The comparisons of data mining techniques for the predictive accuracy of probability of
    default of credit card clients", Expert Systems with Applications 36.
    """
    contents, sha256, notes = read_files(RESOURCE, folder)
    member = RESOURCES[RESOURCE].members[0]
    plain = tuple(name for name in NAMES if name not in ("EDUCATION", "MARRIAGE"))
    read = read_columns(contents[member.file], (*plain, *EDUCATION, *MARRIAGE, LABEL), member.file)
    columns = {name: to_numbers(values, name) for name, values in read.items()}
    y = columns[LABEL]
    require(bool(np.isin(y, (0, 1)).all()), f"{LABEL} is neither 0 nor 1 in some row")
    columns["EDUCATION"], columns["MARRIAGE"] = (folded(columns, names) for names in (EDUCATION, MARRIAGE))
    X = np.column_stack([columns[name] for name in NAMES])
    if sha256[member.file] == member.sha256:
        shape, expected = (*X.shape, int(y.sum())), (ROWS, len(NAMES), POSITIVE)
        require(shape == expected, f"{shape} rows, columns and defaults where {expected} are expected")
    about = declared()
    return ColumnTable(X, y, np.array(NAMES), tuple(about[name] for name in NAMES), None, sha256, NOTES + notes)


def folded(columns: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    """(N,) number of the level, from one indicator of each level."""
    one_hot = np.column_stack([columns[name] for name in names])
    right = bool(np.isin(one_hot, (0, 1)).all() and (one_hot.sum(axis=1) == 1).all())
    require(right, f"the indicators {names[0]} to {names[-1]} do not name one level in each row")
    return one_hot.argmax(axis=1).astype(float)
