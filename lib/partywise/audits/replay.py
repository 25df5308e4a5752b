"""Record and replay: run on D, keep every release, run on a neighbour with those releases, and compare.

A run whose ledger proves something for a unit must then look the same from outside: every certificate and every event
is equal, every statistic moved by at most its certificate in its own norm, the same messages cross, and what is made of
releases, or was sent as free of that unit (`Public`, or `Clear` for other units), is equal to the last byte.  A branch
on data, a parameter taken from data and called public, a wrong norm and a wrong domain all show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace

# Any: contents of messages and keys, whatever a protocol sends.
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.errors import ContractError
from ..federation.channel import Channel
from ..federation.cipher import Cipher
from ..federation.gate import ROW, charges_of, open_rows
from ..federation.payloads import Message, content_of
from ..privacy.accounted_values import Clear
from ..privacy.ledger.event import OF_PERSONS, UNNAMED, Event
from ..privacy.ledger.ledger import Ledger
from ..privacy.mechanisms.release import OBSERVER, Release, derived_event
from ..privacy.statistics.bounded import Bounded
from ..privacy.statistics.encrypted_integers import EncryptedIntegers
from ..privacy.statistics.whole import Whole

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ROUNDING = 1e-9


@dataclass
class Call:
    """One release: what it was made of, what was drawn, what it cost, and the releases inside its draw.

    draw : gives another value of the mechanism on the same statistic
    sent_value : what left the mechanism; of a closed statistic not what was drawn, but ciphertexts of it
    source : state of the generator before the draw; None where several sources draw
    closed : whether its owner had ciphertexts of the statistic only
    step : the longest step of a statistic of whole numbers, whose noise is of whole steps, too; 0 of others
    parts : data of others in a closed statistic, which the certificate does not cover
    """

    bounded: Bounded | Whole
    mechanism: str
    draw: Callable[[], object]
    output: object = None
    sent_value: object = None
    source: str | None = None
    closed: bool = False
    step: float = 0.0
    event: Event | None = None
    n_inner: int = 0
    parts: tuple[Clear, ...] = ()

    @property
    def name(self) -> str:
        """Owner and id of the release."""
        return self.mechanism if self.event is None else f"{self.event.owner}: {self.event.release_id}"


@dataclass
class Tape:
    """All releases of one run in order, and its channel with the contents of its messages."""

    calls: list[Call] = field(default_factory=list)
    channel: Channel | None = None

    @property
    def sent_messages(self) -> tuple[tuple[Message, object], ...]:
        """The messages with their values, in order."""
        return () if self.channel is None else self.channel.view(*self.channel.names)

    @property
    def sent_releases(self) -> tuple[Event, ...]:
        """The rows of the releases among the messages."""
        if self.channel is None:
            return ()
        rows = {event.release_id: event for event in self.channel.ledger.rows}
        sent = dict.fromkeys(message.event for message in self.channel.messages if message.kind == "release")
        return tuple(rows[name] for name in sent if name in rows)

    def is_released(self, call: Call) -> bool:
        """Whether the ledger has the row of what a mechanism drew."""
        assert self.channel is not None
        return call.event is not None and self.channel.ledger.holds(call.event)

    def unpaid_calls(self, unit: str) -> tuple[int, ...]:
        """Places of the draws that have a cost in a unit and no row, of themselves or of what draws them."""
        paid = {
            inner
            for place, call in enumerate(self.calls)
            if self.is_released(call)
            for inner in range(place, place + call.n_inner + 1)
        }
        costs = (call.event is not None and call.event.cost(unit) != 0.0 for call in self.calls)
        return tuple(place for place, costly in enumerate(costs) if costly and place not in paid)

    @property
    def published_ledger(self) -> Ledger:
        """The ledger of the run once all parties may see its releases, each charged anew to those whom it costs."""
        assert self.channel is not None
        releases = [Release(None, call.event, call.parts) for call in self.calls if call.event is not None]
        drawn = [release for release in releases if self.channel.ledger.holds(release.event)]
        charges = charges_of((release.event.owner, release) for release in drawn)
        derived = [derived_event(ROW, UNNAMED, drawn, "*")] if drawn else []
        return Ledger((*self.channel.ledger.rows, *derived, *open_rows(charges)))


def record(run: Callable[[], Channel]) -> Tape:
    """Run once (a channel made with ``record=True``) and keep what was released and sent."""
    return _observe(run, None)


def replay(run: Callable[[], Channel], earlier: Tape) -> Tape:
    """Run again, on other data, with every release of an earlier run in the place of its own."""
    try:
        return _observe(run, earlier)
    except ContractError:
        raise
    except Exception as error:
        raise ContractError(f"the run fails on a neighbour ({type(error).__name__}: {error})") from error


def compare(first: Tape, second: Tape, unit: str, holder: str = "", group: int = 1) -> None:
    """ContractError, naming the first release or message, unless runs on neighbours differ as their certificates state.

    ``holder`` is the party that holds the labels. What others see under encryption, and what comes back to it alone,
    reveals nothing of them: of a closed statistic for this party only the part of the features is compared. Without a
    holder, as where all parties see all releases, nothing is left out. ``group`` is the number of rows in which the
    neighbours differ: a certificate for less than a person holds for each of them.
    """
    names = [[call.mechanism for call in tape.calls] for tape in (first, second)]
    require(names[0] == names[1], f"other releases are made: {names}")
    for call, other_call in zip(first.calls, second.calls, strict=True):
        _same_fields(f"the certificate of {call.name}", call.bounded.certificate, other_call.bounded.certificate)
        _same_fields(f"the event of {call.name}", call.event, other_call.event)
        for part in ("stratum", "parents"):
            values = getattr(call.bounded, part), getattr(other_call.bounded, part)
            require(values[0] == values[1], f"{part} of {call.name}: {values[0]!r} and {values[1]!r}")
        if call.closed and unit != "features" and call.event is not None and call.event.audience == (holder,):
            continue
        moved, bound = distance(call.bounded, other_call.bounded), call.bounded.certificate.value
        bound *= 1 if call.bounded.certificate.unit == "user" else group
        # Not the other way round: NaN is not a distance.
        require(moved <= bound * (1 + ROUNDING), f"{call.name} moved by {moved:.9g}, certified for {bound:.9g}")
        touched = {part} if (part := OF_PERSONS.get(unit, unit)) in ("label", "features") else {"label", "features"}
        named = touched & call.bounded.certificate.depends_on
        require(moved == 0 or bool(named), f"{call.name} depends on {sorted(touched)}, which it does not name")
    _same_messages(first.sent_messages, second.sent_messages, OF_PERSONS.get(unit, unit))


def check_rows(tape: Tape, other: Tape, unit: str, run: Callable[[], Channel]) -> None:
    """Check that no message is made of draws that no row pays for: two draws reveal more than the row of one states.

    ``other`` is a run on the same data with another seed, whose draws take the place of these; ``run`` gives the first
    run again.
    """
    places = tape.unpaid_calls(unit)
    if not places:
        return
    require(bool(other.calls), f"{tape.calls[places[0]].name} was drawn for one seed, and nothing for another")
    calls = list(tape.calls)
    for place in places:
        call, drawn = calls[place], other.calls[min(place, len(other.calls) - 1)]
        alike = call.mechanism == drawn.mechanism and _shapes(call.output) == _shapes(drawn.output)
        require(alike, f"{call.name} was drawn, and no row of the ledger pays for it")
        calls[place] = replace(call, output=drawn.output, sent_value=drawn.sent_value)
    _compare_draws(tape, replay(run, Tape(calls)), places)


def _compare_draws(first: Tape, second: Tape, places: Sequence[int]) -> None:
    """ContractError where runs on the same data differ in more than what was drawn at some places of the tape."""
    name = " and ".join(first.calls[place].name for place in places)
    unpaid = f"{name} was drawn, no row of the ledger pays for it, and"
    require(len(first.calls) == len(second.calls), f"{unpaid} other releases are made with another draw")
    for place, (call, other_call) in enumerate(zip(first.calls, second.calls, strict=True)):
        if place not in places:
            alike = _equal(call.bounded.value, other_call.bounded.value) and call.event == other_call.event
            require(alike, f"{unpaid} {call.name} is another release with another draw")
    sent = [tape.sent_messages for tape in (first, second)]
    require(len(sent[0]) == len(sent[1]), f"{unpaid} other messages cross with another draw")
    for (message, one_value), (other_message, other_value) in zip(*sent, strict=True):
        alike = message == other_message and _equal(one_value, other_value)
        require(alike, f"{unpaid} {message.name!r} to {message.receiver} is made of it")


def distance(statistic: Bounded | Whole, other: Bounded | Whole) -> float:
    """Distance that a statistic moved, in the norm of its certificate."""
    first, second = np.asarray(statistic.value), np.asarray(other.value)
    require(first.shape == second.shape, f"a statistic has the shapes {first.shape} and {second.shape}")
    norm, gap = statistic.certificate.norm, first - second
    if norm == "mahalanobis":
        return float(np.sqrt(max(np.sum(gap @ statistic.certificate.metric * gap), 0.0)))
    if norm == "hamming":
        return float(np.count_nonzero(gap))
    if norm == "distance":
        require(bool(np.count_nonzero(gap) <= 1), "more than one entry of a statistic moved")
    orders = {"l2": 2, "l1": 1, "linf": np.inf, "distance": np.inf}
    return float(np.linalg.norm(gap.ravel(), orders[norm])) if gap.size else 0.0


class _Observer:
    """Keeps the releases of a run, and gives out those of an earlier one."""

    def __init__(self, tape: Tape, earlier: Tape | None) -> None:
        self.tape, self.earlier, self.pending = tape, earlier, list[Call]()
        self.keys = list[Any]()

    def add_key(self, key: Any) -> None:
        """Kept, to open what a party noised without reading it."""
        self.keys.append(key)

    def draw(
        self,
        bounded: Bounded | EncryptedIntegers | Whole,
        mechanism: str,
        owner: str,
        draw: Callable[[], Any],
        rng: object = None,
    ) -> Any:
        """The value of a release: always drawn, so that a generator shared with other draws stays in step."""
        closed = bounded if isinstance(bounded, EncryptedIntegers) else None
        known = bounded.decrypt(bounded.content, self.keys) if isinstance(bounded, EncryptedIntegers) else bounded
        step = 0.0 if isinstance(bounded, Bounded) else float(np.max(bounded.units, initial=0.0))
        parts = () if closed is None else closed.foreign_parts(owner)
        source = str(rng.bit_generator.state) if isinstance(rng, np.random.Generator) else None
        call = Call(known, mechanism, draw, source=source, closed=closed is not None, step=step, parts=parts)
        place = len(self.tape.calls)
        past = self._past(place, call, owner)
        self.tape.calls.append(call)
        self.pending.append(call)
        call.output = call.sent_value = draw()
        if closed is not None:
            call.output = closed.decrypt(call.sent_value, self.keys).value
        # Releases inside a draw, such as the counts of a private radius, are replayed one by one.
        call.n_inner = len(self.tape.calls) - place - 1
        if past is not None and not call.n_inner:
            call.output, call.sent_value = past.output, past.sent_value
        return call.sent_value

    def show(self, name: str, part: Clear, because: str) -> Clear:
        """Return what is shown."""
        return part

    def add_event(self, event: Event) -> None:
        """The event of the release that was drawn last."""
        self.pending.pop().event = event

    def _past(self, place: int, call: Call, owner: str) -> Call | None:
        if self.earlier is None:
            return None
        past = self.earlier.calls[place] if place < len(self.earlier.calls) else None
        require(past is not None, f"{owner} makes a release by {call.mechanism} more")
        assert past is not None
        require(past.mechanism == call.mechanism, f"{owner} releases by {call.mechanism}, before by {past.mechanism}")
        distance(past.bounded, call.bounded)
        return past


def _observe(run: Callable[[], Channel], earlier: Tape | None) -> Tape:
    tape = Tape()
    token = OBSERVER.set(_Observer(tape, earlier))
    try:
        tape.channel = run()
    finally:
        OBSERVER.reset(token)
    return tape


def require(holds: bool, sentence: str) -> None:
    """ContractError with the sentence, unless it holds."""
    if not holds:
        raise ContractError(sentence)


def _same_fields(name: str, instance: DataclassInstance | None, other: DataclassInstance | None) -> None:
    assert instance is not None
    for part in fields(instance):
        values = getattr(instance, part.name), getattr(other, part.name)
        same = np.array_equal(*values) if isinstance(values[0], np.ndarray) else values[0] == values[1]
        require(bool(same), f"{part.name} of {name}: {values[0]!r} and {values[1]!r}")


def _same_messages(
    first: Sequence[tuple[Message, object]], second: Sequence[tuple[Message, object]], unit: str
) -> None:
    heads = [
        [(m.sender, m.receiver, m.name, m.kind, m.argument, m.event, _shapes(value)) for m, value in sent]
        for sent in (first, second)
    ]
    for head, other in zip(*heads, strict=False):
        require(head == other, f"other messages cross: {head} and {other}")
    require(len(first) == len(second), f"{len(first)} messages cross, and {len(second)}")
    for (message, value), (_, other) in zip(first, second, strict=True):
        where = f"{message.name!r} from {message.sender} to {message.receiver}"
        planted = message.kind != "release" or _equal(value, other)
        require(
            planted, f"{where} is made of more than the releases, which are those of the first run to the last byte"
        )
        free = message.kind == "public" or (message.kind == "clear" and unit not in message.argument.split("+"))
        require(not free or _equal(value, other), f"{where} is not free of {unit}")


def _shapes(value: Any) -> object:
    if isinstance(value, Cipher):
        return value.shape or _shapes(content_of(value))
    if isinstance(value, dict):
        return {key: _shapes(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shapes(item) for item in value]
    return np.shape(value)


def _equal(value: Any, other: Any) -> bool:
    if isinstance(value, Cipher):
        return _equal(content_of(value), content_of(other))
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(_equal(value[key], other[key]) for key in value)
    if isinstance(value, list | tuple):
        return len(value) == len(other) and all(map(_equal, value, other))
    equal_nan = np.asarray(value).dtype.kind == "f"
    return bool(np.array_equal(value, other, equal_nan=equal_nan))
