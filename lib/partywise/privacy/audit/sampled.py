"""Audit of anybody's mechanism by sampling its outputs on two neighbouring data sets.

Some of the draws teach the attack how to score an output, others choose among the attacks and their thresholds, and the
rest certify: whatever the attack is, the bounds hold. They prove that a guarantee is false, never that it is true.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from ...randomness import Streams, streams_of
from .pairs import audit_pair, clopper_pearson

__all__ = ["SampledAudit", "audit"]

RATES = (0.01, 0.001)
LEAST_DRAWS = 1000
# Fewer distinct outputs than this are a finite law: their frequencies are the attack.
FINITE = 64
# Error rate at which attacks are compared; those draws certify nothing.
COMPARE = 0.1


class SampledAudit(NamedTuple):
    """What an attack has shown; all four bounds hold together with probability ``confidence``.

    Parameters
    ----------
    epsilon_lower : float
        The mechanism is (epsilon, ``delta``)-DP for no smaller epsilon.
    mu_lower : float
        The mechanism is mu-Gaussian-DP for no smaller mu.
    tpr_at_1_percent, tpr_at_0_1_percent : float
        The attack tells the first data set from the second with at least these true-positive rates at 1 % and .1 %
        false positives; those rates themselves are what guessing reaches.
    delta, confidence : float
    draws : int
        Outputs under each data set, a quarter of which chose the attack.
    attack : str
        Which score was best.
    """

    epsilon_lower: float
    mu_lower: float
    tpr_at_1_percent: float
    tpr_at_0_1_percent: float
    delta: float
    confidence: float
    draws: int
    attack: str

    def refutes(self, epsilon: float | None = None, *, mu: float | None = None) -> bool:
        """Whether a claimed epsilon (at ``delta``) or mu is shown to be false.

        Raises
        ------
        ValueError
            Unless exactly one of them is given, non-negative.
        """
        if (epsilon is None) == (mu is None):
            raise ValueError(f"epsilon={epsilon!r} and mu={mu!r}: give the one that is claimed.")
        claim, shown = (epsilon, self.epsilon_lower) if mu is None else (mu, self.mu_lower)
        if claim is None or not claim >= 0:
            raise ValueError(f"the claim {claim!r} must be non-negative.")
        return shown > claim


def audit(
    mechanism: Callable[[Any, np.random.Generator], Any],
    data: Any,
    neighbour: Any,
    *,
    rng: int | np.random.Generator | Streams,
    delta: float = 1e-5,
    draws: int = 20_000,
    confidence: float = 0.99,
    score: Callable[[Any], float] | None = None,
) -> SampledAudit:
    """Bound epsilon and mu of a mechanism from below, by attacking its outputs on a pair of neighbours.

    Parameters
    ----------
    mechanism : callable
        (data, rng) to a released output: a number, an array of fixed shape, or something hashable.
    data, neighbour : object
        Two data sets that differ in one unit.
    rng : int, numpy.random.Generator or Streams
        Seed of all draws; each data set has a generator of its own.
    delta : float
        In [0, 1), of the epsilon that is bounded.
    draws : int
        Outputs under each data set, at least 1000. Without a counterexample in ``draws`` no epsilon above about
        log(draws) can be shown.
    confidence : float
        In (0, 1), of all four bounds together.
    score : callable, optional
        Attack of your own: output to a number, larger under one of the two data sets. By default the best of a linear
        and a quadratic discriminant of the coordinates and, for finite laws, the frequencies of outputs.

    Returns
    -------
    SampledAudit

    Raises
    ------
    TypeError
        If ``mechanism`` or ``score`` cannot be called, or ``rng`` is of another kind.
    ValueError
        If a number is out of range, both data sets are one object, or outputs or scores cannot be compared.
    """
    if not callable(mechanism) or not (score is None or callable(score)):
        raise TypeError(f"mechanism={mechanism!r} and score={score!r}: both must be callables (score may be left out).")
    if data is neighbour:
        raise ValueError("data and neighbour are one object: give two data sets that differ in one unit.")
    if draws != int(draws) or draws < LEAST_DRAWS:
        raise ValueError(f"draws={draws!r} must be a whole number from {LEAST_DRAWS}: fewer show next to nothing.")
    if not 0 <= delta < 1:
        raise ValueError(f"delta={delta!r} must lie in [0, 1).")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence={confidence!r} must lie in (0, 1).")
    streams, count = streams_of(rng, "audit"), int(draws)
    outputs = [
        _drawn(mechanism, world, streams("audit", name), count)
        for name, world in (("data", data), ("neighbour", neighbour))
    ]
    first, second, attack = _scored(outputs, delta, score)
    error = (1 - confidence) / (2 + len(RATES))
    shown = audit_pair(first, second, delta, gaussian=False, confidence=1 - error)
    one, tenth = (_true_positives(first, second, fpr, error) for fpr in RATES)
    return SampledAudit(shown.eps_lower, shown.mu_lower, one, tenth, float(delta), float(confidence), count, attack)


def _drawn(mechanism: Callable[..., Any], data: Any, rng: np.random.Generator, draws: int) -> list[Any]:
    return [mechanism(data, rng) for _ in range(draws)]


Score = Callable[[list[Any]], np.ndarray]


def _scored(
    outputs: list[list[Any]], delta: float, own: Callable[[Any], float] | None
) -> tuple[np.ndarray, np.ndarray, str]:
    """Scores of the draws that certify, by the best attack that the first quarter of the draws can make."""
    quarter = len(outputs[0]) // 4
    if own is not None:
        return _numbers(map(own, outputs[0][quarter:])), _numbers(map(own, outputs[1][quarter:])), "score"
    learn = [part[: quarter // 2] for part in outputs]
    compare = [part[quarter // 2 : quarter] for part in outputs]
    attacks = _attacks(learn)

    def worth(name: str) -> tuple[float, float]:
        first, second = (attacks[name](part) for part in compare)
        found = audit_pair(first, second, delta, gaussian=False, confidence=1 - COMPARE)
        return found.eps_lower, found.mu_lower

    best = max(attacks, key=worth)
    return attacks[best](outputs[0][quarter:]), attacks[best](outputs[1][quarter:]), best


def _attacks(learn: list[list[Any]]) -> dict[str, Score]:
    """Ways to score outputs, made from draws whose data set is known."""
    keys = [Counter(map(_key, part)) for part in learn]
    if len(keys[0] | keys[1]) <= FINITE:
        ratio = {key: math.log((keys[0][key] + 1) / (keys[1][key] + 1)) for key in keys[0] | keys[1]}
        return {"frequencies": lambda part: np.array([ratio.get(_key(one), 0.0) for one in part])}
    if all(_numeric(one) for part in learn for one in part[:1]):
        first, second = map(_matrix, learn)
        return {"linear": _linear(first, second), "quadratic": _quadratic(first, second)}
    raise ValueError(
        f"outputs such as {learn[0][0]!r} are no numbers and take more than {FINITE} values: give score=, which turns "
        "an output into a number."
    )


def _linear(first: np.ndarray, second: np.ndarray) -> Score:
    """Fisher's discriminant: the best attack on Gaussian noise of one covariance."""
    spread = _covariance(np.concatenate([first - first.mean(0), second - second.mean(0)]))
    direction = np.linalg.solve(spread, first.mean(0) - second.mean(0))
    return lambda part: _matrix(part) @ direction


