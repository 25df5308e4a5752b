"""Rehearsal of a method on made-up records: whether its randomness is secret and its ciphers close.

It runs before any party connects.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..core.checks import LEAST_KEY_SIZE, check_key_size
from ..core.errors import ConfigError
from ..experiment.cells import EventsAhead, OutOfTime, at_most, events_ahead, watch_announcements
from ..federation.cipher import OPEN_SCHEMES, Cipher
from ..federation.exchanges.secure_sum import AGGREGATOR
from ..federation.exchanges.sharing import DEALER
from ..federation.parties import clip_shares
from ..federation.payloads import Message, Payload
from ..federation.place_checks import NobodyHere, PlacedRun
from ..federation.run import Run, simulate
from ..federation.secure_streams import floating_point
from ..privacy.ledger.event import CLOSED, Event
from ..privacy.ledger.ledger import Ledger
from ..privacy.rounding import upward
from ..privacy.statistics.whole import products_are_exact
from .deployments import UNCLOSED, Deployment, named_ciphers, unjudged_ciphers
from .outcomes.result import holders_in_words
from .part import made_up_run, whole
from .publication.release_folder import Rebuilt, rebuild, terms_of, unnamed_units
from .session.link import Forms
from .session.outcome import estimate_places, places_ahead
from .session.watch import LOG
from .settings import KEY
from .statement.measurements import STATED, Recorder
from .statement.statement import RunFacts

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# Seconds after which a rehearsal counts as passed: what is not known then is seen at the first draw.
ENOUGH = 2.0
# The same of a dry run.
PATIENT = 60.0
# Places that no noise protects anybody from, and why.
KNOWING = {AGGREGATOR: "sees every record", DEALER: "knows the noise"}


def knowledge_of(place: str) -> str:
    """Describe what a place without data knows, as the end of a sentence; other methods' places included."""
    return KNOWING.get(place, "may know the noise or the records")


class _Open(Exception):
    """Error for a cipher whose scheme does not close."""


def rehearse(deployment: Deployment, n: int, drawn: list[Event] | None = None) -> dict[tuple[str, str], str]:
    """Run the method in one process on records that are made of the public settings, with secret randomness.

    n : records of every party, where the configuration does not give them
    drawn : receives the rows of the ledger, where the method draws noise

    What the protocol states decides; a rehearsal that takes too long has refuted nothing.
    """
    method = deployment.network.method
    if reason := deployment.plan.methods[method].protocol.refusal:
        raise ConfigError(
            f"{KEY}.mode is 'release': method {method} is for experiments: {reason}; take mode experiment, or another "
            "method (docs/network_reference.md lists them)."
        )
    if deployment.plan.methods[method].uses_epsilon and math.isinf(deployment.epsilon):
        raise ConfigError(
            f"{KEY}.epsilon is inf with mode 'release': method {method} would add no noise, and nothing would protect "
            "the records; take a finite one of the grid, or mode experiment."
        )
    if not products_are_exact():
        raise ConfigError(
            f"{KEY}.mode is 'release': matrix products of this machine do not add whole numbers exactly, and "
            "certificates rest on that; use NumPy with plain OpenBLAS."
        )
    options = deployment.plan.methods[method].options
    try:
        check_key_size(getattr(options, "key_size", LEAST_KEY_SIZE))
    except ValueError as error:
        raise ConfigError(f"{KEY}.mode is 'release': method {method}: {error}") from None
    for key, scheme in open_ciphers(deployment.plan.methods[method].options):
        raise ConfigError(
            f"{KEY}.mode is 'release': method {method} has {key}: {scheme}, which closes nothing: its records would "
            f"cross in the open; take {key}: paillier, or mode experiment."
        )
    for key, scheme in unjudged_ciphers(options):
        if scheme not in deployment.network.trusted:
            raise ConfigError(
                f"{KEY}.mode is 'release': method {method} has {key}: {scheme}, which this project has not judged; "
                f"name who has, {KEY}.trusted: {{{scheme}: NAME}}, or take {key}: paillier."
            )
    forms, ahead = Forms(), None
    with suppress(OutOfTime, Exception), at_most(ENOUGH), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = made_up_run(deployment, n)
        _watch(run, forms)
        ahead = events_ahead(deployment.plan.methods[method].protocol.fit, run)
    if ahead is None:
        return forms.known
    _check_randomness(deployment, ahead)
    if deployment.plan.methods[method].draws_noise:
        events = *ahead.announcements, *ahead.releases
        _check_trust(deployment, events)
        if ahead.error is None:
            _check_idle_trust(deployment, events)
        check_cost([deployment], [ahead.releases])
        if drawn is not None:
            drawn.extend(ahead.releases)
        if deployment.network.publisher:
            _check_publication(deployment, n)
    return forms.known


