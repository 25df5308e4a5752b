"""The printed summary read back."""

from __future__ import annotations

from collections import defaultdict


def printed_rows(text: str) -> dict[tuple[str, str, str, str], list[str]]:
    """(case, method, parties, target) -> the values of all columns in order, those of further tables behind."""
    found: dict[tuple[str, str, str, str], list[str]] = defaultdict(list)
    case, inside = "", False
    for line in text.splitlines():
        if line.startswith("---"):
            inside = True
        elif inside and line.endswith(("fold", "folds")) and not line.startswith(" "):
            case = line.partition(":")[0]
        elif inside and line.startswith("  "):
            method, parties, target, *values = line.replace(" +- ", "+-").split()
            found[case, method, parties, target] += values
        else:
            inside = False
    return dict(found)
