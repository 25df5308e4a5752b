"""Publication of a result: the publisher gets what its owners measured, the files come back, signatures follow.

publishing   all, publisher       what it drew or opened; of an owner a commitment to its account, and what it paid
statement    publisher, owner     all files; each makes them again, and compares
signature    owner, publisher     over the bytes of the statement

A party that refuses ends the run for all, and no folder is written. The accounts keep the record that a result was
about to be published.
"""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

# Any: what an owner says in a frame, checked against what it signs.
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import documents
from ...core.errors import ConfigError, PartyError
from ...core.files import replacing
from ...federation.account.account import Account
from ...federation.account.reading import paid_events, runs_of
from ...federation.account.spending import spent_of
from ...federation.codec import decode, encode
from ...federation.gate import ROW, open_rows, publish
from ...federation.identity import Signer
from ...models.intervals import FittedLaw
from ...models.simulation.fit import NotNearest
from ...privacy.ledger.event import Event
from ..deployments import Deployment
from ..outcomes.result import estimate_table
from ..outcomes.run_files import run_folder
from ..session.outcome import Outcome
from ..session.session import SessionRun, library_digest
from ..statement import files
from ..statement.intervals import intervals_at, law_of
from ..statement.measurements import Recorder, values_in
from ..statement.statement import RunFacts, facts_of
from ..wire.tls import file_name_refusal
from .comparison import estimate_differs, first_difference
from .release_folder import Rebuilt, publisher_of, rebuild, terms_of

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from ..answers import StoredAnswer

FOLDER = "release"


