"""A draft for clients who followed different persons until an event."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .clients import clients_of
from .parts import Ask, Draft, Needs, NotSuited, Remark, Roles, column_blocks, person_keys
from .survey import ColumnSurvey, TableSurvey

# Names of columns that tell how long somebody was followed, and how that ended.
TIMES = re.compile(r"(?i).*(time|days|weeks|months|years|dauer|duration|follow|survival|tage|monate|jahre).*")
EVENTS = re.compile(r"(?i).*(event|status|death|dead|died|relapse|censor|delta|tod|ereignis).*")
HORIZON = "public end of follow-up, in the unit of the times: from the plan of the study, never the largest time"


def draft(tables: Sequence[TableSurvey], roles: Roles, needs: Needs) -> Draft:
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