def _check_randomness(deployment: Deployment, ahead: EventsAhead) -> None:
    """Raise ConfigError if a cipher does not close, or noise is drawn in floating point."""
    method, error = deployment.network.method, ahead.error
    if isinstance(error, _Open):
        _check_trust(deployment, ahead.announcements)
        raise ConfigError(
            f"{KEY}.mode is 'release': method {method} sends what {error} does not close: records would cross in the "
            "open; take mode experiment, or another method (docs/network_reference.md lists them)."
        )
    if isinstance(error, Exception) and (why := floating_point(error)) is not None:
        raise ConfigError(
            f"{KEY}.mode is 'release': method {method} {why}: it is for experiments; take mode experiment, or a "
            "method whose noise is discrete (docs/network_reference.md lists them)."
        )


def estimate_ahead(deployment: Deployment, run: Run, n: int) -> str:
    """Describe which places will have the estimate, before any party connects: the program is followed without data.

    If values steer the program, it is rehearsed with ``n`` made-up records; empty if that takes too long or fails.
    """
    fit, places = deployment.plan.methods[deployment.network.method].protocol.fit, None
    with warnings.catch_warnings(), suppress(OutOfTime, Exception):
        warnings.simplefilter("ignore")
        try:
            places = places_ahead(fit, run)
        except NobodyHere:
            with at_most(ENOUGH):
                places = estimate_places(fit(PlacedRun(made_up_run(deployment, n), whole=False)))
    return "" if places is None else holders_in_words(*places)


def foresee(deployment: Deployment, me: str, n: int, seconds: float = PATIENT) -> tuple[Sequence[Message], list[Event]]:
    """Return all messages, and what one party would pay, of the method on made-up records; ``n`` as in `rehearse`.

    What was seen until then, where it takes longer.
    """
    paid = list[Event]()
    placed_run = PlacedRun(made_up_run(deployment, n), whole=False)
    send, ledger = placed_run.channel.send, placed_run.channel.ledger

    def send_and_keep(sender: str, receiver: str, name: str, payload: Payload) -> object:
        before = len(ledger)
        delivered = send(sender, receiver, name, payload)
        paid.extend(event for event in ledger.rows[before:] if sender == me and event.mechanism == "none")
        return delivered

    class DrawsOfMe:
        def charge(self, *events: Event) -> None:
            paid.extend(events if placed_run.computing == me else ())

    watch_announcements(placed_run, lambda holders, events: paid.extend(events if me in holders else ()))
    vars(placed_run.channel)["send"] = send_and_keep
    placed_run.charge_to(DrawsOfMe())
    with warnings.catch_warnings(), suppress(OutOfTime), at_most(seconds):
        warnings.simplefilter("ignore")
        deployment.plan.methods[deployment.network.method].protocol.fit(placed_run)
    return placed_run.channel.messages, paid


