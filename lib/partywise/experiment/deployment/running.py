"""One party's process: from the shared configuration and its own file to a run with all others, and its files."""

from __future__ import annotations

import math
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from ...errors import (
    AccountError,
    BudgetExceeded,
    CertificationError,
    ConfigError,
    DataMissing,
    PartyError,
    PolicyError,
)
from ...federation.account.account import FILE, Account
from ...federation.account.reading import charged_event, extract_of, messages_of, opened_account, paid_events
from ...federation.account.spending import Budget, Spending, UnitCost, coalitions_in_words, shares_in_words, spent_of
from ...federation.channel import Message
from ...federation.deployment.outcome import Outcome
from ...federation.deployment.party import run_party
from ...federation.deployment.session import library_digest
from ...federation.deployment.union import SentMessage
from ...federation.publication.files import digest_of, now
from ...federation.transport.interface import Transport
from ...federation.transport.journal import Journal
from ...privacy.ledger.event import Event
from ..configuration.build import choices
from .part import Part, part
from .publishing import Publication, registrations_of
from .rehearsal import estimate_ahead, floating_point, foresee, rehearse
from .release_folder import publisher_of
from .result import HeldEstimate, held_estimate
from .run_files import TRANSCRIPT, Record, write_extract, write_outcome, write_record, write_rows
from .settings import Deployment, Network, addresses_of
from .site.account import SiteAccount, cap_spendings
from .site.policy import SitePolicy

# What tells its user all there is to tell in its own sentence.
NAMED = (AccountError, CertificationError, ConfigError, DataMissing, PartyError)
REPORT = "error.txt"
T = TypeVar("T")


class PartyRunError(RuntimeError):
    """A party's run that ended early, in one sentence."""


def connect(network: Network, me: str, certificates: Path, journal: Journal | None = None) -> Transport:
    """A party's end of the network."""
    from ...federation.transport.network import PATIENCE
    from ...federation.transport.network import Network as Connections

    addresses = {name: (one.host, one.port) for name, one in addresses_of(network).items()}
    patience = min(PATIENCE, network.patience)
    return Connections(me, addresses, certificates, largest=network.largest_message, patience=patience, journal=journal)


Connect = Callable[[Network, str, Path, Journal | None], Transport]


@dataclass(frozen=True)
class Start:
    """Where a party stands.

    configuration : digest of the shared configuration; me : its name; data, certificates, into : folders
    account : file of its account over all runs, by default beside its data, or its outputs where it has none
    configuration_file : the shared configuration itself, as it is published
    policy : of its site, where it has one
    connect : its end of the connections to all others
    """

    deployment: Deployment
    configuration: str
    me: str
    data: Path
    certificates: Path
    into: Path
    account: Path | None = None
    configuration_file: bytes = b""
    policy: SitePolicy | None = None
    connect: Connect = connect

    @property
    def ledger(self) -> Path:
        """The file of its account."""
        if self.account is not None:
            return self.account / FILE if self.account.is_dir() else self.account
        return (self.data if self.me in self.deployment.holders else self.into) / FILE

    @property
    def where(self) -> str:
        """Beginning of sentences about this party."""
        return f"party {self.me!r}"


@dataclass(frozen=True)
class RunReport:
    """What came of a party's run that has ended for all.

    estimate : what the party has of it
    messages : what it sent; costs : of this run, by unit, at the delta of the case; spending : of all runs of the
        account; budget : of all runs; room : what it leaves for another one, in words; files : with its arrays
    noise : whether the method draws any; shares : what each party adds of the noise of a sum, in words
    against : epsilon of this run of what its own unit is, by the words of who joins, where noise comes in shares
    published : what came of publishing, in words
    """

    outcome: Outcome
    estimate: HeldEstimate
    messages: tuple[SentMessage, ...]
    costs: dict[str, UnitCost]
    spending: dict[str, UnitCost]
    budget: Budget | None
    room: str
    files: tuple[str, ...]
    noise: bool
    shares: str = ""
    against: Mapping[str, float] = field(default_factory=dict)
    published: str = ""


@dataclass(frozen=True)
class Foresight:
    """What a run would be, from made-up records and the account as it is.

    estimate : who would have what of it, in words, empty where that shows in the end
    messages : of all; events : what this party would pay, as they count in the mode of the run
    left : what is left of its budget and of the caps of its site, and whether the run fits, in words
    """

    estimate: str
    messages: tuple[Message, ...]
    events: tuple[Event, ...]
    left: tuple[str, ...]


def run(start: Start) -> RunReport:
    """Run one party's part, and write what is left into its folder; where it has failed all other parties end too.

    PolicyError for what the policy of the site forbids, PartyRunError for everything else.
    """
    return _end_in_a_sentence(start, _run)


