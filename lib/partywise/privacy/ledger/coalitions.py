"""The coalition that learns most, of all that keep the assumptions of a ledger.

A coalition is any set of names.  It counts the rows that it sees and does not own, so that it is asked about the
records of those outside of it; one that holds all owners of records has nothing left to learn.  Two assumptions are
stated by the rows themselves: places that know the noise or the records behind a row (``knows``) do not collude, and
neither does the holder of a key with those who have what it closes.  A coalition that breaks one opens what was closed,
and nothing is proved against it.

Sums over rows grow with the rows: a set of rows that another one holds costs no more.  So a coalition that sees all
rows within reach of any is the worst, and of few names (`FEW`) only those that see most are summed.  With more,
where no coalition sees all, the sum of all rows within reach is an upper bound.

Where several parties each add a share of the noise, what a row costs depends on whose shares a coalition knows: the
third assumption, that so many of them collude at most.  Each coalition that keeps it is summed then.
"""

from __future__ import annotations

import functools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from ..accounting.compose import Composition, arrange
from ..accounting.privacy_profile import PrivacyProfile
from ..strata import EVERYBODY
from .event import CLOSED, Event
from .reach import Way, Ways, reveals, within_reach
from .total import ViewSum, by_partition, joint_cells

# All coalitions of so many names are asked about one by one.
FEW = 10
# What a coalition sees: a bit for each group of rows, and the profiles of rows with shares as it pays them.
Sight = tuple[int, tuple[PrivacyProfile | None, ...]]
# Name of the bound over all coalitions.
ANYBODY = "any coalition"
# Of a row of which nothing is proved: it is in no stratum, and counts in its view.
UNPROVED = ""
# Every float is a whole number of these steps (2^-1074); no sum of finite floats that a machine holds is INFINITE.
STEPS = 1 << 1074
INFINITE = 1 << 4096


