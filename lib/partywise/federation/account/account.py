"""A party's account on disk: what it paid in all its runs before the noise was drawn, and what it sent.

A row is on disk before what it stands for happens: a `paid` row before noise is drawn or a value leaves in the clear,
a `sent` row before a message leaves. A process that dies in between has paid for nothing, which is the safe side: what
is paid is never taken back, and the next run draws and pays anew.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ...core.documents import now
from ...core.errors import AccountError, BudgetExceeded, CertificationError
from ...privacy.ledger.event import Event
from ...privacy.payer import OPEN_ACCOUNTS
from .agreement import Agreement
from .chain import Row, Scan
from .file import AccountFile, Entry
from .interface import RELEASE
from .reading import AccountState, charged_event, cost_digest, event_of, paid_events, require_owner
from .rows import KnownEnd
from .spending import AccountBudget, Spending, UnitCost, spent_of

LOG = logging.getLogger("partywise")
# Names of the file in a folder of a party, and of the rows of one run in another; version of rows, and those read.
FILE, EXTRACT, FORMAT, FORMATS = "ledger.jsonl", "run.jsonl", 2, (1, 2)
DELTA = 1e-6
ID_BYTES = 16


class Account:
    """Account of what one party paid and sent, in an append-only file with a chain of digests.

    path : the file, or an existing folder, in which it is called ``ledger.jsonl``
    party : one name for all its runs
    budget : what all runs in the file may cost together, those before it was stated included, and in the file from the
        next run on, while without one nothing is refused and values in the clear are paid with infinity
    wait : seconds in which another process may close the file
    notes : for the person who starts a run, such as a torn line or a budget that was changed

    It is a payer: the generators of a run that is charged to it (`Run.charge_to`), or those of
    `partywise.privacy.mechanisms.random.charge_to`, carry it into every mechanism, in any thread. While it is open, no
    secret generator is made in this process, and nothing is released, without a payer. It pays in the process that
    opened it and in no other: a forked child has its own copy of the handle, and of the sum. The budget is summed by a
    `PrivacyFilter`, which holds where each release was chosen after all earlier ones, in this run and before. It knows
    no credit: neither for strata (releases about different persons add up) nor for sampling.
    """

    def __init__(self, path: Path | str, *, party: str, budget: AccountBudget | None = None, wait: float = 0.0) -> None:
        path = Path(path)
        self.party, self.budget, self._run, self.notes = party, budget, "", tuple[str, ...]()
        # Where the rows of the last run begin in the file; when this process began it, until that is written.
        self._place, self._time = 0, ""
        # Key of the question that the payments of the run are for, where its answer is stored.
        self.answer = ""
        self._state, self._spending, self._paying = AccountState(), Spending(budget, party=party), threading.Lock()
        self._agreement, self._waiting = Agreement(path, party), list[Entry]()
        # Rows of the run that this process goes on with, which the program has not come to yet.
        self._told = deque[Row]()
        self._file = AccountFile(path / FILE if path.is_dir() else path, self._restore, wait)
        try:
            self._begin()
        except BaseException:
            self.close()
            raise
        OPEN_ACCOUNTS.add(self)

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    def rows(self) -> tuple[Row, ...]:
        """All rows, in order, as the file has them."""
        return tuple(Scan(self.path))

    def rows_of_run(self) -> bytes:
        """The rows of the last run that has begun here, at the end of the file: for a reader who sees no other."""
        with self.path.open("rb") as file:
            file.seek(self._place)
            return file.read()

    def began(self, run: str, configuration: str, mode: str = RELEASE, study: str = "", *, again: bool = False) -> None:
        """A run begins, named by its id and by the digest of what all parties share: what follows is of it.

        In the mode ``experiment`` every draw comes from seeds that others know: what is released costs infinity, and a
        budget refuses it. With ``again`` a process may take the place of one that was killed in the last run: it must
        repeat what is in the rows, and this is not paid again.
        """
        if self.budget is not None and mode != RELEASE:
            raise BudgetExceeded(
                f"mode {mode!r} under a budget: all parties know the seeds of its noise, so that nothing it releases "
                "is protected; take mode release, or leave the budget away for data that are not secret."
            )
        goes_on = again and bool(run) and run == self._state.last
        if not goes_on and (not run or run in self._state.runs):
            raise AccountError(f"run={run!r} is in {self.path} already, or no id: a run begins once, under its own id.")
        # What is paid from here on has this time. Where a run goes on it is written with the next payment: what the
        # party has told of its account is told again.
        self._time = now()
        if not goes_on:
            self._append(*self._time_rows())
            self._state_budget()
        begin = self._file.size
        if goes_on:
            scan = Scan(self.path)
            for row in scan:
                if row.run == run:
                    self._told.append(row)
                elif not self._told:
                    begin = scan.end
        fields = {"configuration": configuration, "mode": mode, "party": self.party}
        self._append(("began", run, fields | ({"study": study} if study else {})))
        self._run, self._mode, self._place = run, mode, begin

    @property
    def repeats(self) -> bool:
        """Whether the next row is in the file already: another process of this party wrote it."""
        return len(self._told) > len(self._waiting)

    def charge(self, *events: Event) -> None:
        """Pay for what is about to be drawn, or to leave in the clear: all events, or BudgetExceeded and none."""
        self._file.require_own()
        run = self._began("charge")
        with self._paying:
            paid = max(0, len(self._told) - len(self._waiting))
            self.require(run, [charged_event(event, self._mode) for event in events[paid:]])
            answer = {"answer": self.answer} if self.answer else {}
            rows: list[Entry] = [("paid", run, {"event": event.to_row(), **answer}) for event in events]
            self._append(*rows[:paid])
            if rows[paid:]:
                self._append(*self._time_rows(), *rows[paid:])

    def require(self, run: str, events: Sequence[Event]) -> None:
        """Count payments of a run as they are charged: all, or BudgetExceeded and none."""
        self._spending.require(run, events)

    def record_sent(
        self,
        step: int,
        receiver: str,
        name: str,
        payload: Mapping[str, object],
        shape: tuple[int, ...],
        size: int,
        digest: str = "",
    ) -> None:
        """A message is about to leave; CertificationError if something in it was not paid with the terms it states.

        The payload is what it cost, without what it holds (`partywise.federation.codec.row_of`), the digest that of its
        frame, salted where others may read it (`partywise.deployment.session.session.frame_digest`).
        """
        self.require_receiver(receiver, str(payload["kind"]).lower())
        message = {"step": step, "receiver": receiver, "name": name, "shape": list(shape), "bytes": size}
        message |= {"digest": digest, "payload": payload}
        if not self.repeats and (problem := self._agreement.unpaid(message)):
            raise CertificationError(
                f"message {step} ({name!r}) {problem}: it stays here; draw what is released by a mechanism in this run."
            )
        self._append(("sent", self._began("sent"), message))

    def require_receiver(self, receiver: str, kind: str) -> None:
        """Check that the receiver of a message may have it: here all may."""

    def record_received(self, step: int, sender: str, name: str, payload: Mapping[str, object], digest: str) -> None:
        """A message has come, as in `record_sent`; it is on disk with the next row: nothing is paid or sent by it."""
        fields = {"step": step, "sender": sender, "name": name, "digest": digest, "payload": cost_digest(payload)}
        self._waiting.append(("received", self._began("received"), fields))

    def record_reservation(self, step: int, event: Event) -> None:
        """A public row that was entered at a step; what it pays for in the ledger is charged here when it is drawn."""
        self._append(("reserved", self._began("reserved"), {"step": step, "event": event.to_row()}))

    def record_registrations(self, digests: Mapping[str, str]) -> None:
        """The registrations of all parties that were there before any data were opened, by their digests."""
        self._append(("registered", "", {"digests": dict(digests)}))

    def record_data(self, name: str, version: str, digest: Callable[[str], str]) -> bool:
        """State a data set behind its version by a salted digest; whether it is the one that was stated before.

        digest : of the salt, which is drawn once and stays in the account
        """
        for row in self.rows():
            if row.kind == "data" and (row.fields["name"], row.fields["version"]) == (name, version):
                return bool(digest(row.fields["salt"]) == row.fields["digest"])
        salt = secrets.token_hex(32)
        self._append(("data", "", {"name": name, "version": version, "salt": salt, "digest": digest(salt)}))
        return True

    def record_publication(self, event: Event | None, nonce: bytes) -> None:
        """Record what is about to be published of this run: free, seen by all; None where the party paid nothing.

        The nonce opens what the publication holds of this account (`partywise.deployment.statement.files`).
        """
        row = None if event is None else event.to_row()
        self._append(("published", self._began("published"), {"event": row, "nonce": nonce.hex()}))

    @property
    def head(self) -> tuple[int, str]:
        """Number of rows, and the digest of the last one: everything that has happened is on disk."""
        self._append()
        if self._told and self._told[0].kind == "heads":
            recorded_head = self._told[0].fields["heads"][self.party]
            return recorded_head["rows"], recorded_head["digest"]
        return self._file.end

    @property
    def id(self) -> str:
        """Random id of the account; empty of one that was begun before accounts had any."""
        return "" if self._state.head is None else str(self._state.head.fields.get("id", ""))

    def known_ends(self, peer: str) -> list[KnownEnd]:
        """The last end of every account of a peer that this account has written down."""
        return [end for (name, _), end in sorted(self._state.ends.items()) if name == peer]

    def holds(self, rows: int, digest: str) -> bool:
        """Whether the last of so many rows of this account has this digest."""
        return any(row.number == rows - 1 and row.digest == digest for row in Scan(self.path))

    def record_heads(self, heads: Mapping[str, Mapping[str, object]]) -> None:
        """Record the lengths and ends of the accounts of all parties after the program, each as it stated them.

        By party, this one included: ``rows``, ``digest``, ``account``, and ``certificate`` and ``signature`` where
        parties have certificates.
        """
        self._append(("heads", self._began("heads"), {"heads": {name: dict(head) for name, head in heads.items()}}))

    def record_end(self, outcome: str = "") -> None:
        """The run is over; ``outcome``: digest of what the party holds, empty where it broke off.

        Payments for releases that no message carried are listed, so that none can be cut out unseen.
        """
        self._append()
        uncarried = {"kept": self._agreement.uncarried_payments} if outcome else {}
        self._append(("ended", self._began("ended"), {"outcome": outcome, **uncarried}))
        self._run = ""

    def give_up(self, run: str) -> None:
        """End a run that has begun and never ended, without an outcome: what it paid stays paid."""
        if not run or run != self._state.open:
            raise AccountError(f"run={run!r} of {self.path} is not one that has begun and never ended.")
        self._append(("ended", run, {"outcome": ""}))

    def costs_by_unit(self, delta: float | None = None) -> Mapping[str, UnitCost]:
        """Return the cost of all paid rows by unit; ``delta`` of the epsilons, by default that of the budget."""
        group = None if self.budget is None else self.budget.rows_per_user
        at = (DELTA if self.budget is None else self.budget.delta) if delta is None else delta
        against = "declared" if self.budget is None else self.budget.against
        return spent_of(paid_events(Scan(self.path)), at, group, party=self.party, against=against)

    @property
    def left(self) -> float:
        """Remainder of the budget, in the currency of its rule; infinite without one."""
        return self._spending.left

    @property
    def room(self) -> str:
        """Remainder of the budget for another run, as a piece of a sentence; empty without one."""
        return self._spending.room

    @property
    def summary(self) -> str:
        """One sentence: the budget, and what was spent in which runs."""
        return self._spending.summary

    def close(self) -> None:
        """Let another process have the file."""
        OPEN_ACCOUNTS.discard(self)
        self._file.close()

    def __enter__(self) -> Account:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _began(self, what: str) -> str:
        if not self._run:
            raise AccountError(f"{what} of {self.path}: no run has begun; call began first.")
        return self._run

    def _append(self, *entries: Entry) -> None:
        waiting, self._waiting = self._waiting, []
        for row in self._file.append(self._untold([*waiting, *entries])):
            self._state.add(row)
            self._agreement.add(row)

    def _untold(self, entries: list[Entry]) -> list[Entry]:
        """Return the entries that the file lacks; AccountError where it has something else in their place."""
        while entries and self._told:
            (kind, run, fields), row = entries.pop(0), self._told.popleft()
            if (kind, run, json.loads(json.dumps(fields))) != (row.kind, row.run, row.fields):
                raise AccountError(
                    f"run {run} cannot go on: row {row.number} ({row.kind}) of {self.path} is not what the program "
                    "does now; put back the data and the version with which it began, or give the run up."
                )
        return entries

    @property
    def first_budget(self) -> AccountBudget | None:
        """The budget that was stated first; None where there was none."""
        stated = self._state.first_budget
        return None if stated is None else AccountBudget(**stated)

    def _restore(self, row: Row) -> None:
        """A row that was there before: what was paid counts."""
        if self._state.head is None:
            self._require_head(row)
        self._state.add(row)
        self._agreement.add(row)
        if row.kind == "paid":
            self._spending.carry(row.run, charged_event(event_of(row), self._state.mode))

    def _require_head(self, head: Row) -> None:
        """The first row of a file that this party may go on with."""
        path = self._agreement.path
        if head.kind != "account" or head.fields.get("format") not in FORMATS:
            raise AccountError(f"{path} is not an account of format {FORMAT}: give the file another name.")
        require_owner(path, head, self.party)

    def _begin(self) -> None:
        """The head of a new file; what the last process left, and the budget, of one that there was."""
        if self._state.head is None:
            # An account without this id is a copy of another one, or was begun before accounts had any.
            fields = {"party": self.party, "format": FORMAT, "id": secrets.token_hex(ID_BYTES)}
            self._append(("account", "", fields))
        if self._file.torn_bytes:
            self._append(("dropped", "", {"bytes": self._file.torn_bytes}))
            self._note(
                f"the last row of {self.path} was torn by a crash and is dropped: what it would have paid for was not "
                "drawn, what it would have told was not sent."
            )
        if self._state.open:
            self._note(
                f"run {self._state.open} in {self.path} never ended: what it paid stays paid; it goes on if its "
                "journal is there and all parties start again, and a new run pays anew."
            )
        if self._state.runs and self._changes_budget():
            last = self._state.budget
            self._note(
                f"the budget of {self.path} was {'none' if last is None else AccountBudget(**last)} and is "
                f"{self.budget or 'none'} from the next run on; everything that was paid before counts. {self.summary}"
            )

    def _time_rows(self) -> list[Entry]:
        """The time at which this process began the run, once."""
        time, self._time = self._time, ""
        return [("time", "", {"time": time})] if time else []

    def _changes_budget(self) -> bool:
        """Whether the budget in force is another one than the file states."""
        last = self._state.budget
        return self.budget != (None if last is None else AccountBudget(**last))

    def _state_budget(self) -> None:
        """Write the budget in force into the file."""
        if self._changes_budget():
            self._append(("budget", "", {"budget": None if self.budget is None else asdict(self.budget)}))

    def _note(self, sentence: str) -> None:
        self.notes = (*self.notes, sentence)
        LOG.warning(sentence)
