"""The link of one party's process: accounts for what it sends in a channel of its own, checks what it gets.

The channel knows what this party could know: its own messages, those it received, and the rows that stand inside of
them. That is all that a message of its own may be made of, so the row of every message is the one that a channel which
saw everything would give it; the ledger of all comes from the accounts together (`network union`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...core.errors import RefusalError
from ...federation.account.interface import Account
from ...federation.channel import Channel, Message
from ...federation.codec import row_of
from ...federation.payloads import Payload, measure, strip_value
from ...privacy.ledger.event import Event
from ...privacy.mechanisms.release import Release
from ..wire.frames import Address, decode_frame, encode_frame
from .forms import Forms
from .session import SessionRun
from .watch import LOG


class SessionLink:
    """Messages of one party, in a run of a session that has begun.

    Parameters
    ----------
    run : SessionRun
    names : sequence of str
        Everyone on the channel, in the order of the run.
    account : Account
        Every message is written there before it leaves.
    real, trusted
        As of `partywise.federation.channel.Channel`.
    forms : mapping, optional
        Forms of messages by (receiver, name) that a rehearsal had (`partywise.deployment.session.forms.Forms`).
    """

    def __init__(
        self,
        run: SessionRun,
        names: Sequence[str],
        account: Account,
        *,
        real: bool = False,
        trusted: Collection[str] = (),
        forms: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        self.channel, self._forms = Channel((), tuple(names), real=real, trusted=trusted), Forms(forms)
        self._run, self._account = run, account

    def put(self, step: int, sender: str, receiver: str, name: str, payload: Payload) -> None:
        """Account for a message, write it down, and send it.

        Nothing leaves where the budget refuses a value in the clear, `Channel.send` would refuse the message, it holds
        a number that is not finite, or it has another form than messages of its name.
        """
        payload = self.channel.leaving(sender, payload)
        problem = self._forms.problem(sender, receiver, name, payload)
        if problem:
            raise ValueError(
                f"message {step} ({name!r}) from {sender!r} to {receiver!r} does not leave: {problem}; look at its "
                "data."
            )
        shape, size = measure(payload, name)
        known = len(self.channel.ledger)
        row = self.channel.enter(sender, receiver, name, payload, shape, size)
        self._pay(known)
        address = Address(self._run.id, step, sender, receiver, name)
        frame = encode_frame(address, payload, row.event)
        digest = self._run.digest(sender, receiver, frame)
        self._account.record_sent(step, receiver, name, row_of(payload), shape, size, digest)
        LOG.debug("message %d to %s: %s, %d bytes", step, receiver, name, len(frame))
        self._run.put(receiver, address.tag, frame)

    def get(self, step: int, sender: str, receiver: str, name: str) -> Payload:
        """The payload of a message, checked in all that this party can know; Refused names what is not right."""
        address = Address(self._run.id, step, sender, receiver, name)
        frame = self._run.get(sender, address.tag)
        LOG.debug("message %d from %s: %s, %d bytes", step, sender, name, len(frame))
        payload, header = decode_frame(frame, address, self.channel.names)
        problem = self._forms.problem(sender, receiver, name, payload)
        if problem:
            raise RefusalError(
                f"message {step} ({name!r}) from {sender!r} to {receiver!r} is refused: {problem}.", sender, address.tag
            )
        try:
            row = self._enter(address, payload, header.shape, header.bytes)
        # A payload that was made up may break a rule anywhere: it is refused all the same.
        except Exception as error:
            raise RefusalError(
                f"message {step} ({name!r}) from {sender!r} to {receiver!r} is refused: it cannot be accounted for "
                f"({type(error).__name__}).",
                sender,
                address.tag,
            ) from error
        if row.event != header.event:
            raise RefusalError(
                f"message {step} ({name!r}) from {sender!r} to {receiver!r} is refused: its event is "
                f"{header.event!r:.80} where the program has {row.event!r:.80}.",
                sender,
                address.tag,
            )
        self._account.record_received(step, sender, name, row_of(payload), self._run.digest(sender, receiver, frame))
        return payload

    def reserve(self, step: int, row: Event) -> None:
        """Keep a public row, here and in the account."""
        self.channel.ledger.append(row)
        self._account.record_reservation(step, row)

    def _enter(self, address: Address, payload: Payload, shape: tuple[int, ...], size: int) -> Message:
        """The row of a received message, after those that stand inside of it."""
        for release in inner_releases(payload):
            self.channel.ledger.append(release.event)
        return self.channel.enter(address.sender, address.receiver, address.name, strip_value(payload), shape, size)

    def _pay(self, known: int) -> None:
        """Charge the rows that sending in the clear has made."""
        if len(self.channel.ledger) > known:
            clear = [event for event in self.channel.ledger.rows[known:] if event.mechanism == "none"]
            if clear:
                self._account.charge(*clear)


def inner_releases(payload: Payload) -> list[Release]:
    """The releases that a payload is made of, each after those that it is made of itself."""
    found: dict[int, Release] = {}

    def visit(part: object) -> None:
        for inner in getattr(part, "made_of", ()):
            visit(inner)
            if isinstance(inner, Release):
                found[id(inner)] = inner

    visit(payload)
    return list(found.values())
