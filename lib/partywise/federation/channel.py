"""The only way between parties: typed, metered, remembered.

What crosses is one of four things: a `Release` (paid for), a `Cipher` (closed to its receiver), `Public` (free by a
stated argument) or `Clear` (unprotected for named units). A bare array cannot be sent.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence

# Any: contents of messages, whatever a protocol sends.
from typing import Any

from ..core.errors import CertificationError
from ..privacy.accounted_values import Clear, Public, open_charges
from ..privacy.ledger.event import Event
from ..privacy.ledger.ledger import Ledger
from ..privacy.ledger.reach import clear_event, closed_event
from ..privacy.mechanisms.release import Release, derived_event, digest_of, released_parts
from ..privacy.payer import Payer
from .cipher import Cipher
from .parties import Party
from .payloads import (
    KINDS,
    Message,
    Payload,
    TranscriptRow,
    argument_of,
    in_the_clear,
    measure,
    read_only,
    require_value,
    strip_value,
    visible,
)


class Channel:
    """Carries payloads between parties and keeps the transcript and the ledger.

    Parameters
    ----------
    parties : sequence of Party
        Who takes part; names are distinct.
    extra : tuple of str
        Names without a data block that take part too, such as ``("server",)``.
    record : bool
        Whether the contents of messages are kept, for `view`; without it only what they cost.
    real : bool
        Whether what crosses is real (mode ``release``): a cipher whose scheme does not close is then a value in the
        clear of its makers, and counts with the bytes that cross. In an experiment it stands for one that closes.
    trusted : collection of str
        Places of a real run that may be sent what is open to them: an assumed functionality that a party runs.

    Attributes
    ----------
    payer : Payer, optional
        Who is asked before a value is sent in the clear; none by default.

    Raises
    ------
    ValueError
        If two participants have one name.

    Examples
    --------
    >>> import partywise as pw
    >>> channel = pw.Channel([], ("hospital", "server"))
    >>> total = pw.record_sum([[0.3, 0.4]], pw.Public(1.0, because="upper limit of the assay"))
    >>> release = pw.Gaussian(mu=0.5)(total, pw.stream(4, "noise"), owner="hospital", release_id="sum")
    >>> _ = channel.send("hospital", "server", "sum", release)
    >>> [(message.name, message.kind, message.bytes) for message in channel.messages], channel.bytes_total
    ([('sum', 'release', 16)], 16)
    >>> channel.ledger.total("server", "features", delta=1e-5).mu_upper  # what crossed is accounted for
    0.5
    """

    def __init__(
        self,
        parties: Sequence[Party],
        extra: tuple[str, ...] = (),
        *,
        record: bool = False,
        real: bool = False,
        trusted: Collection[str] = (),
    ) -> None:
        names = (*(party.name for party in parties), *extra)
        if len(set(names)) != len(names):
            raise ValueError(f"the parties {names} of a channel must have distinct names.")
        self.names: tuple[str, ...] = names
        self.connected = frozenset(names)
        self.payer: Payer | None = None
        self.ledger, self.real, self.trusted = Ledger(), real, frozenset(trusted)
        self._messages: list[Message] = []
        self.record, self._payloads = record, list[Payload]()
        self._shared: tuple[object, frozenset[str], str] = None, frozenset(), ""
        self._emptied: tuple[Payload, Payload] | None = None
        self._charged = dict[Hashable, str]()
        self._heard = dict[tuple[str, str], list[Payload]]()

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, in order."""
        return tuple(self._messages)

    @property
    def bytes_total(self) -> int:
        """Bytes of all messages."""
        return sum(message.bytes for message in self._messages)

    def send(self, sender: str, receiver: str, name: str, payload: Release | Cipher | Public | Clear) -> Any:
        """Send one payload.

        Parameters
        ----------
        sender, receiver : str
            Names of two different participants.
        name : str
            What it is, for the transcript.
        payload : Release, Cipher, Public or Clear
            A release that was sent before is recognised and charged once.

        Returns
        -------
        object
            The value as the receiver gets it: arrays copied and read-only for good, a cipher still closed.

        Raises
        ------
        TypeError
            If the payload is none of the four, or holds something without a size.
        ValueError
            If a name is unknown or a party sends to itself.
        CertificationError
            If a bare cipher goes to its key holder, a value to a place outside its audience, a value is made of a
            release that its sender never got, the ledger cannot account for it, or the payer does not let a
            value leave in the clear.

        Examples
        --------
        >>> import partywise as pw
        >>> channel = pw.Channel([], ("hospital", "server"))
        >>> channel.send("hospital", "server", "records", pw.Public(120, because="reported every year"))
        120
        >>> channel.send("hospital", "server", "mean", 0.3)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        TypeError: payload 'mean' from 'hospital' is a bare float...
        """
        self._check_ends(sender, receiver, name, payload)
        require_value(payload, sender, name, self._arrivals(sender))
        payload = self.leaving(sender, payload)
        # The values of many rounds are many: unasked, a message leaves what it cost.
        recorded = payload if self.record else None
        self._enter(sender, receiver, name, payload, *measure(payload, name), recorded, pays=True)
        return read_only(visible(payload))

    def enter(
        self,
        sender: str,
        receiver: str,
        name: str,
        payload: Release | Cipher | Public | Clear,
        shape: tuple[int, ...],
        size: int,
    ) -> Message:
        """Account for a payload whose value went another way: as `send`, from what it cost (`strip_value`).

        Parameters
        ----------
        sender, receiver, name, payload
            As in `send`; of the payload nothing is read but what it cost.
        shape, size
            Shape of the value on the wire (`measure`), and its bytes.

        Examples
        --------
        >>> import partywise as pw
        >>> channel = pw.Channel([], ("hospital", "server"))
        >>> table = pw.Clear(None, units=("row",))  # the value took another way, such as a disk
        >>> message = channel.enter("hospital", "server", "table", table, shape=(120, 4), size=3840)
        >>> message.bytes, channel.ledger.total("server", "row", delta=1e-5).epsilon_certified
        (3840, inf)
        """
        self._check_ends(sender, receiver, name, payload)
        return self._enter(sender, receiver, name, payload, tuple(shape), size, None)

    def _enter(
        self,
        sender: str,
        receiver: str,
        name: str,
        payload: Payload,
        shape: tuple[int, ...],
        size: int,
        recorded: Payload | None,
        *,
        pays: bool = False,
    ) -> Message:
        """Account for a message; everything that can fail comes before anything is recorded."""
        event = self._account(sender, receiver, name, payload, pays)
        kind, argument = KINDS[type(payload)], argument_of(payload)
        message = Message(len(self._messages), sender, receiver, name, kind, argument, event, shape, size)
        self._messages.append(message)
        if recorded is None:
            # One value for 10,000 receivers that is made of 10,000 leaves what it cost once.
            if self._emptied is None or payload is not self._emptied[0]:
                self._emptied = payload, strip_value(payload)
            recorded = self._emptied[1]
        if self.record:
            self._payloads.append(recorded)
        self._heard.setdefault((receiver, name), []).append(recorded)
        return message

    def leaving(self, sender: str, payload: Payload) -> Payload:
        """Return a payload as it is on this channel: in a real run a cipher that closes nothing is in the clear.

        Unless it is for a place that is trusted with it.

        Parameters
        ----------
        sender : str
        payload : Release, Cipher, Public or Clear

        Returns
        -------
        Release, Cipher, Public or Clear

        Examples
        --------
        >>> import partywise as pw
        >>> stands_for = pw.Cipher(42, key_holder="analyst", scheme="sealed")
        >>> for real in (False, True):
        ...     channel = pw.Channel([], ("hospital", "server"), real=real)
        ...     print(type(channel.leaving("hospital", stands_for)).__name__)
        Cipher
        Clear
        """
        if not self.real or (isinstance(payload, Cipher) and payload.knows and self.trusted >= set(payload.knows)):
            return payload
        return in_the_clear(payload, sender)

    def received_payloads(self, receiver: str, name: str) -> tuple[Payload, ...]:
        """The payloads of that name that a participant received, in order: what its functions of them are made of.

        They hold their values only where the channel records them.

        Parameters
        ----------
        receiver, name : str

        Returns
        -------
        tuple of Release, Cipher, Public and Clear

        Raises
        ------
        ValueError
            If the participant does not exist.

        Examples
        --------
        >>> import partywise as pw
        >>> channel = pw.Channel([], ("hospital", "registry", "server"))
        >>> for name, n in (("hospital", 120), ("registry", 80)):
        ...     _ = channel.send(name, "server", "records", pw.Public(n, because="reported every year"))
        >>> len(channel.received_payloads("server", "records")), channel.received_payloads("hospital", "records")
        (2, ())
        """
        self._check_name("receiver", receiver)
        return tuple(self._heard.get((receiver, name), ()))

    def _arrivals(self, receiver: str) -> Iterator[tuple[str, Payload]]:
        """Name and payload of each message that has reached a participant."""
        return ((name, part) for (place, name), parts in self._heard.items() if place == receiver for part in parts)

    def view(self, *parties: str) -> tuple[tuple[Message, Any], ...]:
        """List what colluding participants saw: the messages that reached one of them, with values, ciphers closed.

        Parameters
        ----------
        *parties : str
            Names.

        Returns
        -------
        tuple of pairs of Message and value

        Raises
        ------
        ValueError
            If a name is unknown, or the channel does not record contents.

        Examples
        --------
        >>> import partywise as pw
        >>> channel = pw.Channel([], ("hospital", "server", "analyst"), record=True)
        >>> _ = channel.send("hospital", "server", "share", pw.Cipher(42, key_holder="analyst"))
        >>> _ = channel.send("hospital", "server", "records", pw.Public(120, because="reported every year"))
        >>> [(message.name, type(value).__name__) for message, value in channel.view("server")]
        [('share', 'Cipher'), ('records', 'int')]
        """
        if not self.record:
            raise ValueError(
                "record=False of this channel: its messages left what they cost only; make it with record=True."
            )
        for name in parties:
            self._check_name("parties", name)
        seen = ((m, visible(p)) for p, m in self._records() if m.receiver in parties)
        return tuple((message, read_only(value)) for message, value in seen)

    def _records(self) -> Iterator[tuple[Payload, Message]]:
        return zip(self._payloads, self._messages, strict=True)

    def transcript(self) -> list[TranscriptRow]:
        """Rows of the table "what crosses the wire": plain values, in order.

        Returns
        -------
        list of dict
            The fields of `Message`, the shape as text.

        Examples
        --------
        >>> import partywise as pw
        >>> channel = pw.Channel([], ("hospital", "server"))
        >>> _ = channel.send("hospital", "server", "records", pw.Public(120, because="reported every year"))
        >>> (row,) = channel.transcript()
        >>> row["sender"], row["receiver"], row["name"], row["kind"], row["argument"]
        ('hospital', 'server', 'records', 'public', 'reported every year')
        """
        return [message.row for message in self._messages]

    def _account(self, sender: str, receiver: str, name: str, payload: Payload, pays: bool) -> str:
        """Event id of a payload; its rows go to the ledger, and what is in the clear is paid where it is sent."""
        if isinstance(payload, Cipher):
            if receiver == payload.key_holder:
                raise CertificationError(
                    f"payload {name!r}: {receiver!r} holds the key, so the cipher is a disclosure; wrap it in a "
                    "Release or in Clear(units=...)."
                )
            return self._account_cipher(sender, receiver, name, payload)
        if isinstance(payload, Release):
            return self._account_release(sender, receiver, name, payload, pays)
        last, shared, event_id = self._shared
        if isinstance(payload, Clear) and (sender, name, payload) == last and not shared.isdisjoint(("*", receiver)):
            return event_id
        audience = _audience(payload, receiver)
        if not {"*", receiver} & set(audience):
            raise CertificationError(f"payload {name!r}: the value is for {audience}, not for {receiver!r}.")
        kind = _charge(sender, name, audience, payload)
        if kind is not None and kind in self._charged:
            return self._charged[kind]
        parts = released_parts(payload.made_of)
        self._require_heard(sender, name, parts)
        to, rows = _receivers(receiver, audience), _open_rows(sender, receiver, name, payload, audience)
        if parts:
            made_of = digest_of([part.event.release_id for part in parts])
            row = f"derived/{made_of}/{sender}>{to}/{name}"
            rows.append(derived_event(row, sender, parts, audience))
        if pays:
            self._pay(rows)
        stored = [self.ledger.append(event).release_id for event in rows]
        event_id = stored[0] if stored else ""
        if isinstance(payload, Clear) and payload.audience is not None:
            # Its rows are the same for every receiver; of a hundred owners, they are many.
            self._shared = (sender, name, payload), frozenset(audience), event_id
        if kind is not None:
            self._charged[kind] = event_id
        return event_id

    def _pay(self, rows: Sequence[Event]) -> None:
        """Charge the rows of what is in the clear that the ledger does not hold yet."""
        clear = [event for event in rows if event.mechanism == "none" and not self.ledger.holds(event)]
        if clear and self.payer is not None:
            self.payer.charge(*clear)

    def _account_cipher(self, sender: str, receiver: str, name: str, cipher: Cipher) -> str:
        """Rows of closed disclosures: one for each owner, shared by all messages of one kind."""
        charges = cipher.charges(sender)
        entrusted = receiver in self.trusted.intersection(cipher.knows)
        if self.real and charges and not cipher.closes and not entrusted:
            raise CertificationError(
                f"payload {name!r}: scheme {cipher.scheme!r} closes nothing in a run that is not an experiment."
            )
        kind = sender, receiver, cipher.keys, cipher.knows, tuple(charges.items())
        if kind not in self._charged:
            events = []
            for owner, units in charges.items():
                if owner != receiver:
                    row = f"cipher/{owner}/{sender}>{receiver}/{'+'.join(sorted(units))}/{'+'.join(cipher.keys)}"
                    events.append(closed_event(row, owner, units, (receiver,), cipher.keys, cipher.knows))
            stored = [self.ledger.append(event).release_id for event in events]
            self._charged[kind] = stored[0] if stored else ""
        return self._charged[kind]

    def _account_release(self, sender: str, receiver: str, name: str, release: Release, pays: bool) -> str:
        """Rows of a release, and of data of others in it where another place may see it too."""
        event = release.event
        if not event.public and receiver not in event.audience:
            raise CertificationError(
                f"payload {name!r}: release {event.release_id!r} is for {event.audience}, not for {receiver!r}; "
                "name the receiver in its audience when it is made."
            )
        if not self.ledger.holds(event):
            self._require_heard(sender, name, released_parts(release.made_of))
        rows = _open_rows(sender, receiver, name, release, event.audience)
        if pays:
            self._pay(rows)
        for row in (event, *rows):
            self.ledger.append(row)
        return event.release_id

    def _require_heard(self, sender: str, name: str, parts: Sequence[Release]) -> None:
        """The releases that a value is made of were sent to its sender, or are its own and get their rows now."""
        for release in parts:
            event = release.event
            if event.owner == sender:
                self._require_heard(sender, name, released_parts(release.made_of))
                self.ledger.append(event)
            elif not (self.ledger.holds(event) and (event.public or sender in event.audience)):
                raise CertificationError(
                    f"payload {name!r} of {sender!r} is made of release {event.release_id!r}, which no message has "
                    f"brought to {sender!r}: send it first."
                )

    def _check_ends(self, sender: str, receiver: str, name: str, payload: Payload) -> None:
        if type(payload) not in KINDS:
            raise TypeError(
                f"payload {name!r} from {sender!r} is a bare {type(payload).__name__}: wrap it in Release, Cipher, "
                "Public(because=...) or Clear(units=...)."
            )
        self._check_name("sender", sender)
        self._check_name("receiver", receiver)
        if sender == receiver:
            raise ValueError(f"payload {name!r}: {sender!r} cannot send to itself.")

    def _check_name(self, role: str, name: str) -> None:
        if name not in self.connected:
            raise ValueError(f"{role}={name!r} is not on this channel; it connects {self.names}.")


