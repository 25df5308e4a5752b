"""The library dp-accounting (extra ``accounting``, imported when it is used): its accountant, to and from its events.

An event that has no equivalent on the other side is refused by its name; what is translated never costs less.

==============================  ===================================================================
dp-accounting                   here
==============================  ===================================================================
``NoOpDpEvent``                 no profile
``GaussianDpEvent(z)``          ``PrivacyProfile(mu=1 / z)``
``LaplaceDpEvent(b)``           ``PrivacyProfile(epsilon=1 / b)``, of which only the epsilon is used: an upper bound
``DiscreteLaplaceDpEvent(a, s)``  ``PrivacyProfile(epsilon=a s)``: an upper bound
``RandomizedResponseDpEvent``   ``PrivacyProfile(epsilon, k)``: exact
``ZCDpEvent(rho)``              ``PrivacyProfile(rho=rho)``
``PoissonSampledDpEvent``       the sampled profile, of a Gaussian; of any other the profile without sampling
``SelfComposedDpEvent``         ``count``
``ComposedDpEvent``             several profiles
``NonPrivateDpEvent``           a profile without noise: inf
==============================  ===================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from importlib import import_module

# Any: events of a library that need not be there.
from typing import Any

from ..accounting.compose import Composition
from ..accounting.privacy_profile import MOST, PrivacyProfile
from .base import Accountant

WRITTEN_OUT = 10_000


class DpAccounting(Accountant):
    """Distributions of the privacy loss as that library composes them, rounded up; zCDP alone has none."""

    name = "dp_accounting"

    @classmethod
    def supports(cls, composition: Composition) -> bool:
        """Whether every profile has a distribution of its loss."""
        return not composition.rho

    def bound(self, composition: Composition, delta: float) -> float:
        """Return the epsilon of one pessimistic distribution per profile, composed in the order of the profiles."""
        pld = _library("dp_accounting.pld.privacy_loss_distribution")
        parts = [pld.from_gaussian_mechanism(1 / composition.mu)] if composition.mu_squared else []
        for epsilon, k, count in composition.picks_as_pure.finite:
            outcomes = k or 2
            noise = outcomes / (math.exp(epsilon) + outcomes - 1)
            parts.append(pld.from_randomized_response(noise, outcomes).self_compose(count))
        for mu, rate, count in composition.sampled_gaussians:
            parts.append(pld.from_gaussian_mechanism(1 / mu, sampling_prob=rate).self_compose(count))
        return (
            float(reduce(lambda composed, other: composed.compose(other), parts).get_epsilon_for_delta(delta))
            if parts
            else 0.0
        )


def _library(name: str = "dp_accounting") -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError("events of dp-accounting need that library: pip install 'partywise[accounting]'.") from None


def from_dp_event(event: object) -> list[PrivacyProfile]:
    """Profiles of an event of dp-accounting, for `partywise.privacy.accounting.compose.compose`.

    Parameters
    ----------
    event : dp_accounting.DpEvent

    Returns
    -------
    list of PrivacyProfile
        For the neighbouring relation that the event is about; dp-accounting leaves it to the accountant. Sampling
        is proved for a record that is there or not (``add_or_remove_one``).

    Raises
    ------
    TypeError
        For an object that is not an event.
    ValueError
        For an event that has no equivalent here, or with a parameter out of range.

    Examples
    --------
    >>> # Needs the extra `accounting`.
    >>> import dp_accounting
    >>> import partywise as pw
    >>> event = dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(noise_multiplier=10.0), 100)
    >>> (profile,) = pw.from_dp_event(event)
    >>> profile.count, round(profile.mu, 2)
    (100, 0.1)
    """
    if not isinstance(event, _library().DpEvent):
        raise TypeError(f"event is a {type(event).__name__}: give an event of dp-accounting.")
    profiles = _profiles(event)
    for profile in profiles:
        _require(profile, event)
    return profiles


def _profiles(event: Any) -> list[PrivacyProfile]:
    name = type(event).__name__
    if name in SIMPLE:
        return SIMPLE[name](event)
    if name == "ComposedDpEvent":
        return [profile for part in event.events for profile in _profiles(part)]
    if name == "SelfComposedDpEvent":
        count = event.count
        if count != int(count) or count < 0:
            raise ValueError(f"count={count!r} of a SelfComposedDpEvent must be a whole number from 0.")
        return (
            [replace(profile, count=profile.count * int(count)) for profile in _profiles(event.event)] if count else []
        )
    if name == "PoissonSampledDpEvent":
        return _sampled_profiles(event)
    raise ValueError(f"{name} has no equivalent here: nothing is proved of it, and no number is made up.")


def _sampled_profiles(event: Any) -> list[PrivacyProfile]:
    rate, profiles = event.sampling_probability, _profiles(event.event)
    if not 0 <= rate <= 1:
        raise ValueError(f"sampling_probability={rate!r} of a PoissonSampledDpEvent must lie in [0, 1].")
    if rate == 0:
        return []
    single = len(profiles) == 1 and profiles[0].count == 1
    if single and profiles[0].mu is not None and profiles[0].rate == 1 and 0 < profiles[0].mu < math.inf:
        return [replace(profiles[0], rate=float(rate))]
    # Of one sample for several releases, of samples of samples, and of other profiles no gain is proved here.
    return profiles


def _inverse(value: float, name: str) -> float:
    if not value >= 0:
        raise ValueError(f"{name}={value!r} must be non-negative.")
    return math.inf if value == 0 else math.nextafter(1 / value, math.inf) if value < math.inf else 0.0


def _response(event: Any) -> list[PrivacyProfile]:
    """The noise parameter p replaces the value by one of k at random: e^epsilon = (p / k + 1 - p) / (p / k)."""
    p, k = event.noise_parameter, event.num_buckets
    if not 0 <= p <= 1 or k != int(k) or k < 2:
        raise ValueError(
            f"RandomizedResponseDpEvent(noise_parameter={p!r}, num_buckets={k!r}): p must lie in [0, 1] and k be a "
            "whole number from 2."
        )
    if p == 0:
        return [PrivacyProfile(epsilon=math.inf)]
    return [PrivacyProfile(epsilon=math.log1p((1 - p) * k / p) * (1 + 1e-15), k=int(k))]


SIMPLE = {
    "NoOpDpEvent": lambda event: [],
    "NonPrivateDpEvent": lambda event: [PrivacyProfile(mu=math.inf)],
    "GaussianDpEvent": lambda event: [PrivacyProfile(mu=_inverse(event.noise_multiplier, "noise_multiplier"))],
    "LaplaceDpEvent": lambda event: [PrivacyProfile(epsilon=_inverse(event.noise_multiplier, "noise_multiplier"))],
    "DiscreteLaplaceDpEvent": lambda event: [PrivacyProfile(epsilon=float(event.noise_parameter * event.sensitivity))],
    "ZCDpEvent": lambda event: [PrivacyProfile(rho=float(event.rho))] if not event.xi else _refuse_xi(event),
    "RandomizedResponseDpEvent": _response,
}


def _refuse_xi(event: Any) -> list[PrivacyProfile]:
    raise ValueError(f"ZCDpEvent with xi={event.xi!r} has no equivalent here: profiles have rho alone.")


def _require(profile: PrivacyProfile, event: object) -> None:
    for name in ("mu", "rho", "epsilon"):
        value = getattr(profile, name)
        if value is not None and not value >= 0:
            raise ValueError(f"{event!r} has {name}={value!r}: it must be non-negative.")
    if profile.count > MOST:
        raise ValueError(f"{event!r} applies a profile {profile.count} times: at most 2^53 are counted.")


def to_dp_event(items: Iterable[object]) -> Any:
    """An event of dp-accounting for profiles, events or releases of this library, composed.

    Parameters
    ----------
    items : iterable of PrivacyProfile, Event or Release
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
        For an item with a delta next to its profile, which dp-accounting has no event for, or more than ten thousand
        applications of a pure profile.

    Examples
    --------
    >>> # Needs the extra `accounting`.
    >>> import partywise as pw
    >>> total = pw.record_sum([[0.3, 0.4]], pw.Public(1.0, because="upper limit of the assay"))
    >>> release = pw.Gaussian(mu=0.5)(total, pw.stream(4, "noise"), owner="hospital", release_id="sum")
    >>> pw.to_dp_event([release]).events[0].noise_multiplier  # 1 / mu, rounded so that it never costs less
    1.9999999999999998
    """
    return _library().ComposedDpEvent([_event(_profile_of(item)) for item in items])


def _profile_of(item: Any) -> PrivacyProfile:
    if isinstance(item, PrivacyProfile):
        return item
    row = getattr(item, "event", item)
    if not hasattr(row, "release_id") or not hasattr(row, "profile"):
        raise TypeError(f"items hold a {type(item).__name__}: give profiles, events or releases.")
    if row.mechanism == "post_processing":
        return PrivacyProfile(mu=0.0)
    if not row.certified or row.profile is None:
        return PrivacyProfile(mu=math.inf)
    if row.delta_numeric:
        raise ValueError(
            f"event {row.release_id!r} has delta_numeric={row.delta_numeric!r} next to its profile: dp-accounting "
            "has no "
            "event for that; compose it here."
        )
    if row.relation == "replace_one" and row.profile.rate < 1:
        # No gain by sampling is proved under replacement.
        return row.profile.for_group(1)
    return row.profile


def _event(profile: PrivacyProfile) -> Any:
    dp = _library()
    if profile.free:
        return dp.NoOpDpEvent()
    if math.inf in (profile.mu, profile.rho, profile.epsilon):
        return dp.NonPrivateDpEvent()
    if profile.mu is not None:
        event = dp.GaussianDpEvent(math.nextafter(1 / profile.mu, 0))
        event = event if profile.rate == 1 else dp.PoissonSampledDpEvent(profile.rate, event)
    elif profile.rho is not None:
        event = dp.ZCDpEvent(profile.rho)
    elif profile.epsilon is not None:
        # Binary randomised response dominates every pure profile.
        k = profile.k or 2
        p = k * math.exp(-profile.epsilon) / (1 + (k - 1) * math.exp(-profile.epsilon))
        event = dp.RandomizedResponseDpEvent(math.nextafter(p, 0), k)
        # Their accountant of losses counts a self-composed response once, whatever its count: written out it is right.
        if profile.count > WRITTEN_OUT:
            raise ValueError(
                f"{profile} is applied {profile.count} times: at most {WRITTEN_OUT} are written out over there."
            )
        return event if profile.count == 1 else dp.ComposedDpEvent([event] * profile.count)
    return event if profile.count == 1 else dp.SelfComposedDpEvent(event, profile.count)
