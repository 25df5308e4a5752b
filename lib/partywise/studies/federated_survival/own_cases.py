"""The case of a person's own clients: files to a replicate, by the settings alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

import numpy as np

from ...datasets.own.columns import level_numbers, numbers_of
from ...datasets.own.csv import TextTable
from ...datasets.own.persons import number_persons
from ...datasets.own.records.clients import client_ids, client_rows, count_rows
from ...datasets.own.records.load import contents
from ...datasets.own.records.original import scale_of
from ...datasets.own.records.scale import feature_names, features
from ...errors import DataMissing
from .cases import of_records
from .data import SurvivalData
from .own_settings import OwnSettings


class OwnDraw(TypedDict):
    """What a replicate is made of: it differs from others in its noise alone."""

    records: int


def draw(settings: OwnSettings, spec: object, rng_for: Callable[..., np.random.Generator], resources: Path) -> OwnDraw:
    """How many records there are."""
    return {"records": len(_read(settings, contents(settings.files.values())).times)}


def table(settings: OwnSettings, drawn: OwnDraw) -> SurvivalData:
    """Own clients, read from their files."""
    return _read(settings, contents(settings.files.values()))


@lru_cache(maxsize=1)
def _read(settings: OwnSettings, files: tuple[tuple[str, bytes], ...]) -> SurvivalData:
    """The records of all clients, one client after another."""
    clients = client_rows(settings, dict(files))
    for name, one in zip(settings.party_names, clients, strict=True):
        if not one.rows:
            raise DataMissing(f"{one.file}: client {name!r} has no records: leave the client out, or bring its rows.")
    count_rows(clients, settings)
    columns, n = settings.columns, sum(len(one.rows) for one in clients)
    z = features(clients, columns, -1.0, clip=False) if columns else np.zeros((n, 0))
    levels = (*settings.censored, *settings.events)
    events = _concatenate(level_numbers(one, settings.event, levels) >= len(settings.censored) for one in clients)
    groups = None
    if settings.group_by is not None:
        groups = _concatenate(level_numbers(one, settings.group_by, settings.groups) for one in clients).astype(int)
    made = of_records(
        settings,
        _concatenate(_times(one, settings.time) for one in clients),
        events,
        z,
        np.zeros(z.shape[1]),
        np.ones(z.shape[1]),
        names=np.array(feature_names(columns), dtype=str),
        groups=groups,
        sizes=np.array([len(one.rows) for one in clients]),
    )
    persons = [] if settings.user is None else [text for one in clients for text in one.column(settings.user)]
    return replace(
        made,
        half_width=1 / scale_of(columns, -1.0).slope,
        ids=np.array(client_ids(clients, settings), dtype=str),
        persons=number_persons(persons),
    )


def _times(client: TextTable, name: str) -> np.ndarray:
    """Times (n_k,); DataMissing for a negative one."""
    found = numbers_of(client, name)
    if (found < 0).any():
        row = int(np.flatnonzero(found < 0)[0])
        raise DataMissing(
            f"{client.file}: {name} is {found[row]:g} in row {client.lines[row]}, which is negative: count time "
            "from the start of follow-up, and correct it."
        )
    return found


def _concatenate(parts: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate(list(parts))
