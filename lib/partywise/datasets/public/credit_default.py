"""What is public of the columns of credit cards; standard library only."""

from __future__ import annotations

from .declarations import ColumnFacts, levels, steps

MONTHS = ("0", "2", "3", "4", "5", "6")
# The carrier holds these two as indicators.
EDUCATION = tuple(f"EDUCATION_{k}" for k in range(7))
MARRIAGE = tuple(f"MARRIAGE_{k}" for k in range(4))
PAY = tuple(f"PAY_{month}" for month in MONTHS)
BILLS = tuple(f"BILL_AMT{k}" for k in range(1, 7))
PAYMENTS = tuple(f"PAY_AMT{k}" for k in range(1, 7))
NAMES = ("LIMIT_BAL", "SEX", "EDUCATION", "MARRIAGE", "AGE", *PAY, *BILLS, *PAYMENTS)
CODES = "code book of the table"


def column_facts() -> dict[str, ColumnFacts]:
    """Edges of limit, sex, education, marriage, age and payment status; amounts have none."""
    thousands = steps((20, 30, 50), (80, 20, 100), (150, 50, 300), (400, 100, 500))
    limits = ColumnFacts(
        tuple(1000.0 * cut for cut in thousands), (0.0, 1e6), "limits that banks grant, in Taiwan dollars"
    )
    status = f"{CODES}: months of delay, 0 and below for none; more than 3 are rare"
    found = {
        "LIMIT_BAL": limits,
        "SEX": levels(2, CODES),
        "EDUCATION": levels(len(EDUCATION), f"{CODES}: 1 to 4, and 0, 5, 6 for what it does not name"),
        "MARRIAGE": levels(len(MARRIAGE), f"{CODES}: 1 to 3, and 0 for what it does not name"),
        "AGE": ColumnFacts(steps((20.5, 5, 65.5)), (18.0, 80.0), "years of adults, five at a time"),
    }
    found |= {name: ColumnFacts(steps((-1.5, 1, 3.5)), (-2.0, 9.0), status) for name in PAY}
    return found | {name: ColumnFacts(None, None, "amounts are declared by nobody") for name in (*BILLS, *PAYMENTS)}
