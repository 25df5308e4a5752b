"""One party's process: from the shared configuration and its own file to fits with all others, and their files."""

from __future__ import annotations

import math
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
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
from ...federation.account.account import EXTRACT, FILE, Account
from ...federation.account.chain import Row, read_chain
from ...federation.account.reading import charged_event, messages_of, opened_account, paid_events
from ...federation.account.spending import (
    Budget,
    Spending,
    UnitCost,
    coalitions_in_words,
    costs_in_words,
    shares_in_words,
    spent_of,
)
from ...federation.channel import Message
from ...federation.deployment.outcome import Outcome
from ...federation.deployment.party import Program, run_party
from ...federation.deployment.session import library_digest
from ...federation.deployment.union import SentMessage
from ...federation.publication.files import digest_of, now
from ...federation.transport.interface import Transport
from ...federation.transport.journal import Journal
from ...privacy.ledger.event import Event
from ..configuration.build import choices
from .part import Part, parts
from .publication.publishing import Publication, registrations_of
from .publication.release_folder import publisher_of
from .rehearsal import ENOUGH, PATIENT, estimate_ahead, floating_point, foresee, rehearse
from .result import HeldEstimate, held_estimate
from .run_files import (
    RECORD,
    TRANSCRIPT,
    Record,
    estimate_in_words,
    read_record,
    write_extract,
    write_outcome,
    write_record,
    write_rows,
)
from .settings import KEY, Deployment, Network, addresses_of
from .site.account import SiteAccount, cap_spendings
from .site.policy import SitePolicy

# What tells its user all there is to tell in its own sentence.
NAMED = (AccountError, CertificationError, ConfigError, DataMissing, PartyError)
REPORT = "error.txt"
T = TypeVar("T")


class PartyRunError(RuntimeError):
    """A party's run that ended early, in one sentence."""


def connect(
    network: Network,
    me: str,
    certificates: Path,
    journal: Journal | None = None,
    listen: tuple[str, int] | None = None,
) -> Transport:
    """A party's end of the network; ``listen``: where it listens itself, if others reach it elsewhere."""
    from ...federation.transport.network import PATIENCE
    from ...federation.transport.network import Network as Connections

    addresses = {name: (one.host, one.port) for name, one in addresses_of(network).items()}
    for name in network.parties.keys() - addresses.keys():
        raise ConfigError(f"{KEY}.parties.{name} has no host and port: add them, or let NVFlare connect all parties.")
    return Connections(
        me,
        addresses,
        certificates,
        largest=network.largest_message,
        patience=min(PATIENCE, network.patience),
        listen=listen,
        pins=network.certificates,
        journal=journal,
    )


Connect = Callable[[Network, str, Path, Journal | None], Transport]


@dataclass(frozen=True)
class Start:
    """Where a party stands.

    deployments : the fits of the configuration that all share, in their order
    configuration : digest of it; me : its name; data, certificates, into : folders
    account : file of its account over all runs, by default beside its data, or its outputs where it has none
    configuration_file : the shared configuration itself, as it is published
    policy : of its site, where it has one
    connect : its end of the connections to all others
    """

    deployments: tuple[Deployment, ...]
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
    def deployment(self) -> Deployment:
        """The first fit: what all of them have alike."""
        return self.deployments[0]

    @property
    def fits(self) -> tuple[Start, ...]:
        """The start of each fit alone; of several each has a folder of its own in that of all."""
        if len(self.deployments) == 1:
            return (self,)
        return tuple(
            replace(self, deployments=(one,), into=self.into / one.label, account=self.ledger)
            for one in self.deployments
        )

    @property
    def ledger(self) -> Path:
        """The file of its account."""
        if self.account is not None:
            return self.account / FILE if self.account.is_dir() else self.account
        return (self.data if self.me in self.deployment.holders else self.into) / FILE

    @property
    def delta(self) -> float:
        """delta at which its costs are told: of several fits the smallest."""
        return min(one.delta for one in self.deployments)

    @property
    def where(self) -> str:
        """Beginning of sentences about this party."""
        return f"party {self.me!r}"


@dataclass(frozen=True)
class FitReport:
    """What came of a fit that has ended for all.

    start : of it alone; run : its id; digest : of what the party holds; platforms : how they differ, in words
    estimate : what the party has of it, in words
    messages : what it sent; files : with its arrays; published : what came of publishing, in words
    """

    start: Start
    run: str
    digest: str
    platforms: str
    estimate: str
    messages: tuple[SentMessage, ...]
    files: tuple[str, ...]
    published: str = ""


