"""One execution of a protocol: every line of ``fit(run)`` states where it happens and what crosses.

A protocol is one program for all parties, in the paper's order (a choreography). ``run.at`` computes at a place,
``run.send``, ``run.gather`` and ``run.broadcast`` move values, ``run.agreed`` gives what all have and is the only thing
that may steer. A type checker follows what a place computes through all of these: a wrong argument, a wrong number of
them and a ``local_*`` function that returns a bare value are found before any run. Here the program runs in one
process, on bare values, at no extra cost; `partywise.federation.place_checks` runs the same program with the place of
every value checked, or with one process per party.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

# Any: values at places, and options of a method that is known by its name only.
from typing import Annotated, Any, TypeVar, TypeVarTuple, cast, overload

import numpy as np

from ..core.randomness import Streams
from ..privacy.ledger.event import Event
from ..privacy.payer import PaidShares, Payer
from .channel import Channel
from .folds import Fold
from .identity import Identity
from .parties import Party
from .payloads import Payload, visible
from .secure_streams import SecureStreams, charge_streams_to

R = TypeVar("R")
T = TypeVar("T")
Values = TypeVarTuple("Values")
Place = Party | str
# What the messages of one sender are called: a name, one for each of several payloads, or a rule by party.
SeveralNames = tuple[str, ...] | Callable[[Any], tuple[str, ...]]
Names = str | SeveralNames
# A payload, or what makes it at its sender.
Sent = Payload | Callable[..., Payload]


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


# Places that a short text names.
SHOWN = 6


class Run:
    """One execution of a protocol in one process.

    Parameters
    ----------
    parties : sequence of Party
        Who holds data, in the order that the protocol documents.
    epsilon : float
        Target of calibrated noise; inf where none is set.
    fold : Fold
        Public assignment of records to training, held-out and halves.
    rng_for : callable
        Generators by address; called at places only.
    spec : object
        Options, constants of the study and public facts (`partywise.experiment.study.MethodSpec`).
    extra : tuple of str
        Places without data, such as ``("server",)``.
    record : bool
        Whether the channel keeps the contents of messages, for `Channel.view`.
    real : bool
        Whether what crosses is real (mode ``release``), as of `partywise.federation.channel.Channel`.
    trusted : collection of str
        Places of a real run that may see what others may not, likewise.

    Examples
    --------
    >>> import numpy as np
    >>> import partywise as pw
    >>> def local_count(client):
    ...     return pw.Public(len(client.block["X"]), because="reported every year")
    ...
    >>> def fit(run):
    ...     sizes = run.gather(run.parties, "server", "records", local_count)
    ...     return run.at("server", sum, sizes)
    ...
    >>> clients = [pw.Party(name, "client", {"X": np.ones((n, 2))}) for name, n in (("north", 120), ("south", 80))]
    >>> run = pw.Run(clients, epsilon=np.inf, fold=None, rng_for=pw.Streams(7), spec=None, extra=("server",))
    >>> pw.simulate(fit, run), run.names
    (200, ('north', 'south', 'server'))
    >>> run.secure, run.carries_contents  # an experiment, whose channel keeps what messages cost, not what they say
    (False, False)
    """

    def __init__(
        self,
        parties: Sequence[Party],
        *,
        epsilon: float,
        fold: Fold,
        rng_for: Callable[..., np.random.Generator],
        spec: Any,
        extra: tuple[str, ...] = (),
        record: bool = False,
        real: bool = False,
        trusted: Collection[str] = (),
    ) -> None:
        self.parties: tuple[Party, ...] = tuple(parties)
        self.channel = Channel(parties, extra, record=record, real=real, trusted=trusted)
        self.epsilon, self.fold, self.rng_for, self.spec = epsilon, fold, rng_for, spec
        # What `charge` announced, and its payer has paid.
        self.announced = list[Event]()
        self.identity = Identity(run=address_of(rng_for))

    def __repr__(self) -> str:
        sent = len(self.channel.messages)
        places = ", ".join(self.names) if len(self.names) <= SHOWN else f"{len(self.names)} places"
        return f"Run of {places} at epsilon {self.epsilon:g}: {sent} message{'s' * (sent != 1)} sent"

    @property
    def secure(self) -> bool:
        """Whether what is secret comes from the operating system: public, as the mode of the run is."""
        return isinstance(self.rng_for, SecureStreams)

    @property
    def carries_contents(self) -> bool:
        """Whether any place sees the contents of messages: otherwise what cancels in the end can be left away."""
        return self.channel.record

    @property
    def names(self) -> tuple[str, ...]:
        """Everyone on the channel: the parties in order, then the places without data."""
        return self.channel.names

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

    @overload
    def at(self, place: Party, function: Callable[[Party, *Values], R], *values: *Values) -> R: ...
    @overload
    def at(self, place: str, function: Callable[[*Values], R], *values: *Values) -> R: ...
    def at(self, place: Place, function: Callable[..., R], *values: *Values) -> R:
        """Compute at one place.

        Parameters
        ----------
        place : Party or str
            A party is passed to the function as its first argument; a name is not.
        function : callable
            Reads its arguments and, of blocks, that of the party alone; changes none of them.
        *values
            Bare values (public) and values that the place has.

        Returns
        -------
        object
            What the function returned; it lies at that place.

        Raises
        ------
        PlaceError
            If the place does not exist, or it has no value of its own where one is used.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> clinic = pw.Party("clinic", "client", {"X": np.arange(6.0).reshape(3, 2)})
        >>> run = pw.Run([clinic], epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None)
        >>> run.at(clinic, lambda own, shift: own.block["X"].mean(axis=0) + shift, 10.0)
        array([12., 13.])
        >>> run.at("server", max, 1, 2)
        Traceback (most recent call last):
            ...
        partywise.federation.run.PlaceError: place='server' is not on this channel; it connects ('clinic',).
        """
        return self._at(place, function, values)

    @overload
    def each(self, places: Sequence[Party], function: Callable[[Party, *Values], R], *values: *Values) -> R: ...
    @overload
    def each(self, places: Sequence[str], function: Callable[[*Values], R], *values: *Values) -> R: ...
    def each(self, places: Sequence[Place], function: Callable[..., R], *values: *Values) -> R:
        """Compute at every one of several places, a value of its own at each.

        Parameters
        ----------
        places : sequence of Party or str
        function : callable
            As in `at`.
        *values
            As in `at`.

        Returns
        -------
        object
            To be used at these places, and nowhere else.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> clients = [pw.Party(name, "client", {"y": np.ones(n)}) for name, n in (("north", 120), ("south", 80))]
        >>> run = pw.Run(clients, epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("server",))
        >>> sizes = run.each(clients, lambda own: len(own.block["y"]))
        >>> [run.at(client, lambda own, n: (own.name, n), sizes) for client in clients]
        [('north', 120), ('south', 80)]
        >>> run.at("server", sum, sizes)
        Traceback (most recent call last):
            ...
        partywise.federation.run.PlaceError: server has no value of its own; ('north', 'south') have.
        """
        return per_place({name_of(place): self._at(place, function, values) for place in places})

    def everywhere(self, function: Callable[[*Values], R], *values: *Values) -> R:
        """Compute at all places what all can compute, from values that all have.

        Parameters
        ----------
        function : callable
            Of ``values`` alone.
        *values

        Returns
        -------
        object
            What all places have then.

        Raises
        ------
        PlaceError
            If a value is another one at every place.

        Examples
        --------
        >>> import partywise as pw
        >>> run = pw.Run([], epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("server", "analyst"))
        >>> total = run.broadcast("server", ("analyst",), "records", pw.Public(200, because="reported every year"))
        >>> run.everywhere(lambda n: 1 / n, total)  # the same number at either place: nothing has to be sent
        0.005
        """
        return self.among(self.names, function, *values)

    def among(self, places: Sequence[Place], function: Callable[[*Values], R], *values: *Values) -> R:
        """Compute at each of several places what they can all compute, from values that all of them have.

        Parameters
        ----------
        places : sequence of Party or str
        function : callable
            Of ``values`` alone.
        *values

        Returns
        -------
        object

        Raises
        ------
        PlaceError
            If a place does not exist, or a value is another one at every place.

        Examples
        --------
        >>> import partywise as pw
        >>> run = pw.Run([], epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("a", "b", "server"))
        >>> total = run.send("server", "b", "records", pw.Public(200, because="reported every year"))
        >>> run.among(("server", "b"), lambda n: 1 / n, total)  # a has not heard it
        0.005
        """
        for place in places:
            self.check_place(place)
        check_shared(values)
        return function(*values)

    def agreed(self, value: R) -> R:
        """The bare value of something that all places have: the only one that may steer the program.

        Parameters
        ----------
        value : object

        Returns
        -------
        object

        Raises
        ------
        PlaceError
            If it is another one at every place.

        Examples
        --------
        >>> import partywise as pw
        >>> run = pw.Run([], epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("server", "analyst"))
        >>> change = run.broadcast("server", ("analyst",), "change", pw.Public(0.02, because="of a released estimate"))
        >>> "stop" if run.agreed(change) < 0.05 else "another round"
        'stop'
        """
        check_shared((value,))
        return value

    @overload
    def send(
        self, sender: Party, receiver: Place, name: str, payload: Callable[[Party, *Values], Payload], *values: *Values
    ) -> Any: ...
    @overload
    def send(
        self, sender: str, receiver: Place, name: str, payload: Callable[[*Values], Payload], *values: *Values
    ) -> Any: ...
    @overload
    def send(self, sender: Place, receiver: Place, name: str, payload: Payload) -> Any: ...
    def send(self, sender: Place, receiver: Place, name: str, payload: Sent, *values: *Values) -> Any:
        """Send one payload; both sides have its value then.

        Parameters
        ----------
        sender, receiver : Party or str
        name : str
            What it is, for the transcript.
        payload : AccountedValue, Cipher, or callable
            A callable is computed at the sender from ``values``.
        *values
            As in `at`.

        Returns
        -------
        object
            The value as the receiver gets it.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> clinic = pw.Party("clinic", "client", {"y": np.ones(120)})
        >>> run = pw.Run([clinic], epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("server",))
        >>> def local_count(clinic, reason):
        ...     return pw.Public(len(clinic.block["y"]), because=reason)
        ...
        >>> run.send(clinic, "server", "records", local_count, "reported every year")
        120
        """
        computed = self._payload(sender, payload, values)
        return self.channel.send(name_of(sender), name_of(receiver), name, computed)

    @overload
    def broadcast(
        self,
        sender: Party,
        receivers: Sequence[Place],
        name: str,
        payload: Callable[[Party, *Values], Payload],
        *values: *Values,
    ) -> Any: ...
    @overload
    def broadcast(
        self,
        sender: str,
        receivers: Sequence[Place],
        name: str,
        payload: Callable[[*Values], Payload],
        *values: *Values,
    ) -> Any: ...
    @overload
    def broadcast(self, sender: Place, receivers: Sequence[Place], name: str, payload: Payload) -> Any: ...
    def broadcast(self, sender: Place, receivers: Sequence[Place], name: str, payload: Sent, *values: *Values) -> Any:
        """Send one payload to several receivers; all of them and the sender have its value then.

        Parameters
        ----------
        sender : Party or str
        receivers : sequence of Party or str
        name : str
            What it is, for the transcript.
        payload : AccountedValue, Cipher, or callable
            A callable is computed at the sender from ``values``.
        *values

        Returns
        -------
        object
            The value as the receivers get it.

        Examples
        --------
        >>> import partywise as pw
        >>> run = pw.Run([], epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("server", "a", "b"))
        >>> run.broadcast("server", ("a", "b"), "edges", pw.Public((-0.5, 0.5), because="of the protocol"))
        (-0.5, 0.5)
        >>> [(row["receiver"], row["bytes"]) for row in run.channel.transcript()]
        [('a', 16), ('b', 16)]
        """
        computed = self._payload(sender, payload, values)
        value = visible(computed)
        for receiver in receivers:
            value = self.channel.send(name_of(sender), name_of(receiver), name, computed)
        return value

    @overload
    def gather(
        self,
        senders: Sequence[Party],
        receiver: Place,
        name: str,
        function: Callable[[Party, *Values], Payload],
        *values: *Values,
    ) -> tuple[Any, ...]: ...
    @overload
    def gather(
        self,
        senders: Sequence[str],
        receiver: Place,
        name: str,
        function: Callable[[*Values], Payload],
        *values: *Values,
    ) -> tuple[Any, ...]: ...
    @overload
    def gather(
        self,
        senders: Sequence[Party],
        receiver: Place,
        name: SeveralNames,
        function: Callable[[Party, *Values], tuple[Payload, ...]],
        *values: *Values,
    ) -> tuple[tuple[Any, ...], ...]: ...
    @overload
    def gather(
        self,
        senders: Sequence[str],
        receiver: Place,
        name: SeveralNames,
        function: Callable[[*Values], tuple[Payload, ...]],
        *values: *Values,
    ) -> tuple[tuple[Any, ...], ...]: ...
    def gather(
        self, senders: Sequence[Place], receiver: Place, name: Names, function: Callable[..., object], *values: *Values
    ) -> Any:
        """Every sender computes what leaves it, and the receiver gets all.

        Parameters
        ----------
        senders : sequence of Party or str
        receiver : Party or str
        name : str, tuple of str, or callable
            One name: the function returns one payload. Several, or a callable that names them for a sender: it
            returns as many payloads, which are sent in that order.
        function : callable
            Computed at each sender from ``values``.
        *values
            As in `at`.

        Returns
        -------
        tuple, or tuple of tuples
            Values in the order of senders; with a tuple of names one such tuple for each name; with a callable one
            tuple of values for each sender.

        Raises
        ------
        ValueError
            If the function returns another number of payloads than there are names.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> def local_counts(client):
        ...     X = client.block["X"]
        ...     return pw.Public(len(X), because="reported every year"), pw.Clear(int((X > 0).sum()), units=("row",))
        ...
        >>> clients = [pw.Party(name, "client", {"X": np.arange(-k, 3)}) for name, k in (("north", 2), ("south", 5))]
        >>> run = pw.Run(clients, epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("server",))
        >>> run.gather(clients, "server", ("records", "positive"), local_counts)  # by name, in the order of the clients
        ((5, 8), (2, 2))
        """
        rows = []
        for sender in senders:
            names = names_of(name, sender)
            results = self._at(sender, function, values)
            payloads = (results,) if isinstance(name, str) else check_count(names, results)
            ends = name_of(sender), name_of(receiver)
            rows.append(tuple(self.channel.send(*ends, *pair) for pair in zip(names, payloads, strict=True)))
        return arrange(name, rows)

    def received(self, receiver: Place | Sequence[Place], *names: str) -> Any:
        """The payloads of these names that a place received: what it may name as parts of what it derives.

        They come name by name, those of one name in order; of several places each has its own.

        Parameters
        ----------
        receiver : Party or str, or sequence of these
        *names : str

        Returns
        -------
        tuple of Release, Cipher, Public and Clear; of several places a value of its own at each

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

        Each of them pays all of it from its own account, where parties are processes of their own; who draws asks its
        own as well. In one process the drawer is asked once. Noise to which each of several parties adds a share is
        paid here, and at no draw.

        Parameters
        ----------
        holders : sequence of Party or str
            Whose data go in.
        *events : Event
            Public (`partywise.privacy.mechanisms.release.announcement`): their profiles were fixed in advance.

        Raises
        ------
        PlaceError
            If a place does not exist.
        BudgetExceeded
            If the payer of the run has not so much left.

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

    def assemble(self, function: Callable[..., R], *values: object, parts: object = None) -> R:
        """Assemble the report of a run from values of several places: after the last message, in simulations only.

        Parameters
        ----------
        function : callable
        *values
            First the estimate, where one place or more have all of it, which is what they write where parties run
            apart; then what an evaluator adds. A value of several places is a mapping from their names.
        parts : object, optional
            Of each of several other places what it has of the estimate.

        Returns
        -------
        object
            What the function returned.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> clients = [pw.Party(name, "client", {"y": np.ones(n)}) for name, n in (("north", 120), ("south", 80))]
        >>> run = pw.Run(clients, epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None)
        >>> sizes = run.each(clients, lambda own: len(own.block["y"]))
        >>> run.assemble(lambda estimate, sizes: (estimate, dict(sizes)), 0.3, sizes)  # for a report, sent to nobody
        (0.3, {'north': 120, 'south': 80})
        """
        return function(*[value.values if isinstance(value, PlaceValues) else value for value in values])

    def check_place(self, place: Place) -> str:
        """Name of a place.

        Parameters
        ----------
        place : Party or str

        Returns
        -------
        str

        Raises
        ------
        PlaceError
            If there is none of that name.

        Examples
        --------
        >>> import partywise as pw
        >>> run = pw.Run([], epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None, extra=("server",))
        >>> run.check_place("server")
        'server'
        >>> run.check_place("sever")
        Traceback (most recent call last):
            ...
        partywise.federation.run.PlaceError: place='sever' is not on this channel; it connects ('server',).
        """
        name = name_of(place)
        if name not in self.channel.connected:
            raise PlaceError(f"place={name!r} is not on this channel; it connects {self.names}.")
        return name

    def _at(self, place: Place, function: Callable[..., R], values: Sequence[object]) -> R:
        """`at`, of places and functions of any kind."""
        name = self.check_place(place)
        arguments = [_own(value, name) for value in values]
        return function(place, *arguments) if isinstance(place, Party) else function(*arguments)

    def _payloads_received(self, receiver: str, name: str) -> Sequence[object]:
        return self.channel.received_payloads(receiver, name)

    def _payload(self, sender: Place, payload: Sent, values: Sequence[object]) -> Payload:
        return self._at(sender, payload, values) if callable(payload) else payload


