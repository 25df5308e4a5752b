"""Privacy layers of Flower (``flwr`` 1.42.0, Apache-2.0, wheel c4e77a52), restated: arrays in, arrays out.

The real layers equal these to the last bit, in the type of the arrays, where ``rng`` draws as NumPy's global generator
does (``numpy.random.RandomState``); ``tests/methods/filters`` holds their outputs. Restated for arrays of one
dimension or more; another version may differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

# A generator of either kind: experiments have streams of the new kind, vectors of the real layers the old one.
Generator = np.random.Generator | np.random.RandomState
Arrays = Sequence[np.ndarray]
# First clip, target share and rate of the exponent (flwr/serverapp/strategy/dp_adaptive_clipping.py:53-55).
FIRST_CLIP, TARGET, RATE = 0.1, 0.5, 0.2
# Defaults eta, b1, b2 and tau of optimisers of the server (line 102 of flwr/serverapp/strategy/fedadam.py and of
# flwr/serverapp/strategy/fedyogi.py, line 98 of flwr/serverapp/strategy/fedadagrad.py).
OPTIMISERS = {
    "FedAdam": (0.1, 0.9, 0.99, 1e-3),
    "FedAdagrad": (0.1, 0.0, 0.0, 1e-3),
    "FedYogi": (0.01, 0.9, 0.99, 1e-3),
}


def length(update: Arrays) -> float:
    """Euclidean norm over arrays, each summed in its own type (``flwr/supercore/differential_privacy.py:36-40``)."""
    for array in update:
        if not array.ndim:
            raise ValueError(
                "an array has no dimension: give arrays of one dimension or more, for which this is restated."
            )
    return float(np.sqrt(sum(np.linalg.norm(array.ravel()) ** 2 for array in update)))


def clip_factor(update: Arrays, bound: float) -> float:
    """min(1, C / norm), and 1 if the norm is NaN (``flwr/supercore/differential_privacy.py:50-58``).

    ZeroDivisionError if all entries are 0, as in the source (pull request 7631 of its repository).
    """
    return min(1, bound / length(update))


def clip(update: Arrays, bound: float) -> list[np.ndarray]:
    """An update scaled to a norm of at most ``bound``; with a NaN entry nothing is scaled."""
    factor = clip_factor(update, bound)
    return [array * factor for array in update]


def add_noise(arrays: Arrays, sd: float, rng: Generator) -> list[np.ndarray]:
    """Gaussian noise on every entry, in the array's type (``flwr/supercore/differential_privacy.py:43-47``)."""
    return [array + rng.normal(0, sd, array.shape).astype(array.dtype) for array in arrays]


def local_sd(sensitivity: float, epsilon: float, delta: float) -> float:
    """S sqrt(2 ln(1.25 / delta)) / epsilon: it contains no clip (``flwr/clientapp/mod/localdp_mod.py:143``)."""
    return float(sensitivity * np.sqrt(2 * np.log(1.25 / delta)) / epsilon)


def local_dp(
    sent: Arrays, trained: Arrays, *, bound: float, sensitivity: float, epsilon: float, delta: float, rng: Generator
) -> list[np.ndarray]:
    """Parameters that a client returns under ``LocalDpMod``: sent + clipped update + noise of deviation `local_sd`.

    The clip C and the sensitivity S are set apart. Source: ``flwr/clientapp/mod/localdp_mod.py:85-167``.
    """
    return add_noise(_clip_replies(sent, [trained], bound)[0][0], local_sd(sensitivity, epsilon, delta), rng)


def fixed_clipping(
    sent: Arrays,
    replies: Sequence[Arrays],
    weights: Sequence[float],
    *,
    bound: float,
    multiplier: float,
    rng: Generator,
) -> list[np.ndarray]:
    """Next parameters under server-side fixed clipping around ``FedAvg``, from those of each of the n clients.

    Sum of w_i (sent + clipped update i), plus noise of standard deviation z C / n; weights are divided by their sum.
    Source: ``flwr/serverapp/strategy/dp_fixed_clipping.py:216-248, 348-401``,
    ``flwr/supercore/differential_privacy.py:61-68``.
    """
    clipped, _ = _clip_replies(sent, replies, bound)
    return add_noise(weighted_mean(clipped, weights), multiplier * bound / len(replies), rng)


