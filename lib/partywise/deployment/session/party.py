"""Runs of one party whose peers are processes of their own: programs, their links, and ends that all learn of.

A place without data pays for its noise from its own account (`PrepaidCosts`).
"""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from ...core.errors import CertificationError, JobEndedError, PartyError, PolicyError, RefusalError, StoppedError
from ...federation.account.interface import EXPERIMENT, RELEASE, PartyAccount
from ...federation.identity import Identity
from ...federation.place_checks import PlacedRun
from ...federation.run import Run
from ...federation.secure_streams import SecureStreams
from ...privacy.ledger.event import Event
from ...privacy.mechanisms.random import KEY_BYTES
from ..wire.interface import Transport
from ..wire.journal import Journal
from .last_frames import LastFrames, say_ended
from .link import SessionLink
from .outcome import Outcome
from .session import Session, SessionRun
from .watch import LOG

if TYPE_CHECKING:
    from ..answers import StoredAnswer


@dataclass(frozen=True, kw_only=True)
class Program:
    """One run of a session, as one party takes part in it.

    fit, run : the program, and the party's part of its start, which has not begun; label : its name
    forms : of messages by (receiver, name), as a rehearsal of it had them
    study : whose it is; answer : its part of an answer that may be stored
    conclude : what the parties do together after the program and before the run has ended for all
    keep : writes what this party holds to disk before it reports that it is done
    finish : what it does when the run has ended for all, before the next one begins
    """

    fit: Callable[[object], object]
    run: Run
    label: str = ""
    forms: Mapping[tuple[str, str], str] | None = None
    study: str = ""
    answer: StoredAnswer | None = None
    conclude: Callable[[SessionRun, Outcome], None] | None = None
    keep: Callable[[Outcome], None] | None = None
    finish: Callable[[Outcome], None] | None = None


def run_party(
    programs: Sequence[Program],
    me: str,
    transport: Transport,
    *,
    configuration: str,
    account: PartyAccount,
    patience: float = 60.0,
    facts: Mapping[str, str] | None = None,
    same_platform: bool = False,
    fingerprints: Mapping[str, str] | None = None,
    journal: Journal | None = None,
    deadline: float = math.inf,
    ended: Path | None = None,
) -> Outcome:
    """Run one party's part of protocols, one after the other, together with the processes of all others.

    All parties have the same ``programs`` in the same order, and each gets the outcome of its own; that of the last
    is returned. With a ``journal``, that of the transport, another process goes on where this one is killed, without
    the runs that had ended; the journal is discarded if the run cannot go on. ``deadline`` is in seconds, from the
    moment that all have met. ``ended`` is the file in which the last frames are kept for late peers (`LastFrames`).
    """
    for program in programs:
        _check(program.run, me, transport)
    session = Session(
        transport,
        configuration,
        patience=patience,
        facts=facts,
        same_platform=same_platform,
        journal=journal,
        deadline=deadline,
        account=account,
    )
    again = journal is not None and journal.goes_on
    # Of an earlier start; what is said in this one counts for nothing until all have heard each other.
    agreed, met = journal is not None and journal.is_agreed, False
    try:
        session.begin()
        met = True
        for number, program in enumerate(programs):
            number_ended = f"run {number} ended"
            if journal is not None and journal.is_chosen(number_ended):
                continue
            if len(programs) > 1:
                LOG.info("fit %d of %d: %s", number + 1, len(programs), program.label)
            identity = Identity("", configuration, fingerprints or {}, transport.credential)
            outcome = _run(program, session.run(number), account, identity, again=again)
            # The last one has ended when the journal is gone.
            if number + 1 < len(programs):
                session.choose(number_ended, lambda: "yes")
        if journal is not None and ended is not None:
            LastFrames.of(journal, session.id, len(programs)).keep(ended, configuration)
        if again:
            # Whoever ended before may wait for this one.
            say_ended(transport, transport.peers)
        return outcome
    except BaseException as error:
        # Of a job that ends for all at once everybody keeps what it has: some have met, and others not.
        goes_on = bool(session.id or again or isinstance(error, JobEndedError))
        # Nobody has begun without this party: it need not be the one that the others met.
        anew = _is_second_hello(error) and not (met or agreed)
        over = session.watch.over or anew or not goes_on or not _is_passing(error)
        # What went wrong here may tell of data: it stays here.
        public_sentence = own_error(me)
        if isinstance(error, PolicyError):
            public_sentence = refusal(me)
        vars(error)["is_told"] = True
        # Whoever tells those that are yet to come may be stopped meanwhile.
        with suppress(PartyError, StoppedError):
            sentence = str(error) if isinstance(error, PartyError | StoppedError) else public_sentence
            session.abort(sentence, over=over, agreed=met or agreed)
        if journal is not None and over:
            journal.discard()
        raise
    finally:
        transport.close()