@dataclass(frozen=True)
class RunReport:
    """What came of a party's fits that have ended for all.

    fits : but for those that had ended in a process before this one
    costs : of all fits, by unit, at the delta of the case; spending : of all runs of the account; budget : of all runs
    room : what it leaves for another one, in words
    shares : what each party adds of the noise of a sum, in words
    against : epsilon of these fits of what its own unit is, by the words of who joins, where noise comes in shares
    """

    fits: tuple[FitReport, ...]
    costs: dict[str, UnitCost]
    spending: dict[str, UnitCost]
    budget: Budget | None
    room: str
    shares: str = ""
    against: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Foresight:
    """What fits would be, from made-up records and the account as it is.

    estimates : by method, who would have what of it, in words, empty where that shows in the end
    messages : of all parties and fits; events : by fit, what this party would pay, as it counts in the mode of the run
    left : what is left of its budget and of the caps of its site, and whether all fits fit, in words
    """

    estimates: Mapping[str, str]
    messages: tuple[Message, ...]
    events: tuple[tuple[Event, ...], ...]
    left: tuple[str, ...]


@dataclass(frozen=True)
class Preparation:
    """What there is before a party connects: by fit its part and forms of messages, of all fits the rest.

    registrations : files of all owners by name; start_time : when this process was about to open data
    estimates : as of `Foresight`
    """

    parts: list[Part]
    forms: list[dict[tuple[str, str], str] | None]
    registrations: dict[str, bytes]
    start_time: str
    estimates: dict[str, str]

    @property
    def n(self) -> int:
        """Records of the party's part."""
        return len(self.parts[0].run.fold.of)


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


def _prepare(start: Start) -> Preparation:
    """All before a party connects; every fit is refused that the site, or the mode, does not allow."""
    deployment, policy, me = start.deployment, start.policy, start.me
    if me not in deployment.names:
        raise ConfigError(f"--me is {me!r}: {choices(me, deployment.names)}.")
    if policy is not None:
        for one in start.deployments:
            policy.check_deployment(one, me, _publisher(one))
    # What is refused is refused before data are opened, but where only they say how many records there are.
    ahead = deployment.network.mode == "release" and bool(deployment.rows)
    forms = _rehearse(start.deployments, 0) if ahead else None
    opened, registrations = now(), registrations_of(deployment, start.configuration, start.certificates)
    with nullcontext() if policy is None else policy.reading():
        own = parts(start.deployments, start.configuration, me, start.data)
    if policy is not None:
        for part in own:
            policy.check_records(part, me)
    n = len(own[0].run.fold.of)
    if deployment.network.mode == "release" and forms is None:
        forms = _rehearse(start.deployments, n)
    estimates = dict[str, str]()
    for one, part in zip(start.deployments, own, strict=True):
        if one.network.method not in estimates:
            estimates[one.network.method] = estimate_ahead(one, part.run, n)
    return Preparation(own, forms or [None] * len(own), registrations, opened, estimates)


def _rehearse(deployments: Sequence[Deployment], n: int) -> list[dict[tuple[str, str], str] | None]:
    """Forms of the messages of every fit; those that differ in their fold alone are rehearsed once."""
    seen = {(one.network.method, one.network.epsilon): one for one in reversed(deployments)}
    forms = {key: rehearse(one, n) for key, one in reversed(seen.items())}
    return [forms[one.network.method, one.network.epsilon] for one in deployments]


def _foresee(start: Start, n: int, seconds: float) -> list[tuple[Sequence[Message], tuple[Event, ...]]]:
    """What would cross in every fit, and what this party would pay; fits that differ in their fold alone are alike."""
    seen = dict[tuple[str, float | None], tuple[Sequence[Message], tuple[Event, ...]]]()
    for one in start.deployments:
        key = one.network.method, one.network.epsilon
        if key not in seen:
            messages, paid = foresee(one, start.me, n, seconds)
            seen[key] = messages, tuple(charged_event(event, one.network.mode) for event in paid)
    return [seen[one.network.method, one.network.epsilon] for one in start.deployments]


def _publisher(deployment: Deployment) -> str:
    """Who writes the folder of a release; empty where nobody does."""
    published = deployment.network.mode == "release" and plan_draws(deployment)
    return (publisher_of(deployment) or "") if published else ""


