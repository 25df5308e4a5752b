"""Append-only account of everything released, and its total per unit and per adversary view.

A view is a set of colluding parties. Its total counts the rows it may see and does not own, and those that it opens:

1. the table of units turns each row into 0, a profile, or "nothing proved";
2. the profiles of one cell of every partition and of ``"*"`` compose; the largest choice counts, because the cells of a
   partition are public and disjoint;
   where rows name the cells that they read (the folds that trained a fit), a record pays those that read its cell;
3. what the profiles do not cover (``delta_numeric``) is taken off delta;
4. one row without a proof makes ``epsilon_certified`` infinite; the proved part is shown next to it.

Gaussian rows compose without any loss, and so do finite profiles with them: see `accounting`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

from ..accounting.compose import Composition, check_delta, compose
from ..accounting.privacy_profile import PrivacyProfile
from ..strata import EVERYBODY, partition_of
from .chain import EventChain
from .coalitions import Coalitions
from .event import OF_PERSONS, POST_PROCESSING, UNNAMED, Event
from .reach import Ways, classes_of, reveals
from .total import Total, joint_cells, largest_total, sum_view, total_of, warn_of_sampling

# Positions of rows, each with its cost for whoever asks.
Seen = list[tuple[int, PrivacyProfile | float | None]]


class _Answers(TypedDict, total=False):
    """Fields of a `Total` in addition to what was composed."""

    trust: str
    colluders: int
    epsilon_public: float
    epsilon_any: float


@dataclass(frozen=True)
class OdometerReading:
    """The total after one release; ``epsilon``, at ``delta``, is inf from the first unproved release on.

    step : position of the release in its ledger
    cost : its profile as it is charged, ``"0"`` if it costs the unit nothing, ``"not proved"``
    """

    step: int
    release_id: str
    owner: str
    mechanism: str
    stratum: str
    cost: str
    epsilon: float
    delta: float


class Ledger(EventChain):
    """Rows in the order in which they were made, chained by SHA-256.

    Parameters
    ----------
    events : iterable of Event
        Rows to start from, in order.

    Examples
    --------
    >>> import partywise as pw
    >>> terms = {"unit": "features", "depends_on": {"features"}, "mu": 0.5}
    >>> events = [pw.Event(name, "hospital", "gaussian", **terms) for name in ("sum", "squares")]
    >>> ledger = pw.Ledger(events)
    >>> len(ledger), [event.release_id for event in ledger.rows]
    (2, ['sum', 'squares'])
    >>> round(ledger.total("server", "features", delta=1e-5).epsilon_certified, 2)  # of both releases together
    2.94
    >>> ledger.digest == pw.Ledger(events).digest, ledger.digest == pw.Ledger(events[::-1]).digest
    (True, False)
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        # The classes of so many rows.
        self._reach: tuple[int, list[int], list[Ways]] = 0, [], []
        super().__init__(events)

    def of_owner(self, owner: str) -> Ledger:
        """Return a ledger of the rows about the data of one owner, and of values computed from them.

        Parameters
        ----------
        owner : str

        Returns
        -------
        Ledger
            With every row that names no owner, since its data may be those of any owner.

        Examples
        --------
        >>> import partywise as pw
        >>> terms = {"unit": "features", "depends_on": {"features"}, "mu": 0.5}
        >>> ledger = pw.Ledger([pw.Event(f"sum of {name}", name, "gaussian", **terms) for name in ("north", "south")])
        >>> [row.release_id for row in ledger.of_owner("north").rows]
        ['sum of north']
        """
        rows = [row for row in self._rows if row.mechanism == POST_PROCESSING or {owner, UNNAMED} & set(row.held_by)]
        left_out = self._position.keys() - {row.release_id for row in rows}
        parents = [tuple(name for name in row.data_dependent_parameters if name not in left_out) for row in rows]
        return Ledger(replace(row, data_dependent_parameters=names) for row, names in zip(rows, parents, strict=True))

    def total(self, view: Iterable[str], unit: str, delta: float, *, rows_per_user: int | None = None) -> Total:
        """Cost of the releases for one view.

        Parameters
        ----------
        view : iterable of str
            Colluding parties; empty for the public, who see what is published. One name may be given as a string.
        unit : {"row", "label", "features", "user", "user_label"}
            What changes between neighbours.
        delta : float
            In [0, 1).
        rows_per_user : int, optional
            For the units of persons: the public largest number of rows of one person; without it only rows whose own
            unit is ``user`` are proved.

        Returns
        -------
        Total
            Infinite where the view opens what crossed closed (it has the key and a receiver of it), or a member
            knows the noise or the records behind a row: of data that the view does not own.

        Raises
        ------
        ValueError
            If the unit is unknown or ``delta`` out of range.

        Examples
        --------
        >>> import partywise as pw
        >>> features = {"unit": "features", "depends_on": {"features"}, "mu": 0.5, "audience": ("server",)}
        >>> labels = {"unit": "label", "depends_on": {"label"}, "certified": False, "audience": ("clinic",)}
        >>> ledger = pw.Ledger([pw.Event("sum", "a", "gaussian", **features), pw.Event("table", "a", "none", **labels)])
        >>> for view in ("server", "clinic", ("server", "clinic")):  # what is in the clear costs infinity
        ...     seen = [ledger.total(view, unit, delta=1e-5).epsilon_certified for unit in ("features", "label")]
        ...     print(view, [round(epsilon, 2) for epsilon in seen])
        server [1.99, 0.0]
        clinic [0.0, inf]
        ('server', 'clinic') [1.99, inf]
        """
        members = frozenset([view] if isinstance(view, str) else view)
        name, costs = "+".join(sorted(members)) or "public", self._costs(unit, rows_per_user)
        seen = [self._rows_seen(members, paid) for paid in self._paid_by_cell(costs, unit)]
        return largest_total([self._total(name, rows, unit, delta) for rows in seen])

    def worst_total(
        self,
        parties: Sequence[str],
        unit: str,
        delta: float,
        *,
        against: str = "declared",
        rows_per_user: int | None = None,
    ) -> Total:
        """The most that any coalition has learnt that keeps the assumptions of the ledger (`Total.trust`).

        Parameters
        ----------
        parties : sequence of str
            Names of all parties, places without data included.
        unit, delta, rows_per_user
            As in `total`.
        against : {"declared", "any"}
            ``"any"``: of any coalition but those with the record's own holder, without assumptions; infinite where one
            opens what crossed closed or knows the noise.

        Returns
        -------
        Total
            That of the worst coalition, with what the public and what any coalition at all have learnt
            (``epsilon_public``, ``epsilon_any``). Of more than ten parties, where no single one sees all that is within
            reach of any coalition, it is an upper bound of all of them, named ``"any coalition"``: the sum of all rows
            that others than their owner may see.

        Raises
        ------
        ValueError
            As in `total`, and if a party is named twice.

        Examples
        --------
        >>> import partywise as pw
        >>> terms = {"unit": "row", "depends_on": {"features"}, "mu": 0.5, "audience": ("server",)}
        >>> rows = [pw.Event(f"sum {name}", name, "gaussian", stratum=f"clients/{name}", **terms) for name in "ab"]
        >>> worst = pw.Ledger(rows).worst_total(("a", "b", "server"), "row", delta=1e-5)
        >>> worst.mu_upper, round(worst.epsilon_certified, 2)  # of one release: the clients hold different people
        (0.5, 1.99)
        """
        if len(set(parties)) != len(parties):
            raise ValueError(f"parties={tuple(parties)} repeats a name.")
        if against not in ("declared", "any"):
            raise ValueError(f"against={against!r} is unknown; use 'declared' or 'any'.")
        costs = self._costs(unit, rows_per_user)
        return largest_total(
            [self._worst_total(parties, paid, unit, delta, against) for paid in self._paid_by_cell(costs, unit)]
        )

    def _worst_total(
        self,
        parties: Sequence[str],
        costs: Sequence[PrivacyProfile | float | None],
        unit: str,
        delta: float,
        against: str,
    ) -> Total:
        """Return `worst_total` for a record to which the rows have these costs."""
        coalitions = Coalitions(self._rows, costs, *self._classes(), parties)
        if against == "any":
            name, reached = self._against_any(coalitions, costs, delta)
            asked: _Answers = {"colluders": coalitions.most_colluders}
        else:
            name, reached = self._worst_rows(coalitions, costs, delta, coalitions.colluders)
            asked = {"trust": coalitions.trust, "colluders": coalitions.colluders}
        total = self._total(name, reached, unit, delta)

        def epsilon(seen: Seen) -> float:
            """Epsilon of the rows that a view sees; those of the total are not composed again."""
            if seen == reached:
                return total.epsilon_certified
            view_sum = sum_view((self._rows[k], cost) for k, cost in seen)
            return view_sum.epsilon(delta) if view_sum.certified else math.inf

        public = frozenset[str]()
        is_seen = any(reveals(class_ways, public) for class_ways in self._classes()[1])
        seen = self._rows_seen(public, costs) if is_seen else []
        asked["epsilon_public"] = epsilon(seen)
        if against == "any" or not coalitions.weaker:
            asked["epsilon_any"] = total.epsilon_certified
        elif coalitions.breakable:
            asked["epsilon_any"] = math.inf
        else:
            asked["epsilon_any"] = epsilon(self._against_any(coalitions, costs, delta)[1])
        return replace(total, **asked)

    def _worst_rows(
        self, coalitions: Coalitions, costs: Sequence[PrivacyProfile | float | None], delta: float, limit: int
    ) -> tuple[str, Seen]:
        """Name, and rows with their costs, of the worst coalition of so many colluders, or of the bound over all."""
        name, members = coalitions.worst(delta, limit)
        if members is not None:
            return name, self._rows_seen(members, costs)
        return name, [(k, self._worst_cost(k, costs[k], limit)) for k in coalitions.rows_in_reach()]

    def _against_any(
        self, coalitions: Coalitions, costs: Sequence[PrivacyProfile | float | None], delta: float
    ) -> tuple[str, Seen]:
        """Return `_worst_rows` for any colluders; unproved where some open what crossed closed."""
        name, reached = self._worst_rows(coalitions, costs, delta, len(coalitions.names))
        if coalitions.breakable:
            reached = [(k, None if cost != 0.0 else cost) for k, cost in reached] or [(0, None)]
        return name, reached

    def _worst_cost(self, k: int, cost: PrivacyProfile | float | None, limit: int) -> PrivacyProfile | float | None:
        """Cost of a row against so many colluders as know most of its noise."""
        event = self._rows[k]
        if not event.shares or not isinstance(cost, PrivacyProfile):
            return cost
        largest = sorted(event.weights, key=lambda name: (-event.weights[name], name))
        return event.profile_against(cost, largest[: min(limit, len(event.owners) - 1)])

    def odometer(
        self, view: Iterable[str], unit: str, delta: float, *, rows_per_user: int | None = None
    ) -> list[OdometerReading]:
        """List what one view has learnt after each release that it counts, in the order of the ledger.

        Parameters
        ----------
        view, unit, delta, rows_per_user
            As in `total`, which is the last reading.

        Returns
        -------
        list of Reading
            Epsilons never fall. A reading is what would be certified had the releases ended there, of releases whose
            profiles were fixed in advance; where to stop, or the next budget, may only be chosen by what was seen under
            a `PrivacyFilter`.

        Raises
        ------
        ValueError
            As in `total`.

        Examples
        --------
        >>> import partywise as pw
        >>> terms = {"unit": "features", "depends_on": {"features"}, "mu": 0.5}
        >>> events = [pw.Event(name, "hospital", "gaussian", **terms) for name in ("sum", "squares")]
        >>> for reading in pw.Ledger(events).odometer("server", "features", delta=1e-5):
        ...     print(reading.release_id, f"({reading.cost})", f"epsilon {reading.epsilon:.2f}")
        sum (mu = 0.5) epsilon 1.99
        squares (mu = 0.5) epsilon 2.94
        """
        members = frozenset([view] if isinstance(view, str) else view)
        seen, rows = self._rows_seen(members, self._costs(unit, rows_per_user)), self._rows
        if unit not in OF_PERSONS:
            warn_of_sampling((rows[k], cost) for k, cost in seen)
        return list(_running_totals(((k, rows[k], cost) for k, cost in seen), delta))

    def _costs(self, unit: str, rows_per_user: int | None) -> list[PrivacyProfile | float | None]:
        return [event.cost(unit, rows_per_user) for event in self._rows]

    def _paid_by_cell(
        self, costs: Sequence[PrivacyProfile | float | None], unit: str
    ) -> list[Sequence[PrivacyProfile | float | None]]:
        """Costs of the rows to a record of each cell that some row names: of two disjoint sets it pays one.

        Replacing a record of cell c leaves a release as it was, law and all, that read other cells alone. So the
        releases that read c compose to what the record pays, and the largest such composition holds for every record;
        one in no named cell pays part of each. A person may have records in several cells and pays all rows.
        """
        named = () if unit in OF_PERSONS else (row.cells for row in self._rows if row.cells)
        cells = sorted({cell for some in named for cell in some})
        paid = [
            [
                0.0 if row.cells and _elsewhere(cell, row.cells) else cost
                for row, cost in zip(self._rows, costs, strict=True)
            ]
            for cell in cells
        ]
        return [*paid] or [costs]

    def _total(
        self,
        name: str,
        seen: Sequence[tuple[int, PrivacyProfile | float | None]],
        unit: str,
        delta: float,
    ) -> Total:
        """The answer for some rows, which warns of what it charges without credit."""
        rows = [(self._rows[k], cost) for k, cost in seen]
        if unit not in OF_PERSONS:
            warn_of_sampling(rows)
        return total_of(name, sum_view(rows), unit, delta)

    def _classes(self) -> tuple[list[int], list[Ways]]:
        """The class of every row, and the ways of each class (`reach`)."""
        if self._reach[0] != len(self._rows):
            self._reach = len(self._rows), *classes_of(self._rows, self._position)
        return self._reach[1:]

    def _rows_seen(self, view: frozenset[str], costs: Sequence[PrivacyProfile | float | None]) -> Seen:
        """Positions and costs of the rows that a view sees and does not own, the parameters of each included."""
        classes, ways = self._classes()
        visible = [reveals(class_ways, view) for class_ways in ways]
        seen = list[tuple[int, PrivacyProfile | float | None]]()
        for k, (event, number) in enumerate(zip(self._rows, classes, strict=True)):
            if view.issuperset(event.held_by):
                continue
            if event.knows and costs[k] != 0.0 and not view.isdisjoint(event.knows):
                seen.append((k, None))
            elif visible[number]:
                cost = costs[k]
                seen.append(
                    (
                        k,
                        event.profile_against(cost, view)
                        if event.shares and isinstance(cost, PrivacyProfile)
                        else cost,
                    )
                )
        return seen