def address_of(rng_for: Callable[..., object]) -> str:
    """Address that separates the draws of one run from those of others: in an experiment that of its streams."""
    if isinstance(rng_for, SecureStreams):
        return secrets.token_hex(16)
    return rng_for.address if isinstance(rng_for, Streams) else ""


def simulate(fit: Callable[[Run], R], run: Run) -> R:
    """Run a protocol in one process.

    Parameters
    ----------
    fit : callable
        The program, of the run.
    run : Run

    Returns
    -------
    object
        Its estimate.

    Examples
    --------
    >>> import numpy as np
    >>> import partywise as pw
    >>> def local_sum(client, rng_for):
    ...     total = pw.record_sum(client.block["X"], pw.Public(1.0, because="upper limit of the assay"))
    ...     terms = {"owner": client.name, "release_id": f"sum of {client.name}"}
    ...     return pw.Gaussian(mu=0.5)(total, rng_for("noise", client.name), **terms)
    ...
    >>> def fit(run):
    ...     return run.at("server", sum, run.gather(run.parties, "server", "sum", local_sum, run.rng_for))
    ...
    >>> clients = [pw.Party(name, "client", {"X": np.full((100, 2), 0.3)}) for name in ("north", "south")]
    >>> run = pw.Run(clients, epsilon=np.inf, fold=None, rng_for=pw.Streams(7), spec=None, extra=("server",))
    >>> pw.simulate(fit, run).round(), len(run.channel.ledger)  # 60 each, without noise
    (array([58., 51.]), 2)
    """
    return fit(run)


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


def check_shared(values: Iterable[Any]) -> None:
    """PlaceError if one of the values is not one, but another at every place."""
    for value in values:
        if isinstance(value, PlaceValues):
            raise PlaceError(f"{tuple(value.values)} each have a value of their own here: send it to all first.")
        if type(value) in (list, tuple):
            check_shared(value)


def arrange(name: Names, rows: Sequence[tuple[object, ...]]) -> tuple[object, ...]:
    """Arrange one tuple of values for each sender as `Run.gather` returns them."""
    if isinstance(name, str):
        return tuple(row[0] for row in rows)
    if isinstance(name, tuple):
        return tuple(zip(*rows, strict=True)) if rows else tuple(() for _ in name)
    return tuple(rows)


def _own(value: Any, name: str) -> Any:
    """The value as one place has it, also inside lists and tuples."""
    if isinstance(value, PlaceValues):
        if name not in value.values:
            raise PlaceError(f"{name} has no value of its own; {tuple(value.values)} have.")
        return value.values[name]
    if type(value) in (list, tuple) and any(isinstance(item, NESTED) for item in value):
        return type(value)(_own(item, name) for item in value)
    return value
