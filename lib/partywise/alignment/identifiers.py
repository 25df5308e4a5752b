"""Identifiers of records as all parties must write them: text in one Unicode form, each once, none missing.

Errors count the identifiers that are wrong: a message contains no identifier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

# Any: identifiers as a user gives them, which are checked here.
from typing import Any

import numpy as np

from .options import IdentifierRules


def hash_identifiers(identifiers: Iterable[str]) -> list[str]:
    """SHA-256 of identifiers in hexadecimal, as the source aligns records (document 004, "The hashing approach")."""
    return [sha256(name.encode()).hexdigest() for name in identifiers]


def prepare_identifiers(
    values: object, rules: IdentifierRules, owner: str, where: str = "of align"
) -> tuple[list[str], np.ndarray]:
    """Identifiers as they are compared, and which records they belong to."""
    entries = list_identifiers(values, owner)
    positions = [place for place, value in enumerate(entries) if not is_missing(value)]
    if len(positions) < len(entries) and rules.missing == "error":
        raise count_error(
            owner,
            len(entries) - len(positions),
            len(entries),
            "missing",
            f"fill them in, or leave these records out (missing='drop' {where})",
        )
    texts = as_texts([entries[place] for place in positions], rules, owner, where)
    counts = Counter(texts)
    if len(counts) < len(texts):
        if rules.duplicates == "error":
            remedy = f"give each record its own, or leave them out (duplicates='first' or 'drop' {where})"
            raise count_error(owner, len(texts) - len(counts), len(texts), "used by an earlier record already", remedy)
        chosen = alone(texts, counts) if rules.duplicates == "drop" else first_of_each(texts)
        texts, positions = [texts[place] for place in chosen], [positions[place] for place in chosen]
    if not texts:
        raise ValueError(f"no identifiers of {owner!r} are left of {len(entries)}: give at least one record its own.")
    return texts, np.array(positions, dtype=np.int64)


def list_identifiers(values: Any, owner: str) -> list[Any]:
    """Identifiers as Python objects; ValueError unless they are one sequence of some."""
    if isinstance(values, str | bytes) or np.ndim(values) != 1:
        raise ValueError(f"identifiers of {owner!r}: give a list or an array (n,), one for each record.")
    return values.tolist() if isinstance(values, np.ndarray) else list(values)


def is_missing(value: object) -> bool:
    """Whether an identifier is missing: None, NaN of any kind, empty text."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return value == "" if isinstance(value, str) else isinstance(value, float | np.floating) and bool(value != value)


def as_texts(values: list[Any], rules: IdentifierRules, owner: str, where: str) -> list[str]:
    """Identifiers in the form in which they are compared; ValueError, with counts, for what is not text."""
    whole = [isinstance(value, int | np.integer) and not isinstance(value, bool) for value in values]
    if any(whole) and rules.as_text is None:
        remedy = f"'42' is not '042', so read them as text or give as_text {where}, such as '06d'"
        raise count_error(owner, sum(whole), len(values), "whole numbers", remedy)
    if others := sum(not (number or isinstance(value, str)) for value, number in zip(values, whole, strict=True)):
        raise count_error(owner, others, len(values), "neither text nor whole numbers", "give text")
    texts = [rules.canonical_form(value) for value in values]
    if broken := sum(not is_writable(text) for text in texts):
        raise count_error(owner, broken, len(texts), "empty, or hold a NUL or half a surrogate pair", "give valid text")
    return texts


def is_writable(text: str) -> bool:
    """Whether a text is not empty and survives arrays and UTF-8."""
    try:
        return bool(text.encode()) and "\0" not in text
    except UnicodeEncodeError:
        return False


def first_of_each(texts: list[str]) -> list[int]:
    """Positions of the first record with each identifier."""
    seen = dict[str, int]()
    for place, text in enumerate(texts):
        seen.setdefault(text, place)
    return list(seen.values())


def alone(texts: list[str], counts: Counter[str]) -> list[int]:
    """Positions of the records that share their identifier with no other."""
    return [place for place, text in enumerate(texts) if counts[text] == 1]


def count_error(owner: str, count: int, total: int, what: str, remedy: str) -> ValueError:
    """An error that counts what is wrong and shows none of it."""
    return ValueError(f"{count} of the {total} identifiers of {owner!r} are {what}: {remedy}.")
