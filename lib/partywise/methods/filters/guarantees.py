"""Guarantees of privacy layers in exact arithmetic, for the worst pair of updates, unless it is a Gaussian pair alone.

Neighbours are the worst pair of one client's updates of norm C: by ``replace_one`` an update becomes its opposite and
moves by 2 C, by ``zero_out`` it becomes 0 and moves by C. Nothing bounds what one record moves, so a record of a client
costs as much as all of them. Views are those of whom the layer protects from: the server for local noise, outsiders for
noise that the server adds. Every formula is of exact arithmetic: `unreachable` reports what floats reveal in addition.
"""

from __future__ import annotations

import math

import numpy as np

from ...privacy.accounting.calibration import gaussian_delta
from ...privacy.accounting.compose import cost
from ...privacy.accounting.roots import bisect
from .layers.flower import RATE, TARGET, adaptive_noise, optimiser_step
from .layers.nvflare import svt_counts

# Masks of secure aggregation in ``flwr`` 1.42.0 come from seeds of as many bits, whatever the key has.
MASK_BITS = 32
# Points of the quadratures: over the noisy share, to 12 standard deviations, and over quantiles of the threshold.
SHARES, QUANTILES = 4001, 400_000


def epsilon_of(mu: float, delta: float, rounds: int = 1) -> float:
    """Epsilon of ``rounds`` releases of a mu-Gaussian pair each: that of one pair of mu sqrt(rounds)."""
    return cost(mu=mu, count=rounds).epsilon(delta)


def fixed_optimiser_mu(optimiser: str, clients: int, bound: float, multiplier: float, entries: int) -> float:
    """mu of the first round by zero-out where the server has an optimiser, before whose step no noise is added.

    Norm of the step at a mean change of C / n, spread evenly over the entries, next to the noise z C / n. Twice as much
    by replacement: of each entry the step is odd and its slope falls, so that no other pair moves it farther. ``flwr``
    1.42.0, ``flwr/serverapp/strategy/dp_fixed_clipping.py:391-398``.
    """
    change = np.full(entries, bound / clients / math.sqrt(entries))
    step = change if optimiser == "FedAvg" else optimiser_step(optimiser, change)
    return float(np.linalg.norm(step)) / (multiplier * bound / clients)


def adaptive_epsilon(
    multiplier: float, clients: int, delta: float, moved: float = 2.0, count_sd: float | None = None
) -> float:
    """Epsilon of one round of `adaptive_clipping` as shipped, where all other updates are clipped.

    Given the noisy share f the updates are a Gaussian pair of mu(f) = k exp(0.2 (f - 0.5)) / z', k being the clips by
    which an update is ``moved``, at most 2 by replacement and 1 by zero-out, since the noise z' C' / n has the clip
    C' = C exp(-0.2 (f - 0.5)) of the next round. f is N(b / n, (count_sd / n)^2) with b = n or n - 1: an update of norm
    exactly C, and one that became 0, are not clipped.
    delta(epsilon) = E_f[delta_mu(f)(epsilon - log ratio of the two densities of f)], by the trapezoidal rule; the
    larger epsilon of both directions. ``flwr`` 1.42.0, ``flwr/serverapp/strategy/dp_adaptive_clipping.py:91-111``.
    """
    count_sd, multiplier = adaptive_noise(multiplier, clients, count_sd)
    points = np.linspace(-12.0, 12.0, SHARES)
    density = np.exp(-(points**2) / 2) * (points[1] - points[0]) / math.sqrt(2 * math.pi)

    def delta_at(epsilon: float, mean: int, other: int) -> float:
        count = mean + count_sd * points
        ratio = ((count - other) ** 2 - (count - mean) ** 2) / (2 * count_sd**2)
        mu = moved * np.exp(RATE * (count / clients - TARGET)) / multiplier
        return float(density @ _pair_delta(mu, epsilon - ratio))

    def epsilon_at(mean: int, other: int) -> float:
        return bisect(lambda epsilon: delta_at(epsilon, mean, other) > delta, 0.0, 1e4, gap=1e-12)[1]

    return max(epsilon_at(clients, clients - 1), epsilon_at(clients - 1, clients))


