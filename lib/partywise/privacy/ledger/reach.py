"""Visibility of a row: by its audience, through every row whose parameters it is, and by the keys of what is closed.

A view sees a row of another owner that is for all readers or for one of its members.  Of such a row it sees the
parameters as well, so that a row reaches a view through its children, past the owners on the way.  The row of a cipher
is seen by a view that opens it: with all key holders and a receiver.  Rows are many and ways to see them few: rows with
the same ways make one class.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from .event import CLOSED, FIELDS, Event
from .terms import JOIN

NOBODY: frozenset[str] = frozenset()


class Way(NamedTuple):
    """One way to see a row.

    audience : names that a row is for; past : owners on the way to it, none of whom is in a view that sees it so
    keys : who must all be in the view
    """

    audience: frozenset[str]
    past: frozenset[str] = NOBODY
    keys: frozenset[str] = NOBODY


Ways = frozenset[Way]


def classes_of(rows: Sequence[Event], position: Mapping[str, int]) -> tuple[list[int], list[Ways]]:
    """The class of every row, and the ways of each class."""
    class_ways, numbers = list[Ways](), dict[Ways, int]()

    def number(ways: Ways) -> int:
        if ways not in numbers:
            numbers[ways] = len(class_ways)
            class_ways.append(ways)
        return numbers[ways]

    # An audience of many names is one object in many rows: its names are read once.
    known = dict[tuple[int, tuple[str, ...]], int]()
    classes = list[int]()
    for event in rows:
        key = id(event.audience), event.key_holders
        index = known.get(key)
        if index is None:
            way = Way(frozenset(event.audience), keys=frozenset(event.key_holders))
            index = known[key] = number(frozenset([way]))
        classes.append(index)
    # Rows are many and classes few: what a child adds to a parent is worked out once for each pair.
    wider = dict[tuple[int, int, str], int]()
    queue = [k for k, event in enumerate(rows) if event.data_dependent_parameters]
    while queue:
        k = queue.pop()
        for name in rows[k].data_dependent_parameters:
            parent = position.get(name)
            if parent is None or classes[parent] == classes[k]:
                continue
            pair = classes[parent], classes[k], rows[k].owner
            if pair not in wider:
                wider[pair] = number(_widen(class_ways[pair[0]], class_ways[pair[1]], pair[2]))
            if wider[pair] != classes[parent]:
                classes[parent] = wider[pair]
                if rows[parent].data_dependent_parameters:
                    queue.append(parent)
    return classes, class_ways


def _widen(ways: Ways, child: Ways, owner: str) -> Ways:
    """Ways to a row with those through a child of an owner; the same object where they add nothing."""
    for audience, past, keys in child:
        way = Way(audience, past | {owner}, keys)
        if not any(_covers(other, way) for other in ways):
            ways = frozenset([*(other for other in ways if not _covers(way, other)), way])
    return ways


def _covers(wide: Way, narrow: Way) -> bool:
    """Whether every view that sees a row the narrow way sees it the wide way too."""
    wide_names, narrow_names = wide.audience, narrow.audience
    names = wide_names is narrow_names or "*" in wide_names or ("*" not in narrow_names and wide_names >= narrow_names)
    return names and wide.past <= narrow.past and wide.keys <= narrow.keys


def reveals(ways: Ways, view: frozenset[str]) -> bool:
    """Whether a view sees the rows of others in a class."""
    return any(
        ("*" in audience or not view.isdisjoint(audience)) and view.isdisjoint(past) and keys <= view
        for audience, past, keys in ways
    )


def within_reach(ways: Ways, owners: Collection[str], names: Collection[str]) -> bool:
    """Whether some view of these names, not all of them the owners, sees their rows in a class that needs no key."""
    alone = owners if len(owners) == 1 else ()
    return any(
        "*" in audience or any(name not in alone and name not in past and name in names for name in audience)
        for audience, past, _ in ways
    )


def clear_event(release_id: str, owner: str, units: tuple[str, ...], receiver: str | tuple[str, ...]) -> Event:
    """The row of a value sent in the clear, to one or several: infinite for the named units."""
    touched = {unit for unit in units if unit in FIELDS} if set(units) <= set(FIELDS) else set(FIELDS)
    return Event(
        release_id=release_id,
        owner=owner,
        mechanism="none",
        unit=JOIN.join(sorted(units)),
        depends_on=frozenset(touched),
        audience=(receiver,) if isinstance(receiver, str) else receiver,
        trust_model="none",
        certified=False,
    )


def closed_event(
    release_id: str,
    owner: str,
    units: tuple[str, ...],
    audience: tuple[str, ...],
    key_holders: tuple[str, ...],
    knows: tuple[str, ...] = (),
) -> Event:
    """The row of a value that crosses closed: infinite for the named units to a view that opens it, else free."""
    open_row = clear_event(release_id, owner, units, audience)
    return replace(open_row, mechanism=CLOSED, key_holders=key_holders, knows=knows)