def _run(
    program: Program, session_run: SessionRun, account: PartyAccount, identity: Identity, *, again: bool
) -> Outcome:
    """Run one party's part of one run."""
    run, me = program.run, session_run.me
    if isinstance(run.rng_for, SecureStreams):
        key = bytes.fromhex(session_run.choose("key", lambda: os.urandom(KEY_BYTES).hex()))
        run.rng_for = cast(Callable[..., np.random.Generator], run.rng_for.of_run(key))
    mode = RELEASE if isinstance(run.rng_for, SecureStreams) else EXPERIMENT
    answer = program.answer
    stored = answer is not None and answer.agree(session_run)
    account.began(session_run.id, identity.configuration, mode, program.study, again=again)
    account.answer = "" if answer is None else answer.key
    channel = run.channel
    link = SessionLink(session_run, run.names, account, real=channel.real, trusted=channel.trusted, forms=program.forms)
    placed = PlacedRun(run, [me], link, whole=False)
    placed.identity = replace(identity, run=session_run.id if mode == RELEASE else run.identity.run)
    # Whoever has data draws on its own; another place draws on what others were told of.
    placed.charge_to(account if me in (party.name for party in run.parties) else PrepaidCosts(account, placed))
    if answer is None:
        value = program.fit(placed)
    elif stored:
        value = answer.value()
    else:
        value = program.fit(placed)
        answer.store(session_run.id)
    salt = session_run.choose("salt of the outcome", lambda: secrets.token_hex(32))
    outcome = Outcome(me, value, session_run.id, placed.steps, session_run.platforms, salt)
    if program.conclude is not None:
        program.conclude(session_run, outcome)
    if program.keep is not None:
        program.keep(outcome)
    account.record_heads(session_run.end(placed.steps, account.head))
    account.record_end(outcome.commitment)
    if program.finish is not None:
        program.finish(outcome)
    return outcome


def own_error(me: str) -> str:
    """Return the sentence that others receive when a party fails by itself: no details."""
    return f"{me!r} ended with an error of its own; its output states which."


def refusal(me: str) -> str:
    """Return the sentence that others receive when the policy of a site forbids a run."""
    return f"{me!r} refuses by the policy of its site."


def _is_passing(error: BaseException) -> bool:
    """Whether the same run may succeed when it is started again: a party was missing or stopped, or a disk was full."""
    if isinstance(error, PartyError):
        return not isinstance(error, RefusalError)
    return isinstance(error, OSError | KeyboardInterrupt) or isinstance(error.__cause__, OSError)


def _is_second_hello(error: BaseException) -> bool:
    """Whether a party began anew that this one had met before."""
    return isinstance(error.__cause__, RefusalError) and error.__cause__.tag == "hello"


def _check(run: Run, me: str, transport: Transport) -> None:
    """Raise ValueError unless this party and its peers are the places of the run."""
    if transport.me != me or sorted((me, *transport.peers)) != sorted(run.names):
        raise ValueError(
            f"me={me!r}: the transport connects {transport.me!r} with {transport.peers}, the run has {run.names}."
        )


class PrepaidCosts:
    """Payer of a functionality or a dealer: draws on others' data only what `Run.charge` has announced.

    Each announcement is for one draw of that name, profile and unit. The owner that received it has paid from its own
    account, or has refused and given nothing away.
    """

    def __init__(self, account: PartyAccount, placed: PlacedRun) -> None:
        self._account, self._placed = account, placed

    def charge(self, *events: Event) -> None:
        """Charge the account; CertificationError for what was not announced, and nothing is drawn."""
        left = list(self._placed.announced)
        for event in events:
            place = next((place for place, paid in enumerate(left) if _is_draw_of(event, paid)), None)
            if place is None:
                raise CertificationError(
                    f"{event.mechanism} {event.release_id!r} was not announced: the owner of its data could not pay; "
                    "call run.charge(holders, announced(...)) with its name and profile before they give anything away."
                )
            del left[place]
        self._account.charge(*events)
        self._placed.announced[:] = left


# An announcement states a profile at the largest sensitivity, a draw at its own: the same ratio, rounded otherwise.
ROUNDING = 1e-12


def _is_draw_of(event: Event, announced: Event) -> bool:
    """Whether an event is a draw of an announced one: the same terms, and profiles that are equal up to rounding."""
    if _terms(event) != _terms(announced):
        return False
    drawn, paid = event.profile, announced.profile
    if drawn is None or paid is None or drawn.mu is None or paid.mu is None:
        return drawn == paid
    return math.isclose(drawn.mu, paid.mu, rel_tol=ROUNDING) and replace(drawn, mu=paid.mu) == paid


def _terms(event: Event) -> tuple[object, ...]:
    """Return the terms in which an announcement and its draw agree, next to their profiles."""
    noise = event.delta_numeric, event.tv, event.shares
    return event.release_id, event.mechanism, event.unit, event.relation, *noise