def _pair_delta(mu: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Privacy profile of Gaussian pairs at any real epsilon: below 0 it is 1 - e^epsilon (1 - delta(-epsilon))."""
    beyond = gaussian_delta(mu, np.abs(epsilon))
    result: np.ndarray = np.where(epsilon >= 0, beyond, 1 - np.exp(np.minimum(epsilon, 0.0)) * (1 - beyond))
    return result


def svt_bound(entries: int, fraction: float = 0.1, epsilon: float = 0.1, noise_var: float = 0.1) -> float:
    """Pure epsilon that is proved for `svt`: epsilon_t + epsilon_q D / c + epsilon_r; infinite with an array of no
    dimension, which is sent as it is.

    The noise of the threshold pays for all refusals, each acceptance costs epsilon_q / c, and as many as D entries are
    accepted, in however many passes; drawing c of them is post-processing. The proof for c acceptances does not apply,
    because the loop of ``nvflare`` 2.9.0 (``nvflare/app_common/filters/svt_privacy.py:346-376``) does not stop there.
    """
    uploads, threshold, queries, release = svt_counts(entries, fraction, epsilon, noise_var)
    return threshold + queries * entries / uploads + release


def svt_index_probability(
    first: float, others: float, entries: int, epsilon: float, gamma: float = 1e-5, tau: float = 1e-6
) -> float:
    """Probability that `svt` with c = 1 sends its first entry, of |value| ``first`` where all others have ``others``.

    Given the threshold an entry accepts with probability p_1, any other with p_o, and passes are repeated until one
    does: E[p_1 (1 - (1 - p_o)^D) / (D p_o) / (1 - (1 - p_1)(1 - p_o)^(D - 1))], by the midpoint rule over quantiles of
    the threshold's noise.
    """
    _, for_threshold, for_queries, _ = svt_counts(entries, 1 / entries, epsilon)
    level = (np.arange(QUANTILES) + 0.5) / QUANTILES - 0.5
    threshold = tau - gamma / for_threshold * np.sign(level) * np.log1p(-2 * np.abs(level))

    def accepts(value: float) -> np.ndarray:
        margin = (min(value, gamma) - threshold) * for_queries / (2 * gamma)
        tail: np.ndarray = 0.5 * np.exp(-np.abs(margin))
        return np.where(margin < 0, tail, 1 - tail)

    p_first, other = accepts(first), accepts(others)
    none = np.log1p(-other)
    alone = -np.expm1(entries * none) / (entries * other)
    return float(np.mean(p_first * alone / -np.expm1(np.log1p(-p_first) + (entries - 1) * none)))


def svt_index_epsilon(entries: int, epsilon: float, value: float = 1e-5) -> float:
    """Epsilon of the index that `svt` with c = 1 sends, updates being (value, 0, ..., 0) or (0, value, ..., value)."""
    p, q = (svt_index_probability(first, value - first, entries, epsilon) for first in (value, 0.0))
    return max(abs(math.log(p / q)), abs(math.log((1 - p) / (1 - q))))


def biomed_central_mu(rate: float, steps: int, batch: int, sigma: float) -> float:
    """mu = 2 eta steps / (B sigma) a round at most, for a record in a convex model with eta <= 2 / smoothness.

    The record is in every batch; each step then moves the parameters by 2 eta C / B at most, next to noise of
    sigma C. Without these conditions nothing is bounded. ``fedbiomed`` 6.4.1,
    ``fedbiomed/common/privacy/_dp_controller.py:216-221``.
    """
    return 2 * rate * steps / (batch * sigma)


def biomed_local_epsilon(sigma: float, batch: int, records: int, steps: int, delta: float) -> float:
    """Epsilon of ``steps`` of `biomed_local` at one site: Poisson batches at rate B / n, a record added or removed."""
    return cost(mu=1 / sigma, rate=batch / records, count=steps).epsilon(delta)


def mask_bits(key_bits: int) -> int:
    """Bits of secrecy of a pair's mask, at most, for a server that removed all others: those of the seed, or fewer."""
    return min(key_bits, MASK_BITS)


def unreachable(outputs: np.ndarray, value: float) -> np.ndarray:
    """Mark outputs that no noise makes of a value: none of the three floats next to output - value adds up to it.

    Parameters
    ----------
    outputs : ndarray of float
        In the type in which the layer adds.
    value : float
        Value to which noise would have been added.

    Returns
    -------
    ndarray of bool
        True where the output reveals that the value was another one, for any epsilon of the noise.
    """
    at = outputs.dtype.type(value)
    noise = outputs - at
    neighbours = (
        noise,
        np.nextafter(noise, -np.inf, dtype=outputs.dtype),
        np.nextafter(noise, np.inf, dtype=outputs.dtype),
    )
    reached: np.ndarray = np.logical_or.reduce([at + candidate == outputs for candidate in neighbours])
    return ~reached
