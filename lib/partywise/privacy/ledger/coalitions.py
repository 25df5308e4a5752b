"""The coalition that learns most, of all that keep the assumptions of a ledger.

A coalition is any set of names.  It counts the rows that it sees and does not own, so that it is asked about the
records of those outside of it; one that holds all owners of records has nothing left to learn.  Two assumptions are
stated by the rows themselves: whoever knows the noise or the records behind a row (``knows``) colludes with nobody, and
neither does the holder of a key with those who have what it closes.  A coalition that breaks one opens what was closed,
and nothing is proved against it.

Sums over rows grow with the rows: a set of rows that another one holds costs no more.  So a coalition that sees all
rows within anybody's reach is the worst, and of few names (`FEW`) only those that see most are summed.  With more,
where nobody sees all, the sum of all rows within reach is an upper bound.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from ..accounting.law import Law
from ..accounting.tally import Tally
from ..strata import EVERYBODY
from .event import CLOSED, Event
from .parallel import by_partition, joint_cells
from .reach import Way, Ways, reveals, within_reach
from .total import ViewSum

# All coalitions of so many names are asked about one by one.
FEW = 10
# Name of the bound over all coalitions.
ANYBODY = "any coalition"
# Of a row of which nothing is proved: it is in no stratum, and counts in its view.
UNPROVED = ""


class Coalitions:
    """The rows of a ledger as coalitions of some names see them, for one unit.

    Parameters
    ----------
    rows, costs : sequences
        Of a ledger, with the cost of each row for the unit that is asked about.
    classes, ways : sequences
        Of the rows (`classes_of`).
    names : sequence of str
        Everyone who may be in a coalition.
    """

    def __init__(
        self,
        rows: Sequence[Event],
        costs: Sequence[Law | float | None],
        classes: Sequence[int],
        ways: Sequence[Ways],
        names: Sequence[str],
    ) -> None:
        self.names, self._rows, self._costs, self._classes, self._ways = tuple(names), rows, costs, classes, ways
        known, self._closed = frozenset(names), _closed_ways(rows, costs)
        grouped = _group(rows, costs, classes)
        # Rows of one owner and class are seen together: a coalition is what it sees, one bit each.
        self._groups = [key for key in grouped if within_reach(ways[key[1]], key[0], known)]
        self._tallies = [grouped[key] for key in self._groups]
        self._owners = known & {owner for owner, _ in (*grouped, *self._closed)}

    def worst(self, delta: float) -> tuple[str, frozenset[str] | None]:
        """Name and members of the coalition that learns most; the bound over all of them has a name only.

        Of coalitions that see the same the first one: a single place, nobody but the public, then more together.
        """
        owning = {owner for owner, _ in self._groups}
        singles = [frozenset([name]) for name in self.names if name not in owning] + [frozenset[str]()]
        for view in singles:
            if all(reveals(self._ways[number], view) for _, number in self._groups) and self._possible(view):
                return _name(view), view
        if len(self.names) > FEW:
            return ANYBODY, None
        seen = dict[int, frozenset[str]]()
        for view in filter(self._possible, self._subsets()):
            seen.setdefault(self._sees(view), view)
        most = [mask for mask in seen if not any(mask != other and mask & other == mask for other in seen)]
        sums = {seen[mask]: self._sum_groups(mask) for mask in most}
        if all(found.gaussian for found in sums.values()):
            view = max(sums, key=lambda view: (not sums[view].certified, sums[view].mu))
        else:
            view = max(sums, key=lambda view: (not sums[view].certified, sums[view].epsilon(delta), sums[view].rho))
        return _name(view), view

    def rows_in_reach(self) -> list[int]:
        """Positions of the rows that count for the bound over all coalitions."""
        groups = set(self._groups)
        pairs = enumerate(zip(self._rows, self._classes, strict=True))
        return [k for k, (event, number) in pairs if (event.owner, number) in groups and event.mechanism != CLOSED]

    @property
    def assumption(self) -> str:
        """Who must collude with nobody, or with nobody who has what its key closes; ``"none"``."""
        alone = {name for _, way in self._closed if not way.keys for name in way.audience}
        keyed = [way for _, way in self._closed if way.keys and way.keys <= set(self.names) - alone]
        shares = {" and ".join(sorted(way.keys)) for way in keyed if way.audience <= way.keys}
        keys = {"+".join(sorted(way.keys)) for way in keyed if not way.audience <= way.keys}
        said = [f"{name} colludes with nobody" for name in sorted(alone)]
        said += [f"{name} (key) colludes with no receiver" for name in sorted(keys)]
        return "; ".join([*said, *(f"{names} do not collude" for names in sorted(shares))]) or "none"

    def _subsets(self) -> Iterator[frozenset[str]]:
        for size in (1, 0, *range(2, len(self.names) + 1)):
            yield from map(frozenset, combinations(self.names, size))

    def _possible(self, view: frozenset[str]) -> bool:
        """Whether a coalition leaves somebody's records out and keeps the assumptions."""
        if self._owners and self._owners <= view:
            return False
        return not any(owner not in view and reveals(frozenset([way]), view) for owner, way in self._closed)

    def _sees(self, view: frozenset[str]) -> int:
        shown = {number for number in {number for _, number in self._groups} if reveals(self._ways[number], view)}
        places = enumerate(self._groups)
        return sum(1 << place for place, (owner, number) in places if owner not in view and number in shown)

    def _sum_groups(self, mask: int) -> ViewSum:
        """`partywise.privacy.ledger.total.sum_view` of some groups, without the rows themselves."""
        tallies = dict[str, Tally]()
        for place, group in enumerate(self._tallies):
            if mask >> place & 1:
                for stratum, tally in group.items():
                    tallies.setdefault(stratum, Tally()).join(tally)
        unproved = tallies.pop(UNPROVED, None)
        everywhere = tallies.pop(EVERYBODY, Tally()).composition
        cells = by_partition({name: tally.composition for name, tally in tallies.items()})
        joint = {everywhere.merge(part) for part in joint_cells(own.values() for own in cells.values())}
        return ViewSum(tuple(sorted(joint, key=repr)), unproved is None, ())


