"""The transcript and the ledger of a run from what every party wrote down: its messages, replayed in order of steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import CertificationError, PartyError
from ...privacy.ledger.event import Event
from ..channel import Channel
from ..codec import payload_of

__all__ = ["Reserved", "Sent", "union"]


@dataclass(frozen=True)
class Sent:
    """A message as its sender wrote it down before it left.

    step : position in the program; sender, receiver, name : from whom, to whom, what
    payload : what it cost (`partywise.federation.codec.row_of`); shape, size : of its value on the wire
    """

    step: int
    sender: str
    receiver: str
    name: str
    payload: Mapping[str, Any]
    shape: tuple[int, ...]
    size: int


@dataclass(frozen=True)
class Reserved:
    """A row of the ledger that stands at a step, as every party wrote it down."""

    step: int
    event: Event


def union(names: Sequence[str], rows: Iterable[Sent | Reserved], *, steps: int | None = None) -> Channel:
    """A channel that accounts for the messages of all parties as if it had carried them.

    Parameters
    ----------
    names : sequence of str
        Everyone on the channel, in the order of the run.
    rows : iterable of Sent or Reserved
        What all parties wrote down, in any order.
    steps : int, optional
        How many there must be.

    Raises
    ------
    PartyError
        If a step is missing, two parties wrote down different things for one, or a row is no message.
    CertificationError
        If a message could not be accounted for.
    """
    by_step: dict[int, Sent | Reserved] = {}
    for row in rows:
        if by_step.setdefault(row.step, row) != row:
            raise PartyError(f"step {row.step} stands in the accounts in two ways: one of them was changed.")
    count = len(by_step) if steps is None else steps
    lacking = next((step for step in range(count) if step not in by_step), None)
    if lacking is not None or len(by_step) > count:
        step = min(step for step in by_step if step >= count) if lacking is None else lacking
        raise PartyError(f"step {step} of {count} is in no account or beyond the last: give those of all parties.")
    channel = Channel((), tuple(names))
    for step in range(count):
        row = by_step[step]
        if isinstance(row, Reserved):
            channel.ledger.append(row.event)
        else:
            _enter(channel, row, _payload(row))
    return channel


def _enter(channel: Channel, row: Sent, payload: Any) -> None:
    try:
        channel.enter(row.sender, row.receiver, row.name, payload, row.shape, row.size)
    except CertificationError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise PartyError(f"step {row.step} of {row.sender!r} is no message ({error}): its row was changed.") from error


def _payload(row: Sent) -> Any:
    try:
        return payload_of(row.payload)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise PartyError(f"step {row.step} of {row.sender!r} is no message ({error}): its row was changed.") from error