def adaptive_noise(multiplier: float, clients: int, count_sd: float | None = None) -> tuple[float, float]:
    """Standard deviation of the noise of the count, and the multiplier of the updates next to it.

    The second is (z^-2 - (2 count_sd)^-2)^(-1/2) (``flwr/supercore/differential_privacy.py:129-169``); z is described
    as the multiplier of both together, and ``count_sd`` is a twentieth of the clients by default.
    """
    count_sd = clients / 20 if count_sd is None else count_sd
    if not 0 < multiplier < 2 * count_sd:
        raise ValueError(f"multiplier={multiplier!r} must lie between 0 and 2 count_sd = {2 * count_sd!r}.")
    return count_sd, (multiplier ** (-2) - (2 * count_sd) ** (-2)) ** -0.5


def adaptive_clipping(
    sent: Arrays,
    replies: Sequence[Arrays],
    weights: Sequence[float],
    *,
    bound: float,
    multiplier: float,
    rng: Generator,
    count_sd: float | None = None,
    target: float = TARGET,
    rate: float = RATE,
    direction: Literal["shipped", "mended"] = "shipped",
) -> tuple[list[np.ndarray], float]:
    """One round of server-side adaptive clipping around ``FedAvg``: the next parameters, and the next clip.

    Weighted mean of ``sent`` + update clipped at C, plus noise of z' C' / n with C' = C exp(-rate (f - target)) and f =
    (count + N(0, count_sd^2)) / n. As ``shipped`` the updates that are clipped are counted; ``mended`` those that are
    *not*, as quantile tracking needs it. Source: ``flwr/serverapp/strategy/dp_adaptive_clipping.py:91-111, 175-225``.
    """
    count_sd, multiplier = adaptive_noise(multiplier, len(replies), count_sd)
    clipped, factors = _clip_replies(sent, replies, bound)
    count = sum((factor < 1) == (direction == "shipped") for factor in factors)
    share = float(rng.normal(count, count_sd)) / float(len(replies))
    bound *= math.exp(-rate * (share - target))
    return add_noise(weighted_mean(clipped, weights), multiplier * bound / len(replies), rng), bound


def weighted_mean(replies: Sequence[Arrays], weights: Sequence[float]) -> list[np.ndarray]:
    """Sum of w_i times reply i, w_i from the weights (``flwr/serverapp/strategy/strategy_utils.py:67-99``)."""
    shares = [weight / sum(weights) for weight in weights]
    mean = [array * shares[0] for array in replies[0]]
    for reply, share in zip(replies[1:], shares[1:], strict=True):
        mean = [total + array * share for total, array in zip(mean, reply, strict=True)]
    return mean


def optimiser_step(optimiser: str, change: np.ndarray) -> np.ndarray:
    """First step of a server optimiser with its defaults, eta m / (sqrt(v) + tau), from the mean change d of a round.

    m = (1 - b1) d and v = (1 - b2) d^2; ``FedAdam`` also corrects eta for the bias of both as in a second step
    (``flwr/serverapp/strategy/fedadam.py:150-171``, ``flwr/serverapp/strategy/fedadagrad.py:145-152``,
    ``flwr/serverapp/strategy/fedyogi.py:151-162``).
    """
    eta, first, second, tau = OPTIMISERS[optimiser]
    moment, spread = (1 - first) * change, (1 - second) * change**2
    if optimiser == "FedAdam":
        eta = eta * np.sqrt(1 - np.power(second, 2.0)) / (1 - np.power(first, 2.0))
    step: np.ndarray = eta * moment / (np.sqrt(spread) + tau)
    return step


def _clip_replies(sent: Arrays, replies: Sequence[Arrays], bound: float) -> tuple[list[list[np.ndarray]], list[float]]:
    """Parameters moved by each clipped update, and the factors of the clip."""
    moved, factors = [], []
    for reply in replies:
        update = [after - before for after, before in zip(reply, sent, strict=True)]
        factors.append(clip_factor(update, bound))
        moved.append([before + array * factors[-1] for before, array in zip(sent, update, strict=True)])
    return moved, factors
