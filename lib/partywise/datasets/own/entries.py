"""Entries of a CSV file that are no numbers although somebody meant one: what they look like, and what to do."""

from __future__ import annotations

import re
from math import inf

# What looks like a number or a time, and the remedy; the first that fits is told.
LOOKS: tuple[tuple[re.Pattern[str], str, str], ...] = tuple(
    (re.compile(pattern), what, remedy)
    for pattern, what, remedy in (
        (r"[-+]?\d+,\d+(e[-+]?\d+)?$", "which is not a number", "write it with a decimal point"),
        (
            r"[-+]?\d{1,3}([,.' \u00a0\u202f_]\d{3})+([.,]\d+)?$|[-+]?\d+(_\d+)+$",
            "which has separators between thousands",
            "write it without them, with a decimal point",
        ),
        (
            r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{1,2}:\d{2}|\d{4}/\d{1,2}/\d{1,2}",
            "which is a date or a time of day",
            "write a number, such as hours since midnight or days since a public date",
        ),
        (r"[-+]?[\d.]+ ?%$", "which is a percentage", "write the number alone"),
        (r"[<>]=? ?[-+]?[\d.]+$", "which is a limit and no value", "write a value, or leave the row out"),
        (r"""["'=].*[\d.]+["']?$""", "which is a number in quotes", "write it without them"),
        (r"(?i)(true|false|yes|no|y|n|t|f)$", "which is a word for yes or no", "write 1 and 0"),
        (r"[-+]?[\d.]+(e[-+]?\d+)? ?[^\W\d_]+.*$|[$\u20ac\u00a3].*\d", "which has a unit", "write the number alone"),
    )
)


def is_number(text: str) -> bool:
    """Whether a text is a number as people and spreadsheets write it: Python would also take 1_000."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def trouble(text: str, may_be_missing: bool) -> str:
    """What is wrong with an entry that is not a finite number, and the remedy."""
    if text == "":
        return "an empty entry: fill it in or leave the row out"
    word, remedy = "which is not a number", "correct it"
    if is_number(text) and abs(float(text)) == inf:
        word = "which is infinite"
    else:
        word, remedy = next(((what, do) for look, what, do in LOOKS if look.match(text)), (word, remedy))
    return f"{word}: {remedy}" + (", or list it under marks if it stands for a missing value" if may_be_missing else "")