def clips_ahead(deployment: Deployment, me: str, folder: Path, seconds: float = PATIENT) -> dict[str, float]:
    """Return shares of own records beyond public bounds, from a run in this process; others' records are made up.

    Empty for a place without data, and where the method does not get that far.
    """
    run, _, _ = whole(deployment, me, folder)
    parties = [party for party in run.parties if party.name == me]
    with warnings.catch_warnings(), suppress(OutOfTime, Exception), at_most(seconds):
        warnings.simplefilter("ignore")
        simulate(deployment.plan.methods[deployment.network.method].protocol.fit, run)
    return clip_shares(parties)


def publication_problem(deployment: Deployment, n: int) -> str:
    """Return why readers could not run the program again on what it measures; empty if they can.

    It runs on made-up records, and again on others with what was measured planted: what is stated of a release must not
    change. Errors of the first of these runs are raised.
    """
    method = deployment.plan.methods[deployment.network.method]
    if why := getattr(method.options, "publication_refusal", ""):
        return str(why)
    recorder = _trial_measurements(deployment, n)
    try:
        trial = _trial_files(deployment, recorder, n)
    except Exception as error:
        return f"the program cannot be run again from it ({type(error).__name__}: {error})"
    if problem := unnamed_units(deployment, trial):
        return f"{problem} (add what is missing if all owners of data agree)"
    changed = (name for name, event in recorder.events.items() if terms_of(trial.events.get(name)) != terms_of(event))
    if (name := next((row["id"] for row in trial.statement["releases"] if row["formula"] == STATED), None)) is not None:
        return f"no formula of the list gives the sensitivity of {name!r}"
    name = next(changed, None)
    return f"the noise of {name!r} depends on records that no reader has" if name else ""


def published_charges(deployment: Deployment, n: int) -> Mapping[str, tuple[str, ...]]:
    """Return the units, by owner, that publishing leaves unprotected against all readers, from made-up records.

    If these do not show it, the ``unprotected_units`` of the configuration count for every owner of data.
    """
    named = deployment.network.unprotected_units
    if not named:
        return {}
    with suppress(OutOfTime, Exception), at_most(PATIENT):
        return _trial_files(deployment, _trial_measurements(deployment, n), n).charges
    return dict.fromkeys(deployment.holders, named)


def _trial_measurements(deployment: Deployment, n: int) -> Recorder:
    """Return what the method measures on made-up records."""
    recorder = Recorder()
    with warnings.catch_warnings(), recorder.watching():
        warnings.simplefilter("ignore")
        run = made_up_run(deployment, n)
        run.parties = tuple(replace(party, block=_other_records(party.block)) for party in run.parties)
        simulate(deployment.plan.methods[deployment.network.method].protocol.fit, run)
    return recorder


def _trial_files(deployment: Deployment, recorder: Recorder, n: int) -> Rebuilt:
    """Return the files that follow from the measurements of a trial."""
    facts = RunFacts(run="", began="", end_day="", code="", accounts={}, runs={}, fingerprints={}, registrations=())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rebuild(deployment, b"", recorder.values, facts, {}, n, b"", None)


def _check_publication(deployment: Deployment, n: int) -> None:
    """Raise ConfigError if what a publisher is named for cannot be checked; made-up records refute nothing else."""
    why = ""
    try:
        why = publication_problem(deployment, n)
    except Exception as error:
        LOG.info("whether its result can be published shows in the end: on made-up records %s", error)
    if why:
        raise ConfigError(
            f"{KEY}.publisher is {deployment.network.publisher!r}: what method {deployment.network.method} measures "
            f"cannot be published: {why}; leave {KEY}.publisher out, or take another method (docs/network_reference.md "
            "lists them)."
        )


