"""A draft for curves in long form, a row a measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..entries import split_stamp
from .parts import Ask, Draft, Needs, NotSuited, Remark, file_keys, gap_keys, party_name, period_of
from .survey import ColumnSurvey, TableSurvey

# Length of a period, in the unit of the time in it.
LENGTH = {"day": 24, "month": 31, "year": 366}
OTHER = "who holds it: not the holder of the response"


def draft(tables: Sequence[TableSurvey], response: str | None, needs: Needs) -> Draft:
    """Curves in long form, a row a measurement: every column of numbers is one."""
    curves, settings = list[tuple[TableSurvey, ColumnSurvey, Mapping[str, object]]](), dict[str, object]()
    for table in tables:
        axis = _axis(table)
        if axis is None:
            continue
        keys, settings = axis
        used = (keys["id"], keys["time"])
        numbers = [one for one in table.columns if one.kind == "numbers" and one.name not in used and not one.is_id]
        curves += [(table, one, keys) for one in numbers]
    named = [k for k, (_, one, _) in enumerate(curves) if one.name == response]
    if response is not None and not named and curves:
        raise NotSuited(f"no curve is called {response!r}")
    if len(curves) < 2:
        raise NotSuited(
            "it needs two curves in rows of measurements: a column of time stamps, or of ids and of times, and numbers"
        )
    first = curves.pop(named[0] if named else 0)
    block = _block(*first)
    if not named:
        block["value"] = Remark(first[1].name, "a guess; say which with --response NAME")
    predictors = []
    for one in curves:
        apart = one[0] is not first[0]
        party = party_name(one[0]) if apart else Remark(f"holder of {one[1].name}", OTHER)
        predictors.append(
            {"name": one[1].name, "party": party, **{k: v for k, v in _block(*one).items() if k != "party"}}
        )
    length = settings.pop("length", None)
    settings = {"id": first[2]["id"], **gap_keys([table for table, *_ in (first, *curves)])}
    domain = Ask("start and end of every curve, in the unit of its times") if length is None else [0, length]
    settings |= {"domain": domain, "response": block, "predictors": predictors}
    settings |= {
        "radius": Remark(2.0, "public bound of a scaled curve: with a good scale 1.5 to 2.5"),
        "response_radius": 2.0,
    }
    settings |= {"n_basis_x": 6, "n_basis_y": 6, "smoothing": 1e-5}
    if isinstance(length, int):
        settings["max_gap"] = Remark(length / 3, "what smoothing may bridge; a record with a longer gap is left out")
    settings["missing"] = "drop"
    if len({table.file for table, *_ in (first, *curves)}) > 1:
        settings["match"] = Remark("common", "records that all files have")
    holders = len({str(getattr(one["party"], "value", one["party"])) for one in predictors})
    return Draft(settings, holders)


def _axis(table: TableSurvey) -> tuple[dict[str, object], dict[str, object]] | None:
    """Columns of the id and the time of a file in long form, and the length of its curves where it is known."""
    stamps = next((one for one in table.columns if one.kind == "time stamps" and "%d" in one.time_format), None)
    if stamps is not None:
        known = [split_stamp(text, table.form) for text in stamps.values]
        period = period_of([one for one in known if one is not None], stamps.time_format)
        keys: dict[str, object] = {"id": stamps.name, "time": stamps.name}
        return keys | ({} if period == "day" else {"period": period}), {"length": LENGTH[period]}
    repeated = [one for one in table.columns if not one.missing and 1 < 4 * len(set(one.entries)) <= table.n_rows]
    ids = next((one for one in repeated if one.kind in ("text", "levels")), None)
    times = next((one for one in repeated if one.kind == "numbers"), None)
    if ids is None or times is None or len(set(zip(ids.entries, times.entries, strict=True))) < table.n_rows:
        return None
    return {"id": ids.name, "time": times.name}, {}


def _block(table: TableSurvey, column: ColumnSurvey, keys: Mapping[str, object]) -> dict[str, object]:
    """The block of a curve; the constants of its scale are public."""
    block: dict[str, object] = {"party": party_name(table), "file": table.file, **keys, "value": column.name}
    block |= file_keys(table)
    return block | {"centre": Ask("a usual value, from its meaning"), "scale": Ask("half of the usual swing")}
