"""Audit of any mechanism by sampling its outputs on two neighbouring data sets.

Some of the draws teach the attack how to score an output, others choose among the attacks and their thresholds, and the
rest certify: the bounds hold for any attack. They prove that a guarantee is false, never that it is true.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from ...core.randomness import Streams, streams_of
from .pairs import audit_pair, clopper_pearson

Data = TypeVar("Data")
Output = TypeVar("Output")
RATES = (0.01, 0.001)
LEAST_DRAWS = 1000
# Fewer distinct outputs than this are a finite distribution: their frequencies are the attack.
FINITE = 64
# Beyond every score of a usual output.
FAR = 1e300
# Error rate at which attacks are compared; those draws certify nothing.
COMPARE = 0.1


class SampledAudit(NamedTuple):
    """Bounds that an attack has shown; all four hold together with probability ``confidence``.

    epsilon_lower, mu_lower : the mechanism is (epsilon, ``delta``)-DP and mu-Gaussian-DP for none smaller
    tpr_at_1_percent, tpr_at_0_1_percent : the attack separates the first data set from the second with at least these
        true-positive rates at 1 % and 0.1 % false positives, rates that guessing reaches by itself
    draws : outputs under each data set, a quarter of which chose the attack
    attack : which score was best
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
        """Whether a claimed epsilon (at ``delta``) or else mu is shown to be false."""
        if (epsilon is None) == (mu is None):
            raise ValueError(f"epsilon={epsilon!r} and mu={mu!r}: give the one that is claimed.")
        claim, bound = (epsilon, self.epsilon_lower) if mu is None else (mu, self.mu_lower)
        if claim is None or not claim >= 0:
            raise ValueError(f"the claim {claim!r} must be non-negative.")
        return bound > claim


