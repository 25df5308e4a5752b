"""Whether a method can run for real: with secret randomness, and closed by what closes.

Tried on made-up records before anybody connects.
"""

from __future__ import annotations

import math
import signal
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigError
from ...federation.cipher import OPEN_SCHEMES, Cipher
from ...federation.deployment.forms import Forms
from ...federation.exchanges.secure_sum import AGGREGATOR
from ...federation.exchanges.sharing import DEALER
from ...federation.payloads import Payload
from ...federation.run import Place, Run, simulate
from ...privacy.ledger.event import CLOSED, Event
from ...privacy.mechanisms.random import SecureRandom
from ...privacy.statistics.whole import products_are_exact
from .part import whole
from .settings import KEY, Deployment

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# Seconds after which a rehearsal counts as passed: what is not known then is seen at the first draw.
ENOUGH = 2.0
NOBODY = ""
# Name of a cipher option that leaves values as they are.
UNCLOSED = "identity"
# Bits of a modulus of Paillier, at least, of ciphers that leave a machine for real.
LEAST_KEY = 2048
# Places that no noise protects anybody from, and why.
KNOWING = {AGGREGATOR: "sees every record", DEALER: "knows the noise"}


def knowledge_of(place: str) -> str:
    """What a place without data knows, as the end of a sentence; also of places of methods that are not shipped."""
    return KNOWING.get(place, "may know the noise or the records")


class _Enough(BaseException):
    """The rehearsal has taken long enough."""


class _Open(Exception):
    """A cipher whose scheme does not close."""