def _elsewhere(cell: str, cells: Sequence[str]) -> bool:
    """Whether a record of a cell is in none of some others: they are of the same partition."""
    return cell not in cells and partition_of(cell) == partition_of(cells[0])


def _running_totals(
    rows: Iterable[tuple[int, Event, PrivacyProfile | float | None]], delta: float
) -> Iterator[OdometerReading]:
    """Running totals of the rows that a view counts, each with its position and its cost."""
    delta = check_delta(delta)
    everywhere, certified, epsilon = Composition(), True, 0.0
    partitions = defaultdict[str, dict[str, Composition]](dict)
    for step, event, cost in rows:
        if cost is None:
            certified, epsilon, cost_text = False, float("inf"), "not proved"
        elif isinstance(cost, PrivacyProfile):
            name, more, cost_text = event.stratum, compose([cost], *event.delta_terms), str(cost)
            if name == EVERYBODY:
                everywhere += more
            else:
                cells = partitions[partition_of(name)]
                cells[name] = cells.get(name, Composition()) + more
            if certified:
                # Of a partition whose cell has a release more, the other cells cost what they did.
                joint = joint_cells([cells[name]] if name in cells else cells.values() for cells in partitions.values())
                epsilon = max(epsilon, *((everywhere + part).epsilon(delta) for part in joint))
        else:
            cost_text = "0"
        yield OdometerReading(
            step, event.release_id, event.owner, event.mechanism, event.stratum, cost_text, epsilon, delta
        )