def dry_run(start: Start) -> Foresight:
    """What `run` would do, as far as it goes without others: nobody is met, and nothing is paid or written."""
    return _end_in_a_sentence(start, _dry_run)


def _end_in_a_sentence(start: Start, action: Callable[[Start], T]) -> T:
    """An action of a party; PolicyError and PartyRunError as of `run`."""
    try:
        with _stopped_by_signals(start.me):
            return action(start)
    except PolicyError:
        raise
    except NAMED as error:
        raise PartyRunError(str(error)) from error
    except (FileNotFoundError, PermissionError, ImportError) as error:
        raise PartyRunError(f"{start.where}: {error}") from error
    except Exception as error:
        if (why := floating_point(error)) is not None:
            raise PartyRunError(
                f"network.mode is 'release': method {start.deployment.network.method} {why}: it is for experiments; "
                "take mode experiment, or a method whose noise is discrete (docs/release_mode.md lists them)."
            ) from error
        _folder(start.into)
        (start.into / REPORT).write_text(traceback.format_exc(), encoding="utf-8")
        raise PartyRunError(
            f"{start.where} ended with {type(error).__name__}: {error} (where it happened: {start.into / REPORT})"
        ) from error


def _prepare(start: Start) -> tuple[Part, dict[tuple[str, str], str] | None, dict[str, bytes], str, str]:
    """All before a party connects: its part, forms of messages, registrations, when data were opened first, and who
    will have the estimate.
    """
    deployment, network, policy = start.deployment, start.deployment.network, start.policy
    if start.me not in deployment.names:
        raise ConfigError(f"--me is {start.me!r}: {choices(start.me, deployment.names)}.")
    if policy is not None:
        policy.check_deployment(deployment, start.me, _publisher(deployment))
    release, forms = network.mode == "release", None
    # What is refused is refused before data are opened, but where only they say how many records there are.
    if release and deployment.rows:
        forms = rehearse(deployment, 0)
    opened_now, registrations = now(), registrations_of(deployment, start.configuration, start.certificates)
    with nullcontext() if policy is None else policy.reading():
        own = part(deployment, start.configuration, start.me, start.data)
    if policy is not None:
        policy.check_records(own, start.me)
    if release and forms is None:
        forms = rehearse(deployment, len(own.run.fold.of))
    return own, forms, registrations, opened_now, estimate_ahead(deployment, own.run, len(own.run.fold.of))


def _publisher(deployment: Deployment) -> str:
    """Who writes the folder of a release; empty where nobody does."""
    published = deployment.network.mode == "release" and plan_draws(deployment)
    return (publisher_of(deployment) or "") if published else ""


def _dry_run(start: Start) -> Foresight:
    deployment, me = start.deployment, start.me
    own, _, _, _, estimate = _prepare(start)
    messages, paid = foresee(deployment, me, len(own.run.fold.of))
    events = tuple(charged_event(event, deployment.network.mode) for event in paid)
    rows, budget = opened_account(start.ledger).rows if start.ledger.exists() else (), _budget(deployment)
    spendings = {} if budget is None else {"network.budget": Spending(budget, paid_events(rows), party=me)}
    if start.policy is not None:
        for message in messages:
            if message.sender == me:
                start.policy.check_receiver(message.receiver, message.kind)
        caps = cap_spendings(start.policy.site, rows, me)
        spendings |= {f"{start.policy.path} epsilon[{k}]": spending for k, spending in enumerate(caps)}
    left = list[str]()
    for name, spending in spendings.items():
        room, fits = spending.room, "has room for"
        try:
            spending.require("", events)
        except BudgetExceeded:
            fits = "REFUSES"
        left.append(f"{name} ({spending.budget}) {fits} this run: {room} is left before it")
    return Foresight(estimate, tuple(messages), events, tuple(left))


