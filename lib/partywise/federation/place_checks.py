"""Run of a program with the place of every value checked: in one process, or in that of one party.

A `LocatedValue` lives where it was computed or received. Using it elsewhere, or letting the program itself read it, is
an error. What the program does is the same in every process, so all of them number the messages alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import signature

# Any: a located value stands for a value of any type.
from typing import Any, NoReturn, Protocol

import numpy as np

from ..privacy.ledger.event import Event
from ..privacy.payer import PaidShares, Payer
from .codec import pack, unpack
from .parties import Party
from .payloads import Payload, require_value, strip_value, visible
from .places import (
    Names,
    Place,
    PlaceError,
    PlaceValues,
    arrange,
    check_count,
    check_shared,
    name_of,
    names_of,
    per_place,
)
from .run import Run, Values
from .secure_streams import SecureStreams, charge_streams_to


class MessageLink(Protocol):
    """Carrier of the messages of one process to the others."""

    def put(self, step: int, sender: str, receiver: str, name: str, payload: Payload) -> None:
        """Hand over what a place of this process sends."""

    def reserve(self, step: int, row: Event) -> None:
        """Keep a row of the ledger that is at a step: it is public, and every process receives it."""

    def get(self, step: int, sender: str, receiver: str, name: str) -> Payload:
        """The payload that a place of this process receives at a step, from whom and under which name it must come."""


class NobodyHere(RuntimeError):
    """A program that is followed without any of its places goes on by a value that only places have."""


class Nobody:
    """Link of a process where no place lives: it follows a program without data, and values have places only."""

    def put(self, step: int, sender: str, receiver: str, name: str, payload: Payload) -> None:
        """Send nothing."""

    def reserve(self, step: int, row: Event) -> None:
        """Keep no ledger."""

    def get(self, step: int, sender: str, receiver: str, name: str) -> Payload:
        """Receive nothing."""
        raise PlaceError(f"{receiver!r} does not live in this process.")


@dataclass(frozen=True, eq=False)
class LocatedValue:
    """A value that some places have.

    places : who has it; values : what it is, for those of them that live in this process
    """

    places: frozenset[str]
    values: Mapping[str, Any] = field(default_factory=dict)

    def of(self, place: str, where: str) -> object:
        """The value as one place has it."""
        if place not in self.places:
            raise PlaceError(f"{where} uses a value that only {sorted(self.places)} have: send it there first.")
        return self.values[place]

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise PlaceError(
            f"the program itself reads a value that {sorted(self.places)} have: compute with it in run.at, or "
            "broadcast it and ask run.agreed."
        )

    __bool__ = __iter__ = __len__ = __getitem__ = __array__ = __float__ = __int__ = __index__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __matmul__ = __rmatmul__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = __call__ = _refuse


@dataclass(frozen=True)
class PlaceReport:
    """Result of `Run.assemble` in one process, which has some of the places only."""

    function: Callable[..., object]
    values: tuple[object, ...]
    parts: object = None

    def value_at(self, name: str, place: str) -> Any:
        """Value that a place has of the argument of that name of ``function``; None without one."""
        names = tuple(signature(self.function).parameters)
        value = self.values[names.index(name)] if name in names else None
        located = value.values.get(place) if isinstance(value, PlaceValues) else value
        return located.values.get(place) if isinstance(located, LocatedValue) else None


def together(results: Sequence[Any]) -> Any:
    """The estimate, from what ``fit`` returned in the process of every place."""
    if all(isinstance(result, PlaceReport) for result in results):
        columns = zip(*(result.values for result in results), strict=True)
        return results[0].function(*[_anyone(_merge(column)) for column in columns])
    return _anyone(_merge(results))


def _merge(parts: Sequence[Any]) -> Any:
    """One value from the same value as several processes hold it."""
    first = parts[0]
    if isinstance(first, PlaceValues):
        return per_place({name: _merge([part.values[name] for part in parts]) for name in first.values})
    if isinstance(first, LocatedValue):
        values: dict[str, Any] = {}
        for part in parts:
            values |= part.values
        return LocatedValue(first.places, values)
    if type(first) in (list, tuple):
        return type(first)(_merge(column) for column in zip(*parts, strict=True))
    return first


class _GuardedParty(Party):
    """A party whose block can be read while its own line of the program runs, and then only."""

    def __init__(self, party: Party, inside: list[str]) -> None:
        for name in ("name", "role", "columns", "clips"):
            object.__setattr__(self, name, getattr(party, name))
        object.__setattr__(self, "_party", party)
        object.__setattr__(self, "_inside", inside)

    def __getattribute__(self, name: str) -> object:
        if name != "block":
            return object.__getattribute__(self, name)
        inside, party_name = object.__getattribute__(self, "_inside"), object.__getattribute__(self, "name")
        if not inside or inside[-1] != party_name:
            raise PlaceError(f"{inside[-1] if inside else 'the program itself'} reads the block of {party_name}.")
        return object.__getattribute__(self, "_party").block


class PlacedRun(Run):
    """A run that checks where every value is; it takes over the parties, options and generators of an unused one.

    here : the places that live in this process, by default all of them
    link : how messages leave and reach this process
    whole : whether `assemble` is computed where all places live here, while without it every place keeps its own result
    """

    def __init__(
        self, run: Run, here: Sequence[str] | None = None, link: MessageLink | None = None, *, whole: bool = True
    ) -> None:
        self._inside: list[str] = []
        self.parties = tuple(_GuardedParty(party, self._inside) for party in run.parties)
        self.channel, self.epsilon, self.fold, self.spec = run.channel, run.epsilon, run.fold, run.spec
        self._streams, self._here, self._link, self._step = run.rng_for, frozenset(here or run.names), link, 0
        # By receiver and name: sender, and what came.
        self._heard: dict[tuple[str, str], list[tuple[str, LocatedValue]]] = {}
        # What `charge` announced and, but for shares, nobody has drawn yet, in the process of whoever draws.
        self.announced, self._payer, self.identity = list[Event](), run.channel.payer, run.identity
        self._whole = whole and self._here >= set(run.names)
        self.rng_for = self._draw

    @property
    def steps(self) -> int:
        """Messages and reserved rows so far, alike in every process."""
        return self._step

    @property
    def computing(self) -> str:
        """The place whose function runs now; empty between functions."""
        return self._inside[-1] if self._inside else ""

    @property
    def secure(self) -> bool:
        """Whether secrets come from the operating system, as in `Run`."""
        return isinstance(self._streams, SecureStreams)

    @property
    def carries_contents(self) -> bool:
        """Whether any place sees contents, as in `Run`; between processes each place sees what reaches it."""
        return self._link is not None or self.channel.record

    def charge_to(self, payer: Payer) -> None:
        """Ask a payer, as in `Run`; what leaves a process of its own in the clear is paid where it leaves."""
        self._streams, self._payer = charge_streams_to(self._streams, PaidShares(payer, self.announced)), payer
        if self._link is None:
            self.channel.payer = payer

    def _draw(self, *names: str | int) -> np.random.Generator:
        if not self._inside:
            raise PlaceError(f"the program itself draws at {names}: draw at a place, in run.at.")
        return self._streams(*names)

    def at(self, place: Place, function: Callable[..., object], *values: *Values) -> Any:
        """Compute at one place, as in `Run`; PlaceError if it has not all of the values."""
        return self._held_at(place, function, values)

    def each(self, places: Sequence[Place], function: Callable[..., object], *values: *Values) -> Any:
        """Compute at each of several places, as in `Run`; every place has its own value."""
        return per_place({name_of(place): self._held_at(place, function, values) for place in places})

    def everywhere(self, function: Callable[[*Values], object], *values: *Values) -> Any:
        """Compute at all places, as in `Run`; PlaceError if a place lacks a value."""
        return self.among(self.names, function, *values)

    def among(self, places: Sequence[Place], function: Callable[[*Values], object], *values: *Values) -> Any:
        """Compute at several places, as in `Run`; PlaceError if one of them lacks a value."""
        check_shared(values)
        names = [self.check_place(place) for place in places]
        for name in names:
            self._require(values, name, function)
        here = [name for name in names if name in self._here]
        return LocatedValue(
            frozenset(names), {name: self._compute(name, name, function, values)[name] for name in here}
        )

    def agreed(self, value: object) -> Any:
        """Return a bare value, as in `Run`; PlaceError unless every place has it."""
        check_shared((value,))
        if not isinstance(value, LocatedValue):
            return value
        missing = set(self.names) - value.places
        if missing:
            raise PlaceError(f"the program is steered by a value that {sorted(missing)} do not have: broadcast it.")
        if not value.values:
            raise NobodyHere("no place of the run lives in this process, and its values steer the program.")
        return next(iter(value.values.values()))

    def send(self, sender: Place, receiver: Place, name: str, payload: object, *values: *Values) -> Any:
        """Send one payload, as in `Run`; the value passes the codec on its way."""
        located = self._make_payload(sender, payload, values)
        return self._both(sender, located, [self._cross(sender, receiver, name, located)])

    def broadcast(self, sender: Place, receivers: Sequence[Place], name: str, payload: object, *values: *Values) -> Any:
        """Send one payload to several receivers, as in `Run`."""
        located = self._make_payload(sender, payload, values)
        return self._both(sender, located, [self._cross(sender, receiver, name, located) for receiver in receivers])

    def gather(
        self, senders: Sequence[Place], receiver: Place, name: Names, function: Callable[..., object], *values: *Values
    ) -> Any:
        """Compute at every sender and send, as in `Run`; the receiver has what it returns."""
        rows = []
        for sender in senders:
            names, located = names_of(name, sender), self._held_at(sender, function, values)
            count = range(len(names))
            parts = [located] if isinstance(name, str) else [self._part(sender, located, names, k) for k in count]
            rows.append(tuple(self._cross(sender, receiver, *pair) for pair in zip(names, parts, strict=True)))
        return self._arrange(name, rows, name_of(receiver))

    def reserve(self, row: Event) -> None:
        """Enter a row into the ledger, as in `Run`; every process keeps it."""
        step, self._step = self._step, self._step + 1
        if self._link is None:
            self.channel.ledger.append(row)
        else:
            self._link.reserve(step, row)

    def charge(self, holders: Sequence[Place], *events: Event) -> None:
        """Charge holders, as in `Run`; a process of its own asks the payer of its place."""
        if self._link is None:
            return super().charge(holders, *events)
        pays = bool(self._here & {self.check_place(place) for place in holders})
        if pays and self._payer is not None and events:
            self._payer.charge(*events)
        self.announced += events

    def assemble(self, function: Callable[..., object], *values: object, parts: object = None) -> Any:
        """Assemble, as in `Run`, where all places live here; else return the `PlaceReport` of this process."""
        if self._whole:
            return function(*[_anyone(value) for value in values])
        return PlaceReport(function, values, parts)

    def _payloads_received(self, receiver: str, name: str) -> Sequence[object]:
        return [value for _, value in self._heard.get((receiver, name), ())]

    def payloads_of(self, place: str) -> list[tuple[str, Payload]]:
        """Return sender and payload of what has reached a place, without values: all that it can know of others."""
        heard = [pair for (receiver, _), pairs in self._heard.items() if receiver == place for pair in pairs]
        return [(sender, value.values[place]) for sender, value in heard if place in value.values]

    def _arrivals(self, place: str) -> Iterator[tuple[str, object]]:
        """Name and payload, without its value, of each message that has reached a place of this process."""
        return (
            (name, heard.values.get(place))
            for (receiver, name), pairs in self._heard.items()
            if receiver == place
            for _, heard in pairs
        )

    def _held_at(self, place: Place, function: Callable[..., object], values: Sequence[object]) -> LocatedValue:
        name = self.check_place(place)
        self._require(values, name, function)
        return LocatedValue(frozenset([name]), self._compute(name, place, function, values))

    def _compute(
        self, name: str, place: Place, function: Callable[..., object], values: Sequence[object]
    ) -> dict[str, object]:
        if name not in self._here:
            return {}
        arguments = [_resolve(value, name, f"{name}, {_title(function)},") for value in values]
        with self._working(name):
            result = function(place, *arguments) if isinstance(place, Party) else function(*arguments)
        return {name: result}

    @contextmanager
    def _working(self, name: str) -> Iterator[None]:
        self._inside.append(name)
        try:
            yield
        finally:
            self._inside.pop()

    def _require(self, values: Sequence[object], name: str, function: Callable[..., object]) -> None:
        """Places are known in every process, whether or not it holds the values."""
        for value in values:
            for located in _inside_of(value, name):
                if name not in located.places:
                    located.of(name, f"{name}, {_title(function)},")

    def _make_payload(self, sender: Place, payload: object, values: Sequence[object]) -> LocatedValue:
        if callable(payload) and not isinstance(payload, LocatedValue):
            return self._held_at(sender, payload, values)
        if isinstance(payload, LocatedValue):
            return payload
        return LocatedValue(frozenset([name_of(sender)]), {name_of(sender): payload})

    def _part(self, sender: Place, located: LocatedValue, names: tuple[str, ...], k: int) -> LocatedValue:
        source = name_of(sender)
        return LocatedValue(
            located.places, {source: check_count(names, located.values[source])[k]} if source in located.values else {}
        )

    def _cross(self, sender: Place, receiver: Place, name: str, located: LocatedValue) -> LocatedValue:
        """One message: accounted where all places live here, else handed to the link."""
        source, target = name_of(sender), name_of(receiver)
        self._require([located], source, self.send)
        if source in located.values:
            require_value(located.values[source], source, name, self._arrivals(source))
        step, self._step = self._step, self._step + 1
        payload = None
        if self._link is None:
            payload = located.values[source]
            self.channel.send(source, target, name, payload)
            payload = unpack(pack(payload))
        else:
            if source in self._here:
                self._link.put(step, source, target, name, located.values[source])
            if target in self._here:
                payload = self._link.get(step, source, target, name)
        place = frozenset([target])
        heard = LocatedValue(place, {} if payload is None else {target: strip_value(payload)})
        self._heard.setdefault((target, name), []).append((source, heard))
        if payload is None:
            return LocatedValue(place)
        return LocatedValue(place, {target: visible(payload)})

    def _both(self, sender: Place, located: LocatedValue, received: Sequence[LocatedValue]) -> LocatedValue:
        source = name_of(sender)
        values = {source: visible(located.values[source])} if source in located.values else {}
        for arrival in received:
            values |= arrival.values
        return LocatedValue(frozenset([source]).union(*(arrival.places for arrival in received)), values)

    def _arrange(self, name: Names, rows: list[tuple[LocatedValue, ...]], receiver: str) -> object:
        place = frozenset([receiver])
        if receiver not in self._here:
            return tuple(LocatedValue(place) for _ in name) if isinstance(name, tuple) else LocatedValue(place)
        arranged = arrange(name, [tuple(located.values[receiver] for located in row) for row in rows])
        if isinstance(name, tuple):
            return tuple(LocatedValue(place, {receiver: part}) for part in arranged)
        return LocatedValue(place, {receiver: arranged})


def _title(function: Callable[..., object]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _resolve(value: Any, name: str, where: str) -> Any:
    if isinstance(value, PlaceValues):
        if name not in value.values:
            raise PlaceError(f"{where} has no value of its own; {tuple(value.values)} have.")
        return _resolve(value.values[name], name, where)
    if isinstance(value, LocatedValue):
        return value.of(name, where)
    if type(value) in (list, tuple):
        return type(value)(_resolve(item, name, where) for item in value)
    return value


def _inside_of(value: Any, name: str) -> list[LocatedValue]:
    """The held values that an argument of a place is made of."""
    if isinstance(value, PlaceValues):
        return _inside_of(value.values[name], name) if name in value.values else []
    if isinstance(value, LocatedValue):
        return [value]
    if type(value) in (list, tuple):
        return [located for item in value for located in _inside_of(item, name)]
    return []


def _anyone(value: Any) -> Any:
    """A value as the first place that has it knows it."""
    if isinstance(value, PlaceValues):
        return {name: _anyone(item) for name, item in value.values.items()}
    if isinstance(value, LocatedValue):
        return value.values[min(value.values)]
    if type(value) in (list, tuple):
        return type(value)(_anyone(item) for item in value)
    return value


def estimate_at(value: object, place: str) -> object | None:
    """The estimate, or its part, that a place has of what ``fit`` returned; None where it has none."""
    whole, parts = whole_and_parts(value)
    part = parts.values.get(place) if isinstance(parts, PlaceValues) else None
    estimates = (
        located.values[place]
        for located in (whole, part)
        if isinstance(located, LocatedValue) and place in located.values
    )
    return next(estimates, None)


def whole_and_parts(value: object) -> tuple[object, object]:
    """First value of what was assembled, and the parts (`partywise.federation.run.Run.assemble`)."""
    return ((*value.values, None)[0], value.parts) if isinstance(value, PlaceReport) else (value, None)