class Coalitions:
    """The rows of a ledger, with classes and ways (`classes_of`), as coalitions of some names see them.

    ``costs`` are those of each row for the one unit that is asked about; ``names`` is everyone who may be in a
    coalition.
    """

    def __init__(
        self,
        rows: Sequence[Event],
        costs: Sequence[PrivacyProfile | float | None],
        classes: Sequence[int],
        ways: Sequence[Ways],
        names: Sequence[str],
    ) -> None:
        self.names, self._rows, self._costs, self._classes, self._ways = tuple(names), rows, costs, classes, ways
        known, self._closed = frozenset(names), _closed_ways(rows, costs)
        self._encrypting = _encryption_keys(rows, costs)
        # Rows whose cost depends on who asks; few.
        self._shared = [k for k, event in enumerate(rows) if event.shares and costs[k] != 0.0]
        grouped = _group(rows, costs, classes)
        # Rows of the same owners and class are seen together: a coalition is what it sees, one bit each.
        self._groups = [key for key in grouped if within_reach(ways[key[1]], key[0], known)]
        self._tallies = [grouped[key] for key in self._groups]
        holding = {name for owners, _ in grouped for name in owners} | {owner for owner, _ in self._closed}
        self._sums = dict[Sight, ViewSum]()
        self._owners = known & holding.union(*(rows[k].owners for k in self._shared))

    @property
    def colluders(self) -> int:
        """Number of parties with data that may join what they know: the least over the rows, else all but one."""
        return min((self._rows[k].colluders for k in self._shared), default=self.most_colluders)

    @property
    def most_colluders(self) -> int:
        """Number of parties with data that can join: all but the one that owns the records."""
        return max(len(self._owners) - 1, 0)

    @property
    def weaker(self) -> bool:
        """Whether some coalition that does not keep the assumptions may learn more than those that do."""
        return self.breakable or self.colluders < self.most_colluders

    @functools.cached_property
    def breakable(self) -> bool:
        """Whether some coalition that leaves an owner's records out opens what an assumption keeps closed."""
        ends = [(owner, way, frozenset(self.names) - {owner}) for owner, way in self._closed]
        return any(reveals(frozenset([way]), view) for _, way, view in ends)

    def worst(self, delta: float, colluders: int) -> tuple[str, frozenset[str] | None]:
        """Name and members of the coalition that learns most; the bound over all of them has a name only.

        Of coalitions that see the same the first one: a single place, the public alone, then more together.
        """
        owning = {name for owners, _ in self._groups for name in owners}
        singles = [frozenset([name]) for name in self.names if name not in owning] + [frozenset[str]()]
        for view in singles if not self._shared else ():
            if all(reveals(self._ways[number], view) for _, number in self._groups) and self._possible(view):
                return _name(view), view
        if len(self.names) > FEW:
            return ANYBODY, None
        seen = dict[Sight, frozenset[str]]()
        for number, sight, view in self._sights:
            if number <= colluders:
                seen.setdefault(sight, view)
        masks = {mask for mask, profiles in seen if not any(profiles)}
        most = [
            (mask, profiles)
            for mask, profiles in seen
            if any(profiles) or not any(mask != other and mask & other == mask for other in masks)
        ]
        for key in most:
            if key not in self._sums:
                self._sums[key] = self._sum_groups(*key)
        sums = {seen[key]: self._sums[key] for key in most}
        if all(view_sum.gaussian for view_sum in sums.values()):
            view = max(sums, key=lambda view: (not sums[view].certified, sums[view].mu))
        else:
            view = max(sums, key=lambda view: (not sums[view].certified, sums[view].epsilon(delta), sums[view].rho))
        return _name(view), view

    def rows_in_reach(self) -> list[int]:
        """Positions of the rows that count for the bound over all coalitions."""
        groups, shared = set(self._groups), set(self._shared)
        pairs = enumerate(zip(self._rows, self._classes, strict=True))
        return [
            k
            for k, (event, number) in pairs
            if k in shared or ((event.held_by, number) in groups and event.mechanism != CLOSED)
        ]

    @property
    def trust(self) -> str:
        """Name the parties that must not collude, and the keys that must hold; ``"nobody"`` if there are none."""
        alone = {name for _, way in self._closed if not way.keys for name in way.audience}
        keyed = [way for _, way in self._closed if way.keys and way.keys <= set(self.names) - alone]
        shares = {" and ".join(sorted(way.keys)) for way in keyed if way.audience <= way.keys}
        keys = {"+".join(sorted(way.keys)) for way in keyed if not way.audience <= way.keys}
        assumptions = [f"{name} does not collude" for name in sorted(alone)]
        if self._shared:
            number = self.colluders + 1
            assumptions.append(f"no {'two' if number == 2 else number} parties join their knowledge")
        assumptions += [f"{name} (key) colludes with no receiver" for name in sorted(keys)]
        assumptions += [f"{names} do not collude" for names in sorted(shares)]
        if holders := sorted(self._encrypting & set(self.names)):
            owners = " and ".join(filter(None, (", ".join(holders[:-1]), holders[-1])))
            plural = "s" if len(holders) > 1 else ""
            assumptions.append(f"encryption under the key{plural} of {owners} holds (a computational assumption)")
        return "; ".join(assumptions) or "nobody"

    @functools.cached_property
    def _sights(self) -> list[tuple[int, Sight, frozenset[str]]]:
        """Coalitions that open nothing closed: the number of members with data, what they see, the members."""
        views = filter(self._possible, self._subsets())
        return [(len(view & self._owners), (self._sees(view), self._shares_against(view)), view) for view in views]

    def _subsets(self) -> Iterator[frozenset[str]]:
        for size in (1, 0, *range(2, len(self.names) + 1)):
            yield from map(frozenset, combinations(self.names, size))

    def _possible(self, view: frozenset[str]) -> bool:
        """Whether a coalition leaves an owner's records out and keeps the assumptions."""
        if self._owners and self._owners <= view:
            return False
        return not any(owner not in view and reveals(frozenset([way]), view) for owner, way in self._closed)

    def _shares_against(self, view: frozenset[str]) -> tuple[PrivacyProfile | None, ...]:
        """The profiles of rows with shares of the noise, as a view pays them; None for what it does not see or owns."""
        profiles = list[PrivacyProfile | None]()
        # Rounds of one protocol are alike: each profile is worked out once.
        against = dict[tuple[PrivacyProfile, tuple[tuple[str, str], ...]], PrivacyProfile]()
        for k in self._shared:
            event, cost = self._rows[k], self._costs[k]
            if not isinstance(cost, PrivacyProfile) or view >= set(event.owners) or not self._is_seen(k, view):
                profiles.append(None)
                continue
            alike = cost, event.shares
            if alike not in against:
                against[alike] = event.profile_against(cost, view)
            profiles.append(against[alike])
        return tuple(profiles)

    def _is_seen(self, k: int, view: frozenset[str]) -> bool:
        return reveals(self._ways[self._classes[k]], view)

    def _sees(self, view: frozenset[str]) -> int:
        visible = {number for number in {number for _, number in self._groups} if reveals(self._ways[number], view)}
        places = enumerate(self._groups)
        return sum(1 << k for k, (owners, number) in places if number in visible and not view.issuperset(owners))

    def _sum_groups(self, mask: int, shares: Sequence[PrivacyProfile | None]) -> ViewSum:
        """`partywise.privacy.ledger.total.sum_view` of some groups, without the rows themselves."""
        tallies = dict[str, Tally]()
        for k, profile in zip(self._shared, shares, strict=True):
            if profile is not None:
                event = self._rows[k]
                tallies.setdefault(event.stratum, Tally()).add(profile, *event.delta_terms)
        for place, group in enumerate(self._tallies):
            if mask >> place & 1:
                for stratum, tally in group.items():
                    tallies.setdefault(stratum, Tally()).join(tally)
        unproved = tallies.pop(UNPROVED, None)
        everywhere = tallies.pop(EVERYBODY, Tally()).composition
        cells = by_partition({name: tally.composition for name, tally in tallies.items()})
        joint = {everywhere.merge(part) for part in joint_cells(partition.values() for partition in cells.values())}
        return ViewSum(tuple(sorted(joint, key=repr)), unproved is None, ())


