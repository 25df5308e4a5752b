"""A person's own curves, read from the files that a configuration describes, checked and matched by their ids.

Nothing is guessed: what cannot be read as described ends in one sentence with the file, the row and what to do.  The
values come out on their public scales, with the irregular times at which they were measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ....core.errors import DataMissing
from ..records import NamedIds, match_ids
from .measurements import Measurements, drop_gaps
from .reader import Reader

if TYPE_CHECKING:
    from .settings import OwnCurves


@dataclass(frozen=True)
class CurveGroup:
    """Records whose curve was measured at the same times: ``times`` (m,), ``records`` (k,), ``values`` (k, m)."""

    times: np.ndarray
    records: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class OwnCurve:
    """One curve of all N records, grouped by the times of measurement; ``name`` is for messages."""

    name: str
    groups: tuple[CurveGroup, ...]


@dataclass(frozen=True)
class CurveFiles:
    """The records that all files share.

    ids : (N,) str, in the order of the response's file
    response : OwnCurve, in the unit of time of its file; predictors : tuple of p OwnCurve, on the case's domain
    block : (N,) int, records that are held out together
    """

    ids: np.ndarray
    response: OwnCurve
    predictors: tuple[OwnCurve, ...]
    block: np.ndarray


def load(settings: OwnCurves, contents: Mapping[str, bytes]) -> CurveFiles:
    """Read all curves, check them, and keep the records that all of them have."""
    reader = Reader(settings, contents)
    measured = {key: reader.measurements(key, curve) for key, curve in settings.curves.items()}
    reader.check_shared_columns()
    ids = match_ids([NamedIds(m.name, m.ids) for m in measured.values()], settings.match, settings.id)
    ids, complete = drop_gaps(ids, measured, settings)
    curves = [OwnCurve(m.name, tuple(_groups(m, ids))) for m in complete.values()]
    for measurements in complete.values():
        _check_varies(measurements)
    return CurveFiles(np.array(ids), curves[0], tuple(curves[1:]), _blocks(reader, settings, ids))


def _groups(measured: Measurements, ids: list[str]) -> list[CurveGroup]:
    """Measured values of the chosen records, grouped by equal times, in the order of the first record of each."""
    number = {name: n for n, name in enumerate(ids)}
    chosen = np.array([number.get(name, -1) for name in measured.ids])[measured.record]
    known = (chosen >= 0) & ~np.isnan(measured.value)
    record, time, value = chosen[known], measured.time[known], measured.value[known]
    order = np.lexsort((time, record))
    record, time, value = record[order], time[order], value[order]
    edges = np.flatnonzero(np.diff(record, prepend=-1, append=len(ids)))
    groups: dict[bytes, list[tuple[int, np.ndarray, np.ndarray]]] = {}
    for a, b in pairwise(edges.tolist()):
        groups.setdefault(time[a:b].tobytes(), []).append((int(record[a]), time[a:b], value[a:b]))
    return [
        CurveGroup(rows[0][1], np.array([r for r, _, _ in rows]), np.array([v for _, _, v in rows]))
        for rows in groups.values()
    ]


def _check_varies(measured: Measurements) -> None:
    known = measured.value[~np.isnan(measured.value)]
    if known.size and known.min() == known.max():
        raise DataMissing(
            f"{measured.name} has the same value in every row that is used: a constant predicts nothing and cannot be "
            "predicted; take it out or name another column."
        )


def _blocks(reader: Reader, settings: OwnCurves, ids: list[str]) -> np.ndarray:
    """Group of every record, numbered from 0; each record its own without ``fold_block``."""
    column, response = settings.fold_block, settings.response
    if column is None:
        return np.arange(len(ids))
    of: dict[str, str] = {}
    for name, group in reader.groups(response, column):
        if of.setdefault(name, group) != group or not group:
            raise DataMissing(
                f"{response.file}: {column} (fold_block) of {settings.id_of(response)} {name!r} is {of[name]!r} and "
                f"{group!r}: a record belongs to one group, which has a name."
            )
    block = np.unique([of[record] for record in ids], return_inverse=True)[1]
    if block.max() + 1 < settings.min_blocks:
        raise DataMissing(
            f"{response.file}: {column} (fold_block) makes {block.max() + 1} groups of the {len(ids)} records where "
            f"min_blocks is {settings.min_blocks}: take a finer column or lower min_blocks."
        )
    return block
