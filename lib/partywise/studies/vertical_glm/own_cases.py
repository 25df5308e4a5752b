"""The case of a person's own tables: files to a replicate, by the settings alone."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...alignment.identifiers import prepare_identifiers
from ...alignment.options import IdentifierRules
from ...datasets.division import fold_order
from ...datasets.own.columns import numbers_of, values
from ...datasets.own.csv import TextTable
from ...datasets.own.entries import is_number
from ...datasets.own.indicators import indicator_names, indicators, width
from ...datasets.own.labels import class_labels
from ...datasets.own.matching import match_ids
from ...datasets.own.persons import first_rows, number_persons, of_persons
from ...datasets.own.plausible import check_column, check_label
from ...datasets.own.records.load import complete, contents, open_table
from ...datasets.own.rows import Rows, read_columns
from ...errors import DataMissing
from ...models.families import FAMILIES
from .data import Constants, GlmData
from .own_settings import GlmFile, TableSettings

LOG = logging.getLogger("partywise")
LOGARITHMIC = ("gamma", "inverse_gaussian")


class Read(NamedTuple):
    """What a file holds of its records: ids, columns (n, p_k), and of the active party response, weights, offset.

    all_ids : also of rows that lack an entry
    users : the person behind each record, of the active party, where one may have several
    """

    ids: list[str]
    X: np.ndarray
    of_label: dict[str, np.ndarray]
    all_ids: list[str]
    users: dict[str, str] | None = None


def draw(
    settings: TableSettings, spec: object, rng_for: Callable[..., np.random.Generator], resources: Path
) -> dict[str, np.ndarray]:
    """What a replicate differs in: it deals the folds anew."""
    data, person = _match_records(settings)
    return {"order": fold_order(len(data.X), person, rng_for("folds"))}


def table(settings: TableSettings, drawn: Mapping[str, np.ndarray]) -> GlmData:
    """Own tables, read from their files."""
    return replace(_match_records(settings)[0], order=drawn["order"])


def _match_records(settings: TableSettings) -> tuple[GlmData, np.ndarray | None]:
    """The data, in the order of the files, and the person behind each record where one may have several."""
    read = _read(settings, contents(settings.files.values()))
    users = next((part.users for part in read if part.users is not None), {})
    if settings.aligned:
        named = {
            str(k): Rows(one.party, part.all_ids)
            for k, (one, part) in enumerate(zip(settings.tables, read, strict=True))
        }
        whole = _common([part.ids for part in read])
        persons = [name for name in match_ids(named, settings.match, settings.id) if name in whole]
        if settings.user is not None and settings.rows_per_user is not None:
            kept = first_rows([users[name] for name in persons], settings.rows_per_user, settings.user)
            persons = [persons[i] for i in kept]
    else:
        persons = list(dict.fromkeys(name for part in read for name in part.ids))
    place = {name: i for i, name in enumerate(persons)}
    N, files = len(persons), list[np.ndarray]()
    X = np.full((N, sum(map(width, settings.columns))), np.nan)
    of_label: dict[str, np.ndarray] = {}
    for part, columns in zip(read, settings.groups(settings.own_party_count), strict=True):
        known = np.array([name in place for name in part.ids])
        rows = np.array([place[name] for name in part.ids if name in place], dtype=int)
        X[np.ix_(rows, np.array(columns))] = part.X[known]
        for key, given in part.of_label.items():
            of_label[key] = np.full(N, np.nan)
            of_label[key][rows] = given[known]
        files.append(rows)
    _check_count(settings, files, read)
    person = number_persons([users[name] for name in persons]) if users else None
    ids = np.array(persons)
    data = GlmData(
        X=X,
        y=of_label["y"],
        weights=of_label.get("weights"),
        offset=of_label.get("offset"),
        order=np.arange(N),
        names=np.array([name for column in settings.columns for name in indicator_names(column)]),
        family=settings.family,
        constants=None if settings.columns_without_bounds else constants(settings),
        identifiers=None if settings.aligned else ids,
        files=None if settings.aligned else tuple(files),
        ids=ids,
    )
    return data, person


def _check_count(settings: TableSettings, files: Sequence[np.ndarray], read: Sequence[Read]) -> None:
    """DataMissing if too few records are in all files."""
    found = len(_common([rows.tolist() for rows in files]))
    LOG.info("records in all files: %d", found)
    if found < settings.min_records:
        hint = "" if settings.aligned else _hint([part.ids for part in read], found)
        raise DataMissing(
            f"{found} records are in all files{of_persons(settings.rows_per_user)} where min_records is "
            f"{settings.min_records}: bring more records, write ids alike in all files{hint}, or lower min_records."
        )


def _common(lists: Sequence[Sequence[Hashable]]) -> set[Hashable]:
    """What all lists hold."""
    return set.intersection(*map(set, lists))


def _hint(ids: Sequence[list[str]], found: int) -> str:
    """Which rule for identifiers would make more of them agree; empty if none does."""
    folded = [[IdentifierRules(normalise=True).canonical_form(text) for text in own] for own in ids]
    whole = [[int(text) for text in own if text.strip().isdecimal()] for own in ids]
    longest = max(len(text.strip()) for own in ids for text in own)
    if len(_common(whole)) > max(found, len(_common(folded))):
        return f" (identifiers: {{as_text: 0{longest}d}} makes numbers of {longest} digits of them)"
    return " (identifiers: {normalise: true} leaves out blanks and case)" if len(_common(folded)) > found else ""


@lru_cache(maxsize=1)
def _read(settings: TableSettings, files: tuple[tuple[str, bytes], ...]) -> tuple[Read, ...]:
    """What all replicates share; a log tells which files they were."""
    texts = dict(files)
    return tuple(_file(one, open_table(settings, one, texts), settings) for one in settings.tables)


def _file(one: GlmFile, whole: TextTable, settings: TableSettings) -> Read:
    """One file, without the rows that the rules for identifiers leave out."""
    all_ids, _ = _identifiers(whole, one, settings)
    table = complete(whole, read_columns(settings, one), settings)
    ids, kept = _identifiers(table, one, settings)
    of_label: dict[str, np.ndarray] = {}
    users = None
    if settings.response_of(one) is not None and settings.user is not None and settings.rows_per_user is not None:
        whose = table.column(settings.user)
        users = dict(zip(ids, (whose[row] for row in kept.tolist()), strict=True))
    columns = []
    for column in one.columns:
        found = values(table, column)
        check_column(found, column, table)
        columns += indicators(found, column)
    if settings.response_of(one) is not None:
        y = response_values(settings, table, settings.response)
        try:
            FAMILIES[settings.family].check(y[kept], f"{one.file}: {settings.response}")
        except ValueError as error:
            raise DataMissing(str(error)) from None
        of_label["y"] = y[kept]
        given = {"weights": one.weights, "offset": one.offset}
        more = {key: numbers_of(table, name) for key, name in given.items() if name is not None}
        if one.weights is not None:
            _check_weights(table, one.weights, more["weights"])
        of_label |= {key: column[kept] for key, column in more.items()}
    return Read(ids, np.column_stack(columns)[kept], of_label, all_ids, users)


def response_values(settings: TableSettings, table: TextTable, name: str) -> np.ndarray:
    """(rows,) responses: numbers, which the check of the family judges, or labels of two classes."""
    others = [text for text in table.column(name) if is_number(text) and float(text) not in (0, 1)]
    if settings.binary_labels and (settings.positive is not None or not others):
        return class_labels(table, name, settings.positive)
    found = numbers_of(table, name)
    check_label(found, table, name, settings.response_bounds)
    return found


def _check_weights(table: TextTable, name: str, weights: np.ndarray) -> None:
    """DataMissing for a weight below 0, or if none is above."""
    if np.any(wrong := weights < 0):
        row = int(np.argmax(wrong))
        raise DataMissing(
            f"{table.file}: {name} is {weights[row]:g} in row {table.lines[row]}: a weight is at least 0; correct it, "
            "or give 0 to leave the record out."
        )
    if not np.any(weights):
        raise DataMissing(f"{table.file}: {name} is 0 in all rows: some weights must be above 0.")


def _identifiers(table: TextTable, one: GlmFile, settings: TableSettings) -> tuple[list[str], np.ndarray]:
    """Identifiers of the rows as the parties compare them, and which rows have one."""
    rules = settings.identifiers
    written = table.column(settings.id_of(one) or "", stripped=False)
    texts: Sequence[str | int] = written
    if rules.as_text is not None:
        texts = [int(text) if text.strip().isdecimal() else text for text in written]
    try:
        if settings.aligned:
            return prepare_identifiers(
                texts, IdentifierRules(), one.party, "under identifiers, with records 'unaligned'"
            )
        return prepare_identifiers(texts, rules, one.party, "under identifiers")
    except ValueError as error:
        raise DataMissing(f"{one.file}: {error}") from None


def constants(settings: TableSettings) -> Constants:
    """Location and scale of columns that are uniform on their bounds, or on their levels; the middle as a start."""
    location, scale = list[float](), list[float]()
    for column in settings.columns:
        if column.levels is not None:
            share = 1 / len(column.levels)
            location += [share] * width(column)
            scale += [float(np.sqrt(share * (1 - share)))] * width(column)
        elif column.bounds is not None:
            low, high = column.bounds
            location.append((low + high) / 2)
            scale.append(float((high - low) / np.sqrt(12)))
    ends = np.array(settings.response_bounds or (0.0, 1.0))
    statistic = np.log(ends) if settings.family in LOGARITHMIC else ends
    middle = float(np.mean(statistic))
    if settings.eta_start is not None:
        middle = settings.eta_start
    elif settings.family in ("binomial", "poisson"):
        middle = float(FAMILIES[settings.family].link(np.array(middle)))
    radii = {one.party: one.radius for one in settings.tables if one.radius is not None}
    because = "declared in the configuration: bounds, levels and radii of the columns, range of the label"
    return Constants(np.array(location), np.array(scale), (statistic[0], statistic[1]), middle, because, radii)
