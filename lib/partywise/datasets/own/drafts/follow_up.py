"""A draft for clients who followed different persons until an event."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .clients import clients_of
from .parts import Ask, Draft, Needs, NotSuited, Remark, column_blocks, person_keys, response_key
from .survey import ColumnSurvey, TableSurvey

# Names of columns that tell how long somebody was followed, and how that ended.
TIMES = re.compile(r"(?i).*(time|days|weeks|months|years|dauer|duration|follow|survival|tage|monate|jahre).*")
EVENTS = re.compile(r"(?i).*(event|status|death|dead|died|relapse|censor|delta|tod|ereignis).*")
HORIZON = "public end of follow-up, in the unit of the times: from the plan of the study, never the largest time"


def draft(tables: Sequence[TableSurvey], response: str | None, needs: Needs) -> Draft:
    """Curves and hazard ratios of a file for each client, or of one with a column of them; a response is the time."""
    time, event = _time(tables, response), _event(tables)
    found = clients_of(tables, [time.name, event.name])
    entries = f"the file has {list(event.levels or event.whole)}"
    settings = found.settings | {
        "time": response_key(time, response),
        "event": Remark(event.name, "a guess: how follow-up ended"),
        "events": Ask(f"public: the entries of the event, in quotes; {entries}"),
        "censoring": Ask("public: all other entries"),
        "horizon": Ask(HORIZON),
        "because": Ask("where the horizon comes from"),
        **person_keys(found.whole),
    }
    columns = column_blocks(found.whole, (time.name, event.name, found.column))
    return Draft(settings | {"columns": columns}, len(found.names))


def _time(tables: Sequence[TableSurvey], named: str | None) -> ColumnSurvey:
    numbers = [one for table in tables for one in table.columns if one.kind == "numbers" and not one.is_id]
    found = [one for one in numbers if (TIMES.fullmatch(one.name) if named is None else one.name == named)]
    if not found:
        raise NotSuited(
            "it needs a column of numbers that says how long a record was followed (name it with --response)"
        )
    return found[0]


def _event(tables: Sequence[TableSurvey]) -> ColumnSurvey:
    columns = [one for table in tables for one in table.columns if EVENTS.fullmatch(one.name)]
    found = [one for one in columns if one.two_entries or one.kind == "levels"]
    if not found:
        raise NotSuited("it needs a column, such as event or status, that says how follow-up ended")
    return found[0]
