"""Who sees which row: by its audience, and through every row whose parameters it is.

A view sees a row of somebody else that is for everybody or for one of its members.  Of such a row it sees the
parameters as well, so that a row reaches a view through its children, past the owners on the way.  Rows are many and
ways to see them few: rows with the same ways make one class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .event import Event

__all__ = ["Way", "Ways", "classes_of", "rest_sees", "sees"]

# Names that a row is for, and owners on the way to it, none of whom is in a view that sees it this way.
Way = tuple[frozenset[str], frozenset[str]]
Ways = frozenset[Way]
NOBODY: frozenset[str] = frozenset()


def classes_of(rows: Sequence[Event], position: Mapping[str, int]) -> tuple[list[int], list[Ways]]:
    """The class of every row, and the ways of each class."""
    made, numbers = list[Ways](), dict[Ways, int]()

    def number(ways: Ways) -> int:
        if ways not in numbers:
            numbers[ways] = len(made)
            made.append(ways)
        return numbers[ways]

    # An audience of many names is one object in many rows: its names are read once.
    known = dict[int, int]()
    classes = list[int]()
    for event in rows:
        found = known.get(id(event.audience))
        if found is None:
            found = known[id(event.audience)] = number(frozenset([(frozenset(event.audience), NOBODY)]))
        classes.append(found)
    queue = [k for k, event in enumerate(rows) if event.data_dependent_parameters]
    while queue:
        k = queue.pop()
        for name in rows[k].data_dependent_parameters:
            parent = position.get(name)
            if parent is None or classes[parent] == classes[k]:
                continue
            ways = _widened(made[classes[parent]], made[classes[k]], rows[k].owner)
            if ways is not made[classes[parent]]:
                classes[parent] = number(ways)
                if rows[parent].data_dependent_parameters:
                    queue.append(parent)
    return classes, made


def _widened(own: Ways, child: Ways, owner: str) -> Ways:
    """Ways to a row with those through a child of an owner; the same object where they add nothing."""
    for audience, past in child:
        way = audience, past | {owner}
        if not any(_covers(other, way) for other in own):
            own = frozenset([*(other for other in own if not _covers(way, other)), way])
    return own


def _covers(wide: Way, narrow: Way) -> bool:
    """Whether every view that sees a row the narrow way sees it the wide way too."""
    names = wide[0] is narrow[0] or "*" in wide[0] or ("*" not in narrow[0] and wide[0] >= narrow[0])
    return names and wide[1] <= narrow[1]


def sees(ways: Ways, name: str) -> bool:
    """Whether one party alone sees rows of others in a class."""
    return any(name not in past and ("*" in audience or name in audience) for audience, past in ways)


def rest_sees(ways: Ways, name: str, names: frozenset[str]) -> bool:
    """Whether all parties but one together see its rows in a class."""
    return any(
        all(other == name or other not in names for other in past)
        and ("*" in audience or any(other != name and other in names for other in audience))
        for audience, past in ways
    )