def _dry_run(start: Start) -> Foresight:
    ready = _prepare(start)
    seen = _foresee(start, ready.n, PATIENT)
    rows = opened_account(start.ledger).rows if start.ledger.exists() else ()
    messages, events = [one for messages, _ in seen for one in messages], tuple(events for _, events in seen)
    _check_receivers(start, messages)
    left = tuple(line for line, _ in _rooms(start, rows, events))
    return Foresight(ready.estimates, tuple(messages), events, left)


def _rooms(
    start: Start, rows: Sequence[Row], events: Sequence[Sequence[Event]]
) -> Iterator[tuple[str, type[Exception] | None]]:
    """What is left of every limit of this party and whether all fits fit, in words; the error where they do not."""
    budget, what = _budget(start.deployment), "this run" if len(events) == 1 else f"these {len(events)} fits"
    limits = list[tuple[str, Spending, type[Exception]]]()
    if budget is not None:
        limits.append(("network.budget", Spending(budget, paid_events(rows), party=start.me), BudgetExceeded))
    if start.policy is not None:
        caps = enumerate(cap_spendings(start.policy.site, rows, start.me))
        limits += [(f"{start.policy.path} epsilon[{k}]", spending, PolicyError) for k, spending in caps]
    for name, spending, error in limits:
        room, fits = spending.room, 0
        with suppress(BudgetExceeded):
            for one in events:
                spending.require(f"fit {fits}", one)
                fits += 1
        whole = fits == len(events)
        words = "has room for" if whole else "REFUSES"
        beyond = "" if whole or len(events) == 1 else f"; the first {fits} would fit"
        before = "it" if len(events) == 1 else "them"
        line = f"{name} ({spending.budget}) {words} {what}: {room} is left before {before}{beyond}"
        yield line, None if whole else error


def _require_room(start: Start, rows: Sequence[Row], events: Sequence[Sequence[Event]]) -> None:
    """Say what several fits would cost; BudgetExceeded or PolicyError where what is left has no room for all."""
    if len(start.deployments) > 1:
        cost = f"to pay: {cost_in_words(start, events)}" if events else "made-up records do not show what they cost"
        if start.deployment.network.mode == "experiment":
            cost = "what is released costs infinity"
        _say(f"plan: {len(start.deployments)} fits; {cost}")
    for line, error in _rooms(start, rows, events) if events else ():
        if error is PolicyError:
            assert start.policy is not None
            raise PolicyError(f"{start.policy.path} forbids it: {line}; ask whoever answers for the file.")
        if error is not None:
            raise error(f"{line}; use more noise, run fewer fits, or state a larger budget.")


def cost_in_words(start: Start, events: Sequence[Sequence[Event]]) -> str:
    """What a party would pay for fits, by unit; ``events`` by fit."""
    delta, group = start.delta, start.deployment.plan.rows_per_user(start.deployment.network.case)
    paid = [(f"fit {k}", event) for k, one in enumerate(events) for event in one]
    return costs_in_words(spent_of(paid, delta, group, party=start.me), delta)


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _check_receivers(start: Start, messages: Sequence[Message]) -> None:
    """PolicyError for a message of this party whose receiver may not have it."""
    for message in messages:
        if start.policy is not None and message.sender == start.me:
            start.policy.check_receiver(message.receiver, message.kind)


def _run(start: Start) -> RunReport:
    network, policy = start.deployment.network, start.policy
    release, reports = network.mode == "release", list[FitReport]()
    ready = _prepare(start)
    seen = list[tuple[Sequence[Message], tuple[Event, ...]]]()
    if policy is not None or (release and (network.budget is not None or len(start.deployments) > 1)):
        # Before anything is drawn: what is paid stays paid. Made-up records that a method cannot fit refute nothing.
        with suppress(Exception):
            seen = _foresee(start, ready.n, ENOUGH)
    _check_receivers(start, [one for messages, _ in seen for one in messages])
    for method, ahead in ready.estimates.items():
        told = f"method {method} gives {ahead}" if ahead else "who has it shows when the run has ended"
        _say(f"estimate: {told}")
    _folder(start.into)
    with _account(start) as account, ExitStack() as opened_files:
        path = start.ledger.with_suffix(".journal")
        # Once, however often it goes on: before its journal is there.
        if not path.exists():
            _require_room(start, account.rows(), [events for _, events in seen])
            if policy is not None and policy.site.epsilon:
                account.record_time(ready.start_time)
        journal = opened_files.enter_context(closing(Journal(path, _start_words(start), replaces=not release)))
        opened = journal.choose("opened", lambda: ready.start_time)
        if ready.registrations and not journal.goes_on:
            account.record_registrations({name: digest_of(data) for name, data in ready.registrations.items()})
        fits = zip(start.fits, ready.parts, ready.forms, strict=True)
        run_party(
            [_program(*fit, account, opened, ready.registrations, reports) for fit in fits],
            start.me,
            start.connect(network, start.me, start.certificates, journal),
            configuration=start.configuration,
            account=account,
            patience=network.patience,
            facts=ready.parts[0].facts,
            same_platform=network.same_platform,
            fingerprints=network.certificates,
            journal=journal,
            deadline=network.deadline or math.inf,
        )
        report = _report(start, account, reports)
        journal.discard()
        return report


