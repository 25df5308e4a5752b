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
from collections.abc import Callable, Collection, Sequence

# Any: values at places, and options of a method that is known by its name only.
from typing import Any, TypeVar, TypeVarTuple, overload

import numpy as np

from ..core.randomness import Streams
from .channel import Channel
from .folds import Fold
from .identity import Identity
from .parties import Party
from .payloads import Payload, visible
from .places import (
    Names,
    Place,
    PlaceValues,
    RunCosts,
    SeveralNames,
    arrange,
    check_count,
    check_shared,
    name_of,
    names_of,
    per_place,
    value_at,
)
from .secure_streams import SecureStreams

R = TypeVar("R")
T = TypeVar("T")
Values = TypeVarTuple("Values")
# A payload, or what makes it at its sender.
Sent = Payload | Callable[..., Payload]
# Places that a short text names.
SHOWN = 6


class Run(RunCosts):
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
    record, real, trusted
        As of `Channel`: whether contents of messages are kept, whether what crosses is real, who may see what is open.

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
        super().__init__(Channel(parties, extra, record=record, real=real, trusted=trusted), rng_for)
        self.parties: tuple[Party, ...] = tuple(parties)
        self.epsilon, self.fold, self.spec = epsilon, fold, spec
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

    @overload
    def at(self, place: Party, function: Callable[[Party, *Values], R], *values: *Values) -> R: ...
    @overload
    def at(self, place: str, function: Callable[[*Values], R], *values: *Values) -> R: ...
    def at(self, place: Place, function: Callable[..., R], *values: *Values) -> R:
        """Compute at one place, where the result lies; PlaceError for a place or a value that is not there.

        Parameters
        ----------
        place : Party or str
            A party is passed to the function as its first argument; a name is not.
        function, *values
            A function of bare values (public) and of values that the place has; it changes none of them.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> clinic = pw.Party("clinic", "client", {"X": np.arange(6.0).reshape(3, 2)})
        >>> run = pw.Run([clinic], epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=None)
        >>> run.at(clinic, lambda own, shift: own.block["X"].mean(axis=0) + shift, 10.0)
        array([12., 13.])
        """
        return self._at(place, function, values)

    @overload
    def each(self, places: Sequence[Party], function: Callable[[Party, *Values], R], *values: *Values) -> R: ...
    @overload
    def each(self, places: Sequence[str], function: Callable[[*Values], R], *values: *Values) -> R: ...
    def each(self, places: Sequence[Place], function: Callable[..., R], *values: *Values) -> R:
        """Compute at every one of several places a value of its own, to be used at these places and nowhere else.

        Parameters
        ----------
        places, function, *values
            As in `at`.

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
        partywise.federation.places.PlaceError: server has no value of its own; ('north', 'south') have.
        """
        return per_place({name_of(place): self._at(place, function, values) for place in places})

    def everywhere(self, function: Callable[[*Values], R], *values: *Values) -> R:
        """Compute at all places what all can compute, from values that all have.

        Parameters
        ----------
        function, *values
            A function of the values alone; PlaceError if one of them is another one at every place.

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
        places, function, *values
            As in `everywhere`, at these places.

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
            PlaceError if it is another one at every place.

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
        """Send one payload; both sides have its value then, the receiver as it gets it.

        Parameters
        ----------
        sender, receiver : Party or str
        name : str
            What it is, for the transcript.
        payload, *values
            A payload (`Release`, `Cipher`, `Public`, `Clear`), or a function that the sender computes from the values.

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
        sender, receivers, name, payload, *values
            As in `send`.

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
        """Every sender computes what leaves it; the receiver has a tuple of their values, in the order of senders.

        Parameters
        ----------
        senders : sequence of Party or str
        receiver : Party or str
        name : str, tuple of str, or callable
            With a tuple the function returns as many payloads, and the receiver has one tuple for each name. A callable
            names those of a sender, and the receiver has one tuple for each sender.
        function, *values
            Computed at each sender, as in `at`; ValueError unless it returns as many payloads as there are names.

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

    def assemble(self, function: Callable[..., R], *values: object, parts: object = None) -> R:
        """Assemble the report of a run from values of several places: after the last message, in simulations only.

        Parameters
        ----------
        function, *values
            First the estimate, which is all that places write in a distributed run; then what an evaluator adds. A
            value of several places is a mapping from their names.
        parts : object, optional
            Of each of several other places what it has of the estimate.

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

    def _at(self, place: Place, function: Callable[..., R], values: Sequence[object]) -> R:
        """`at`, of places and functions of any kind."""
        name = self.check_place(place)
        arguments = [value_at(value, name) for value in values]
        return function(place, *arguments) if isinstance(place, Party) else function(*arguments)

    def _payload(self, sender: Place, payload: Sent, values: Sequence[object]) -> Payload:
        return self._at(sender, payload, values) if callable(payload) else payload


def address_of(rng_for: Callable[..., object]) -> str:
    """Address that separates the draws of one run from those of others: in an experiment that of its streams."""
    if isinstance(rng_for, SecureStreams):
        return secrets.token_hex(16)
    return rng_for.address if isinstance(rng_for, Streams) else ""


def simulate(fit: Callable[[Run], R], run: Run) -> R:
    """Run a protocol in one process, and return its estimate.

    Parameters
    ----------
    fit : callable
        The program, of the run.
    run : Run

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
