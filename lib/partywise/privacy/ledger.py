"""Append-only account of everything released, and its total per unit and per adversary view.

A view is a set of colluding parties. Its total counts the rows it may see and does not own:

1. the table of units turns each row into 0, a mu, or "nothing proved";
2. rows of one stratum and the rows of ``"*"`` add (mu squared); the largest stratum counts, because strata are
   public and disjoint;
3. one row without a proof makes ``epsilon_certified`` infinite; the proved part is shown beside it;
4. otherwise epsilon(mu, delta) is the exact Gaussian curve, with no loss from composition.
"""

import functools
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from partywise.errors import CertificationError
from partywise.privacy.calibration import gaussian_epsilon, rho_from_mu, simple_zcdp_epsilon
from partywise.privacy.event import Event, clear_event

__all__ = ["Event", "Ledger", "Total", "clear_event", "default_views"]

GENESIS = "0" * 64


@dataclass(frozen=True)
class Total:
    """What one view has learnt about one unit.

    Parameters
    ----------
    epsilon_certified : float
        Proved epsilon at ``delta``; inf if any row is unproved.
    epsilon_certified_part : float
        The same for the proved rows alone.
    eps_simple : float
        rho + 2 sqrt(rho log(1/delta)) with ``rho_total``, for comparison.
    mu_total, rho_total : float
        Composed parameters; inf with ``epsilon_certified``.
    delta : float
    n_releases : int
        Rows that count.
    certified : bool
        Whether every row that counts is proved.
    view_worst : str
        Name of the view.
    unit, relation : str
        What changes between neighbours, and how.
    trust_model, sampler : str
        Of the rows that count, joined by ``;``; ``"none"`` if there is none.
    """

    epsilon_certified: float
    epsilon_certified_part: float
    eps_simple: float
    mu_total: float
    rho_total: float
    delta: float
    n_releases: int
    certified: bool
    view_worst: str
    unit: str
    relation: str
    trust_model: str
    sampler: str


@dataclass(frozen=True)
class _Sum:
    """Composition of one view before it is turned into an epsilon."""

    mu: float
    certified: bool
    counted: tuple[Event, ...]


