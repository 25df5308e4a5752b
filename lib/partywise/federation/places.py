"""Places of a run, values that lie at several of them (one of its own at each), and what the run costs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

# Any: values at places.
from typing import Annotated, Any, TypeVar, cast

import numpy as np

from ..privacy.ledger.event import Event
from ..privacy.payer import PaidShares, Payer
from .channel import Channel
from .parties import Party
from .secure_streams import charge_streams_to

T = TypeVar("T")
Place = Party | str
# What the messages of one sender are called: a name, one for each of several payloads, or a rule by party.
SeveralNames = tuple[str, ...] | Callable[[Any], tuple[str, ...]]
Names = str | SeveralNames


class PlaceError(RuntimeError):
    """A value was used at a place that does not have it, or at one that does not exist."""


def name_of(place: Place) -> str:
    """Name of a place on the channel."""
    return place.name if isinstance(place, Party) else place


@dataclass(frozen=True)
class PlaceValues:
    """Values that `per_place` makes: one of its own at each of several places, by name."""

    values: Mapping[str, Any]


# What may hold values of places, in one of the many that a place is given.
NESTED = (PlaceValues, list, tuple)

# To a type checker a value has the type that it has at its place, so that what computes there is checked against it.
PerPlace = Annotated[T, PlaceValues]


def per_place(values: Mapping[str, T]) -> PerPlace[T]:
    """A value of its own at each of several places, from their names."""
    return cast(T, PlaceValues(values))


def by_place(value: PerPlace[T]) -> Mapping[str, T]:
    """The values of what `per_place` made, by the names of their places."""
    return cast(PlaceValues, value).values


def check_shared(values: Iterable[Any]) -> None:
    """PlaceError if one of the values is not one, but another at every place."""
    for value in values:
        if isinstance(value, PlaceValues):
            raise PlaceError(f"{tuple(value.values)} each have a value of their own here: send it to all first.")
        if type(value) in (list, tuple):
            check_shared(value)


def value_at(value: Any, name: str) -> Any:
    """The value as one place has it, also inside lists and tuples."""
    if isinstance(value, PlaceValues):
        if name not in value.values:
            raise PlaceError(f"{name} has no value of its own; {tuple(value.values)} have.")
        return value.values[name]
    if type(value) in (list, tuple) and any(isinstance(item, NESTED) for item in value):
        return type(value)(value_at(item, name) for item in value)
    return value


def names_of(name: Names, sender: Place) -> tuple[str, ...]:
    """Names of the messages of a sender."""
    return (name,) if isinstance(name, str) else name if isinstance(name, tuple) else tuple(name(sender))


def check_count(names: tuple[str, ...], payloads: object) -> tuple[Any, ...]:
    """Return the payloads; ValueError unless there are as many as names."""
    if not isinstance(payloads, tuple) or len(payloads) != len(names):
        count = len(payloads) if isinstance(payloads, tuple) else f"one {type(payloads).__name__}"
        raise ValueError(
            f"names={names} of what is gathered: the function returned {count}, give that many in a tuple."
        )
    return payloads


def arrange(name: Names, rows: Sequence[tuple[object, ...]]) -> tuple[object, ...]:
    """Arrange one tuple of values for each sender as `Run.gather` returns them."""
    if isinstance(name, str):
        return tuple(row[0] for row in rows)
    if isinstance(name, tuple):
        return tuple(zip(*rows, strict=True)) if rows else tuple(() for _ in name)
    return tuple(rows)


class RunCosts:
    """Ledger and payer of a run."""

    def __init__(self, channel: Channel, rng_for: Callable[..., np.random.Generator]) -> None:
        self.channel, self.rng_for = channel, rng_for
        # What `charge` announced, and its payer has paid.
        self.announced = list[Event]()

    @property
    def names(self) -> tuple[str, ...]:
        """Everyone on the channel: the parties in order, then the places without data."""
        return self.channel.names

    def check_place(self, place: Place) -> str:
        """Name of a place.

        Parameters
        ----------
        place : Party or str

        Raises
        ------
        PlaceError
            If there is none of that name.

        Examples
        --------
        >>> import partywise as pw
        >>> run = pw.Run([], epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("server",))
        >>> run.check_place("sever")
        Traceback (most recent call last):
            ...
        partywise.federation.places.PlaceError: place='sever' is not on this channel; it connects ('server',).
        """
        name = name_of(place)
        if name not in self.channel.connected:
            raise PlaceError(f"place={name!r} is not on this channel; it connects {self.names}.")
        return name

    def charge_to(self, payer: Payer) -> None:
        """Ask a payer from now on, before noise is drawn and before values leave in the clear; generators carry it.

        Parameters
        ----------
        payer : Payer
            Such as a party's account, or that of `Budget.fit`.

        Examples
        --------
        >>> import partywise as pw
        >>> run = pw.Run([], epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("hospital", "server"))
        >>> with pw.Budget(epsilon=1.0, delta=1e-5).fit("row") as payer:
        ...     run.charge_to(payer)
        ...     run.send("hospital", "server", "records", pw.Clear([0.3], units=("row",)))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        partywise.core.errors.BudgetExceeded: nothing finite is proved of none ...
        """
        self.rng_for = charge_streams_to(self.rng_for, PaidShares(payer, self.announced))
        self.channel.payer = payer

    def received(self, receiver: Place | Sequence[Place], *names: str) -> Any:
        """List payloads that a place received, without their values: it names them as parts of what it derives.

        Parameters
        ----------
        receiver : Party or str, or sequence of these
            Of several places each has its own.
        *names : str
            Names of messages; payloads come name by name, those of one name in order.

        Examples
        --------
        >>> import partywise as pw
        >>> run = pw.Run([], epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("a", "server", "analyst"))
        >>> total = pw.record_sum([[0.3, 0.4]], pw.Public(1.0, because="upper limit of the assay"))
        >>> release = pw.Gaussian(mu=0.5)(total, pw.stream(4, "noise"), owner="a", release_id="sum")
        >>> sums = run.send("a", "server", "sum", release)
        >>> mean = pw.Public(sums / 120, because="a function of the sum", made_of=run.received("server", "sum"))
        >>> run.send("server", "analyst", "mean", mean).shape
        (2,)
        >>> [event.mechanism for event in run.channel.ledger.rows]  # the mean costs nothing more
        ['gaussian', 'post_processing']
        """
        if isinstance(receiver, Party | str):
            return tuple(payload for name in names for payload in self._payloads_received(name_of(receiver), name))
        return per_place({name_of(place): self.received(place, *names) for place in receiver})

    def reserve(self, row: Event) -> None:
        """Enter a row into the ledger before what it pays for: a budget that was fixed in advance.

        Parameters
        ----------
        row : Event
            Such as that of a `PrivacyFilter`.

        Examples
        --------
        >>> import partywise as pw
        >>> run = pw.Run([], epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("server",))
        >>> run.reserve(pw.PrivacyFilter(1.0, 1e-5, unit="label", name="study").row)
        >>> [(event.release_id, event.mechanism) for event in run.channel.ledger.rows]
        [('study', 'budget')]
        """
        self.channel.ledger.append(row)

    def charge(self, holders: Sequence[Place], *events: Event) -> None:
        """Charge what noise will cost that another place draws on what these parties give away closed, before they do.

        In a distributed run each of them pays all of it from its own account, and who draws asks its own as well. In
        one process the drawer is asked once; noise to which several parties add a share is paid here, and at no draw.

        Parameters
        ----------
        holders : sequence of Party or str
            Whose data go in.
        *events : Event
            Public (`partywise.privacy.mechanisms.release.announcement`): their profiles were fixed in advance.
            BudgetExceeded if the payer of the run has not so much left.

        Examples
        --------
        >>> import partywise as pw
        >>> run = pw.Run([], epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("north", "south"))
        >>> names, terms = ("north", "south"), {"unit": "row", "depends_on": {"label"}, "mu": 0.3, "audience": "*"}
        >>> shares = [(name, "1") for name in names]
        >>> event = pw.Event("count", "several", "gaussian", owners=names, shares=shares, **terms)
        >>> budget = pw.Budget(epsilon=2.0, delta=1e-5)
        >>> with budget.fit("row") as payer:
        ...     run.charge_to(payer)
        ...     run.charge(names, event)
        >>> print(budget)
        epsilon 1.132 of 2 at delta 1e-05 spent by 1 fit, for one row
        """
        for place in holders:
            self.check_place(place)
        shared = [event for event in events if event.owners]
        if shared and self.channel.payer is not None:
            self.channel.payer.charge(*shared)
        self.announced += shared

    def _payloads_received(self, receiver: str, name: str) -> Sequence[object]:
        return self.channel.received_payloads(receiver, name)
