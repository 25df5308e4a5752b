"""One party of a run whose parties are processes of their own: the program, its link, and an end that all learn of."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import cast

import numpy as np

from ...errors import PartyError, PolicyError, RefusalError, Unreachable
from ...privacy.mechanisms.random import KEY_BYTES
from ..identity import Identity
from ..place_checks import PlacedRun
from ..run import Run
from ..secure_streams import SecureStreams
from ..transport.interface import Transport
from ..transport.journal import Journal
from .account import EXPERIMENT, RELEASE, Account
from .guard import PrepaidCosts
from .link import SessionLink
from .outcome import Outcome
from .session import Session
from .watch import PULSE


def run_party(
    fit: Callable[[object], object],
    run: Run,
    me: str,
    transport: Transport,
    *,
    configuration: str,
    account: Account,
    patience: float = 60.0,
    facts: Mapping[str, str] | None = None,
    forms: Mapping[tuple[str, str], str] | None = None,
    same_platform: bool = False,
    fingerprints: Mapping[str, str] | None = None,
    study: str = "",
    conclude: Callable[[Session, Outcome], None] | None = None,
    keep: Callable[[Outcome], None] | None = None,
    journal: Journal | None = None,
    deadline: float = math.inf,
) -> Outcome:
    """Run one party's part of a protocol together with the processes of all others.

    ``conclude`` is what the parties do together after the program and before the run has ended for all; ``keep`` puts
    what this one holds on disk before it says that it is done. With a ``journal``, that of the transport, another
    process goes on where this one is killed; the journal is discarded where nobody can go on. ``deadline`` is in
    seconds, from the moment that all have met.
    """
    _check(run, me, transport)
    session = Session(
        transport,
        configuration,
        patience=patience,
        facts=facts,
        same_platform=same_platform,
        journal=journal,
        deadline=deadline,
    )
    try:
        if journal is not None and isinstance(run.rng_for, SecureStreams):
            key = bytes.fromhex(journal.choose("key", lambda: os.urandom(KEY_BYTES).hex()))
            run.rng_for = cast(Callable[..., np.random.Generator], run.rng_for.of_run(key))
        mode = RELEASE if isinstance(run.rng_for, SecureStreams) else EXPERIMENT
        account.began(session.begin(), configuration, mode, study, again=journal is not None and journal.goes_on)
        channel = run.channel
        link = SessionLink(session, run.names, account, real=channel.real, trusted=channel.trusted, forms=forms)
        placed = PlacedRun(run, [me], link, whole=False)
        known = session.run if mode == RELEASE else run.identity.run
        placed.identity = Identity(known, configuration, fingerprints or {}, transport.credential)
        # Whoever has data draws on its own; another place draws on what others were told of.
        placed.charge_to(account if me in (party.name for party in run.parties) else PrepaidCosts(account, placed))
        value = fit(placed)
        outcome = Outcome(me, value, session.run, placed.steps, session.platforms)
        if conclude is not None:
            conclude(session, outcome)
        if keep is not None:
            keep(outcome)
        account.record_heads(session.end(placed.steps, account.head))
        account.record_end(outcome.digest)
        return outcome
    except BaseException as error:
        begun = session.run or (journal is not None and journal.goes_on)
        over = session.watch.over or not begun or not _is_passing(error)
        # What went wrong here may tell of data: it stays here.
        own = f"{me!r} ended with an error of its own; its output says which."
        if isinstance(error, PolicyError):
            own, error.is_told = refusal(me), True
        session.abort(str(error) if isinstance(error, PartyError) else own, over=over)
        if journal is not None and over:
            journal.discard()
        raise
    finally:
        transport.close()


def refusal(me: str) -> str:
    """All that others hear of what the policy of a site forbids."""
    return f"{me!r} refuses by the policy of its site."


def tell_refusal(transport: Transport, patience: float) -> None:
    """Tell all others that this party refuses, each when it has come, for so many seconds; or until one knows."""
    notice = json.dumps({"sentence": refusal(transport.me), "over": False}).encode()
    untold, deadline = list(transport.peers), monotonic() + patience
    while untold and monotonic() < deadline:
        for peer in tuple(untold):
            with suppress(Unreachable, RefusalError):
                transport.put(peer, "abort", notice)
                untold.remove(peer)
        if any(transport.get(peer, "abort", min(PULSE / 10, patience / 40)) for peer in untold):
            return


def _is_passing(error: BaseException) -> bool:
    """Whether the same run may go well when it is started again: somebody was missing or stopped, or a disk full."""
    if isinstance(error, PartyError):
        return not isinstance(error, RefusalError)
    return isinstance(error, OSError | KeyboardInterrupt) or isinstance(error.__cause__, OSError)


def _check(run: Run, me: str, transport: Transport) -> None:
    """ValueError unless this party and its peers are the places of the run."""
    if transport.me != me or sorted((me, *transport.peers)) != sorted(run.names):
        raise ValueError(
            f"me={me!r}: the transport connects {transport.me!r} with {transport.peers}, the run has {run.names}."
        )
