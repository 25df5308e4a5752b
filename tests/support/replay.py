"""Record and replay: run on D, keep every release, run on a neighbour with those releases, and compare.

A run whose ledger proves something for a unit must then look the same from outside: every certificate and every event
is equal, every statistic moved by at most its certificate in its own norm, the same messages cross, and whatever was
sent as free of that unit (`Public`, or `Clear` for other units) is equal to the last byte.  A branch on data, a
parameter taken from data and called public, a wrong norm and a wrong domain all show.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from partywise.federation.channel import Channel, Cipher, content_of
from partywise.privacy.accounted import Clear, Public
from partywise.privacy.ledger.event import Event
from partywise.privacy.mechanisms import release as release_module
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate

ROUNDING = 1e-9


@dataclass
class Call:
    """One release: what it was made of, what was drawn, what it cost, and the releases inside its draw."""

    bounded: Bounded
    mechanism: str
    drawn: Any = None
    event: Event | None = None
    nested: int = 0


@dataclass
class Tape:
    """All releases and messages of one run, in order."""

    calls: list[Call] = field(default_factory=list)
    sent: list[tuple[str, str, str, Any]] = field(default_factory=list)
    result: Any = None


def record(run: Callable[[], Any]) -> Tape:
    """Run once and keep what was released and sent."""
    tape = Tape()
    with _watched(tape, None):
        tape.result = run()
    return tape


def replay(run: Callable[[], Any], earlier: Tape) -> Tape:
    """Run again, on other data, with every release of an earlier run in the place of its own."""
    tape = Tape()
    with _watched(tape, earlier):
        tape.result = run()
    return tape


def compare(first: Tape, second: Tape, unit: str) -> None:
    """Assert that two runs on neighbours in ``unit`` differ by nothing but what their certificates bound."""
    names = [[call.mechanism for call in tape.calls] for tape in (first, second)]
    assert names[0] == names[1], f"other releases: {names}"
    for one, other in zip(first.calls, second.calls, strict=True):
        name = f"{one.event.owner}: {one.event.release_id}"
        _same_certificate(name, one.bounded, other.bounded)
        _same_event(name, one.event, other.event)
        moved = distance(one.bounded, other.bounded)
        bound = one.bounded.certificate.value
        assert moved <= bound * (1 + ROUNDING), f"{name} moved by {moved:.9g}, certified for {bound:.9g}"
        touched = {"label": {"label"}, "features": {"features"}}.get(unit, {"label", "features"})
        assert moved == 0 or touched & one.bounded.certificate.depends_on, f"{name} depends on what it does not name"
    _same_messages(first.sent, second.sent, unit)


def distance(one: Bounded, other: Bounded) -> float:
    """How far a statistic moved, in the norm of its certificate."""
    assert one.value.shape == other.value.shape, f"shapes {one.value.shape} and {other.value.shape}"
    norm, metric = one.certificate.norm, one.certificate.metric
    gap = np.asarray(one.value) - np.asarray(other.value)
    if norm == "mahalanobis":
        return float(np.sqrt(max(np.sum(gap @ metric * gap), 0.0)))
    if norm == "hamming":
        return float(np.count_nonzero(gap))
    if norm == "distance":
        assert np.count_nonzero(gap) <= 1, "more than one entry moved"
    orders = {"l2": 2, "l1": 1, "linf": np.inf, "distance": np.inf}
    return float(np.linalg.norm(gap.ravel(), orders[norm])) if gap.size else 0.0


@contextmanager
def _watched(tape: Tape, earlier: Tape | None) -> Iterator[None]:
    """Every ``released`` of the library and every channel report to the tape while this lasts."""
    real, send = release_module.released, Channel.send

    def released(bounded, law, mechanism, draw, owner, terms, sampler="simulation", **more):
        place, call = len(tape.calls), Call(bounded, mechanism)
        tape.calls.append(call)
        past = None if earlier is None else earlier.calls[place] if place < len(earlier.calls) else "none"
        assert past != "none", f"{owner} releases {mechanism}, which the first run did not"

        def drawn():
            # Always drawn, so that a generator shared with other draws stays in step.  Releases inside a draw, such as
            # the counts of a private radius, are replayed one by one.
            call.drawn = draw()
            call.nested = len(tape.calls) - place - 1
            if past is not None and not call.nested:
                call.drawn = past.drawn
            return call.drawn

        release = real(bounded, law, mechanism, drawn, owner, terms, sampler, **more)
        call.event = release.event
        return release

    def sending(channel, sender, receiver, name, payload):
        tape.sent.append((sender, receiver, name, payload))
        return send(channel, sender, receiver, name, payload)

    holders = [m for n, m in list(sys.modules.items()) if n.startswith("partywise") and vars(m).get("released") is real]
    try:
        for module in holders:
            module.released = released
        Channel.send = sending
        yield
    finally:
        for module in holders:
            module.released = real
        Channel.send = send


def _same_certificate(name: str, one: Bounded, other: Bounded) -> None:
    for part in fields(SensitivityCertificate):
        values = [getattr(bounded.certificate, part.name) for bounded in (one, other)]
        assert np.array_equal(*values), f"{part.name} of the certificate of {name}: {values[0]!r} and {values[1]!r}"
    assert one.stratum == other.stratum, f"stratum of {name}: {one.stratum!r} and {other.stratum!r}"
    assert one.parents == other.parents, f"parents of {name}: {one.parents} and {other.parents}"


def _same_event(name: str, one: Event, other: Event) -> None:
    for part in fields(Event):
        values = getattr(one, part.name), getattr(other, part.name)
        assert values[0] == values[1], f"{part.name} of the event of {name}: {values[0]!r} and {values[1]!r}"


def _same_messages(first: list, second: list, unit: str) -> None:
    heads = [[(*m[:3], type(m[3]).__name__, _shapes(content_of(m[3]))) for m in sent] for sent in (first, second)]
    assert heads[0] == heads[1], "other messages cross"
    for (sender, receiver, name, one), (*_, other) in zip(first, second, strict=True):
        free = isinstance(one, Public) or (isinstance(one, Clear) and unit not in one.units)
        if free and not isinstance(one, Cipher):
            assert _equal(one.value, other.value), f"{name!r} from {sender} to {receiver} is not free of {unit}"


def _shapes(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shapes(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shapes(item) for item in value]
    return np.shape(value)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    equal_nan = np.asarray(one).dtype.kind == "f"
    return bool(np.array_equal(one, other, equal_nan=equal_nan))
