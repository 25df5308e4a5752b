"""What is public of the columns of abalone; standard library only."""

from __future__ import annotations

from .declarations import ColumnFacts, levels, steps

SEXES = ("F", "I", "M")
UNITS = "lengths are in 200 mm and weights in 200 g: round numbers over what abalones reach"
CUTS = {
    "length": (0.15, 0.05, 0.75),
    "diameter": (0.1, 0.05, 0.6),
    "height": (0.025, 0.025, 0.275),
    "whole_weight": (0.2, 0.2, 2.4),
    "shucked_weight": (0.1, 0.1, 1.1),
    "viscera_weight": (0.05, 0.05, 0.55),
    "shell_weight": (0.05, 0.05, 0.75),
}


def column_facts() -> dict[str, ColumnFacts]:
    """Edges of every column, and a range from 0 to one step beyond the last edge."""
    found = {"sex": levels(len(SEXES), "female, infant, male")}
    for name, (start, step, end) in CUTS.items():
        found[name] = ColumnFacts(steps((start, step, end)), (0.0, round(end + step, 10)), UNITS)
    return found
