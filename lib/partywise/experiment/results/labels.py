"""Coordinates along ``case`` and ``method``: titles, sources, protocols, and the settings and options in force.

Figures and users select by them, because labels are the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ..configuration.sweep import in_title
from ..plan import Plan

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# The dim of the methods is not a parameter of `xarray.Dataset.sel`; people and the configuration call it ``method``.
DIM_OF = {"method": "method_label"}


def dim_of(word: str) -> str:
    """The dim of a cube that a word stands for."""
    return DIM_OF.get(word, word)


def word_of(dim: str) -> str:
    """Return the word for a dim of a cube that the configuration uses."""
    return dim.removesuffix("_label")


def case_labels(plan: Plan) -> dict[str, xr.Variable]:
    """``case_title``, ``case_group``, ``case_source``, and ``case_<setting>`` for each setting that some case gives."""
    cases = list(plan.cases.values())
    about = {
        "title": ("title of the case", [case.title for case in cases]),
        "group": ("sweep that the case belongs to", [case.group for case in cases]),
        "source": ("source of the data", [case.source_name for case in cases]),
    }
    return _labels("case", "setting", about, [(case.settings, case.explicit_settings) for case in cases])


def method_labels(plan: Plan, labels: Iterable[str]) -> dict[str, xr.Variable]:
    """``method_title``, ``method_protocol``, and ``method_<option>`` for each option that some method gives or that
    differs between methods."""
    methods = [plan.methods[label] for label in labels]
    about = {
        "title": ("title of the method", [method.title for method in methods]),
        "protocol": ("protocol of the method", [method.protocol_name for method in methods]),
    }
    return _labels(
        "method", "option", about, [(method.options, method.explicit_options) for method in methods], differing=True
    )


def _labels(
    word: str,
    what: str,
    about: Mapping[str, tuple[str, list[str]]],
    entries: Sequence[tuple[DataclassInstance, Sequence[str]]],
    differing: bool = False,
) -> dict[str, xr.Variable]:
    """Coordinates along a dim: ``about``, and the chosen fields of its dataclasses."""
    values = [_values(instance) for instance, _ in entries]
    names = list(dict.fromkeys(name for entry in values for name in entry))
    explicit = {name for _, those in entries for name in those}
    chosen = [n for n in names if n in explicit or (differing and len({repr(v[n]) for v in values if n in v}) > 1)]
    dim = dim_of(word)
    for name in chosen:
        if name in about or f"{word}_{name}" == dim:
            raise ValueError(f"{what} is {name!r}: {word}_{name} is a coordinate already; rename the field.")
    coordinates = {
        name: xr.Variable(dim, np.array(texts), _attributes(words)) for name, (words, texts) in about.items()
    }
    coordinates |= {
        name: xr.Variable(dim, _column([entry.get(name) for entry in values]), _attributes(f"{what} {name}"))
        for name in chosen
    }
    return {f"{word}_{name}": variable for name, variable in coordinates.items()}


def _attributes(words: str) -> dict[str, str]:
    return {"long_name": words, "units": "1"}


def _values(instance: DataclassInstance) -> dict[str, object]:
    """Fields of a dataclass that are numbers, words or lists of them."""
    values = {entry.name: getattr(instance, entry.name) for entry in fields(instance)}
    return {name: value for name, value in values.items() if not _is_nested(value)}


def _is_nested(value: object) -> bool:
    return is_dataclass(value) or (isinstance(value, tuple) and any(map(_is_nested, value)))


def _column(values: Sequence[object]) -> np.ndarray:
    """Numbers with NaN where there is none, or text, empty where there is none."""
    numbers = [
        np.nan if value is None else float(value)
        for value in values
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool))
    ]
    if len(numbers) == len(values):
        return np.array(numbers)
    return np.array(["" if value is None else in_title(value) for value in values])