def _program(
    start: Start,
    own: Part,
    forms: Mapping[tuple[str, str], str] | None,
    account: Account,
    opened: str,
    registrations: Mapping[str, bytes],
    reports: list[FitReport],
) -> Program:
    """One fit as a party takes part in it: its files are on disk and it is among the reports when it has ended."""
    _folder(start.into)
    deployment, publication, kept = start.deployment, None, list[tuple[HeldEstimate, list[str]]]()
    fit: Callable[[object], object] = deployment.plan.methods[deployment.network.method].protocol.fit
    if _publisher(deployment):
        n = len(own.run.fold.of)
        given = start.configuration_file, start.me, account, start.into, n, own.run.spec, opened, registrations
        publication = Publication(deployment, *given)
        fit = publication.record(fit)

    def keep(outcome: Outcome) -> None:
        held = held_estimate(deployment, outcome.value, start.me, own.run.spec, own)
        kept.append((held, write_outcome(start.into, outcome, deployment.network.mode, held)))

    def finish(outcome: Outcome) -> None:
        [(held, files)] = kept
        sent, published = _write_files(start, account, outcome), "" if publication is None else publication.summary
        told = outcome.run, outcome.digest, outcome.platforms, estimate_in_words(held)
        reports.append(FitReport(start, *told, sent, tuple(files), published))
        # The values of many fits are on disk, and not in memory too.
        kept.clear()

    return Program(
        label=deployment.label,
        fit=fit,
        run=own.run,
        forms=forms,
        study=deployment.network.study,
        conclude=None if publication is None else publication.conclude,
        keep=keep,
        finish=finish,
    )


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


def _write_files(start: Start, account: Account, outcome: Outcome) -> tuple[SentMessage, ...]:
    """Write the files of a fit beside those of its outcome; the messages that the party sent."""
    deployment, network = start.deployment, start.deployment.network
    extract = account.rows_of_run()
    messages = messages_of(read_chain(start.into / EXTRACT, extract, part=True).rows, outcome.run)
    write_rows(start.into / TRANSCRIPT, messages)
    write_extract(start.into, extract)
    record = Record(
        party=start.me,
        names=deployment.names,
        hosts=tuple(deployment.hosts[name] for name in deployment.names),
        steps=outcome.steps,
        run=outcome.run,
        configuration=start.configuration,
        outcome=outcome.digest,
        study=network.study,
        case=network.case,
        method=network.method,
        fold=network.fold,
        n_parties=deployment.n_parties,
        mode=network.mode,
        unit=deployment.plan.spec.unit,
        delta=deployment.delta,
        rows_per_user=deployment.plan.rows_per_user(network.case),
        epsilon=network.epsilon,
    )
    write_record(start.into, record)
    return tuple(row for row in messages if isinstance(row, SentMessage))


def _report(start: Start, account: Account, reports: Sequence[FitReport]) -> RunReport:
    """What the screen tells of all fits when the last one has ended."""
    plan, delta = start.deployment.plan, start.delta
    # Those that had ended before left their files where --into was then.
    there = (fit.into for fit in start.fits if (fit.into / RECORD).is_file())
    runs, group = {read_record(one).run for one in there}, plan.rows_per_user(start.deployment.network.case)
    paid = [(run, event) for run, event in paid_events(account.rows()) if run in runs]
    against = "declared" if account.budget is None else account.budget.against
    events = [event for _, event in paid]
    joined = {
        words: spent_of(paid, delta, group, party=start.me, against=view)[plan.spec.unit].epsilon
        for words, view in coalitions_in_words(events, start.me).items()
    }
    costs = dict(spent_of(paid, delta, group, party=start.me, against=against))
    spent, shares = dict(account.costs_by_unit()), shares_in_words(events)
    return RunReport(tuple(reports), costs, spent, account.budget, account.room, shares, joined)


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
