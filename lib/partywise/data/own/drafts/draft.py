"""Drafts of settings by layout: columns, labels or clients at parties, follow-up or questions, and curves."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..entries import split_stamp
from ..grammar import JOINED
from .parts import (
    BOUNDS,
    Ask,
    Draft,
    Needs,
    NotSuited,
    Remark,
    Roles,
    column_blocks,
    file_entry,
    file_keys,
    gap_keys,
    id_of,
    levels_key,
    other_entry,
    party_name,
    party_names,
    period_of,
    person_keys,
    positive_key,
    response_key,
    response_of,
    response_part,
    shared_ids,
)
from .survey import CLOCK, ColumnSurvey, TableSurvey

# Names of columns that say where a row is from, how long somebody was followed, and how that ended.
PLACES = re.compile(
    r"(?i)(.*[\W_])?(clinic|hospital|site|cent(re|er)|zentrum|klinik|spital|krankenhaus|party|client|bank|branch|filiale"
    r"|region|land)s?([\W_]*(id|nr|no|name|key|code))?"
)
TIMES = re.compile(r"(?i).*(time|days|weeks|months|years|dauer|duration|follow|survival|tage|monate|jahre).*")
EVENTS = re.compile(r"(?i).*(event|status|death|dead|died|relapse|censor|delta|tod|ereignis).*")
# Clients of a file at most.
MOST = 100
LEAST = "public: every client has at least so many records; it sets delta"
HORIZON = "public end of follow-up, in the unit of the times: from the plan of the study, never the largest time"
# Length of a period, in the unit of the time in it.
LENGTH = {"day": 24, "month": 31, "year": 366}
# Columns that are one curve: a name and a number, and at least so many.
NUMBERED, FEWEST = re.compile(r"(\D*)\d+(?:\.\d+)?"), 5
Curve = tuple[TableSurvey, str, Mapping[str, object]]
OTHER = "who holds it: not the holder of the response"


def draft_columns(tables: Sequence[TableSurvey], roles: Roles, needs: Needs) -> Draft:
    """Columns at several parties, a file each: every file that has the records of the one with the response.

    Numbers of passive parties are asked for ``edges`` where the study wants cuts, else all for ``bounds``.
    """
    if roles.me is not None:
        return _part_of_columns(tables[0], roles, roles.me, needs)
    holder, response = response_of(tables, roles.response)
    tables = [table for table in tables if table is tables[holder] or shared_ids((tables[holder], table), roles.id)]
    if len(tables) < 2 or (shared := shared_ids(tables, roles.id)) is None:
        raise NotSuited("it needs the files of two parties at least, with unique ids by which their rows are matched")
    holder = next(k for k, table in enumerate(tables) if response in table.columns)
    names, entries = party_names(tables), list[dict[str, object]]()
    for k, table in enumerate(tables):
        used = _used_columns(table, (shared.ids[k], response.name), needs, k == holder)
        entries.append(file_entry(table, names[k], shared.own_id(k)) | {"columns": used})
    settings: dict[str, object] = {"id": shared.ids[0], **shared.keys, **gap_keys(tables)}
    settings |= {"response": response_key(response, roles.response), "response_party": names[holder]}
    settings |= positive_key(response) if response.two_entries else {}
    settings |= _study_keys(needs, response)
    return Draft(settings | {"tables": entries}, len(tables), not response.two_entries)


def _part_of_columns(table: TableSurvey, roles: Roles, me: str, needs: Needs) -> Draft:
    """The entry of one party from its own file; a response that --response does not name is of another party."""
    ids = roles.column(table, "id") or next((column for column in table.columns if column.is_id), None)
    if ids is None:
        raise NotSuited("it needs a column of unique ids by which rows are matched (name it with --id)")
    response = None if roles.response is None else response_of((table,), roles.response)[1]
    used = _used_columns(table, (ids.name, response.name if response else ""), needs, response is not None)
    settings: dict[str, object] = {"id": Remark(ids.name, "a party that calls it otherwise has an id in its entry")}
    settings |= gap_keys((table,)) | response_part(response, roles, me)
    settings |= {} if response is None else _study_keys(needs, response)
    settings |= {"tables": [file_entry(table, me) | {"columns": used}, other_entry("file", "columns")]}
    return Draft(settings, 2, response is not None and not response.two_entries)


def _used_columns(table: TableSurvey, but: Sequence[str], needs: Needs, is_active: bool) -> list[dict[str, object]]:
    """Blocks of the columns of a party; NotSuited if there are none."""
    question = "bounds" if not needs.edges else None if is_active else "edges"
    used = column_blocks(table, but, question)
    if not used:
        raise NotSuited(f"{table.file} has no column of numbers or levels apart from the ids and the response")
    return used


def _study_keys(needs: Needs, response: ColumnSurvey) -> dict[str, object]:
    """Keys of a study for such a response, with a question where it has one."""
    keys = needs.for_classes if response.two_entries else needs.for_numbers
    return {key: Ask(BOUNDS) if value == "?" else value for key, value in keys.items()}


def draft_labels(tables: Sequence[TableSurvey], roles: Roles, needs: Needs) -> Draft:
    """Labels that are private: in one file with the features, or matched with those of another."""
    if roles.me is not None:
        return _part_of_labels(tables[0], roles, roles.me)
    place, label = response_of(tables, roles.response, classes=True)
    label_table = tables[place]
    others = [
        table for k, table in enumerate(tables) if k != place and shared_ids((table, label_table), roles.id) is not None
    ]
    settings: dict[str, object] = {"response": response_key(label, roles.response), **positive_key(label)}
    if others:
        features = max(others, key=lambda table: len(column_blocks(table, ())))
        pair = (features, label_table)
        shared = shared_ids(pair, roles.id)
        assert shared is not None
        names = party_names(pair)
        settings |= {"id": shared.ids[0], **shared.keys, **gap_keys(pair), "response_party": names[1]}
        settings["tables"] = [file_entry(table, names[k], shared.own_id(k)) for k, table in enumerate(pair)]
        settings["columns"] = column_blocks(features, (shared.ids[0],))
        settings |= person_keys(features, roles)
    else:
        ids = id_of(label_table, roles)
        settings |= {"file": label_table.file} | ({"id": ids} if ids else {})
        settings |= file_keys(label_table) | gap_keys((label_table,))
        used = (label.name, *([ids] if ids else []), *([roles.person] if roles.person else []))
        settings["columns"] = column_blocks(label_table, used)
        settings |= person_keys(label_table, roles)
    if not settings["columns"]:
        raise NotSuited("no column of numbers or levels is in the file next to the labels")
    return Draft(settings, 2)


def _part_of_labels(table: TableSurvey, roles: Roles, me: str) -> Draft:
    """The entry of one party from its own file: of the labels, where --response names them, or of the features."""
    ids = id_of(table, roles)
    if ids is None:
        raise NotSuited("it needs a column of ids by which rows are matched (name it with --id)")
    label = None if roles.response is None else response_of((table,), roles.response, classes=True)[1]
    settings: dict[str, object] = {"id": ids, **response_part(label, roles, me), **gap_keys((table,))}
    settings["tables"] = [file_entry(table, me), other_entry("file")]
    if label is not None:
        return Draft(settings | {"columns": Ask("the columns of the party with the features")}, 2)
    return Draft(settings | {"columns": column_blocks(table, (ids,)), **person_keys(table, roles)}, 2)


@dataclass(frozen=True)
class Clients:
    """Clients that files suggest: the widest file, keys of files and clients, the names of clients and their column."""

    whole: TableSurvey
    settings: dict[str, object]
    names: tuple[str, ...]
    column: str = ""


def clients_of(tables: Sequence[TableSurvey], roles: Roles, wanted: Sequence[str] = ()) -> Clients:
    """A file each, or one with a column of clients, where the file has all wanted columns; NotSuited for others."""
    if roles.me is not None:
        entries = [file_entry(tables[0], roles.me), other_entry("file")]
        return Clients(tables[0], {"tables": entries, **gap_keys(tables)}, (roles.me,))
    alike = [table for table in tables if {c.name for c in table.columns} == {c.name for c in tables[0].columns}]
    if roles.party is None and len(tables) > 1 and len(alike) == len(tables):
        names = party_names(tables)
        entries = [file_entry(table, name) for name, table in zip(names, tables, strict=True)]
        return Clients(tables[0], {"tables": entries, **gap_keys(tables)}, tuple(names))
    suited = [
        table for table in tables if _clients(table, wanted, roles) is not None and len(column_blocks(table, ())) > 2
    ]
    suited = [table for table in suited if all(table.column(name) is not None for name in wanted)]
    if not suited:
        raise NotSuited(
            "it needs files with the same columns, or one with a column that names the client of a row (--party)"
        )
    whole = max(suited, key=lambda table: len(column_blocks(table, ())))
    column = _clients(whole, wanted, roles)
    assert column is not None
    names = sorted(set(column.values))
    settings: dict[str, object] = {"file": whole.file, **_party_keys(column, names, roles)}
    settings |= {**file_keys(whole), **gap_keys((whole,))}
    ids = id_of(whole, roles)
    return Clients(whole, settings | ({"id": ids} if ids else {}), tuple(names), column.name)


def _party_keys(column: ColumnSurvey, names: Sequence[str], roles: Roles) -> dict[str, object]:
    """The column of clients and its entries: questions unless a person or its name identifies it."""
    parties = Remark(list(names), "its entries, which are public")
    if roles.party:
        return {"party": column.name, "parties": parties}
    if PLACES.fullmatch(column.name):
        return {"party": Remark(column.name, "by its name: the client of a row"), "parties": parties}
    asked = f"the column that names the client of a row: {column.name}? --party NAME drafts another"
    return {"party": Ask(asked), "parties": Ask(f"its entries, which are public; {column.name} has {list(names)}")}


def draft_clients(tables: Sequence[TableSurvey], roles: Roles, needs: Needs) -> Draft:
    """Directions of clients who hold different rows of the same columns: a file each, or one with a column of them."""
    response = roles.response
    clients = clients_of(tables, roles, [] if response is None else [response])
    whole, settings = clients.whole, clients.settings
    _, target = response_of((whole,), response, classes=None if response else False)
    settings["response"] = response_key(target, response)
    if target.kind == "numbers":
        settings |= {"response_bounds": Ask(BOUNDS), "n_slices": 5}
    else:
        settings["levels"] = levels_key(target)
    settings |= person_keys(whole, roles)
    settings |= {"least": Ask(LEAST), "columns": column_blocks(whole, (target.name, clients.column))}
    return Draft(settings, len(clients.names))


def _clients(table: TableSurvey, but: Sequence[str], roles: Roles) -> ColumnSurvey | None:
    """The column of clients: the named one, or of the categories without gaps one with such a name or the evenest."""
    if roles.party is not None:
        named = table.column(roles.party)
        if named is not None and (named.kind in ("constant", "empty", "time stamps") or len(set(named.values)) > MOST):
            raise NotSuited(
                f"--party names {named.name!r}, which is {named.kind}: a client has a name, of {MOST} at most"
            )
        return named
    candidates = [
        column for column in table.columns if column.kind == "levels" and not column.missing and len(column.levels) > 1
    ]
    candidates = [column for column in candidates if column.name not in but]
    return max(
        candidates, key=lambda column: (bool(PLACES.fullmatch(column.name)), min(column.levels.values())), default=None
    )


def draft_follow_up(tables: Sequence[TableSurvey], roles: Roles, needs: Needs) -> Draft:
    """Curves and hazard ratios of a file for each client, or of one with a column of them; a response is the time."""
    times, events = _times(tables, roles.response), _events(tables, roles.event)
    time, event = times[0], events[0]
    clients = clients_of(tables, roles, [time.name, event.name])
    entries = f"; the file has {sorted(set(event.values))}"
    settings = clients.settings | {
        "time": _role(times, roles.response, "how long a record was followed", "--response"),
        "event": _role(events, roles.event, "how follow-up ended", "--event"),
        "events": Ask("public: the entries of the event, in quotes", entries),
        "censoring": Ask("public: all other entries"),
        "horizon": Ask(HORIZON),
        "because": Ask("where the horizon comes from"),
        **person_keys(clients.whole, roles),
    }
    columns = column_blocks(clients.whole, (time.name, event.name, clients.column))
    return Draft(settings | {"columns": columns}, len(clients.names))


def _role(columns: Sequence[ColumnSurvey], named: str | None, what: str, word: str) -> object:
    """The value of a key: the named column, the only one with such a name, or a question if several have one."""
    if named is not None:
        return named
    names = list(dict.fromkeys(column.name for column in columns))
    if len(names) == 1:
        return Remark(names[0], f"by its name: {what}")
    return Ask(f"{what}: {names[0]}? Alike are {', '.join(names[1:])}; {word} NAME drafts another")


def _times(tables: Sequence[TableSurvey], named: str | None) -> list[ColumnSurvey]:
    numbers = [
        column for table in tables for column in table.columns if column.kind == "numbers" and not column.likely_id
    ]
    times = [column for column in numbers if (TIMES.fullmatch(column.name) if named is None else column.name == named)]
    if not times:
        raise NotSuited("it needs a column of numbers: how long each record was followed (name it with --response)")
    return times


def _events(tables: Sequence[TableSurvey], named: str | None) -> list[ColumnSurvey]:
    columns = [column for table in tables for column in table.columns if _ends(column.name, named)]
    events = [column for column in columns if column.two_entries or column.kind == "levels"]
    if not events:
        raise NotSuited("it needs a column, such as event or status: how follow-up ended (name it with --event)")
    return events


def _ends(name: str, named: str | None) -> bool:
    return name == named if named else EVENTS.fullmatch(name) is not None


def draft_questions(tables: Sequence[TableSurvey], roles: Roles, needs: Needs) -> Draft:
    """Tables and means of a file for each client, or of one with a column of them; what is compared is a question."""
    clients = clients_of(tables, roles)
    settings = {key: value for key, value in clients.settings.items() if key != "missing"}
    blocks = column_blocks(clients.whole, (clients.column, str(settings.get("id", ""))))
    categories = [str(block["name"]) for block in blocks if "levels" in block]
    numbers = [str(block["name"]) for block in blocks if "bounds" in block]
    if not categories:
        raise NotSuited("it needs a column of levels, such as sex or arm")
    gaps = [column.name for column in clients.whole.columns if column.missing]
    never = Ask("columns of tables that are never empty, by how they are recorded", f"; the file has gaps in {gaps}")
    questions: dict[str, object] = {
        "by": Ask(f"the groups that are compared, one of {', '.join(categories)}; or delete the line"),
        "table_one": categories,
        "means": numbers,
        "cross": Ask(f"further tables, such as [[{', '.join(categories[:2])}]]; or delete the line"),
        "complete": never,
        "may_be_missing": Ask("columns of means that may be empty; or delete the line"),
    }
    questions = {key: value for key, value in questions.items() if numbers or key not in ("means", "may_be_missing")}
    return Draft(settings | {"columns": blocks, "questions": questions}, len(clients.names))


def draft_curves(tables: Sequence[TableSurvey], roles: Roles, needs: Needs) -> Draft:
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
