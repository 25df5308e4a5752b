"""A draft for a table with private labels, alone or beside the table of the features."""

from __future__ import annotations

from collections.abc import Sequence

from .parts import (
    Draft,
    Needs,
    NotSuited,
    column_blocks,
    file_keys,
    gap_keys,
    party_names,
    person_keys,
    positive_key,
    response_key,
    response_of,
    shared_ids,
)
from .survey import TableSurvey


def draft(tables: Sequence[TableSurvey], response: str | None, needs: Needs) -> Draft:
    """A model of labels that are private: in one file with the features, or matched with those of another."""
    place, label = response_of(tables, response, classes=True)
    held = tables[place]
    others = [one for k, one in enumerate(tables) if k != place and shared_ids((one, held)) is not None]
    settings: dict[str, object] = {"response": response_key(label, response), **positive_key(label)}
    if others:
        features = max(others, key=lambda one: len(column_blocks(one, ())))
        shared = shared_ids((features, held))
        assert shared is not None
        names, pair = party_names((features, held)), (features, held)
        settings |= {"id": shared.ids[0], **shared.keys, **gap_keys(pair), "response_party": names[1]}
        settings["tables"] = [
            {"party": name, "file": one.file, **({"id": own} if own != shared.ids[0] else {}), **file_keys(one)}
            for name, one, own in zip(names, pair, shared.ids, strict=True)
        ]
        settings["columns"] = column_blocks(features, (shared.ids[0],))
        settings |= person_keys(features)
    else:
        ids = [one.name for one in held.columns if one.is_id]
        settings |= {"file": held.file, **({"id": ids[0]} if ids else {}), **file_keys(held), **gap_keys((held,))}
        settings["columns"] = column_blocks(held, (label.name, *ids))
        settings |= person_keys(held)
    if not settings["columns"]:
        raise NotSuited("no column of numbers or levels stands beside the labels")
    return Draft(settings, 2)