def _closed_ways(rows: Sequence[Event], costs: Sequence[PrivacyProfile | float | None]) -> frozenset[tuple[str, Way]]:
    """Owner and way of everything that a coalition could open against an assumption."""
    ways = set[tuple[str, Way]]()
    for event, cost in zip(rows, costs, strict=True):
        if cost != 0.0 and (event.knows or event.mechanism == CLOSED):
            if event.knows:
                ways.add((event.owner, Way(frozenset(event.knows))))
            # A key that the owner holds too opens nothing of its own to others.
            if event.mechanism == CLOSED and event.owner not in event.key_holders:
                ways.add((event.owner, Way(frozenset(event.audience), keys=frozenset(event.key_holders))))
    return frozenset(ways)


def _encryption_keys(rows: Sequence[Event], costs: Sequence[PrivacyProfile | float | None]) -> frozenset[str]:
    """Holders of the keys that alone keep something from its receivers; shares keep it from any computation."""
    pairs = zip(rows, costs, strict=True)
    closed = [event for event, cost in pairs if event.mechanism == CLOSED and cost != 0.0 and not event.knows]
    return frozenset(event.key_holders[0] for event in closed if len(event.key_holders) == 1)


def _group(
    rows: Sequence[Event], costs: Sequence[PrivacyProfile | float | None], classes: Sequence[int]
) -> Mapping[tuple[tuple[str, ...], int], Mapping[str, Tally]]:
    """Profiles of rows of the same owners and class, by stratum; ciphers cost what keeps the assumptions nothing."""
    counts = defaultdict[tuple[tuple[str, ...], int, str], Counter[tuple[PrivacyProfile | None, float, float]]](Counter)
    for event, cost, number in zip(rows, costs, classes, strict=True):
        if isinstance(cost, PrivacyProfile) and event.shares:
            continue
        if isinstance(cost, PrivacyProfile):
            counts[event.held_by, number, event.stratum][cost, *event.delta_terms] += 1
        elif cost is None and event.mechanism != CLOSED:
            counts[event.held_by, number, UNPROVED][None, 0.0, 0.0] += 1
    grouped = defaultdict[tuple[tuple[str, ...], int], dict[str, Tally]](dict)
    for (owners, number, stratum), profiles in counts.items():
        tally = grouped[owners, number][stratum] = Tally()
        for (profile, numeric, tv), times in profiles.items():
            if profile is not None:
                tally.add(profile, numeric, tv, times)
    return grouped


