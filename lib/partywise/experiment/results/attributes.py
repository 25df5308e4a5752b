"""Attributes of variables and cubes: CF and ACDD names, flags for text, and the checker that every cube passes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import xarray as xr

GLOBAL = (
    "Conventions",
    "title",
    "summary",
    "source",
    "references",
    "license",
    "creator_name",
    "id",
    "processing_level",
    "history",
    "config_json",
    "config_sha256",
    "code_sha256",
    "lock_sha256",
    "git_commit",
    "software_versions",
)
FORBIDDEN = ("date_created", "date_modified", "host", "path", "time_coverage_start")
CODE_PATTERN = re.compile(r"[0-9a-f]{64}")
UNWANTED = re.compile(r"[^A-Za-z0-9_.@+-]+")


def plain_word(word: str) -> str:
    """A text as a flag of a cube has it: letters, digits and a few signs."""
    return UNWANTED.sub("_", word)


def flag_attributes(words: Sequence[str], dtype: type = np.int8) -> dict[str, object]:
    """``flag_values`` 0, 1, ... and their ``flag_meanings``, blank-separated as CF asks."""
    meanings = " ".join(map(plain_word, words))
    return {"flag_values": np.arange(len(words), dtype=dtype), "flag_meanings": meanings}


def meanings(flags: xr.DataArray) -> xr.DataArray:
    """The words behind a flag variable."""
    words = np.array(flags.attrs["flag_meanings"].split(" "))
    return flags.copy(data=words[flags.values.astype(int)])


def check_attributes(cube: xr.Dataset) -> list[str]:
    """Check a cube against CF and ACDD: one sentence per problem; an empty list is a pass."""
    problems = [f"the global attribute {name} is missing" for name in GLOBAL if not cube.attrs.get(name)]
    problems += [f"the global attribute {name} is not reproducible" for name in FORBIDDEN if name in cube.attrs]
    for name, variable in cube.variables.items():
        problems += check_variable(str(name), variable)
    for key, value in cube.attrs.items():
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            problems.append(f"the global attribute {key} has the unstorable type {type(value).__name__}")
    return problems


def check_variable(name: str, variable: xr.Variable) -> list[str]:
    """Check a variable against CF and ACDD: one sentence per problem."""
    problems = [
        f"variable {name} has no {key}"
        for key in ("long_name", "units")
        if not isinstance(variable.attrs.get(key), str) or not variable.attrs[key]
    ]
    problems += [f"variable {name}: {problem}" for problem in _flag_problems(variable)]
    for key, value in variable.attrs.items():
        if not isinstance(value, str | int | float | np.ndarray | np.number) or isinstance(value, bool | np.bool_):
            problems.append(f"attribute {key} of {name} has the unstorable type {type(value).__name__}")
    return problems


def _flag_problems(variable: xr.Variable) -> list[str]:
    if "flag_values" not in variable.attrs:
        return []
    # A file that was read gives an array of one entry back as a number.
    values = np.atleast_1d(variable.attrs["flag_values"])
    words = variable.attrs.get("flag_meanings", "").split(" ")
    if len(values) != len(words) or len(set(words)) != len(words):
        return [f"{len(values)} flag values have {len(set(words))} distinct meanings"]
    used = np.unique(variable.values[np.isfinite(variable.values.astype(float))])
    return [] if set(used) <= set(values.tolist()) else ["it holds values that are no flag"]
