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

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TypedDict

from ...core.checks import Scalar
from ...core.errors import CertificationError
from ...core.files import replacing
from ..accounted_values import UNPROVED
from ..accounting.privacy_profile import PrivacyProfile
from ..strata import partition_of
from .coalitions import Coalitions
from .event import CLOSED, LATER, OF_PERSONS, POST_PROCESSING, UNNAMED, Event, line_of
from .frames import Frame, frame_of
from .odometer import OdometerReading, odometer
from .reach import Ways, classes_of, reveals
from .total import Total, largest_total, sum_view, total_of, warn_of_sampling

GENESIS = "0" * 64
# Owners that a short text names.
SHOWN = 4
# Positions of rows, each with its cost for whoever asks.
Seen = list[tuple[int, PrivacyProfile | float | None]]


class _Answers(TypedDict, total=False):
    """Fields of a `Total` in addition to what was composed."""

    trust: str
    colluders: int
    epsilon_public: float
    epsilon_any: float


class Ledger:
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
        self._rows: list[Event] = []
        self._position: dict[str, int] = {}
        # Names of the proved rows that others may rest on.
        self._proved: set[str] = set()
        # How many rows the chain covers, and its end: the links between are made again where somebody asks for them.
        self._chained: tuple[int, str] = 0, GENESIS
        # The classes of so many rows.
        self._reach: tuple[int, list[int], list[Ways]] = 0, [], []
        for event in events:
            self.append(event)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        owners = list(dict.fromkeys(name for row in self._rows for name in row.held_by))
        whose = ", ".join(owners[:SHOWN]) + f" and {len(owners) - SHOWN} more" * (len(owners) > SHOWN)
        kinds = Counter({"none": "in the clear", CLOSED: "closed"}.get(row.mechanism, "released") for row in self._rows)
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), reverse=True))
        return f"Ledger of {len(self)} row{'s' * (len(self) != 1)}" + (
            f" about data of {whose}: {counts}" if owners else ""
        )

    @property
    def rows(self) -> tuple[Event, ...]:
        """All rows."""
        return tuple(self._rows)

    def append(self, event: Event) -> Event:
        """Add a row, or recognise a release that is already there.

        Parameters
        ----------
        event : Event
            Parameters taken from data must already have their own proved row; otherwise the new row is stored as
            uncertified: silence is never read as safety.

        Returns
        -------
        Event
            The row as stored.

        Raises
        ------
        TypeError
            If it is not an event.
        CertificationError
            If the event's profile cannot be composed, its release id belongs to a different release, or it is computed
            from a release that has no row.

        Examples
        --------
        >>> import partywise as pw
        >>> terms = {"unit": "features", "depends_on": {"features"}}
        >>> ledger, event = pw.Ledger(), pw.Event("sum", "hospital", "gaussian", mu=0.5, **terms)
        >>> ledger.append(event) is ledger.append(event), len(ledger)  # sent twice, drawn once
        (True, 1)
        >>> other = pw.Event("sum", "hospital", "gaussian", mu=0.6, **terms)
        >>> ledger.append(other)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        partywise.core.errors.CertificationError: release_id='sum' is in the ledger with another value or guarantee...
        """
        if not isinstance(event, Event):
            raise TypeError(f"a ledger takes Event rows, got {type(event).__name__}.")
        event.require_composable()
        position = self._position.get(event.release_id)
        if position is not None:
            stored = self._rows[position]
            if stored is event or stored is event.without_proof:
                return stored
            if replace(event, certified=stored.certified and event.certified) != stored:
                raise CertificationError(
                    f"release_id={event.release_id!r} is in the ledger with another value or guarantee; "
                    "a new draw of noise needs a new release_id."
                )
            return stored
        if event.mechanism == POST_PROCESSING:
            self._require_rows(event)
        if event.certified and not self._proved.issuperset(event.data_dependent_parameters):
            event = event.without_proof
        # Whoever names a release so would have what rests on any value in the clear count as proved.
        if event.certified and event.release_id != UNPROVED:
            self._proved.add(event.release_id)
        self._position[event.release_id] = len(self._rows)
        self._rows.append(event)
        return event

    def holds(self, event: Event) -> bool:
        """Whether a release has its row.

        Parameters
        ----------
        event : Event

        Returns
        -------
        bool

        Examples
        --------
        >>> import partywise as pw
        >>> event = pw.Event("sum", "hospital", "gaussian", unit="features", depends_on={"features"}, mu=0.5)
        >>> pw.Ledger().holds(event), pw.Ledger([event]).holds(event)
        (False, True)
        """
        position = self._position.get(event.release_id)
        stored = None if position is None else self._rows[position]
        return stored is not None and (stored is event or stored in (event, event.without_proof))

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

    def _require_rows(self, event: Event) -> None:
        missing = [name for name in event.data_dependent_parameters if name not in self._position]
        if missing:
            raise CertificationError(
                f"{event.release_id!r} of {event.owner!r} is computed from {missing[0]!r}, which has no row in this "
                "ledger: send the release first, or send the value as Clear(units=...)."
            )

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
        return list(odometer(((k, rows[k], cost) for k, cost in seen), delta))

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

    @property
    def digest(self) -> str:
        """SHA-256 of the whole chain; it changes if a row is removed, altered or moved."""
        count, last = self._chained
        for event in self._rows[count:]:
            last = _link(last, event.line)
        self._chained = len(self._rows), last
        return last

    def to_rows(self) -> list[dict[str, Scalar]]:
        """Flat rows with their step and their links of the hash chain.

        Returns
        -------
        list of dict
            As of `Event.to_row`, with ``step``, ``prev_hash`` and ``hash``.

        Examples
        --------
        >>> import partywise as pw
        >>> terms = {"unit": "features", "depends_on": {"features"}, "mu": 0.5}
        >>> ledger = pw.Ledger([pw.Event(name, "hospital", "gaussian", **terms) for name in ("sum", "squares")])
        >>> first, second = ledger.to_rows()
        >>> second["step"], second["release_id"], second["prev_hash"] == first["hash"]
        (1, 'squares', True)
        """
        rows, last = [], GENESIS
        for k, event in enumerate(self._rows):
            row = event.to_row()
            link = _link(last, line_of(row))
            rows.append({"step": k, **row, "prev_hash": last, "hash": link})
            last = link
        self._chained = len(self._rows), last
        return rows

    def to_frame(self) -> Frame:
        """One row for each release, value in the clear or closed value: the columns of `to_rows`.

        Raises
        ------
        ImportError
            Without pandas; `to_rows` needs none.

        Examples
        --------
        >>> # Needs pandas.
        >>> import partywise as pw
        >>> total = pw.record_sum([[1.0], [3.0]], pw.Public(4.0, because="upper limit of the assay"))
        >>> release = pw.Gaussian(mu=0.5)(total, pw.stream(1, "noise"), owner="hospital", release_id="sum")
        >>> pw.Ledger([release.event]).to_frame()[["release_id", "owner", "mu"]].to_dict("records")
        [{'release_id': 'sum', 'owner': 'hospital', 'mu': 0.5}]
        """
        return frame_of(self.to_rows(), ["step", *(column.name for column in fields(Event)), "prev_hash", "hash"])

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, object]]) -> Ledger:
        """Rebuild a ledger from `to_rows`.

        Parameters
        ----------
        rows : iterable of mapping

        Returns
        -------
        Ledger

        Raises
        ------
        CertificationError
            If a row was altered, moved or removed from the middle; compare the end with `verify`.

        Examples
        --------
        >>> import partywise as pw
        >>> terms = {"unit": "features", "depends_on": {"features"}, "mu": 0.5}
        >>> ledger = pw.Ledger([pw.Event(name, "hospital", "gaussian", **terms) for name in ("sum", "squares")])
        >>> first, second = ledger.to_rows()
        >>> pw.Ledger.from_rows([first | {"mu": 0.1}, second])  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        partywise.core.errors.CertificationError: row 0 of the ledger does not continue its hash chain...
        """
        rows = [dict(row) for row in rows]
        ledger = cls(Event.from_row(row) for row in rows)
        for k, (stored, computed) in enumerate(zip(rows, ledger.to_rows(), strict=False)):
            if (stored["prev_hash"], stored["hash"]) != (computed["prev_hash"], computed["hash"]):
                raise CertificationError(f"row {k} of the ledger does not continue its hash chain: it was altered.")
        if len(ledger) != len(rows):
            raise CertificationError("the rows of the ledger repeat a release; each release is one row.")
        return ledger

    def verify(self, digest: str) -> None:
        """Check that the chain ends in a digest that was noted before.

        Parameters
        ----------
        digest : str

        Raises
        ------
        CertificationError
            If it ends in another one.

        Examples
        --------
        >>> import partywise as pw
        >>> terms = {"unit": "features", "depends_on": {"features"}, "mu": 0.5}
        >>> ledger = pw.Ledger([pw.Event(name, "hospital", "gaussian", **terms) for name in ("sum", "squares")])
        >>> ledger.verify(ledger.digest)
        >>> pw.Ledger(ledger.rows[:1]).verify(ledger.digest)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        partywise.core.errors.CertificationError: the ledger ends in digest...
        """
        if digest != self.digest:
            raise CertificationError(
                f"the ledger ends in digest {self.digest[:16]}..., expected {digest[:16]}...: rows were altered, "
                "moved, added or removed."
            )

    def write(self, path: Path | str) -> str:
        """Write the rows as JSON lines, each with its links of the hash chain.

        Parameters
        ----------
        path : Path or str

        Returns
        -------
        str
            The digest. Note it elsewhere: rows cut off at the end of the file are seen by nothing else.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import partywise as pw
        >>> ledger = pw.Ledger([pw.Event("sum", "hospital", "gaussian", "features", {"features"}, mu=0.5)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "ledger.jsonl")
        ...     print(ledger.write(path) == ledger.digest, len(path.read_text().splitlines()))
        True 1
        """
        with replacing(path) as temporary:
            temporary.write_text("".join(_line(row) + "\n" for row in self.to_rows()), encoding="utf-8")
        return self.digest

    @classmethod
    def read(cls, path: Path | str, digest: str | None = None) -> Ledger:
        """Read what `write` wrote.

        Parameters
        ----------
        path : Path or str
        digest : str, optional
            What `write` returned.

        Returns
        -------
        Ledger

        Raises
        ------
        CertificationError
            If a row was altered, moved, added or removed; at the end of the file only if ``digest`` is given.

        Examples
        --------
        >>> import tempfile
        >>> import partywise as pw
        >>> ledger = pw.Ledger([pw.Event("sum", "hospital", "gaussian", "features", {"features"}, mu=0.5)])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     digest = ledger.write(f"{folder}/ledger.jsonl")
        ...     again = pw.Ledger.read(f"{folder}/ledger.jsonl", digest)
        >>> again.rows == ledger.rows
        True
        """
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        try:
            ledger = cls.from_rows(map(json.loads, lines))
        except CertificationError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise CertificationError(f"{path} holds a row that no ledger wrote ({error}): it was altered.") from error
        if [_line(row) for row in ledger.to_rows()] != lines:
            raise CertificationError(f"{path} differs from the ledger that its rows make: it was altered.")
        if digest is not None:
            ledger.verify(digest)
        return ledger


def _elsewhere(cell: str, cells: Sequence[str]) -> bool:
    """Whether a record of a cell is in none of some others: they are of the same partition."""
    return cell not in cells and partition_of(cell) == partition_of(cells[0])


def _link(last: str, line: str) -> str:
    """The link of the hash chain of a row, as JSON, after the last one."""
    return hashlib.sha256((last + line).encode()).hexdigest()


def _line(row: Mapping[str, object]) -> str:
    row = {name: value for name, value in row.items() if value or name not in LATER}
    return json.dumps(row, sort_keys=True, separators=(",", ":"))