def _quadratic(first: np.ndarray, second: np.ndarray) -> Score:
    """Log-ratio of two Gaussian densities with covariances of their own: it sees noise that depends on the data."""
    worlds = []
    for sample in (first, second):
        spread = _covariance(sample - sample.mean(0))
        worlds.append((sample.mean(0), np.linalg.inv(spread), float(np.linalg.slogdet(spread)[1])))

    def log_density(outputs: np.ndarray, world: Any) -> np.ndarray:
        centre, precision, log_det = world
        away = outputs - centre
        return -0.5 * (np.einsum("ij,jk,ik->i", away, precision, away) + log_det)

    def log_ratio(part: list[Any]) -> np.ndarray:
        outputs = _matrix(part)
        return log_density(outputs, worlds[0]) - log_density(outputs, worlds[1])

    return log_ratio


def _covariance(centred: np.ndarray) -> np.ndarray:
    """Second moment with a ridge, so that coordinates that never move do no harm."""
    moment = centred.T @ centred / len(centred)
    scale = float(np.trace(moment)) / len(moment)
    return moment + (1e-9 * scale if scale > 0 else 1.0) * np.eye(len(moment))


def _true_positives(first: np.ndarray, second: np.ndarray, fpr: float, error: float) -> float:
    """Lower bound of the true-positive rate at a false-positive rate: half of the draws choose a cut, the rest count.

    A test with more false positives, f, is one with ``fpr`` of them when it is used with probability fpr / f only.
    """
    half = len(first) // 2
    allowed = max(int(fpr * half - 2 * math.sqrt(fpr * half)), 0)
    ranks = half - 1 - np.unique([allowed, *(2 ** np.arange((half - 1).bit_length()) - 1)])
    best, side, cut = -1.0, 1.0, 0.0
    for sign in (1.0, -1.0):
        for threshold in np.sort(sign * second[:half])[ranks]:
            value = _share(sign * first[:half] > threshold, sign * second[:half] > threshold, fpr, error)
            if value > best:
                best, side, cut = value, sign, float(threshold)
    return max(_share(side * first[half:] > cut, side * second[half:] > cut, fpr, error), fpr)


def _share(hits: np.ndarray, false_hits: np.ndarray, fpr: float, error: float) -> float:
    """Bound of the true-positive rate of a test that is used so seldom that it has ``fpr`` false positives."""
    lower, _ = clopper_pearson(int(hits.sum()), len(hits), error / 2)
    _, upper = clopper_pearson(int(false_hits.sum()), len(false_hits), error / 2)
    return float(lower) * min(fpr / max(float(upper), fpr), 1.0)


def _numeric(output: Any) -> bool:
    return np.asarray(output).dtype.kind in "biuf"


def _key(output: Any) -> Any:
    array = np.asarray(output)
    return (array.shape, array.tobytes()) if array.dtype.kind != "O" else output


def _matrix(outputs: list[Any]) -> np.ndarray:
    """Outputs as rows; ValueError if they are not finite numbers of one shape."""
    shapes = {np.shape(one) for one in outputs}
    if len(shapes) > 1:
        raise ValueError(f"outputs of the mechanism have shapes {sorted(shapes)}: give score=, or return one shape.")
    return _finite(np.asarray(outputs, dtype=float).reshape(len(outputs), -1), "outputs of the mechanism")


def _numbers(scores: Iterable[Any]) -> np.ndarray:
    return _finite(np.fromiter((float(one) for one in scores), dtype=float), "scores")


def _finite(array: np.ndarray, what: str) -> np.ndarray:
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{what} are not all finite: give score=, which turns every output into a finite number.")
    return array
