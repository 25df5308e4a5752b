"""Joint reading of what all parties of a run wrote down: transcript, ledger, and what the ledger certifies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from ...core.errors import AccountError, PartyError
from ...experiment.cells import Cell, Coords, cell_of, doubt_unknown
from ...experiment.study import MethodSpec
from ...federation.account.account import EXTRACT
from ...federation.account.agreement import terms_of
from ...federation.account.chain import Row
from ...federation.account.interface import RELEASE
from ...federation.account.reading import event_of, heads_of, messages_of, mode_of, opened_extract, party_of
from ...federation.channel import Channel
from ...privacy.ledger.event import POST_PROCESSING, UNNAMED, Event
from ...privacy.ledger.ledger import Ledger
from ...privacy.ledger.total import Total
from .run_files import RECORD, Record, read_record

if TYPE_CHECKING:
    from ...core.checks import Scalar
    from ...experiment.measures import Arrays
    from ...experiment.owner_outputs import OwnerReport
    from ...experiment.plan import Plan
import hashlib
import json
from collections.abc import Iterable

from ...core.errors import CertificationError
from ...federation.account.rows import AccountEnd, ReceivedMessage, ReservedRow, SentMessage
from ...federation.codec import payload_of
from ...federation.payloads import Payload
from ..wire.credential import signature_problem, statement

# What the records of all parties say alike: on whichever is read, no total may depend.
SHARED = tuple(field.name for field in fields(Record) if field.name not in ("party", "outcome"))
BUDGET = "budget"


@dataclass(frozen=True)
class JointResults:
    """Results of the run in some folders.

    records : of every party, by name; channel : with transcript and ledger
    total : of its releases for the worst coalition, which is certified in mode ``release`` and in no other
    heads : how the ends of all accounts were compared, in words
    """

    records: dict[str, Record]
    channel: Channel
    total: Total
    heads: str

    @property
    def mode(self) -> str:
        """Mode of the run."""
        return next(iter(self.records.values())).mode

    @property
    def epsilon_certified(self) -> float:
        """Certified epsilon for the worst coalition: infinite if all parties know the seeds of the noise."""
        return self.total.epsilon_certified if self.mode == RELEASE else float("inf")

    def cell(
        self,
        plan: Plan,
        coords: Coords,
        numbers: Mapping[str, Scalar],
        example_fits: Arrays,
        owner_report: OwnerReport | None,
    ) -> Cell:
        """Return the cell of the fit from what is known of its estimate, as `partywise.experiment.cells.cell_of`."""
        method, case = plan.methods[coords["method"]], plan.cases[coords["case"]]
        # Of what is public no question to a ledger reads more than settings and options.
        spec = MethodSpec[object, object, object](
            method.options, plan.spec, case.settings, None, case.source, n_parties=coords["parties"]
        )
        return cell_of(plan, spec, coords, self.channel, numbers, example_fits, owner_report)


def join_results(folders: Sequence[Path], authority: Path | None = None) -> JointResults:
    """Read the folders of all parties of one run."""
    records, accounts = _read(folders)
    names, first = next(iter(records.values())).names, next(iter(records.values()))
    if missing := [name for name in names if name not in records]:
        raise PartyError(f"no folder is of {', '.join(missing)}: give those of all parties, {', '.join(names)}.")
    if first.mode == RELEASE and not first.steps:
        raise PartyError(
            f"run {first.run[:12]} returned a stored answer, so that nothing was sent or paid in it: give the folders "
            "of the run that paid, which statement.md of its release names."
        )
    messages = [message for name in names for message in messages_of(accounts[name], first.run)]
    heads = {name: heads_of(rows, first.run) for name, rows in accounts.items()}
    digests = {name: {row.number: row.digest for row in rows} for name, rows in accounts.items()}
    certificates = check_heads(heads, digests, first.run, dict(zip(names, first.hosts, strict=True)), _text(authority))
    channel = union(names, messages, steps=first.steps)
    _check_paid(channel.ledger, accounts)
    # What was to be published, everybody sees.
    for row in (row for rows in accounts.values() for row in rows if row.kind == "published" and row.fields["event"]):
        channel.ledger.append(event_of(row))
    # What an account paid as unproved is so in the union: no key of a study vouches for it here.
    channel.ledger = doubt_unknown(channel.ledger, ())
    total = channel.ledger.worst_total(names, first.unit, first.delta, rows_per_user=first.rows_per_user)
    signed = (
        f"signed by {len(certificates)} certificates" if certificates else "not signed, since it had no certificates"
    )
    issued = "" if authority is None else f" of the authority in {authority}"
    ends_in_words = f"has the end that all others saw ({signed}{issued if certificates else ''})"
    return JointResults({name: records[name] for name in names}, channel, total, ends_in_words)


def _read(folders: Sequence[Path]) -> tuple[dict[str, Record], dict[str, tuple[Row, ...]]]:
    """Read records and rows of all folders, which are of one run and of different parties."""
    records: dict[str, Record] = {}
    accounts: dict[str, tuple[Row, ...]] = {}
    where: dict[str, Path] = {}
    for folder in folders:
        record = read_record(folder)
        if record.party in where:
            raise PartyError(f"{folder} and {where[record.party]} are both of {record.party!r}: give each party once.")
        first = next(iter(records.values()), record)
        if record.run != first.run:
            raise PartyError(
                f"{folder} is of run {record.run[:12]} and {where[first.party]} of run {first.run[:12]}: give the "
                "folders of one run."
            )
        for name in SHARED:
            if getattr(record, name) != getattr(first, name):
                raise PartyError(
                    f"{folder / RECORD} has {name} {getattr(record, name)!r:.80} and {where[first.party] / RECORD} has "
                    f"{getattr(first, name)!r:.80}, of one run: one of them was changed."
                )
        rows = opened_extract(folder / EXTRACT).rows
        if party_of(rows) != record.party:
            raise PartyError(
                f"{folder / EXTRACT} is of the account of {party_of(rows)!r:.80}, not of {record.party!r}."
            )
        _check_record(folder, record, rows)
        records[record.party], accounts[record.party], where[record.party] = record, rows, folder
    return records, accounts


def _check_record(folder: Path, record: Record, rows: Sequence[Row]) -> None:
    """Raise AccountError unless the record of a run agrees with the account."""
    ended = next((row.fields.get("outcome") for row in reversed(rows) if row.kind == "ended"), "")
    pairs: dict[str, tuple[object, object]] = {
        "run": (record.run, rows[0].run),
        "configuration": (record.configuration, rows[0].fields.get("configuration")),
        "mode": (record.mode, mode_of(rows[0])),
        "outcome": (record.outcome, ended),
    }
    for name, (recorded, accounted) in pairs.items():
        if recorded != accounted:
            raise AccountError(
                f"{folder / RECORD} has {name} {recorded!r:.80} and {folder / EXTRACT} has {accounted!r:.80}: one of "
                "them was changed."
            )


def _check_paid(ledger: Ledger, accounts: Mapping[str, Sequence[Row]]) -> None:
    """Raise PartyError for a ledger row that no account has paid; rows of one owner are paid in its account."""
    paid: dict[str, list[tuple[str, Mapping[str, object]]]] = {}
    for name, rows in accounts.items():
        for row in rows:
            if row.kind == "paid":
                event = row.fields["event"]
                paid.setdefault(event["release_id"], []).append((name, event))
    for event in ledger.rows:
        if event.mechanism in (POST_PROCESSING, BUDGET) or (event.owner in accounts and event.mechanism != "none"):
            # The account of its owner agrees with itself: what it sent was paid.
            continue
        if not any(_covers(payment, event) for _, payment in paid.get(event.release_id, ())):
            raise PartyError(
                f"{event.mechanism} {event.release_id!r:.80} is in the ledger and in no account as paid: one of them "
                "was changed."
            )


def _covers(paid: Mapping[str, object], event: Event) -> bool:
    """Whether a payment is one for a row: the row itself, or the noise that a dealer or functionality drew for it."""
    row = event.to_row()
    if event.owner != UNNAMED:
        return terms_of(paid) == terms_of(row)
    terms = ("mechanism", "unit", "relation", "mu", "rho", "epsilon", "range", "count")
    return all(paid.get(name) == row[name] for name in terms)


def _text(authority: Path | None) -> str:
    if authority is None:
        return ""
    try:
        return authority.read_text(encoding="ascii")
    except (OSError, ValueError):
        raise PartyError(f"--authority is {authority}: it is not a file with certificates that can be read.") from None


def union(
    names: Sequence[str], rows: Iterable[SentMessage | ReceivedMessage | ReservedRow], *, steps: int | None = None
) -> Channel:
    """Return a channel that accounts for the messages of all parties as if it had carried them.

    `PartyError` if there are not ``steps`` of them, a step is missing, a row is not a message, or two parties (also
    sender and receiver) wrote down different things for one; `CertificationError` if a message could not be accounted
    for.
    """
    by_step: dict[int, SentMessage | ReservedRow] = {}
    received: dict[int, ReceivedMessage] = {}
    for row in rows:
        if isinstance(row, ReceivedMessage):
            if received.setdefault(row.step, row) != row:
                raise PartyError(f"step {row.step} was received in two ways: one of the accounts was changed.")
            continue
        if by_step.setdefault(row.step, row) != row:
            raise PartyError(f"step {row.step} is in the accounts in two ways: one of them was changed.")
    count = len(by_step) if steps is None else steps
    lacking = next((step for step in range(count) if step not in by_step), None)
    if lacking is not None or len(by_step) > count:
        step = min(step for step in by_step if step >= count) if lacking is None else lacking
        raise PartyError(f"step {step} of {count} is in no account or beyond the last: give those of all parties.")
    channel = Channel((), tuple(names))
    for step in range(count):
        row = by_step[step]
        if isinstance(row, ReservedRow):
            channel.ledger.append(row.event)
        else:
            _check_received(row, received.pop(step, None))
            _enter(channel, row, _payload(row))
    if received:
        raise PartyError(f"step {min(received)} was received and not sent: one of the accounts was changed.")
    return channel


def _check_received(sent: SentMessage, received: ReceivedMessage | None) -> None:
    """Raise PartyError unless the receiver of a message wrote down what its sender did."""
    if received is None:
        raise PartyError(
            f"step {sent.step} of {sent.sender!r} is not in the account of its receiver {sent.receiver!r}."
        )
    cost = hashlib.sha256(json.dumps(sent.payload, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    expected = ReceivedMessage(sent.step, sent.sender, sent.receiver, sent.name, cost, sent.digest)
    for field in fields(ReceivedMessage):
        if getattr(expected, field.name) != getattr(received, field.name):
            raise PartyError(
                f"step {sent.step}: {sent.sender!r} wrote down another {field.name} of {sent.name!r:.80} than "
                f"{sent.receiver!r}, who received it: one of the accounts was changed."
            )


def check_heads(
    heads: Mapping[str, Mapping[str, AccountEnd]],
    digests: Mapping[str, Mapping[int, str]],
    run: str,
    hosts: Mapping[str, str],
    authority: str = "",
) -> frozenset[str]:
    """Compare what all parties wrote down of the ends of each other's accounts when the program had ended.

    hosts : of the parties, by name, by which certificates may name them
    """
    certificates: dict[str, str] = {}
    for teller, ends in heads.items():
        if set(ends) != set(heads):
            raise PartyError(f"the account of {teller!r} has not the ends of the accounts of all parties of the run.")
        for name, head in ends.items():
            signed = bool(head["certificate"])
            if certificates.setdefault(name, head["certificate"]) != head["certificate"]:
                raise PartyError(f"{name!r} has two certificates in the accounts: one of them was changed.")
            if signed and (problem := signature_problem(name, statement(run, name, head), head, hosts, authority)):
                raise PartyError(f"the account of {teller!r} was changed: the end of {name!r} that it has {problem}.")
            if digests[name].get(head["rows"] - 1) != head["digest"]:
                who = "signed by its certificate" if signed else "not signed: this run had no certificates"
                raise PartyError(
                    f"the account of {name!r} is not the one whose end {teller!r} saw (digest {head['digest'][:12]}, "
                    f"{who}): {f'that of {name!r}' if signed else 'one of them'} was changed."
                )
    return frozenset(hashlib.sha256(text.encode()).hexdigest() for text in certificates.values() if text)


def _enter(channel: Channel, row: SentMessage, payload: Payload) -> None:
    try:
        channel.enter(row.sender, row.receiver, row.name, payload, row.shape, row.size)
    except CertificationError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise PartyError(
            f"step {row.step} of {row.sender!r} is not a message ({error}): its row was changed."
        ) from error


def _payload(row: SentMessage) -> Payload:
    try:
        return payload_of(row.payload)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise PartyError(
            f"step {row.step} of {row.sender!r} is not a message ({error}): its row was changed."
        ) from error