def _audience(payload: Public | Clear, receiver: str) -> tuple[str, ...]:
    """Names that share the rows of a value: those that it names, or its receiver alone."""
    named = payload.audience if isinstance(payload, Clear) else None
    if named is None:
        return (receiver,)
    return ("*",) if named == "*" else tuple(named)


def _receivers(receiver: str, audience: tuple[str, ...]) -> str:
    """Name an audience in the row of a value."""
    return receiver if audience == (receiver,) else "all" if "*" in audience else f"{len(audience)} parties"


def _open_rows(
    sender: str, receiver: str, name: str, payload: Release | Public | Clear, audience: tuple[str, ...]
) -> list[Event]:
    """Return a row for each owner of what nothing protects in a value; infinity does not add up, so kinds share one."""
    to, rows = _receivers(receiver, audience), []
    for owner, units in open_charges(payload, sender).items():
        if audience != (owner,):
            row = f"clear/{owner}/{sender}>{to}/{name}/{'+'.join(sorted(units))}"
            rows.append(clear_event(row, owner, units, audience))
    return rows


def _charge(sender: str, name: str, audience: tuple[str, ...], payload: Public | Clear) -> Hashable:
    """Key of the rows of a value that no release is part of: values of one kind in many rounds have the same."""
    if not isinstance(payload, Clear):
        return None
    parts = [part for part in payload.made_of if isinstance(part, Clear) and not part.made_of]
    if len(parts) < len(payload.made_of):
        return None
    owners = tuple((part.owner, part.units) for part in parts)
    return sender, audience, name, payload.owner, payload.units, owners
