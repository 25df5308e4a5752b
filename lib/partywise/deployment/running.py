"""Process of one party: fits with all others, and their files."""

from __future__ import annotations

import math
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ..core.documents import digest_of
from ..core.errors import (
    AccountError,
    CertificationError,
    ConfigError,
    DataMissing,
    ModelError,
    PartyError,
    PolicyError,
    StoppedError,
)
from ..federation.account.account import EXTRACT, Account
from ..federation.account.chain import Row, read_chain
from ..federation.account.reading import messages_of, paid_events
from ..federation.account.rows import SentMessage
from ..federation.account.spending import AccountBudget, UnitCost, coalitions_in_words, shares_in_words, spent_of
from ..federation.parties import clip_shares
from ..federation.payloads import Message
from ..federation.secure_streams import floating_point
from ..privacy.ledger.event import Event
from .answers import FILE as ANSWERS
from .answers import StoredAnswer, answer_key, check_data_version, question_of, runs_that_paid
from .foresight import (
    Foresight,
    account_rows,
    check_receivers,
    cost_in_words,
    foresee_all,
    foresight,
    require_room,
    say,
    stated_budget,
)
from .outcomes.result import HeldEstimate, held_estimate, held_scores
from .outcomes.run_files import (
    TRANSCRIPT,
    Record,
    estimate_in_words,
    run_folder,
    write_extract,
    write_outcome,
    write_record,
    write_rows,
)
from .part import LocalRun
from .publication.publishing import Publication
from .rehearsal import ENOUGH
from .scoring import keep_part
from .session.last_frames import LastFrames
from .session.outcome import Outcome
from .session.party import Program, run_party
from .session.session import library_digest
from .session.watch import LOG
from .site.policy import SiteAccount
from .start import PartyStart, prepare, publisher
from .wire.journal import Journal

# What tells its user all there is to tell in its own sentence.
NAMED = (AccountError, CertificationError, ConfigError, DataMissing, ModelError, PartyError, StoppedError)


REPORT = "error.txt"


T = TypeVar("T")


class PartyRunError(RuntimeError):
    """Early end of a party's run, in one sentence."""