def _other_records(block: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return a block with every row of its tables shorter, each by another factor, except columns of one value; whole
    stay whole.
    """
    tables = dict(block)
    for name, value in block.items():
        if value.dtype.kind == "f" and value.ndim == 2:
            shorter = np.where(np.ptp(value, axis=0), value * np.linspace(0.3, 0.9, len(value))[:, None], value)
            in_steps = np.abs(value).max(initial=0.0) > 1 and bool(np.all(value == np.rint(value)))
            tables[name] = np.rint(shorter) if in_steps else shorter
    return tables


def knowing_places(events: Iterable[Event]) -> list[str]:
    """List places without data that know the noise, or the records, of what was announced or released."""
    return list(dict.fromkeys(place for event in events if event.mechanism != CLOSED for place in event.knows))


def _check_trust(deployment: Deployment, events: Iterable[Event]) -> None:
    """Raise ConfigError for a place that sees records or knows the noise, if ``trusted`` does not name its operator."""
    for place in knowing_places(events):
        if place not in deployment.network.trusted:
            raise ConfigError(
                f"{KEY}.mode is 'release': of method {deployment.network.method} the {place} {knowledge_of(place)}; "
                f"name its operator, {KEY}.trusted: {{{place}: NAME}}, or take a method without one "
                "(docs/network_reference.md lists them)."
            )


def _check_idle_trust(deployment: Deployment, events: Iterable[Event]) -> None:
    """Raise ConfigError for a trusted place that needs no trust: readers of the statement would think it does."""
    for place in deployment.network.trusted:
        if place not in (known := knowing_places(events)):
            raise ConfigError(
                f"{KEY}.trusted has {place!r}: method {deployment.network.method} gives it neither records nor noise "
                f"({f'those go to {known[0]}' if known else 'no place without data learns them'}); leave it out."
            )


def check_cost(deployments: Sequence[Deployment], rows: Sequence[Sequence[Event]]) -> None:
    """Raise ConfigError if rehearsed fits cost more together than the largest epsilon; of one cut short, so far.

    rows : of the ledger of each fit
    """
    first, ledger = deployments[0], Ledger()
    network, plan = first.network, first.plan
    for fit, events in zip(deployments, rows, strict=True):
        for event in events:
            # A fit draws anew under the names of another one.
            parents = tuple(f"{fit.label}/{name}" for name in event.data_dependent_parameters)
            named = replace(event, release_id=f"{fit.label}/{event.release_id}", data_dependent_parameters=parents)
            ledger.append(named)
    unit, delta, group = plan.spec.unit, min(fit.delta for fit in deployments), plan.rows_per_user(network.case)
    total = ledger.worst_total(first.names, unit, delta, rows_per_user=group)
    if total.epsilon_certified > network.largest_epsilon:
        single = f"method {network.method} certifies epsilon"
        which = single if len(deployments) == 1 else "all fits of the session certify epsilon"
        raise ConfigError(
            f"{KEY}.mode is 'release': {which} {upward(total.epsilon_certified)} for one {unit} at delta "
            f"{delta:g}, more than {KEY}.largest_epsilon ({network.largest_epsilon:g}): next to nothing would be "
            "protected; take a smaller epsilon, fewer fits or another method, or set a larger one there."
        )


def open_ciphers(options: DataclassInstance) -> list[tuple[str, str]]:
    """List options that name a scheme which closes nothing, with its name."""
    return [(key, scheme) for key, scheme in named_ciphers(options) if scheme in (*OPEN_SCHEMES, UNCLOSED)]


def _watch(run: Run, forms: Forms) -> None:
    """Have a run refuse ciphers that would be in the clear, and keep the form of what it sends."""
    channel = run.channel
    send, leaving = channel.send, channel.leaving

    def require_closed(sender: str, payload: Payload) -> Payload:
        if isinstance(payload, Cipher) and leaving(sender, payload) is not payload:
            raise _Open(f"scheme {payload.scheme!r}")
        return payload

    def check_and_send(sender: str, receiver: str, name: str, payload: Payload) -> object:
        forms.problem(sender, receiver, name, payload)
        return send(sender, receiver, name, payload)

    vars(channel)["leaving"], vars(channel)["send"] = require_closed, check_and_send
