"""Abalone: how many rings a shell has, from its sex, size and weights (UCI "Abalone")."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..carriers import zip_member
from ..catalogue import RESOURCES
from ..descriptions import TABLES
from ..fetch import read_files
from ..reading import read_columns, require, to_numbers
from ..tables import Table

RESOURCE, RESPONSE = "abalone", "rings"
TABLE = TABLES["abalone"]
SEXES = TABLE.column("sex").levels
# The one file of the archive bears the name of the archive.
CSV = "sklego/data/abalone.zip"
ROWS = 4177
NOTES = (TABLE.record,)


def load(folder: str | Path) -> Table:
    """Read ``folder`` (such as ``resources/abalone``, filled by ``data.fetch``).

    Nash et al. (1994), "The population biology of abalone in Tasmania", Sea Fisheries Division.
    """
    contents, sha256, notes = read_files(RESOURCE, folder)
    member = RESOURCES[RESOURCE].members[0]
    text = zip_member(contents[member.file], CSV, member.file)
    columns = read_columns(text, (*TABLE.names, RESPONSE), member.file)
    sexes = columns.pop("sex")
    require(set(sexes) <= set(SEXES), f"{member.file} has a sex that is none of {', '.join(SEXES)}")
    numbers = {name: to_numbers(values, name) for name, values in columns.items()}
    y = numbers.pop(RESPONSE)
    X = np.column_stack([np.array([SEXES.index(sex) for sex in sexes], dtype=float), *numbers.values()])
    if sha256[member.file] == member.sha256:
        require(
            X.shape == (ROWS, len(TABLE.names)),
            f"{X.shape} rows and columns where {(ROWS, len(TABLE.names))} are expected",
        )
    return Table(X, y, np.array(TABLE.names), TABLE.column_facts, sha256, NOTES + notes)
