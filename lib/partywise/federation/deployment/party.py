"""One party of a run whose parties are processes of their own: the program, its link, and an end that all learn of."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...errors import PartyError
from ..identity import Identity
from ..place_checks import PlacedRun
from ..run import Run
from ..secure_streams import SecureStreams
from ..transport.interface import Transport
from .account import EXPERIMENT, RELEASE, Account
from .guard import PrepaidCosts
from .link import SessionLink
from .outcome import Outcome
from .session import Session


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
) -> Outcome:
    """Run one party's part of a protocol together with the processes of all others.

    ``conclude`` is what the parties do together after the program and before the run has ended for all.
    """
    _check(run, me, transport)
    session = Session(transport, configuration, patience=patience, facts=facts, same_platform=same_platform)
    try:
        mode = RELEASE if isinstance(run.rng_for, SecureStreams) else EXPERIMENT
        account.began(session.begin(), configuration, mode, study)
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
        account.record_heads(session.end(placed.steps, account.head))
        account.record_end(outcome.digest)
        return outcome
    except PartyError as error:
        session.abort(str(error))
        raise
    except BaseException:
        # What went wrong here may tell of data: it stays here.
        session.abort(f"{me!r} ended with an error of its own; its output says which.")
        raise
    finally:
        transport.close()


def _check(run: Run, me: str, transport: Transport) -> None:
    """ValueError unless this party and its peers are the places of the run."""
    if transport.me != me or sorted((me, *transport.peers)) != sorted(run.names):
        raise ValueError(
            f"me={me!r}: the transport connects {transport.me!r} with {transport.peers}, the run has {run.names}."
        )