def _closed_ways(rows: Sequence[Event], costs: Sequence[Law | float | None]) -> frozenset[tuple[str, Way]]:
    """Owner and way of everything that a coalition could open against an assumption."""
    found = set[tuple[str, Way]]()
    for event, cost in zip(rows, costs, strict=True):
        if cost != 0.0 and (event.knows or event.mechanism == CLOSED):
            if event.knows:
                found.add((event.owner, Way(frozenset(event.knows))))
            # A key that the owner holds too opens nothing of its own to others.
            if event.mechanism == CLOSED and event.owner not in event.key_holders:
                found.add((event.owner, Way(frozenset(event.audience), keys=frozenset(event.key_holders))))
    return frozenset(found)


def _group(
    rows: Sequence[Event], costs: Sequence[Law | float | None], classes: Sequence[int]
) -> Mapping[tuple[str, int], Mapping[str, Tally]]:
    """Laws of the rows of each owner and class, by stratum; ciphers, which cost what keeps the assumptions nothing."""
    counts = defaultdict[tuple[str, int, str], Counter[tuple[Law | None, float, float]]](Counter)
    for event, cost, number in zip(rows, costs, classes, strict=True):
        if isinstance(cost, Law):
            counts[event.owner, number, event.stratum][cost, event.delta_numeric, event.tv] += 1
        elif cost is None and event.mechanism != CLOSED:
            counts[event.owner, number, UNPROVED][None, 0.0, 0.0] += 1
    grouped = defaultdict[tuple[str, int], dict[str, Tally]](dict)
    for (owner, number, stratum), laws in counts.items():
        tally = grouped[owner, number][stratum] = Tally()
        for (law, numeric, tv), times in laws.items():
            if law is not None:
                tally.add(law, numeric, tv, times)
    return grouped


def _name(view: frozenset[str]) -> str:
    return "+".join(sorted(view)) or "public"
