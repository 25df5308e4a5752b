"""The default views of a horizontal split, summed without reading every row again for every view.

With K clients there are about 2 K views of about 2 K rows, and a view differs from the public one by the rows that its
members own.  Where every row with a law is public and has a stratum, the composition of a stratum is made once, and a
view takes out what its members own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from ..accounting.compose import Composition
from ..accounting.law import Law
from .event import POST_PROCESSING, Event
from .total import ViewSum, sum_view

__all__ = ["sum_public_views", "views_differ_by_owner"]

Row = tuple[Event, Law | float | None]


def views_differ_by_owner(rows: Sequence[Row]) -> bool:
    """Whether all rows with a law are public and none of them belongs to every stratum.

    What a view learns from them is then a matter of owners.  Rows without a proof may be for anybody.  No row needs a
    search for the parameters it was made with: those with a law are public, and a row with an unproved parameter is
    unproved itself.  What was computed from unproved releases is not: it leads to rows that may be for others.
    """
    return all(
        event.public and event.stratum != "*"
        if isinstance(cost, Law)
        else event.certified or event.mechanism != POST_PROCESSING
        for event, cost in rows
    )


def sum_public_views(rows: Sequence[Row], views: Mapping[str, frozenset[str]]) -> dict[str, ViewSum]:
    """`sum_view` of the rows that each view sees, without the rows themselves (``counted`` is empty).

    Parameters
    ----------
    rows : sequence of (Event, cost)
        All rows of a ledger for which `views_differ_by_owner`, with their cost for the unit that is asked about.
    views : mapping
        Name -> members.
    """
    by_stratum: dict[str, list[Row]] = defaultdict(list)
    reach: dict[str, set[str]] = defaultdict(set)
    unproved: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for event, cost in rows:
        if isinstance(cost, Law):
            by_stratum[event.stratum].append((event, cost))
            reach[event.owner].add(event.stratum)
        elif cost is None:
            unproved[event.audience].add(event.owner)
    whole = _compositions(by_stratum)
    everything, owners = Counter(whole.values()), frozenset(reach)
    alone = all(len({event.owner for event, _ in found}) == 1 for found in by_stratum.values())
    made: dict[tuple[frozenset[Composition], bool], ViewSum] = {}

    def summed(view: frozenset[str]) -> ViewSum:
        inside, outside = owners & view, owners - view
        if alone and len(outside) < len(inside):
            left = Counter(whole[stratum] for owner in outside for stratum in reach[owner])
        else:
            left = everything.copy()
            for stratum in {stratum for owner in inside for stratum in reach[owner]}:
                left[whole[stratum]] -= 1
                rest = [] if alone else [row for row in by_stratum[stratum] if row[0].owner not in view]
                left.update([sum_view(rest).strata[0]] if rest else [])
        strata = frozenset(part for part, count in left.items() if count) or frozenset([Composition()])
        proved = not any(found - view and ("*" in seen or view & set(seen)) for seen, found in unproved.items())
        # Views of clients of one size cost the same: one object stands for all of them.
        if (strata, proved) not in made:
            made[strata, proved] = ViewSum(tuple(sorted(strata, key=repr)), proved, ())
        return made[strata, proved]

    return {name: summed(view) for name, view in views.items()}


def _compositions(by_stratum: Mapping[str, list[Row]]) -> dict[str, Composition]:
    """Composition of every stratum; strata with the same laws are composed once."""
    known: dict[tuple[tuple[Law | float | None, float], ...], Composition] = {}
    whole = {}
    for stratum, found in by_stratum.items():
        laws = tuple((cost, event.delta_numeric) for event, cost in found)
        if laws not in known:
            known[laws] = sum_view(found).strata[0]
        whole[stratum] = known[laws]
    return whole