@dataclass
class Publication:
    """One party's part of publishing the result of its run.

    n : records of every owner, where the configuration has one number for all
    spec : of the method, as its program has it
    start_time : when this process began
    registrations : files of all owners by name, none where the block asks for none
    charges : units, by owner, that publishing leaves unprotected, as made-up records showed before the run
    answer : this party's part of an answer that may be stored
    """

    deployment: Deployment
    configuration: bytes
    me: str
    account: Account
    into: Path
    n: int
    spec: MethodSpec[object, object, object]
    start_time: str
    registrations: Mapping[str, bytes]
    charges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    recorder: Recorder = field(default_factory=Recorder)
    answer: StoredAnswer | None = None
    summary: str = ""

    def record(self, fit: Callable[[object], object]) -> Callable[[object], object]:
        """Return a program whose draws are recorded."""

        def fit_and_keep(placed: object) -> object:
            with self.recorder.watching():
                return fit(placed)

        return fit_and_keep

    def conclude(self, run: SessionRun, outcome: Outcome) -> None:
        """Take part in the publication; the publisher writes the folder in the end."""
        publisher, owners = publisher_of(self.deployment), self.deployment.holders
        my_part: dict[str, Any] = {"values": dict(self.recorder.values)}
        if self.me in owners:
            my_part |= self._account_facts(run)
        if self.me == publisher:
            others = [name for name in self.deployment.names if name != self.me]
            parts = {name: decode(run.get(name, "publishing")) for name in others}
            parts |= {self.me: my_part}
            self._publish(run, outcome, parts)
            return
        run.put(publisher, "publishing", encode(my_part))
        if self.me in owners:
            sent = decode(run.get(publisher, "statement"))
            if not sent:
                self.summary = f"{publisher} publishes nothing: its screen states the reason"
                return
            run.put(publisher, "signature", json.dumps(self._sign(run, sent, my_part)).encode())
            self.summary = f"signed what {publisher} writes"

    def _account_facts(self, run: SessionRun) -> dict[str, Any]:
        """Return an owner's facts about its account, after charging the rows of publishing."""
        if unprotected_rows := open_rows(self.charges, self.me):
            self.account.charge(*unprotected_rows)
        rows = self.account.rows()
        nonce = bytes.fromhex(run.choose("nonce of the account", lambda: secrets.token_hex(32)))
        paid_by = run.id if self.answer is None else self.answer.paying_run or run.id
        events = [event for name, event in paid_events(rows) if name == paid_by and event.mechanism != "none"]
        self.account.record_publication(publication_row(self.me, events), nonce)
        network, plan = self.deployment.network, self.deployment.plan
        delta, group = self.deployment.delta, plan.rows_per_user(network.case)
        same = {row.run for row in rows if row.kind == "began" and row.fields.get("study") == network.study}

        def total_paid(chosen: set[str]) -> float | str:
            payments = [(name, event) for name, event in paid_events(rows) if name in chosen]
            epsilon = spent_of(payments, delta, group, party=self.me)[plan.spec.unit].epsilon
            return epsilon if isfinite(epsilon) else str(epsilon)

        return {
            "account": {"commitment": files.commitment(nonce, self.account.head[1]), "paid": total_paid({paid_by})},
            "runs": {"begun": len(same & set(runs_of(rows))), "epsilon": total_paid(same)},
            "opened": self.start_time,
            "fingerprint": self._credential(run).fingerprint(self._credential(run).certificate),
        }

    @property
    def _paying_runs(self) -> list[str]:
        """Runs that paid for stored answers which are published."""
        return [] if self.answer is None or not self.answer.paying_run else [self.answer.paying_run]

    def _credential(self, run: SessionRun) -> Signer:
        if run.credential is None:
            raise PartyError("no certificate is here to sign a statement with.")
        return run.credential

    def _publish(self, run: SessionRun, outcome: Outcome, parts: Mapping[str, Mapping[str, Any]]) -> None:
        """Make all files, have them signed, and write them."""
        owners, values = self.deployment.holders, dict[str, np.ndarray]()
        for part in parts.values():
            values |= part["values"]
        facts = RunFacts(
            run=run.id,
            began=min(parts[name]["opened"] for name in owners),
            end_day=run.choose("last day", lambda: documents.now()[:10]),
            code=library_digest(),
            accounts={name: parts[name]["account"] for name in owners},
            runs={name: parts[name]["runs"] for name in owners},
            fingerprints={name: parts[name]["fingerprint"] for name in owners},
            registrations=list(self.registrations),
            answers_reused=self._paying_runs,
        )
        estimate = estimate_table(self.deployment, outcome.value, self.me, self.spec)
        try:
            intervals = intervals_at(outcome.value, self.me)
            rebuilt = self._rebuild(values, facts, estimate, None if intervals is None else intervals.record_law)
        except LookupError as error:
            self.summary = f"nothing is published: what was measured does not make the program run again ({error})"
            for name in owners:
                if name != self.me:
                    run.put(name, "statement", encode({}))
            return
        estimate_file = rebuilt.files.get(files.ESTIMATE)
        if estimate_file is not None and estimate_differs(estimate_file.value, estimate):
            raise PartyError(f"the estimate of {self.me!r} is not what its program makes of what was released.")
        sent = {name: file.value for name, file in rebuilt.files.items()}
        for name in owners:
            if name != self.me:
                run.put(name, "statement", encode(sent))
        words, signatures = files.statement_words(sent[files.STATEMENT]), dict[str, dict[str, str]]()
        for name in owners:
            signed = self._credential(run).sign(words) if name == self.me else _signature(run, name)
            problem = self._credential(run).problem(name, words, signed)
            if problem:
                raise PartyError(f"the statement {problem}: {name!r} has not signed it.")
            signatures[name] = signed
        self._write(run, rebuilt, signatures)

    def _rebuild(
        self, values: Mapping[str, np.ndarray], facts: RunFacts, estimate: bytes, law: FittedLaw | None
    ) -> Rebuilt:
        """Make the files; PartyError if they would cost this party more than it has paid."""
        digests = {
            f"{files.REGISTRATION}/{n}.json": documents.digest_of(data) for n, data in self.registrations.items()
        }
        rebuilt = rebuild(self.deployment, self.configuration, values, facts, digests, self.n, estimate, law)
        if unpaid := set(rebuilt.charges.get(self.me, ())) - set(self.charges.get(self.me, ())):
            raise PartyError(
                f"{self.me!r} does not sign: the files leave the unit {min(unpaid)} of its data unprotected, which it "
                "has not paid."
            )
        return rebuilt

    def _sign(self, run: SessionRun, sent: Mapping[str, bytes], my_part: Mapping[str, Any]) -> dict[str, str]:
        """Sign files that equal those that this party makes itself; PartyError for others."""
        statement = documents.decode_json(files.STATEMENT, sent[files.STATEMENT])
        values, facts = values_in(sent[files.MEASUREMENTS]), facts_of(statement)
        try:
            rebuilt = self._rebuild(values, facts, sent.get(files.ESTIMATE, b""), law_of(statement))
        except NotNearest as error:
            raise PartyError(f"{self.me!r} does not sign: {error}.") from None
        problem = first_difference(sent, rebuilt)
        for name, drawn in self.recorder.values.items():
            if not problem and not np.array_equal(values.get(name, np.empty(0)), drawn.ravel()):
                problem = f"{files.MEASUREMENTS} has another {name!r} than this party drew"
        for name, event in self.recorder.events.items():
            if not problem and terms_of(rebuilt.events.get(name)) != terms_of(event):
                problem = f"{name!r} was drawn with other terms than the program states"
        pairs = (("accounts", "account"), ("runs", "runs"), ("fingerprints", "fingerprint"))
        if list(facts.answers_reused) != self._paying_runs:
            problem = problem or f"{files.STATEMENT} has other stored answers than the parties agreed on"
        for key, name in pairs:
            if not problem and statement[key].get(self.me) != my_part[name]:
                problem = f"{files.STATEMENT} has other {key} of this party"
        days = [statement["began"][:10], statement["end_day"], documents.now()[:10]]
        same = statement["run"] == run.id and statement["code"] == library_digest()
        if not problem and not (same and statement["began"] <= self.start_time and days == sorted(days)):
            problem = f"{files.STATEMENT} is of another run, code or time"
        if problem:
            raise PartyError(f"{self.me!r} does not sign: {problem}.")
        return self._credential(run).sign(files.statement_words(sent[files.STATEMENT]))

    def _write(self, run: SessionRun, rebuilt: Rebuilt, signatures: Mapping[str, Mapping[str, str]]) -> None:
        """Write all files; those that are made of data are written by the gate alone."""
        folder, unprotected = run_folder(self.into, run.id) / FOLDER, self.deployment.network.unprotected_units
        if folder.exists():
            shutil.rmtree(folder)
        for name, value in rebuilt.files.items():
            publish(value, folder / name, unprotected)
        plain = {
            files.SIGNATURES: documents.encode_json(
                {name: signature["signature"] for name, signature in signatures.items()}
            )
        }
        plain |= {
            f"{files.CERTIFICATES}/{n}.pem": signature["certificate"].encode() for n, signature in signatures.items()
        }
        plain |= {f"{files.CERTIFICATES}/{files.AUTHORITY}": self._credential(run).authority.encode()}
        plain |= {f"{files.REGISTRATION}/{name}.json": data for name, data in self.registrations.items()}
        for name, data in plain.items():
            with replacing(folder / name) as temporary:
                temporary.write_bytes(data)
        self.summary = (
            f"wrote {folder} (signed by {', '.join(signatures)}); "
            "check it with python -m partywise publish check-release"
        )