def _run(start: Start) -> RunReport:
    deployment, network, policy = start.deployment, start.deployment.network, start.policy
    release, files = network.mode == "release", list[str]()
    own, forms, registrations, opened_now, ahead = _prepare(start)
    told = f"method {network.method} gives {ahead}" if ahead else "who has it shows when the run has ended"
    print(f"estimate: {told}", file=sys.stderr, flush=True)
    _folder(start.into)
    with _account(start) as account, ExitStack() as watched:
        path = start.ledger.with_suffix(".journal")
        # Once a run, however often it goes on: before its journal is there.
        if policy is not None and policy.site.epsilon and not path.exists():
            account.record_time(opened_now)
        journal = watched.enter_context(closing(Journal(path, _start_words(start), replaces=not release)))
        opened = journal.choose("opened", lambda: opened_now)
        if registrations and not journal.goes_on:
            account.record_registrations({name: digest_of(data) for name, data in registrations.items()})
        publication = None
        if _publisher(deployment):
            n = len(own.run.fold.of)
            given = start.configuration_file, start.me, account, start.into, n, own.run.spec, opened, registrations
            publication = Publication(deployment, *given)
            watched.enter_context(publication.recorder.watching())
        kept = list[HeldEstimate]()

        def keep(outcome: Outcome) -> None:
            kept.append(held_estimate(deployment, outcome.value, start.me, own.run.spec, own))
            files.extend(write_outcome(start.into, outcome, network.mode, kept[0]))

        outcome = run_party(
            deployment.plan.methods[network.method].protocol.fit,
            own.run,
            start.me,
            start.connect(network, start.me, start.certificates, journal),
            configuration=start.configuration,
            account=account,
            patience=network.patience,
            facts=own.facts,
            forms=forms,
            same_platform=network.same_platform,
            fingerprints=network.certificates,
            study=network.study,
            conclude=None if publication is None else publication.conclude,
            keep=keep,
            journal=journal,
            deadline=network.deadline or math.inf,
        )
        report = _write_files(start, account, outcome, kept[0], files)
        journal.discard()
        return report if publication is None else replace(report, published=publication.summary)


def plan_draws(deployment: Deployment) -> bool:
    """Whether the method of a deployment adds noise."""
    return deployment.plan.methods[deployment.network.method].draws_noise


def _start_words(start: Start) -> str:
    """What a run is started with, as its journal has it."""
    return f"{start.configuration} {library_digest()} {start.me}"


def _account(start: Start) -> Account:
    """The account of a party, under the policy of its site if it has one."""
    budget = _budget(start.deployment)
    if start.policy is None:
        return Account(start.ledger, party=start.me, budget=budget)
    return SiteAccount(start.ledger, start.policy, party=start.me, budget=budget)


def _budget(deployment: Deployment) -> Budget | None:
    stated = deployment.network.budget
    if stated is None:
        return None
    group = deployment.plan.rows_per_user(deployment.network.case) if stated.unit.startswith("user") else None
    return Budget(
        stated.epsilon,
        stated.delta,
        stated.unit,
        group,
        numeric_reserve=stated.numeric_reserve,
        against=stated.against,
    )


def _folder(into: Path) -> Path:
    """The folder of a party, which others on the machine cannot read where it is made here."""
    try:
        into.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise AccountError(
            f"--into is {into}: it cannot be made ({error.strerror}); name a folder that can be written."
        ) from None
    return into


def _write_files(
    start: Start, account: Account, outcome: Outcome, estimate: HeldEstimate, files: list[str]
) -> RunReport:
    """Write the files of the run beside those of its outcome; what the screen tells of it."""
    deployment, network = start.deployment, start.deployment.network
    plan, delta = deployment.plan, deployment.delta
    group = plan.rows_per_user(network.case)
    rows = account.rows()
    messages = messages_of(rows, outcome.run)
    write_rows(start.into / TRANSCRIPT, messages)
    write_extract(start.into, extract_of(rows, outcome.run))
    record = Record(
        party=start.me,
        names=deployment.names,
        steps=outcome.steps,
        run=outcome.run,
        configuration=start.configuration,
        outcome=outcome.digest,
        study=network.study,
        case=network.case,
        method=network.method,
        fold=network.fold,
        mode=network.mode,
        unit=plan.spec.unit,
        delta=delta,
        rows_per_user=group,
        epsilon=network.epsilon,
    )
    write_record(start.into, record)
    paid = [(owner, event) for owner, event in paid_events(rows) if owner == outcome.run]
    sent = tuple(row for row in messages if isinstance(row, SentMessage))
    against = "declared" if account.budget is None else account.budget.against
    costs = dict(spent_of(paid, delta, group, party=start.me, against=against))
    noise = plan_draws(deployment)
    spent = dict(account.costs_by_unit())
    events = [event for _, event in paid]
    joined = {
        words: spent_of(paid, delta, group, party=start.me, against=view)[plan.spec.unit].epsilon
        for words, view in coalitions_in_words(events, start.me).items()
    }
    beside = noise, shares_in_words(events), joined
    return RunReport(outcome, estimate, sent, costs, spent, account.budget, account.room, tuple(files), *beside)


@contextmanager
def _stopped_by_signals(me: str) -> Iterator[None]:
    """SIGTERM and Ctrl-C end the run for all, in a sentence that says who stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: object) -> None:
        raise PartyError(f"{me!r} was stopped ({signal.Signals(number).name}).")

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
