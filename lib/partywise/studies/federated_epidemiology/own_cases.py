"""The case of a person's own clients: files to a replicate, and all numbers with their intervals to take home."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from ...core.errors import DataMissing
from ...core.files import READ_POLICY, bin_names
from ...core.notes import add_note
from ...data.own.csv import ELSEWHERE, TextTable, nearest, numbers
from ...data.own.grammar import ColumnBlock
from ...data.own.plausible import check_bounds
from ...data.own.records import client_records, client_rows, reader_of_files
from ...experiment.owner_outputs import NO_INTERVALS, CanonicalQuestion, OwnerReport
from ...methods.epidemiology.contributions import undeclared_values
from ...methods.epidemiology.estimates.inference import Answer, Inference
from ...methods.epidemiology.estimates.report import report, report_tests
from ...methods.epidemiology.model import EpidemiologyEstimate
from ...methods.epidemiology.render import release_notes, table_one
from ...models.intervals import reason_of
from ...privacy.rounding import upward
from .data import EpidemiologyData
from .own_settings import OwnEpidemiologySettings

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from .study import EpidemiologyConstants

Columns = Mapping[str, np.ndarray]


class OwnEpidemiologyDraw(TypedDict):
    """Draw of a replicate, which differs from others in its noise alone."""

    records: int


def draw(
    settings: OwnEpidemiologySettings, spec: object, rng_for: Callable[..., np.random.Generator], resources: Path
) -> OwnEpidemiologyDraw:
    """Return the number of records."""
    return {"records": len(_read(settings))}


def table(settings: OwnEpidemiologySettings, drawn: OwnEpidemiologyDraw) -> EpidemiologyData:
    """Own clients, read from their files."""
    return _read(settings)


@reader_of_files
def _read(settings: OwnEpidemiologySettings, texts: Mapping[str, bytes]) -> EpidemiologyData:
    """The records of all clients, one client after another."""
    clients = client_rows(settings, texts)
    for name, client in zip(settings.party_names, clients, strict=True):
        if not client.rows:
            raise DataMissing(
                f"{client.file}: client {name!r} has no records: leave the client out, or bring its rows."
            )
    sizes = client_records(clients, settings).sizes.tolist()
    parts = [
        _columns(client, settings, settings.organisations.get(name))
        for name, client in zip(settings.party_names, clients, strict=True)
    ]
    _note_undeclared(clients, parts, settings)
    questions, names = settings.question_set, settings.natural_clients
    if settings.organisations:
        _check_same_records(clients, settings)
        merged = {name: column for part in parts for name, column in part.items()}
        return EpidemiologyData(merged, questions, settings.target, organisations=settings.organisations)
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return EpidemiologyData(columns, questions, settings.target, sizes=tuple(sizes), client_names=names)


def _check_same_records(clients: Sequence[TextTable], settings: OwnEpidemiologySettings) -> None:
    """DataMissing unless all files have the same ids in the same order."""
    ids = [client.ids(holder.roles["id"]) for client, holder in zip(clients, settings.holders, strict=True)]
    for client, other in zip(clients[1:], ids[1:], strict=True):
        if other != ids[0]:
            raise DataMissing(
                f"{client.file} has other ids than {clients[0].file}, or another order: parties with different columns "
                "need the same records in the same order; align the files first."
            )


def _columns(client: TextTable, settings: OwnEpidemiologySettings, names: Sequence[str] | None) -> Columns:
    """Columns (n_k,) of one client that the questions read: text with empty entries as "", and numbers.

    names : of its columns, where others have the other ones
    """
    columns = {
        column.name: _values(client, column, settings)
        for column in settings.columns
        if names is None or column.name in names
    }
    marks = settings.missing_marks
    for row in settings.questions.incidence:
        if names is not None and row.time not in names:
            continue
        columns[row.cause] = _texts(client, row.cause, marks)
        times = _numbers(client, row.time, client, ())
        if (times < 0).any():
            place = int(np.flatnonzero(times < 0)[0])
            raise DataMissing(
                f"{client.file}: {row.time} is {times[place]:g} in row {client.lines[place]}, which is negative: count "
                "time from the start of follow-up, and correct it."
            )
        columns[row.time] = times
    return columns


def _texts(client: TextTable, name: str, marks: frozenset[str]) -> np.ndarray:
    return np.array(["" if text in marks else text for text in client.column(name)], dtype=str)


def _numbers(client: TextTable, name: str, form: TextTable, marks: frozenset[str] | tuple[()]) -> np.ndarray:
    places = [f"row {line}" for line in client.lines]
    return numbers(client.column(name), f"{client.file}: {name}", places.__getitem__, form.form, marks)


def _values(client: TextTable, column: ColumnBlock, settings: OwnEpidemiologySettings) -> np.ndarray:
    """Texts (n_k,) of a category or numbers, after what the site and common sense ask of them."""
    policy, marks = READ_POLICY.get(), settings.missing_marks
    if column.levels is not None:
        texts = _texts(client, column.name, marks)
        codes = np.array([column.levels.index(text) if text in column.levels else -1 for text in texts.tolist()])
        policy.check_cells(client.file, column.name, codes, column.levels)
        return texts
    form = client
    if column.time_format:
        form = replace(client, form=replace(client.form, time_format=column.time_format))
    values = _numbers(client, column.name, form, marks)
    known = values[~np.isnan(values)]
    lines = [line for line, value in zip(client.lines, values.tolist(), strict=True) if value == value]
    for key, ends in (("bounds", column.bounds), ("edges", _ends(column))):
        if ends is not None and len(known) and not client.file.startswith(ELSEWHERE):
            check_bounds(known, ends, column.name, key, lambda row: (client.file, lines[row]))
    if column.edges is not None:
        cuts = column.edges[1:-1]
        policy.check_cells(client.file, column.name, np.searchsorted(cuts, known, side="right"), bin_names(cuts))
    return values


def _ends(column: ColumnBlock) -> tuple[float, float] | None:
    """First and last edge; None where the bounds of the column are checked already."""
    return None if column.edges is None or column.bounds is not None else (column.edges[0], column.edges[-1])


def _note_undeclared(clients: list[TextTable], parts: list[Columns], settings: OwnEpidemiologySettings) -> None:
    """Write for the owner how many values are not among their levels; DataMissing in a column that is complete."""
    layout, counts = settings.question_set.layout(settings.natural_clients), Counter[tuple[str, str]]()
    for client, columns in zip(clients, parts, strict=True):
        for name, number in undeclared_values(layout, columns).items():
            variable = layout.variables[name]
            if not variable.missing:
                place = int(np.flatnonzero(variable.declared_codes(columns) < 0)[0])
                raise DataMissing(
                    f"{client.file}: {name} is {str(columns[name][place])!r} in row {client.lines[place]}: "
                    f"{nearest(str(columns[name][place]), variable.levels, 'its levels are')}; correct it, add the "
                    "level, or take the column out of complete."
                )
            counts[client.file, name] += number
    for (file, name), number in counts.items():
        verb = "value of {!r} is" if number == 1 else "values of {!r} are"
        add_note(f"{file}: {number} {verb.format(name)} not among the levels and counted as missing.")


def owner_outputs(
    estimate: EpidemiologyEstimate,
    data: EpidemiologyData,
    train: np.ndarray,
    spec: MethodSpec[object, object, OwnEpidemiologySettings],
) -> OwnerReport:
    """All numbers of the release: no number is about a single record."""
    return OwnerReport(np.zeros(0, dtype=str), np.zeros(0, dtype=bool), {}, model(estimate, spec))


def model(
    estimate: EpidemiologyEstimate, spec: MethodSpec[object, object, OwnEpidemiologySettings]
) -> dict[str, object]:
    """Every number with its interval, the tests, and the numbers that the release does not determine."""
    settings = spec.settings
    released = estimate.tables(settings.question_set)
    answers = report(released, Inference(settings.target))
    fields: dict[str, object] = {"kind": "tables", "target": settings.target}
    fields["numbers"] = [_number(answer) for answer in answers if answer.determined]
    fields["tests"] = [
        {"name": f"{test.name}: p-value", "estimate": test.p_value, NO_INTERVALS: reason_of("test")}
        | {"distribution": test.distribution}
        for test in report_tests(released)
        if test.p_value is not None
    ]
    fields["not determined"] = [
        {"name": answer.name, "reason": answer.reason} for answer in answers if not answer.determined
    ]
    return fields


def exhibits(
    estimate: EpidemiologyEstimate, spec: MethodSpec[object, EpidemiologyConstants, OwnEpidemiologySettings]
) -> dict[str, str]:
    """Table 1 as files of a publication."""
    settings, released = spec.settings, estimate.tables(spec.settings.question_set)
    cost = f"epsilon {upward(estimate.epsilon_claimed)} at delta {spec.study.delta:g}, for one {spec.study.unit}"
    trust = "statement.md names who must not join what they know"
    page = table_one(released, Inference(settings.target), release_notes(cost, trust, settings.target, released.radius))
    return {"table1.html": page.html(), "table1.csv": page.csv()}


def question(settings: OwnEpidemiologySettings, options: object, names: Sequence[str]) -> CanonicalQuestion:
    """The question set in canonical form, with all that decides how the files of the owners are read."""
    text, order = settings.question_set.layout(names).canonical()
    block = asdict(settings)
    asked = ("columns", "questions", "target", "tables", "file", "party", "parties")
    reading = {key: value for key, value in block.items() if key not in asked}
    clocks = sorted([column.name, column.time_format] for column in settings.columns if column.time_format)
    tables = {table["party"]: table for table in block["tables"]}
    data = {name: json.dumps(tables.get(name, [settings.file, settings.party]), sort_keys=True) for name in names}
    return CanonicalQuestion(json.dumps([text, reading, clocks], sort_keys=True), order, data)


def _number(answer: Answer) -> dict[str, object]:
    """A number with its interval, whose ends may be infinite, and the share of the variance that is noise."""
    low, high = (-inf if answer.lower is None else answer.lower), (inf if answer.upper is None else answer.upper)
    row: dict[str, object] = {"name": answer.name, "estimate": answer.estimate, "interval": [low, high]}
    return row | {"noise_share": answer.noise_share} | ({"remark": answer.reason} if answer.reason else {})