def rehearse(deployment: Deployment, n: int) -> dict[tuple[str, str], str]:
    """Run the method in one process on records that are made of the public settings, with secret randomness.

    n : records of every party, where the configuration does not say

    What the protocol states decides; a rehearsal that takes too long has refuted nothing.
    """
    method = deployment.network.method
    if reason := deployment.plan.methods[method].protocol.refusal:
        raise ConfigError(
            f"{KEY}.mode is 'release': method {method} is for experiments: {reason}; take mode experiment, or another "
            "method (docs/release_mode.md lists them)."
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
    if getattr(options, "key_size", LEAST_KEY) < LEAST_KEY:
        raise ConfigError(
            f"{KEY}.mode is 'release': method {method} has key_size: {options.key_size}; take {LEAST_KEY} bits or more."
        )
    for key, scheme in open_ciphers(deployment.plan.methods[method].options):
        raise ConfigError(
            f"{KEY}.mode is 'release': method {method} has {key}: {scheme}, which closes nothing: its records would "
            f"cross in the open; take {key}: paillier, or mode experiment."
        )
    forms, run, announced, whole_program = Forms(), None, list[Event](), False
    try:
        with _at_most(ENOUGH), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = deployment.rows or dict.fromkeys(deployment.holders, n)
            run, _, _ = whole(replace(deployment, rows=rows), NOBODY, Path())
            _watch(run, forms, announced)
            simulate(deployment.plan.methods[method].protocol.fit, run)
            whole_program = True
    except _Enough:
        pass
    except _Open as error:
        _check_trust(deployment, announced)
        raise ConfigError(
            f"{KEY}.mode is 'release': method {method} sends what {error} does not close: records would cross in the "
            "open; take mode experiment, or another method (docs/release_mode.md lists them)."
        ) from None
    except Exception as error:
        if (why := floating_point(error)) is not None:
            raise ConfigError(
                f"{KEY}.mode is 'release': method {method} {why}: it is for experiments; take mode experiment, or a "
                "method whose noise is discrete (docs/release_mode.md lists them)."
            ) from None
    if run is not None and deployment.plan.methods[method].draws_noise:
        events = *announced, *run.channel.ledger.rows
        _check_trust(deployment, events)
        if whole_program:
            _check_idle_trust(deployment, events)
        _check_cost(deployment, run)
    return forms.known


def knowing_places(events: Iterable[Event]) -> list[str]:
    """Places without data that know the noise, or the records, of what was announced or released."""
    return list(dict.fromkeys(place for event in events if event.mechanism != CLOSED for place in event.knows))


def _check_trust(deployment: Deployment, events: Iterable[Event]) -> None:
    """ConfigError for a place that nothing protects anybody from, without the name of who runs it."""
    for place in knowing_places(events):
        if place not in deployment.network.trusted:
            raise ConfigError(
                f"{KEY}.mode is 'release': of method {deployment.network.method} the {place} {knowledge_of(place)}; "
                f"say who runs it, {KEY}.trusted: {{{place}: NAME}}, or take a method without one "
                "(docs/release_mode.md lists them)."
            )


def _check_idle_trust(deployment: Deployment, events: Iterable[Event]) -> None:
    """ConfigError for a name at a place that needs no trust: readers of the statement would think that it did."""
    for place in deployment.network.trusted:
        if place not in (known := knowing_places(events)):
            raise ConfigError(
                f"{KEY}.trusted has {place!r}: method {deployment.network.method} gives it neither records nor noise "
                f"({f'those go to {known[0]}' if known else 'no place without data learns them'}); leave it out."
            )


def _check_cost(deployment: Deployment, run: Run) -> None:
    """ConfigError where a rehearsed run costs more than the largest epsilon; of one that was cut short, so far."""
    network, plan = deployment.network, deployment.plan
    unit, delta = plan.spec.unit, deployment.delta
    total = run.channel.ledger.worst_total(run.names, unit, delta, rows_per_user=plan.rows_per_user(network.case))
    if total.epsilon_certified > network.largest_epsilon:
        raise ConfigError(
            f"{KEY}.mode is 'release': method {network.method} certifies epsilon {total.epsilon_certified:.6g} for one "
            f"{unit} at delta {delta:g}, more than {KEY}.largest_epsilon ({network.largest_epsilon:g}): next to "
            "nothing would be protected; take a smaller epsilon or another method, or say a larger one there."
        )


def open_ciphers(options: DataclassInstance) -> list[tuple[str, str]]:
    """Options that name a scheme which closes nothing, with its name."""
    named = ((field.name, getattr(options, field.name)) for field in fields(options) if field.name.endswith("cipher"))
    return [(key, scheme) for key, scheme in named if scheme in (*OPEN_SCHEMES, UNCLOSED)]


def _watch(run: Run, forms: Forms, announced: list[Event]) -> None:
    """Have a run refuse ciphers that would be in the clear; keep what it announces, and the form of what it sends."""
    channel, charge = run.channel, run.charge
    send, leaving = channel.send, channel.leaving

    def require_closed(sender: str, payload: Payload) -> Payload:
        if isinstance(payload, Cipher) and leaving(sender, payload) is not payload:
            raise _Open(f"scheme {payload.scheme!r}")
        return payload

    def check_and_send(sender: str, receiver: str, name: str, payload: Payload) -> object:
        forms.problem(sender, receiver, name, payload)
        return send(sender, receiver, name, payload)

    def keep_and_charge(holders: Sequence[Place], *events: Event) -> None:
        announced.extend(events)
        charge(holders, *events)

    vars(run)["charge"] = keep_and_charge
    vars(channel)["leaving"], vars(channel)["send"] = require_closed, check_and_send


def floating_point(error: BaseException) -> str | None:
    """What an error says of a draw that has no secret source, as the middle of a sentence; None for any other error."""
    if isinstance(error, AttributeError) and isinstance(error.obj, SecureRandom):
        return f"draws by {error.name!r}, which has no secret source"
    if isinstance(error, TypeError) and SecureRandom.__name__ in str(error):
        return f"draws in floating point ({str(error).partition(':')[0]})"
    return None


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise `_Enough` after so long; without a limit outside of the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def enough(*_: object) -> None:
        raise _Enough

    before = signal.signal(signal.SIGALRM, enough)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