@dataclass(frozen=True)
class FitReport:
    """Report of a fit that has ended for all.

    start : of it alone; run : its id; digest : of what the party holds; platforms : how they differ, in words
    folder : of the run, with its files
    estimate : what the party has of it, in words
    messages : what it sent; files : with its arrays; published : what came of publishing, in words
    clips : shares of its own records beyond public bounds, for its screen alone
    """

    start: PartyStart
    run: str
    digest: str
    platforms: str
    estimate: str
    messages: tuple[SentMessage, ...]
    files: tuple[str, ...]
    published: str = ""
    clips: Mapping[str, float] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Folder of the run."""
        return run_folder(self.start.into, self.run)


@dataclass(frozen=True)
class EndReport:
    """Report of a run that had ended before: nothing was paid.

    run : id of its last fit; folders : with the files of its fits
    late : peers that did not report their end while this party waited for them
    """

    run: str
    folders: tuple[Path, ...]
    late: tuple[str, ...]


@dataclass(frozen=True)
class RunReport:
    """Report of a party's fits that have ended for all.

    fits : all except those that had ended in a process before this one
    costs : of all fits, by unit, at the delta of the case; spending : of all runs of the account; budget : of all runs
    room : what it leaves for another one, in words
    shares : what each party adds of the noise of a sum, in words
    against : epsilon of these fits of what its own unit is, by the words of who joins, where noise comes in shares
    folders : with the files of all fits, those that had ended before included
    """

    fits: tuple[FitReport, ...]
    costs: dict[str, UnitCost]
    spending: dict[str, UnitCost]
    budget: AccountBudget | None
    room: str
    shares: str = ""
    against: Mapping[str, float] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()


def run(start: PartyStart) -> RunReport | EndReport:
    """Run one party's part, and write what is left into its folder; where it has failed all other parties end too.

    Where the run has ended before, peers that are late get its last frames, and nothing is paid.

    PolicyError for what the policy of the site forbids, PartyRunError for everything else.
    """
    return end_in_a_sentence(start, _run)


def dry_run(start: PartyStart) -> Foresight:
    """Foresee what `run` would do, as far as it goes without others: nothing is paid or written."""
    return end_in_a_sentence(start, foresight)


def end_in_a_sentence(start: PartyStart, action: Callable[[PartyStart], T]) -> T:
    """Run an action of a party and raise its errors in one sentence: PolicyError and PartyRunError as of `run`."""
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
                "take mode experiment, or a method whose noise is discrete (docs/network_reference.md lists them)."
            ) from error
        _folder(start.into)
        (start.into / REPORT).write_text(traceback.format_exc(), encoding="utf-8")
        raise PartyRunError(
            f"{start.where} ended with {type(error).__name__}: {error} (where it happened: {start.into / REPORT})"
        ) from error


def offer_end(start: PartyStart) -> EndReport | None:
    """Offer the last frames of the run that has ended to late peers; None if there is none, or one is to go on."""
    last = None if start.again else ended_run(start)
    if last is None:
        return None
    network, runs = start.deployment.network, last.runs
    LOG.info("run %s has ended here: waiting for peers that are late (Ctrl-C ends that)", runs[-1][:12])
    with closing(start.connect(network, start.me, start.certificates, None)) as transport:
        late = last.offer(transport, network.patience)
    with closing(Journal.view(start.journal)) as journal:
        left = journal.choice("session") == last.session
    if left:
        # The process before this one was killed after the end of the run.
        start.journal.unlink()
    return EndReport(runs[-1], _folders(start, runs), tuple(late))


def _folders(start: PartyStart, runs: Sequence[str]) -> tuple[Path, ...]:
    """Return the folders of the runs of all fits."""
    return tuple(run_folder(fit.into, run) for fit, run in zip(start.fits, runs, strict=True))


def ended_run(start: PartyStart) -> LastFrames | None:
    """Return the run of this configuration that has ended, with nothing begun since; None if there is none."""
    last = LastFrames.read(start.last_frames, start.configuration)
    if last is None or len(last.runs) != len(start.fits):
        return None
    with closing(Journal.view(start.journal)) as journal:
        # One that was killed between its end and the end of its journal has ended.
        goes_on = journal.is_agreed and journal.choice("shared") == start_words(start)
        return None if goes_on and journal.choice("session") != last.session else last


def _run(start: PartyStart) -> RunReport | EndReport:
    if (before := offer_end(start)) is not None:
        return before
    network, policy = start.deployment.network, start.policy
    release, reports = network.mode == "release", list[FitReport]()
    ready = prepare(start)
    seen = list[tuple[Sequence[Message], tuple[Event, ...]]]()
    asked = policy is not None or network.budget is not None or len(start.deployments) > 1
    if policy is not None or (release and (asked or network.data_version)):
        # Before anything is drawn: what is paid stays paid. Made-up records that a method cannot fit refute nothing.
        with suppress(Exception):
            seen = foresee_all(start, ready, ENOUGH)
    check_receivers(start, [message for messages, _ in seen for message in messages])
    for method, ahead in ready.estimates.items():
        words = f"method {method} gives {ahead}" if ahead else "who has it shows when the run has ended"
        say(f"estimate: {words}")
    path = start.journal
    # Once, however often it goes on: before its journal is there, and before anything is written.
    rows, costs = account_rows(start), [events for _, events in seen]
    if not path.exists():
        require_room(
            start, rows, [() if paid_before(fit, rows) else cost for fit, cost in zip(start.fits, costs, strict=False)]
        )
    _folder(start.into)
    with open_account(start) as account, ExitStack() as opened_files:
        check_data_version(account.record_data, start.deployment, start.me, start.data)
        journal = opened_files.enter_context(closing(Journal(path, start_words(start), replaces=not release)))
        opened = journal.choose("opened", lambda: ready.start_time)
        if ready.registrations and not journal.goes_on:
            account.record_registrations({name: digest_of(data) for name, data in ready.registrations.items()})
        prices = [""] * len(start.fits)
        if start.me in start.deployment.holders:
            prices = [cost_in_words(start, [events]) for events in costs] or prices
        fits = zip(start.fits, ready.parts, ready.forms, ready.charges, prices, strict=True)
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
            ended=start.last_frames,
        )
        report = _report(start, account, reports)
        journal.discard()
        return report


def _program(
    start: PartyStart,
    part: LocalRun,
    forms: Mapping[tuple[str, str], str] | None,
    charges: Mapping[str, tuple[str, ...]],
    cost: str,
    account: Account,
    opened: str,
    registrations: Mapping[str, bytes],
    reports: list[FitReport],
) -> Program:
    """Build one fit as a party takes part in it: when it has ended its files are on disk and it is reported."""
    _folder(start.into)
    deployment, publication, written = start.deployment, None, list[tuple[HeldEstimate, list[str]]]()
    fit: Callable[[object], object] = deployment.plan.methods[deployment.network.method].protocol.fit
    if publisher(deployment):
        n, spec = len(part.run.fold.of), part.run.spec
        terms = start.configuration_file, start.me, account, start.into, n, spec, opened, registrations, charges
        publication = Publication(deployment, *terms)
        fit = publication.record(fit)
    answer = _answer(start, part, account, cost, publication)

    def keep(outcome: Outcome) -> None:
        folder = _folder(run_folder(start.into, outcome.run))
        if deployment.network.score is not None:
            estimate = held_scores(outcome, part.ids)
        else:
            # Before the outcome, whose names in the folder go to the disk with it.
            keep_part(deployment, outcome, part.run, start.me, folder)
            estimate = held_estimate(deployment, outcome.value, start.me, part.run.spec, part)
        written.append((estimate, write_outcome(folder, outcome, deployment.network.mode, estimate)))

    def finish(outcome: Outcome) -> None:
        [(estimate, files)] = written
        sent, published = _write_files(start, account, outcome), "" if publication is None else publication.summary
        facts = outcome.run, outcome.commitment, outcome.platforms, estimate_in_words(estimate)
        clips = clip_shares([party for party in part.run.parties if party.name == start.me])
        reports.append(FitReport(start, *facts, sent, tuple(files), published, clips))
        # The values of many fits are on disk, and not in memory too.
        written.clear()

    return Program(
        label=deployment.label,
        fit=fit,
        run=part.run,
        forms=forms,
        study=deployment.network.study,
        answer=answer,
        conclude=None if publication is None else publication.conclude,
        keep=keep,
        finish=finish,
    )


def _answer(
    start: PartyStart, part: LocalRun, account: Account, cost: str, publication: Publication | None
) -> StoredAnswer | None:
    """Build a party's part of an answer that may be stored; None where the fit has none."""
    question = question_of(start.deployment)
    if question is None or publication is None:
        return None
    key, path = answer_key(start.deployment, question), start.ledger.with_name(ANSWERS)
    who = start.deployment, part, start.me
    publication.answer = StoredAnswer(*who, key, question, path, account.rows, publication.recorder, say, cost)
    return publication.answer


