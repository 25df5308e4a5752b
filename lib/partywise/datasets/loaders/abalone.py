"""Abalone: how many rings a shell has, from its sex, size and weights (UCI "Abalone")."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..carriers import zip_member
from ..catalogue import RESOURCES
from ..curves import read_columns, require, to_numbers
from ..fetch import read_files
from ..tables import ColumnTable, Declared, levels, steps

RESOURCE, RESPONSE = "abalone", "rings"
# The one file of the archive bears the name of the archive.
CSV = "sklego/data/abalone.zip"
SEXES = ("F", "I", "M")
ROWS = 4177
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
NOTES = ("The record of the privacy unit is a shell.",)


def declared() -> dict[str, Declared]:
    """Edges of every column, and a range from 0 to one step beyond the last edge."""
    found = {"sex": levels(len(SEXES), "female, infant, male")}
    for name, (start, step, end) in CUTS.items():
        found[name] = Declared(steps((start, step, end)), (0.0, round(end + step, 10)), UNITS)
    return found


def load(folder: str | Path) -> ColumnTable:
    """Read ``folder`` (such as ``resources/abalone``, filled by ``datasets.fetch``).

    References
    ----------
    Nash et al. (1994), "The population biology of abalone in Tasmania", Sea Fisheries Division.
    """
    contents, sha256, notes = read_files(RESOURCE, folder)
    member = RESOURCES[RESOURCE].members[0]
    about = declared()
    text = zip_member(contents[member.file], CSV, member.file)
    columns = read_columns(text, (*about, RESPONSE), member.file)
    sexes = columns.pop("sex")
    require(set(sexes) <= set(SEXES), f"{member.file} has a sex that is none of {', '.join(SEXES)}")
    numbers = {name: to_numbers(values, name) for name, values in columns.items()}
    y = numbers.pop(RESPONSE)
    X = np.column_stack([np.array([SEXES.index(sex) for sex in sexes], dtype=float), *numbers.values()])
    if sha256[member.file] == member.sha256:
        require(X.shape == (ROWS, len(about)), f"{X.shape} rows and columns where {(ROWS, len(about))} are expected")
    return ColumnTable(X, y, np.array(list(about)), tuple(about.values()), None, sha256, NOTES + notes)
