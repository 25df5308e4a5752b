"""Oracles of composed privacy losses: dp-accounting from above and below, and 50-digit arithmetic."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import replace

import mpmath
from dp_accounting.pld import privacy_loss_distribution as pld

from partywise.privacy.accounting.privacy_profile import PrivacyProfile

mpmath.mp.dps = 50


def one_profile(profile: PrivacyProfile, step: float, pessimistic: bool):
    """The loss distribution of one application in dp-accounting."""
    if profile.epsilon is not None:
        k = profile.k or 2
        return pld.from_randomized_response(
            k / (math.exp(profile.epsilon) + k - 1),
            k,
            pessimistic_estimate=pessimistic,
            value_discretization_interval=step,
        )
    return pld.from_gaussian_mechanism(
        1 / profile.mu,
        pessimistic_estimate=pessimistic,
        value_discretization_interval=step,
        sampling_prob=profile.rate,
        use_connect_dots=pessimistic,
    )


def composed(profiles, step: float, pessimistic: bool):
    """All applications, one compose call after another: version 0.6.0 ignores the count of randomised responses."""
    parts = []
    for profile in profiles:
        if profile.epsilon is None and profile.rate == 1:
            parts.append(one_profile(replace(profile, mu=profile.mu * math.sqrt(profile.count)), step, pessimistic))
        elif profile.epsilon is None:
            parts.append(one_profile(profile, step, pessimistic).self_compose(profile.count))
        else:
            parts += [one_profile(profile, step, pessimistic)] * profile.count
    return functools.reduce(lambda left, right: left.compose(right), parts)


def oracle_epsilon(profiles, delta: float, *, step: float = 1e-3, pessimistic: bool) -> float:
    """An upper (pessimistic) or lower (optimistic) bound of the true epsilon."""
    return float(composed(profiles, step, pessimistic).get_epsilon_for_delta(delta))


def _gaussian_delta(mu, epsilon):
    if mu == 0:
        return max(mpmath.mpf(0), 1 - mpmath.exp(epsilon))
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


def merged_losses(kinds) -> dict[mpmath.mpf, mpmath.mpf]:
    """Loss -> probability of finite profiles (epsilon, k or None, count), equal losses merged, with 50 digits."""
    total = {mpmath.mpf(0): mpmath.mpf(1)}
    for epsilon, k, count in kinds:
        loss, weight = mpmath.mpf(epsilon), mpmath.exp(epsilon) + (k or 2) - 1
        atoms = ((loss, mpmath.exp(loss) / weight), (-loss, 1 / weight), (mpmath.mpf(0), ((k or 2) - 2) / weight))
        for _ in range(count):
            joined: dict[mpmath.mpf, mpmath.mpf] = {}
            for x, p in total.items():
                for y, q in atoms:
                    joined[x + y] = joined.get(x + y, 0) + p * q
            total = joined
    return total


def true_delta(profiles, epsilon: float) -> mpmath.mpf:
    """Delta of Gaussians and finite profiles by enumerating every outcome of every finite profile, with 50 digits."""
    mu = mpmath.sqrt(sum(mpmath.mpf(profile.mu) ** 2 * profile.count for profile in profiles if profile.mu is not None))
    parts = []
    for profile in profiles:
        if profile.epsilon is not None:
            loss, others = mpmath.mpf(profile.epsilon), (profile.k or 2) - 1
            keep = mpmath.exp(loss) / (mpmath.exp(loss) + others)
            flip = keep * mpmath.exp(-loss)
            parts += [[(loss, keep), (-loss, flip), (mpmath.mpf(0), (others - 1) * flip)]] * profile.count
    total = mpmath.mpf(0)
    for outcome in itertools.product(*parts):
        probability = mpmath.fprod(p for _, p in outcome)
        if probability:
            total += probability * _gaussian_delta(mu, mpmath.mpf(epsilon) - mpmath.fsum(loss for loss, _ in outcome))
    return total


def random_profiles(rng, *, sampled: bool = False) -> list[PrivacyProfile]:
    """One to four profiles with counts, small enough for the oracle."""
    profiles = []
    for _ in range(rng.integers(1, 4)):
        k = [None, 2, 3, 10, 50][rng.integers(5)]
        profiles.append(PrivacyProfile(epsilon=float(10 ** rng.uniform(-1.5, 0.6)), k=k, count=int(rng.integers(1, 9))))
    if rng.random() < 0.6:
        profiles.append(PrivacyProfile(mu=float(10 ** rng.uniform(-1.5, 0.4)), count=int(rng.integers(1, 6))))
    if sampled:
        rate, count = float(10 ** rng.uniform(-2, -0.2)), int(10 ** rng.uniform(0, 2))
        profiles = [*profiles[:1], PrivacyProfile(mu=float(10 ** rng.uniform(-0.5, 0.3)), rate=rate, count=count)]
    return profiles