def paid_before(start: PartyStart, rows: Sequence[Row]) -> bool:
    """Whether the account has paid for the question of a fit, whose stored answer then costs nothing."""
    question = question_of(start.deployment)
    return question is not None and bool(runs_that_paid(rows, answer_key(start.deployment, question)))


def start_words(start: PartyStart) -> str:
    """Words that identify what a run is started with, as its journal has them."""
    return f"{start.configuration} {library_digest()} {start.me}"


def open_account(start: PartyStart) -> Account:
    """Open the account of a party, under the policy of its site if it has one."""
    budget = stated_budget(start.deployment)
    if start.policy is None:
        return Account(start.ledger, party=start.me, budget=budget)
    return SiteAccount(start.ledger, start.policy, party=start.me, budget=budget)


def _folder(into: Path) -> Path:
    """Make the folder of a party, which others on the machine cannot read if it is made here."""
    try:
        into.mkdir(0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise AccountError(
            f"--into is {into}: it cannot be made ({error.strerror}); name a folder that can be written."
        ) from None
    return into


def _write_files(start: PartyStart, account: Account, outcome: Outcome) -> tuple[SentMessage, ...]:
    """Write the files of a fit next to those of its outcome; return the messages that the party sent."""
    deployment, network = start.deployment, start.deployment.network
    extract, folder = account.rows_of_run(), run_folder(start.into, outcome.run)
    messages = messages_of(read_chain(folder / EXTRACT, extract, part=True).rows, outcome.run)
    write_rows(folder / TRANSCRIPT, messages)
    write_extract(folder, extract)
    record = Record(
        party=start.me,
        names=deployment.names,
        hosts=tuple(deployment.hosts[name] for name in deployment.names),
        steps=outcome.steps,
        run=outcome.run,
        configuration=start.configuration,
        outcome=outcome.commitment,
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
    write_record(folder, record)
    return tuple(row for row in messages if isinstance(row, SentMessage))


def _report(start: PartyStart, account: Account, reports: Sequence[FitReport]) -> RunReport:
    """Report all fits when the last one has ended, for the screen."""
    plan, delta = start.deployment.plan, start.delta
    # Those that had ended in a process before this one as well.
    last = LastFrames.read(start.last_frames, start.configuration)
    assert last is not None
    runs, group = last.runs, plan.rows_per_user(start.deployment.network.case)
    paid = [(run, event) for run, event in paid_events(account.rows()) if run in runs]
    against = "declared" if account.budget is None else account.budget.against
    events = [event for _, event in paid]
    epsilons = {
        words: spent_of(paid, delta, group, party=start.me, against=view)[plan.spec.unit].epsilon
        for words, view in coalitions_in_words(events, start.me).items()
    }
    costs = dict(spent_of(paid, delta, group, party=start.me, against=against))
    spent, shares = dict(account.costs_by_unit()), shares_in_words(events)
    folders = _folders(start, runs)
    return RunReport(tuple(reports), costs, spent, account.budget, account.room, shares, epsilons, folders)


@contextmanager
def _stopped_by_signals(me: str) -> Iterator[None]:
    """Let SIGTERM and Ctrl-C end the run for all, in a sentence that names the party that was stopped."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: object) -> None:
        raise StoppedError(f"{me!r} was stopped ({signal.Signals(number).name}).")

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
