"""The default views of a ledger, summed without reading every row again for every view.

With K parties there are about 2 K views, and two of them differ by the rows that their members own and by what is for
one of them alone.  What all have in common is summed once (`Tally`), and a view takes out and adds its difference; so
time and memory grow with rows and parties, not with their product.  Sums are exact: they are those of `sum_view`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import islice

from ..accounting.compose import Composition
from ..accounting.law import Law
from ..accounting.tally import Tally
from .event import Event
from .reach import Ways, classes_of, rest_sees, sees
from .total import ViewSum

__all__ = ["sum_views"]

# Of a row of which nothing is proved: it is in no stratum, and counts in its view.
UNPROVED = ""
# A class that more parties have to do with is summed once for all of them.
FEW = 3
Tallies = dict[str, Tally]


def sum_views(
    rows: Sequence[Event],
    costs: Sequence[Law | float | None],
    position: Mapping[str, int],
    views: Mapping[str, tuple[str, str]],
    parties: Sequence[str],
) -> dict[str, ViewSum]:
    """`sum_view` of the rows that each view sees, without the rows themselves (``counted`` is empty).

    Of strata that hold Gaussians alone only the largest is kept: no other one decides which view is the worst.

    Parameters
    ----------
    rows, costs : sequences
        Of a ledger, with the cost of each row for the unit that is asked about.
    position : mapping
        Place of each release among the rows.
    views : mapping
        Name -> (kind, party) as in `named_views` of the parties.
    """
    sums, made = _Sums(rows, costs, position, frozenset(parties)), dict[tuple[frozenset[Composition], bool], ViewSum]()
    kinds: dict[str, Callable[[str], tuple[frozenset[Composition], bool]]]
    kinds = {"one": sums.of_one, "rest": sums.of_rest, "public": sums.of_public}

    def summed(kind: str, party: str) -> ViewSum:
        strata, proved = kinds[kind](party)
        # Views of clients of one size cost the same: one object stands for all of them.
        if (strata, proved) not in made:
            made[strata, proved] = ViewSum(tuple(sorted(strata, key=repr)), proved, ())
        return made[strata, proved]

    return {name: summed(*view) for name, view in views.items()}


class _Sums:
    """Rows by owner, class and stratum, and the sums of what many views see."""

    def __init__(
        self,
        rows: Sequence[Event],
        costs: Sequence[Law | float | None],
        position: Mapping[str, int],
        names: frozenset[str],
    ) -> None:
        of, self.classes = classes_of(rows, position)
        self.names, self.open = names, [any("*" in audience for audience, _ in ways) for ways in self.classes]
        self.by_owner, self.by_class = defaultdict[str, dict[int, Tallies]](dict), dict[int, Tallies]()
        for (owner, number), tallies in _grouped(rows, costs, of).items():
            self.by_owner[owner][number] = tallies
            _join(self.by_class.setdefault(number, {}), tallies)
        self.outside = [owner for owner in self.by_owner if owner not in names]
        self.narrow, self.wide = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for number in self.by_class:
            named = _named(self.classes[number]) & names
            for name in named:
                (self.wide if len(named) > FEW else self.narrow)[name].append(number)
        self.common = dict[frozenset[int], _Common]()

    def of_public(self, _: str = "") -> tuple[frozenset[Composition], bool]:
        """What is for everybody."""
        return self._of_many(frozenset()).without({})

    def of_one(self, name: str) -> tuple[frozenset[Composition], bool]:
        """What one party sees: what everybody does, its own rows apart, and what is for it."""
        other = self._unlike_public(name, self.wide[name])
        change: Tallies = {}
        for number in self._unlike_public(name, self.narrow[name]):
            _join(change, self.by_class[number], -1 if self.open[number] else 1)
        for number, tallies in self.by_owner.get(name, {}).items():
            if sees(self.classes[number], name):
                _join(change, tallies, -1)
        return self._of_many(other).without(change)

    def of_rest(self, name: str) -> tuple[frozenset[Composition], bool]:
        """What all others together see: the rows of one party, and those of owners that are no party."""
        seen: Tallies = {}
        for owner in (name, *self.outside):
            for number, tallies in self.by_owner.get(owner, {}).items():
                if rest_sees(self.classes[number], name, self.names):
                    _join(seen, tallies)
        return _Common(seen).without({})

    def _unlike_public(self, name: str, numbers: Iterable[int]) -> frozenset[int]:
        return frozenset(number for number in numbers if sees(self.classes[number], name) != self.open[number])

    def _of_many(self, other: frozenset[int]) -> _Common:
        """Sums of what everybody sees, but for some classes where it is the other way round."""
        if other not in self.common:
            seen: Tallies = {}
            for number, tallies in self.by_class.items():
                if self.open[number] != (number in other):
                    _join(seen, tallies)
            self.common[other] = _Common(seen)
        return self.common[other]


class _Common:
    """Strata that several views have in common, each summed once."""

    def __init__(self, tallies: Tallies) -> None:
        self.tallies = tallies
        self.joined = dict[tuple[Composition, frozenset[Composition]], frozenset[Composition]]()

    @cached_property
    def parts(self) -> dict[str, Composition]:
        """Composition of every stratum but ``"*"``."""
        return {name: tally.composition for name, tally in self.tallies.items() if name not in ("*", UNPROVED)}

    @cached_property
    def counts(self) -> Counter[Composition]:
        """How many strata have each composition."""
        return Counter(self.parts.values())

    @cached_property
    def gaussians(self) -> list[Composition]:
        """Different compositions of Gaussians alone, the largest first."""
        return sorted((part for part in self.counts if part.gaussian), key=lambda part: -part.mu_squared)

    @cached_property
    def others(self) -> list[Composition]:
        """Different compositions with other laws."""
        return [part for part in self.counts if not part.gaussian]

    def without(self, change: Tallies) -> tuple[frozenset[Composition], bool]:
        """Strata after a change, each joined with what is about everybody, and whether all rows are proved."""
        tallies = {name: self._changed(name, change) for name in change}
        everywhere, unproved = (tallies.pop(name, None) or self.tallies.get(name) for name in ("*", UNPROVED))
        whole = everywhere.composition if everywhere else Composition()
        left = Counter(self.parts[name] for name in tallies if name in self.parts)
        parts = {tally.composition for tally in tallies.values() if tally.rows}
        present = (part for part in self.gaussians if self.counts[part] > left[part])
        parts.update(islice(present, 1 if whole.gaussian else None))
        parts.update(part for part in self.others if self.counts[part] > left[part])
        key = whole, frozenset(parts)
        if key not in self.joined:
            self.joined[key] = frozenset(whole.joined(part) for part in parts) or frozenset([whole])
        return self.joined[key], not (unproved and unproved.rows)

    def _changed(self, name: str, change: Tallies) -> Tally:
        """A stratum with its change."""
        if name not in self.tallies:
            return change[name]
        changed = Tally()
        changed.join(self.tallies[name])
        changed.join(change[name])
        return changed


def _grouped(
    rows: Sequence[Event], costs: Sequence[Law | float | None], of: Sequence[int]
) -> dict[tuple[str, int], Tallies]:
    """Laws of the rows of each owner and class, by stratum."""
    counts = defaultdict[tuple[str, int, str], Counter[tuple[Law | None, float]]](Counter)
    for event, cost, number in zip(rows, costs, of, strict=True):
        if isinstance(cost, Law):
            counts[event.owner, number, event.stratum][cost, event.delta_numeric] += 1
        elif cost is None:
            counts[event.owner, number, UNPROVED][None, 0.0] += 1
    grouped = defaultdict[tuple[str, int], Tallies](dict)
    for (owner, number, stratum), laws in counts.items():
        tally = grouped[owner, number][stratum] = Tally()
        for (law, numeric), times in laws.items():
            tally.add(law, numeric, times)
    return grouped


def _join(into: Tallies, tallies: Tallies, sign: int = 1) -> None:
    for name, tally in tallies.items():
        if name not in into:
            into[name] = Tally()
        into[name].join(tally, sign)


def _named(ways: Ways) -> frozenset[str]:
    return frozenset[str]().union(*(names for way in ways for names in way))