def registrations_of(deployment: Deployment, configuration: str, certificates: Path) -> dict[str, bytes]:
    """Read the registrations of all data holders for this run; ConfigError if one is missing or of another run."""
    network, registrations = deployment.network, dict[str, bytes]()
    if network.registration is None or network.mode != "release":
        return registrations
    authority = (certificates / files.AUTHORITY).read_text(encoding="ascii")
    for name in deployment.holders:
        path = Path(network.registration) / f"{name}.json"
        if not path.is_file():
            raise ConfigError(
                f"{path} is missing: no data are opened before every data holder has registered this configuration; "
                f"ask {name} for it (python -m partywise publish register)."
            )
        registrations[name] = path.read_bytes()
        expected = name, configuration, library_digest(), authority, deployment.hosts
        if problem := files.registration_problem(str(path), registrations[name], *expected):
            raise ConfigError(f"{problem}: register again (python -m partywise publish register).")
    return registrations


def check_signer(deployment: Deployment, certificates: Path, me: str) -> None:
    """Raise ConfigError unless an owner's certificate bears its name: readers of a publication know no hosts."""
    path = certificates / f"{me}.pem"
    if me not in deployment.holders or not path.is_file():
        return
    if why := file_name_refusal(path.read_bytes(), me, {name: name for name in deployment.names}):
        raise ConfigError(
            f"{path} cannot sign what is published: {why}; ask for one with that name (python -m partywise "
            f"network certificates --request {me})."
        )


def publication_row(owner: str, events: list[Event]) -> Event | None:
    """Return the row of publishing in an owner's account: free, for all readers, made of all that it paid."""
    from ...privacy.mechanisms.release import Release, derived_event

    paid = [Release(None, event) for event in events]
    return derived_event(f"{ROW} of {owner}", owner, paid, "*") if paid else None


def _signature(run: SessionRun, name: str) -> dict[str, str]:
    signature = documents.decode_json("signature", run.get(name, "signature"))
    if not isinstance(signature, dict) or {type(value) for value in signature.values()} != {str}:
        raise PartyError(f"{name!r} sent no signature.")
    return signature
