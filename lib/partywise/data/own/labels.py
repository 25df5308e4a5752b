"""Labels of two classes, as their column calls them; one reader for every study."""

from __future__ import annotations

import numpy as np

from ...core.errors import DataMissing
from .csv import TextTable


def class_labels(table: TextTable, name: str, positive: str | float | None) -> np.ndarray:
    """Labels (N,), 0 or 1; DataMissing for other entries, or one class only."""
    texts = table.column(name)
    if positive is None:
        for text, line in zip(texts, table.lines, strict=True):
            if _number(text) not in (0.0, 1.0):
                raise DataMissing(
                    f"{table.file}: {name} is {text!r} in row {line}: labels are 0 and 1; correct it, or name the "
                    "entry that counts as 1 under positive."
                )
        y = np.array([float(text) for text in texts])
    else:
        y = np.array([_is(text, positive) for text in texts], dtype=float)
        entries = list(dict.fromkeys(texts))
        if not y.any():
            raise DataMissing(
                f"{table.file}: {name} has no entry {positive!r}, which positive names: its entries are "
                f"{', '.join(entries[:5])}{', ...' if len(entries) > 5 else ''}; write it as in the file."
            )
        others = [text for text in entries if not _is(text, positive)]
        if len(others) > 1:
            line = table.lines[texts.index(others[1])]
            raise DataMissing(
                f"{table.file}: {name} has the entries {', '.join(entries[:5])}{', ...' if len(entries) > 5 else ''} "
                f"({others[1]!r} in row {line}): a label has two; correct them, or bring a column of two classes."
            )
    if y.all() or not y.any():
        raise DataMissing(
            f"{table.file}: {name} is {texts[0]!r} in all {len(texts)} rows: both classes are needed; bring rows of "
            "the other one, or check that the column is the right one."
        )
    return y


def _is(text: str, positive: str | float) -> bool:
    return text == positive if isinstance(positive, str) else _number(text) == positive


def _number(text: str) -> float | None:
    """The number that an entry is; None for a word."""
    try:
        return float(text)
    except ValueError:
        return None


def entries_of_classes(positive: str | float | None) -> tuple[object, object]:
    """An entry of each class, for a file without data."""
    if positive is None:
        return 0, 1
    return (f"not {positive}" if isinstance(positive, str) else positive + 1), positive