def _name(view: frozenset[str]) -> str:
    return "+".join(sorted(view)) or "public"


class Tally:
    """A multiset of profiles, as whole numbers that are added without rounding.

    ``composition`` rounds once, as `compose` does of the same profiles: it is the same to the last bit.
    """

    __slots__ = ("finite", "numeric", "picks", "rho", "sampled", "squares", "tv")

    def __init__(self) -> None:
        self.squares = self.rho = self.numeric = self.tv = 0
        self.finite: dict[tuple[float, int | None], int] = {}
        self.sampled: dict[tuple[float, float], int] = {}
        self.picks: dict[float, int] = {}

    def add(self, profile: PrivacyProfile, numeric: float = 0.0, tv: float = 0.0, times: int = 1) -> None:
        """Count a profile so many times."""
        if numeric:
            self.numeric += times * _steps(numeric)
        if tv:
            self.tv += times * _steps(tv)
        square = profile.mu_squared
        if square is not None:
            self.squares += times * _steps(square)
        elif profile.free:
            return
        elif profile.rho is not None:
            self.rho += times * _steps(profile.count * profile.rho)
        elif profile.range is not None:
            self.picks[profile.range] = self.picks.get(profile.range, 0) + times * profile.count
        elif profile.epsilon is not None:
            # Two outcomes are what a pure profile is dominated by.
            key = profile.epsilon, None if profile.k == 2 else profile.k
            self.finite[key] = self.finite.get(key, 0) + times * profile.count
        elif profile.mu is not None:
            self.sampled[profile.mu, profile.rate] = (
                self.sampled.get((profile.mu, profile.rate), 0) + times * profile.count
            )

    def join(self, other: Tally) -> None:
        """Add another tally."""
        self.squares += other.squares
        self.rho += other.rho
        self.numeric += other.numeric
        self.tv += other.tv
        for pure, count in other.finite.items():
            self.finite[pure] = self.finite.get(pure, 0) + count
        for drawn, count in other.sampled.items():
            self.sampled[drawn] = self.sampled.get(drawn, 0) + count
        for reach, count in other.picks.items():
            self.picks[reach] = self.picks.get(reach, 0) + count

    @property
    def composition(self) -> Composition:
        """All profiles as one `Composition`."""
        squares, rho, numeric, tv = map(_round, (self.squares, self.rho, self.numeric, self.tv))
        if not (self.finite or self.sampled or self.picks):
            return Composition(squares, rho, delta_numeric=numeric, tv=tv)
        return arrange(squares, rho, self.finite, self.sampled, numeric, tv, self.picks)


def _steps(value: float) -> int:
    try:
        numerator, denominator = float(value).as_integer_ratio()
    except OverflowError:
        return INFINITE
    return numerator * (STEPS // denominator)


def _round(steps: int) -> float:
    """The nearest float, as an exactly rounded sum has it; infinite where it would overflow."""
    if not steps:
        return 0.0
    try:
        return math.inf if steps >= INFINITE else steps / STEPS
    except OverflowError:
        return math.inf
