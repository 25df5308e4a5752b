"""A draft for curves: in long form, a row a measurement, or in wide form, a row a record."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..entries import split_stamp
from ..grammar import JOINED
from .parts import (
    Ask,
    Draft,
    Needs,
    NotSuited,
    Remark,
    Roles,
    file_keys,
    gap_keys,
    other_entry,
    party_name,
    period_of,
)
from .survey import CLOCK, TableSurvey

# Length of a period, in the unit of the time in it.
LENGTH = {"day": 24, "month": 31, "year": 366}
# Columns that are one curve: a name and a number, and at least so many.
NUMBERED, FEWEST = re.compile(r"(\D*)\d+(?:\.\d+)?"), 5
Curve = tuple[TableSurvey, str, Mapping[str, object]]
OTHER = "who holds it: not the holder of the response"


def draft(tables: Sequence[TableSurvey], roles: Roles, needs: Needs) -> Draft:
    """Every column of numbers of a file in long form is a curve, and columns that are numbered together are one."""
    response, curves = roles.response, list[Curve]()
    for table in tables:
        if (axis := _axis(table)) is not None:
            used = (axis["id"], axis["time"])
            numbers = [
                column
                for column in table.columns
                if column.kind == "numbers" and column.name not in used and not column.is_id
            ]
            curves += [(table, column.name, {**axis, "value": column.name}) for column in numbers]
        elif (wide := _wide(table)) is not None:
            curves.append((table, party_name(table), wide))
    named = [k for k, (_, name, _) in enumerate(curves) if name == response]
    if response is not None and not named and curves:
        raise NotSuited(f"no curve is called {response!r}")
    if len(curves) < (2 if roles.me is None else 1):
        raise NotSuited(
            "it needs two curves: numbers with time stamps, numbers with ids and times, or numbered columns with ids"
        )
    first = curves.pop(named[0] if named else 0)
    block, predictors = (
        _entries(first, curves, bool(named)) if roles.me is None else _part(first, curves, named, roles.me)
    )
    stamped = first[2]["id"] == first[2].get("time")
    length = LENGTH[str(first[2].get("period", "day"))] if stamped else None
    settings: dict[str, object] = {"id": first[2]["id"], **gap_keys([table for table, *_ in (first, *curves)])}
    domain = Ask("start and end of every curve, in the unit of its times") if length is None else [0, length]
    settings |= {"domain": domain, "response": block, "predictors": predictors}
    settings |= {
        "radius": Remark(2.0, "public bound of a scaled curve: with a good scale 1.5 to 2.5"),
        "response_radius": 2.0,
    }
    settings |= {"n_basis_x": 6, "n_basis_y": 6, "smoothing": 1e-5}
    if length is not None:
        settings["max_gap"] = Remark(length / 3, "what smoothing may bridge; a record with a longer gap is left out")
    settings["missing"] = "drop"
    if len({table.file for table, *_ in (first, *curves)}) > 1:
        settings["match"] = Remark("common", "records that all files have")
    holders = len({str(getattr(entry["party"], "value", entry["party"])) for entry in predictors})
    return Draft(settings, holders)


def _entries(
    first: Curve, others: Sequence[Curve], is_named: bool
) -> tuple[dict[str, object], list[dict[str, object]]]:
    """The entries of the response and of the predictors, where the files of all parties are there."""
    block = _block(*first)
    if not is_named:
        key = "value" if "value" in block else "columns"
        block[key] = Remark(block[key], "by its place: what is explained; name another with --response")
    predictors = []
    for curve in others:
        apart = curve[0] is not first[0]
        party = party_name(curve[0]) if apart else Remark(f"holder of {curve[1]}", OTHER)
        predictors.append(
            {"name": curve[1], "party": party, **{k: v for k, v in _block(*curve).items() if k != "party"}}
        )
    return block, predictors


def _part(
    first: Curve, others: Sequence[Curve], named: Sequence[int], me: str
) -> tuple[dict[str, object], list[dict[str, object]]]:
    """The entries of one party: the response, where --response names it, else predictors; others are questions."""
    if named:
        return _block(*first) | {"party": me}, [other_entry("name", "file")]
    curves = [{"name": curve[1], **_block(*curve), "party": me} for curve in (first, *others)]
    return other_entry("file"), [*curves, other_entry("name", "file")]


def _axis(table: TableSurvey) -> dict[str, object] | None:
    """Columns of the id and the time of a file in long form; of time stamps that are both, and their period."""
    repeated = [
        column for column in table.columns if not column.missing and 1 < 4 * len(set(column.entries)) <= table.n_rows
    ]
    for ids in (column for column in repeated if column.kind in ("text", "time stamps")):
        for times in (column for column in table.columns if column.kind == "numbers" and not column.missing):
            if len(set(zip(ids.entries, times.entries, strict=True))) == table.n_rows:
                return {"id": ids.name, "time": times.name}
    stamps = next(
        (column for column in table.columns if column.kind == "time stamps" and column.time_format not in CLOCK), None
    )
    if stamps is None or _wide(table) is not None:
        return None
    form = replace(table.form, time_format=stamps.time_format)
    known = [split_stamp(text, form) for text in stamps.values]
    period = period_of([stamp.replace(tzinfo=None) for stamp in known if stamp is not None])
    clock = next((column for column in table.columns if column.time_format in CLOCK), None)
    name, time_format = stamps.name, stamps.time_format
    if clock is not None and period != "day":
        # The date and the time of a measurement are in two columns.
        name, time_format, period = JOINED.join([name, clock.name]), f"{time_format} {clock.time_format}", "day"
    keys = {"id": name, "time": name, "time_format": time_format}
    return {**keys, **({} if period == "day" else {"period": period})}


def _wide(table: TableSurvey) -> dict[str, object] | None:
    """Column of the id and pattern of the numbered columns of a file in wide form."""
    ids = next((column for column in table.columns if column.unique and column.kind in ("text", "time stamps")), None)
    stems = Counter(
        match[1] for column in table.columns if column.kind == "numbers" and (match := NUMBERED.fullmatch(column.name))
    )
    stem, count = stems.most_common(1)[0] if stems else ("", 0)
    if ids is None or count < FEWEST:
        return None
    return {"id": ids.name, "format": "wide", "columns": f"{stem}*", "times": "names"}


def _block(table: TableSurvey, name: str, keys: Mapping[str, object]) -> dict[str, object]:
    """The block of a curve; the constants of its scale are public."""
    block: dict[str, object] = {"party": party_name(table), "file": table.file} | file_keys(table) | dict(keys)
    if keys["id"] != keys.get("time"):
        block.pop("time_format", None)
    return block | {"centre": Ask("a usual value, from its meaning"), "scale": Ask("half of the usual swing")}
