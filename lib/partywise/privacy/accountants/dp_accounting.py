"""The library dp-accounting (extra ``accounting``, imported when it is used): its accountant, to and from its events.

An event that has no equivalent on the other side is refused by its name; what is translated never costs less.

==============================  ===================================================================
dp-accounting                   here
==============================  ===================================================================
``NoOpDpEvent``                 no law
``GaussianDpEvent(z)``          ``Law(mu=1 / z)``
``LaplaceDpEvent(b)``           ``Law(epsilon=1 / b)``, of which only the epsilon is used: an upper bound
``DiscreteLaplaceDpEvent(a, s)``  ``Law(epsilon=a s)``: an upper bound
``RandomizedResponseDpEvent``   ``Law(epsilon, k)``: exact
``ZCDpEvent(rho)``              ``Law(rho=rho)``
``PoissonSampledDpEvent``       the sampled law, of a Gaussian; of any other the law without sampling
``SelfComposedDpEvent``         ``count``
``ComposedDpEvent``             several laws
``NonPrivateDpEvent``           a law without noise: inf
==============================  ===================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from importlib import import_module
from typing import Any

from ..accounting.compose import Composition
from ..accounting.law import MOST, Law
from .base import Accountant

WRITTEN_OUT = 10_000


class DpAccounting(Accountant):
    """Distributions of the privacy loss as that library composes them, rounded up; zCDP alone has none."""

    name = "dp_accounting"

    @classmethod
    def supports(cls, composition: Composition) -> bool:
        """Whether every law has a distribution of its loss."""
        return not composition.rho

    def bound(self, laws: Composition, delta: float) -> float:
        """Of each law a pessimistic distribution, composed in their order."""
        pld = _library("dp_accounting.pld.privacy_loss_distribution")
        parts = [pld.from_gaussian_mechanism(1 / laws.mu)] if laws.mu_squared else []
        for epsilon, k, count in laws.finite:
            outcomes = k or 2
            noise = outcomes / (math.exp(epsilon) + outcomes - 1)
            parts.append(pld.from_randomized_response(noise, outcomes).self_compose(count))
        for mu, rate, count in laws.sampled_gaussians:
            parts.append(pld.from_gaussian_mechanism(1 / mu, sampling_prob=rate).self_compose(count))
        return (
            float(reduce(lambda one, other: one.compose(other), parts).get_epsilon_for_delta(delta)) if parts else 0.0
        )


def _library(name: str = "dp_accounting") -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError("events of dp-accounting need that library: pip install partywise[accounting].") from None


def from_dp_event(event: Any) -> list[Law]:
    """Laws of an event of dp-accounting, for `partywise.privacy.accounting.compose.compose`.

    Parameters
    ----------
    event : dp_accounting.DpEvent

    Returns
    -------
    list of Law
        For the neighbouring relation that the event is about; dp-accounting leaves it to the accountant. Sampling
        is proved for a record that is there or not (``add_or_remove_one``).

    Raises
    ------
    TypeError
        For an object that is not an event.
    ValueError
        For an event that has no equivalent here, or with a parameter out of range.
    """
    if not isinstance(event, _library().DpEvent):
        raise TypeError(f"event is a {type(event).__name__}: give an event of dp-accounting.")
    laws = _laws(event)
    for law in laws:
        _require(law, event)
    return laws


def _laws(event: Any) -> list[Law]:
    name = type(event).__name__
    if name in SIMPLE:
        return SIMPLE[name](event)
    if name == "ComposedDpEvent":
        return [law for part in event.events for law in _laws(part)]
    if name == "SelfComposedDpEvent":
        count = event.count
        if count != int(count) or count < 0:
            raise ValueError(f"count={count!r} of a SelfComposedDpEvent must be a whole number from 0.")
        return [replace(law, count=law.count * int(count)) for law in _laws(event.event)] if count else []
    if name == "PoissonSampledDpEvent":
        return _sampled_laws(event)
    raise ValueError(f"{name} has no equivalent here: nothing is proved of it, and no number is made up.")


def _sampled_laws(event: Any) -> list[Law]:
    rate, laws = event.sampling_probability, _laws(event.event)
    if not 0 <= rate <= 1:
        raise ValueError(f"sampling_probability={rate!r} of a PoissonSampledDpEvent must lie in [0, 1].")
    if rate == 0:
        return []
    one = len(laws) == 1 and laws[0].count == 1
    if one and laws[0].mu is not None and laws[0].rate == 1 and 0 < laws[0].mu < math.inf:
        return [replace(laws[0], rate=float(rate))]
    # Of one sample for several releases, of samples of samples, and of other laws no gain is proved here.
    return laws


def _inverse(value: float, name: str) -> float:
    if not value >= 0:
        raise ValueError(f"{name}={value!r} must be non-negative.")
    return math.inf if value == 0 else math.nextafter(1 / value, math.inf) if value < math.inf else 0.0


def _response(event: Any) -> list[Law]:
    """The noise parameter p replaces the value by one of k at random: e^epsilon = (p / k + 1 - p) / (p / k)."""
    p, k = event.noise_parameter, event.num_buckets
    if not 0 <= p <= 1 or k != int(k) or k < 2:
        raise ValueError(
            f"RandomizedResponseDpEvent(noise_parameter={p!r}, num_buckets={k!r}): p must lie in [0, 1] and k be a "
            "whole number from 2."
        )
    if p == 0:
        return [Law(epsilon=math.inf)]
    return [Law(epsilon=math.log1p((1 - p) * k / p) * (1 + 1e-15), k=int(k))]


SIMPLE = {
    "NoOpDpEvent": lambda event: [],
    "NonPrivateDpEvent": lambda event: [Law(mu=math.inf)],
    "GaussianDpEvent": lambda event: [Law(mu=_inverse(event.noise_multiplier, "noise_multiplier"))],
    "LaplaceDpEvent": lambda event: [Law(epsilon=_inverse(event.noise_multiplier, "noise_multiplier"))],
    "DiscreteLaplaceDpEvent": lambda event: [Law(epsilon=float(event.noise_parameter * event.sensitivity))],
    "ZCDpEvent": lambda event: [Law(rho=float(event.rho))] if not event.xi else _refuse_xi(event),
    "RandomizedResponseDpEvent": _response,
}


def _refuse_xi(event: Any) -> list[Law]:
    raise ValueError(f"ZCDpEvent with xi={event.xi!r} has no equivalent here: laws have rho alone.")


def _require(law: Law, event: Any) -> None:
    for name in ("mu", "rho", "epsilon"):
        value = getattr(law, name)
        if value is not None and not value >= 0:
            raise ValueError(f"{event!r} has {name}={value!r}: it must be non-negative.")
    if law.count > MOST:
        raise ValueError(f"{event!r} applies a law {law.count} times: at most 2^53 are counted.")


def to_dp_event(items: Iterable[Any]) -> Any:
    """An event of dp-accounting for laws, events or releases of this library, composed.

    Parameters
    ----------
    items : iterable of Law, Event or Release
        Events for their own unit and relation.

    Returns
    -------
    dp_accounting.DpEvent
        A ``ComposedDpEvent`` of one event an item; ``NonPrivateDpEvent`` for what is not certified or has no noise.

    Raises
    ------
    TypeError
        For an item of another kind.
    ValueError
        For an item with a delta beside its law, which dp-accounting has no event for, or more than ten thousand
        applications of a pure law.
    """
    return _library().ComposedDpEvent([_event(_law_of(item)) for item in items])


def _law_of(item: Any) -> Law:
    if isinstance(item, Law):
        return item
    row = getattr(item, "event", item)
    if not hasattr(row, "release_id") or not hasattr(row, "law"):
        raise TypeError(f"items hold a {type(item).__name__}: give laws, events or releases.")
    if row.mechanism == "post_processing":
        return Law(mu=0.0)
    if not row.certified or row.law is None:
        return Law(mu=math.inf)
    if row.delta_numeric:
        raise ValueError(
            f"event {row.release_id!r} has delta_numeric={row.delta_numeric!r} beside its law: dp-accounting has no "
            "event for that; compose it here."
        )
    if row.relation == "replace_one" and row.law.rate < 1:
        # No gain by sampling is proved under replacement.
        return row.law.for_group(1)
    return row.law


def _event(law: Law) -> Any:
    dp = _library()
    if law.free:
        return dp.NoOpDpEvent()
    if math.inf in (law.mu, law.rho, law.epsilon):
        return dp.NonPrivateDpEvent()
    if law.mu is not None:
        made = dp.GaussianDpEvent(math.nextafter(1 / law.mu, 0))
        made = made if law.rate == 1 else dp.PoissonSampledDpEvent(law.rate, made)
    elif law.rho is not None:
        made = dp.ZCDpEvent(law.rho)
    elif law.epsilon is not None:
        # Binary randomised response dominates every pure law.
        k = law.k or 2
        p = k * math.exp(-law.epsilon) / (1 + (k - 1) * math.exp(-law.epsilon))
        made = dp.RandomizedResponseDpEvent(math.nextafter(p, 0), k)
        # Their accountant of losses counts a self-composed response once, whatever its count: written out it is right.
        if law.count > WRITTEN_OUT:
            raise ValueError(f"{law} is applied {law.count} times: at most {WRITTEN_OUT} are written out over there.")
        return made if law.count == 1 else dp.ComposedDpEvent([made] * law.count)
    return made if law.count == 1 else dp.SelfComposedDpEvent(made, law.count)
