"""Curves, one or several files a party: the records are those of the own files, which all must have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path

# Any: settings of a study, which the data sets do not know.
from typing import Any

import numpy as np

from ....core.errors import DataMissing
from ..csv import ELSEWHERE
from ..curves.files import CurveFile
from ..curves.netcdf import read_groups
from ..curves.reader import Reader
from ..grammar import PLAIN
from .columns import shared_column
from .placeholders import PartyFiles, ascending, check_count, in_turn, own_content, placeholder_ids, text_of


def placeholders(settings: Any, me: str, rows: Mapping[str, int], folder: Path) -> PartyFiles:
    """The own files of a party, and one in the place of each curve elsewhere; as `columns.placeholders`."""
    keys = settings.by_party(len(settings.predictors)).get(me, ())
    mine = {key: curve for key, curve in settings.curves.items() if f"{key}.file" in keys}
    contents = {curve.file: own_content(curve.file, folder) for curve in mine.values()}
    ids, groups, common = placeholder_ids(rows, settings.min_records), None, list[tuple[str, ...]]()
    for key, curve in list(mine.items())[:1]:
        reader = Reader(settings, contents)
        ids = reader.measurements(key, curve).ids
        ascending(ids, curve.file, settings.id_of(curve))
        check_count(len(ids), me, curve.file, rows)
        groups = None if settings.fold_block is None else _groups(reader, settings, curve, ids)
        common = [tuple(ids), *([] if groups is None else [tuple(groups)])]
    curves: dict[str, CurveFile] = {}
    for key, curve in settings.curves.items():
        if key not in mine:
            curve, content = _elsewhere(settings, key, curve, ids, groups)
            contents[curve.file] = content
        curves[key] = curve
    response, *predictors = curves.values()
    return PartyFiles(replace(settings, response=response, predictors=tuple(predictors)), contents, tuple(common))


def _groups(reader: Reader, settings: Any, curve: CurveFile, ids: Sequence[str]) -> list[str]:
    """The group of every record, as the own file has it."""
    name, column = settings.id_of(curve), settings.fold_block
    if curve.format == "netcdf":
        content = reader.contents[curve.file]
        names, groups = (read_groups(content, curve.file, variable, name) for variable in (name, column))
    else:
        table = reader.table(curve)
        names, groups = reader.ids(curve), shared_column(table, column, "fold_block")
    of: dict[str, str] = {}
    for record, group in zip(names, groups, strict=True):
        if of.setdefault(record, group) != group:
            raise DataMissing(
                f"{curve.file}: {column} (fold_block) of {name} {record!r} is {of[record]!r} and {group!r}: a record "
                "belongs to one group; correct it."
            )
    return [of[record] for record in ids]


def _elsewhere(
    settings: Any, key: str, curve: CurveFile, ids: Sequence[str], groups: Sequence[str] | None
) -> tuple[CurveFile, bytes]:
    """A curve elsewhere in wide form, on its public scale already: half of its radius, up and down in turn."""
    n, (start, end) = len(ids), settings.domain_of(curve)
    low, high = settings.domain_of(curve) if key == "response" else settings.domain
    count = 2 * max(settings.n_basis_x, settings.n_basis_y) + settings.min_points
    if settings.max_gap is not None:
        count = max(count, ceil((high - low) / settings.max_gap) + 2)
    names = tuple(f"value {k}" for k in range(count))
    radius = settings.response_radius if key == "response" else getattr(curve, "radius", None) or settings.radius
    columns: dict[str, Sequence[str]] = {"record": ids} | dict.fromkeys(names, in_turn((radius / 2, -radius / 2), n))
    if key == "response" and settings.fold_block is not None:
        columns[settings.fold_block] = ids if groups is None else groups
    placeholder = replace(
        curve,
        file=f"{ELSEWHERE}{key})",
        format="wide",
        id="record",
        columns=names,
        time=None,
        value=None,
        times=tuple(np.linspace(start, end, count).tolist()),
        outside="refuse",
        period="day",
        **PLAIN,
        unit="",
        range=None,
        transform="none",
        centre=0.0,
        scale=1.0,
    )
    return placeholder, text_of(columns)