class Ledger:
    """Rows in the order in which they were made, chained by SHA-256.

    Parameters
    ----------
    events : iterable of Event
        Rows to start from, in order.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._rows: list[Event] = []
        self._position: dict[str, int] = {}
        self._hashes: list[str] = []
        for event in events:
            self.append(event)

    def __len__(self) -> int:
        return len(self._rows)

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
        CertificationError
            If the event's law cannot be composed, or its release id belongs to a different release.
        """
        if not isinstance(event, Event):
            raise TypeError(f"a ledger takes Event rows, got {type(event).__name__}.")
        event.require_composable()
        position = self._position.get(event.release_id)
        if position is not None:
            stored = self._rows[position]
            if replace(event, certified=stored.certified and event.certified) != stored:
                raise CertificationError(
                    f"release_id={event.release_id!r} is in the ledger with another value or guarantee; "
                    "a new draw of noise needs a new release_id."
                )
            return stored
        if event.certified and not all(self._proved(name) for name in event.data_dependent_parameters):
            event = replace(event, certified=False)
        self._position[event.release_id] = len(self._rows)
        self._rows.append(event)
        return event

    def _proved(self, release_id: str) -> bool:
        position = self._position.get(release_id)
        return position is not None and self._rows[position].certified

    def total(self, view: Iterable[str], unit: str, delta: float) -> Total:
        """Cost of the releases for one view.

        Parameters
        ----------
        view : iterable of str
            Colluding parties; empty for the public, who see what is published. One name may be given as a string.
        unit : {"row", "label", "features"}
            What changes between neighbours.
        delta : float
            In [0, 1).

        Returns
        -------
        Total

        Raises
        ------
        ValueError
            If the unit is unknown or ``delta`` out of range.
        """
        members = frozenset([view] if isinstance(view, str) else view)
        name = "+".join(sorted(members)) or "public"
        return _total(name, self._sum(members, self._costs(unit)), unit, delta)

    def worst_total(self, parties: Sequence[str], unit: str, delta: float) -> Total:
        """The most expensive of the `default_views` of the parties; the first of equals.

        Parameters
        ----------
        parties : sequence of str
            Names of all parties, a server included.
        unit, delta
            As in `total`.
        """
        costs = self._costs(unit)
        sums = {name: self._sum(view, costs) for name, view in default_views(parties).items()}
        worst = max(sums, key=lambda name: (not sums[name].certified, sums[name].mu))
        return _total(worst, sums[worst], unit, delta)

    def _costs(self, unit: str) -> list[float | None]:
        return [event.mu_squared(unit) for event in self._rows]

    def _sum(self, view: frozenset[str], costs: list[float | None]) -> _Sum:
        strata: dict[str, list[float]] = {}
        counted, certified = [], True
        for position in self._seen(view):
            cost, event = costs[position], self._rows[position]
            if cost == 0:
                continue
            counted.append(event)
            if cost is None:
                certified = False
            else:
                strata.setdefault(event.stratum, []).append(cost)
        everywhere = math.fsum(strata.pop("*", ()))
        largest = max((math.fsum(values) for values in strata.values()), default=0.0)
        return _Sum(math.sqrt(everywhere + largest), certified, tuple(counted))

    def _seen(self, view: frozenset[str]) -> list[int]:
        """Positions a view sees and does not own, with the releases their parameters came from."""
        rows = self._rows
        seen = [
            k
            for k, event in enumerate(rows)
            if event.owner not in view and (event.public or view & set(event.audience))
        ]
        if not any(rows[k].data_dependent_parameters for k in seen):
            return seen
        known, queue = set(seen), list(seen)
        while queue:
            for name in rows[queue.pop()].data_dependent_parameters:
                k = self._position.get(name)
                if k is not None and k not in known and rows[k].owner not in view:
                    known.add(k)
                    queue.append(k)
        return sorted(known)

    @property
    def digest(self) -> str:
        """SHA-256 of the whole chain; it changes if a row is removed, altered or moved."""
        for event in self._rows[len(self._hashes) :]:
            previous = self._hashes[-1] if self._hashes else GENESIS
            body = json.dumps(event.to_row(), sort_keys=True, separators=(",", ":"))
            self._hashes.append(hashlib.sha256((previous + body).encode()).hexdigest())
        return self._hashes[-1] if self._hashes else GENESIS

    def to_rows(self) -> list[dict[str, Any]]:
        """Flat rows with their step and their links of the hash chain."""
        hashes = [GENESIS, *(self._hashes if self.digest else ())]
        return [
            {"step": k, **event.to_row(), "prev_hash": hashes[k], "hash": hashes[k + 1]}
            for k, event in enumerate(self._rows)
        ]

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> "Ledger":
        """Rebuild a ledger from `to_rows`.

        Raises
        ------
        CertificationError
            If a row was altered, moved or removed from the middle; compare the end with `verify`.
        """
        rows = [dict(row) for row in rows]
        ledger = cls(Event.from_row(row) for row in rows)
        for k, (given, own) in enumerate(zip(rows, ledger.to_rows(), strict=False)):
            if (given["prev_hash"], given["hash"]) != (own["prev_hash"], own["hash"]):
                raise CertificationError(f"row {k} of the ledger does not continue its hash chain: it was altered.")
        if len(ledger) != len(rows):
            raise CertificationError("the rows of the ledger repeat a release; each release is one row.")
        return ledger

    def verify(self, digest: str) -> None:
        """Raise `CertificationError` unless the chain ends in a digest that was noted before."""
        if digest != self.digest:
            raise CertificationError(
                f"the ledger ends in digest {self.digest[:16]}..., expected {digest[:16]}...: rows were altered, "
                "moved, added or removed."
            )


def default_views(parties: Sequence[str]) -> dict[str, frozenset[str]]:
    """Adversaries that are always asked about: each party, all but one for each owner, the public."""
    names = tuple(parties)
    if len(set(names)) != len(names):
        raise ValueError(f"parties={names} repeats a name.")
    views = {name: frozenset([name]) for name in names}
    if len(names) > 2:
        views |= {f"all but {name}": frozenset(names) - {name} for name in names}
    return views | {"public": frozenset()}


@functools.lru_cache(maxsize=65536)
def _epsilons(mu: float, delta: float) -> tuple[float, float]:
    return float(gaussian_epsilon(mu, delta)), float(simple_zcdp_epsilon(rho_from_mu(mu), delta))


def _total(name: str, found: _Sum, unit: str, delta: float) -> Total:
    part, simple = _epsilons(found.mu, delta)
    proved = found.certified
    return Total(
        epsilon_certified=part if proved else math.inf,
        epsilon_certified_part=part,
        eps_simple=simple if proved else math.inf,
        mu_total=found.mu if proved else math.inf,
        rho_total=found.mu**2 / 2 if proved else math.inf,
        delta=float(delta),
        n_releases=len(found.counted),
        certified=proved,
        view_worst=name,
        unit=unit,
        relation="label_flip" if unit == "label" else "replace_one",
        trust_model=";".join(sorted({event.trust_model for event in found.counted})) or "none",
        sampler=";".join(sorted({event.sampler for event in found.counted})) or "none",
    )