def audit(
    mechanism: Callable[[Data, np.random.Generator], Output],
    data: Data,
    neighbour: Data,
    *,
    rng: int | np.random.Generator | Streams,
    delta: float = 1e-5,
    draws: int = 20_000,
    confidence: float = 0.99,
    score: Callable[[Output], float] | None = None,
) -> SampledAudit:
    """Bound epsilon and mu of a mechanism from below, by attacking its outputs on a pair of neighbours.

    Parameters
    ----------
    mechanism : callable
        (data, rng) to a released output: a number, an array, or something hashable. Another shape, NaN and infinities
        are outputs like others: one that comes under one data set more often than under the other is evidence.
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
        and a quadratic discriminant of the coordinates and, for finite distributions, the frequencies of outputs, or of
        their shapes and of where they are not finite. A score that is not finite counts as one beyond all others.

    Returns
    -------
    SampledAudit

    Raises
    ------
    TypeError
        If ``mechanism`` or ``score`` cannot be called, or ``rng`` is of another kind.
    ValueError
        If a number is out of range, both data sets are one object, or outputs cannot be compared.

    Notes
    -----
    Error rates of the attack are bounded by Clopper and Pearson (1934), as `partywise.privacy.audit.pairs` states.

    Examples
    --------
    >>> import numpy as np
    >>> import partywise as pw
    >>> def forgotten_factor(data, rng):  # claims mu = 1 for a sum that moves by 2
    ...     return 2 * data.sum() + rng.normal()
    ...
    >>> bounds = pw.audit(forgotten_factor, np.array([0.0, 1.0]), np.zeros(2), rng=7)
    >>> bounds.refutes(mu=1.0), round(bounds.mu_lower, 1)
    (True, 1.9)
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
        _draw(mechanism, world, streams("audit", name), count)
        for name, world in (("data", data), ("neighbour", neighbour))
    ]
    first, second, attack = _score(outputs, delta, score)
    error = (1 - confidence) / (2 + len(RATES))
    bounds = audit_pair(first, second, delta, gaussian=False, confidence=1 - error)
    at_percent, at_permille = (_true_positives(first, second, fpr, error) for fpr in RATES)
    return SampledAudit(
        bounds.eps_lower, bounds.mu_lower, at_percent, at_permille, float(delta), float(confidence), count, attack
    )


def _draw(
    mechanism: Callable[[Data, np.random.Generator], Output], data: Data, rng: np.random.Generator, draws: int
) -> list[Output]:
    return [mechanism(data, rng) for _ in range(draws)]


Score = Callable[[Sequence[object]], np.ndarray]


def _score(
    outputs: list[list[Output]], delta: float, score: Callable[[Output], float] | None
) -> tuple[np.ndarray, np.ndarray, str]:
    """Scores of the draws that certify, by the best attack that the first quarter of the draws can make."""
    quarter = len(outputs[0]) // 4
    if score is not None:
        first, second = (np.fromiter((float(score(output)) for output in part), dtype=float) for part in outputs)
        return *_scores(first, second, quarter), "score"
    learn = [part[: quarter // 2] for part in outputs]
    compare = [part[quarter // 2 : quarter] for part in outputs]
    attacks = _attacks(learn)

    def worth(name: str) -> tuple[float, float]:
        first, second = (attacks[name](part) for part in compare)
        bounds = audit_pair(first, second, delta, gaussian=False, confidence=1 - COMPARE)
        return bounds.eps_lower, bounds.mu_lower

    best = max(attacks, key=worth)
    return attacks[best](outputs[0][quarter:]), attacks[best](outputs[1][quarter:]), best


def _attacks(learn: Sequence[Sequence[object]]) -> dict[str, Score]:
    """Ways to score outputs, made from draws whose data set is known."""
    keys = [Counter(map(_key, part)) for part in learn]
    if len(keys[0] | keys[1]) <= FINITE:
        ratio = {key: math.log((keys[0][key] + 1) / (keys[1][key] + 1)) for key in keys[0] | keys[1]}
        return {"frequencies": lambda part: np.array([ratio.get(_key(output), 0.0) for output in part])}
    kinds = [Counter(map(_kind, part)) for part in learn]
    sides = {kind: math.log((kinds[0][kind] + 1) / (kinds[1][kind] + 1)) for kind in kinds[0] | kinds[1]}
    attacks: dict[str, Score] = {}
    if len(sides) > 1:
        attacks["kinds of output"] = lambda part: np.array([sides.get(_kind(output), 0.0) for output in part])
    usual = max((kind for kind in sides if kind.finite), key=lambda kind: kinds[0][kind] + kinds[1][kind], default=None)
    if usual is not None and min(kinds[0][usual], kinds[1][usual]) > 1:
        first, second = (_matrix([output for output in part if _kind(output) == usual]) for part in learn)
        for name, make in (("linear", _linear), ("quadratic", _quadratic)):
            attacks[name] = _score_by_kind(make(first, second), usual, sides)
    if not attacks:
        raise ValueError(
            f"outputs such as {learn[0][0]!r} are not numbers and take more than {FINITE} values: give score=, which "
            "turns an output into a number."
        )
    return attacks


class Kind(NamedTuple):
    """Kind of an output before its digits are looked at; ``marks`` states where it is NaN or infinite."""

    numeric: bool
    shape: tuple[int, ...]
    marks: bytes

    @property
    def finite(self) -> bool:
        """Whether it is numbers, all of them finite."""
        return self.numeric and not self.marks


def _kind(output: object) -> Kind:
    array = np.asarray(output)
    if array.dtype.kind not in "biuf":
        return Kind(False, (), b"")
    finite = np.isfinite(array)
    if finite.all():
        return Kind(True, array.shape, b"")
    return Kind(True, array.shape, np.where(finite, 0.0, np.where(np.isnan(array), 2.0, np.sign(array))).tobytes())


def _score_by_kind(score: Score, usual: Kind, sides: Mapping[Kind, float]) -> Score:
    """A score of the usual kind of output, with all other kinds beyond it, on the side of their data set."""

    def score_all(part: Sequence[object]) -> np.ndarray:
        kinds = [_kind(output) for output in part]
        scores = np.array([FAR * np.sign(sides.get(kind, 0.0)) for kind in kinds])
        here = np.array([kind == usual for kind in kinds])
        if np.any(here):
            scores[here] = score([output for output, is_usual in zip(part, here, strict=True) if is_usual])
        return scores

    return score_all


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

    def log_density(outputs: np.ndarray, world: tuple[np.ndarray, np.ndarray, float]) -> np.ndarray:
        centre, precision, log_det = world
        away = outputs - centre
        return -0.5 * (np.einsum("ij,jk,ik->i", away, precision, away) + log_det)

    def log_ratio(part: Sequence[object]) -> np.ndarray:
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


def _key(output: object) -> Hashable:
    array = np.asarray(output)
    return (array.shape, array.tobytes()) if array.dtype.kind != "O" else output


def _matrix(outputs: Sequence[object]) -> np.ndarray:
    """Outputs of one shape as rows of finite numbers."""
    return np.asarray(outputs, dtype=float).reshape(len(outputs), -1)


def _scores(first: np.ndarray, second: np.ndarray, quarter: int) -> tuple[np.ndarray, np.ndarray]:
    """The scores that certify; one that is not finite lies beyond all others, NaN on the side that the rest showed."""
    more = float(np.isnan(first[:quarter]).sum()) - float(np.isnan(second[:quarter]).sum())
    nan = FAR * float(np.sign(more))
    first_scores, second_scores = (
        np.nan_to_num(part[quarter:], nan=nan, posinf=FAR, neginf=-FAR) for part in (first, second)
    )
    return first_scores, second_scores
