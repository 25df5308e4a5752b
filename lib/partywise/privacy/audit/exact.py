"""Exact audit of finite distributions, such as the transition matrix of a mechanism: nothing is estimated."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..accounting.calibration import randomized_response_probability
from ..accounting.roots import bisect

# A row may miss the sum of one by its rounding errors, not by more.
ROW_SUM_TOLERANCE = 1e-9
# Log-ratios held in memory at a time.
CHUNK = 4_000_000


@dataclass(frozen=True)
class ExactAudit:
    """The exact privacy loss of a finite mechanism, and where it is attained.

    epsilon : largest log-ratio of two rows, ``inf`` where an output is possible for one input of a pair only
    pair : the two inputs (rows), the first with the larger probability
    output : the column
    confidence : 1, since nothing is sampled (``n`` is 0)
    """

    epsilon: float
    pair: tuple[int, int]
    output: int
    kind: str = "exact"
    confidence: float = 1.0
    n: int = 0
    at_sample_limit: bool = False


def audit_exact(matrix: ArrayLike, *, neighbours: ArrayLike | None = None) -> ExactAudit:
    """Exact epsilon (delta = 0) of a mechanism with finitely many inputs and outputs.

    Parameters
    ----------
    matrix : ndarray of shape (inputs, outputs)
        ``matrix[x, v]`` is the probability of output v for input x; one that has underflowed to 0 counts as 0.
    neighbours : ndarray of bool of shape (inputs, inputs), or sequence of pairs of int, optional
        Pairs of inputs that the guarantee is about, each taken in both orders. By default all pairs (a local
        distribution).

    Returns
    -------
    ExactAudit
        Zero over zero is ignored, a positive probability over zero is infinite.

    Raises
    ------
    ValueError
        If the matrix is not a distribution (a row does not sum to 1 within 1e-9, a negative or non-finite entry), has
        fewer than two rows, or ``neighbours`` names no pair of two different inputs.
    """
    distribution = _distribution(matrix)
    with np.errstate(divide="ignore"):
        logs = np.log(distribution)
    if neighbours is None:
        return _all_pairs(logs)
    return _given_pairs(logs, _pairs(neighbours, len(distribution)))


def _distribution(matrix: ArrayLike) -> np.ndarray:
    distribution = np.asarray(matrix, dtype=float)
    if distribution.ndim != 2 or len(distribution) < 2 or distribution.shape[1] < 1:
        raise ValueError(
            f"matrix of shape {distribution.shape}: give one row per input, at least two, and one column per output."
        )
    if not np.all(np.isfinite(distribution)) or np.any(distribution < 0):
        raise ValueError(
            "matrix is not a distribution: its entries must be finite probabilities, none of them negative."
        )
    sums = distribution.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > ROW_SUM_TOLERANCE)
    if len(wrong):
        wrong_rows = ", ".join(f"row {row}: {sums[row]:.6g}" for row in wrong[:5])
        raise ValueError(
            f"matrix is not a distribution: {len(wrong)} of {len(distribution)} row sums differ from 1 ({wrong_rows}, "
            f"range {sums.min():.6g} to {sums.max():.6g}); normalise each row over all outputs."
        )
    return distribution


def _pairs(neighbours: ArrayLike | None, inputs: int) -> np.ndarray:
    pairs = np.asarray(neighbours)
    if pairs.dtype == bool:
        if pairs.shape != (inputs, inputs):
            raise ValueError(f"neighbours of shape {pairs.shape}: a boolean matrix must be {inputs} by {inputs}.")
        pairs = np.argwhere(pairs)
    if pairs.size == 0 or pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise ValueError("neighbours names no pairs; give a boolean matrix or a list of pairs of row numbers.")
    if pairs.min() < 0 or pairs.max() >= inputs:
        raise ValueError(f"neighbours names rows {pairs.min()}..{pairs.max()}; the matrix has rows 0..{inputs - 1}.")
    pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
    if len(pairs) == 0:
        raise ValueError("neighbours names only inputs paired with themselves; an input is not a neighbour of itself.")
    return pairs


def _all_pairs(logs: np.ndarray) -> ExactAudit:
    """Over all pairs the worst ratio of an output is that of its largest and its smallest probability."""
    high, low = logs.argmax(axis=0), logs.argmin(axis=0)
    columns = np.arange(logs.shape[1])
    losses = _difference(logs[high, columns], logs[low, columns])
    output = int(losses.argmax())
    return ExactAudit(float(losses[output]), (int(high[output]), int(low[output])), output)


def _given_pairs(logs: np.ndarray, pairs: np.ndarray) -> ExactAudit:
    best = ExactAudit(-1.0, (0, 0), 0)
    step = max(CHUNK // logs.shape[1], 1)
    for start in range(0, len(pairs), step):
        first, second = pairs[start : start + step].T
        losses = _difference(logs[first], logs[second])
        row, output = np.unravel_index(np.abs(losses).argmax(), losses.shape)
        loss = float(losses[row, output])
        if abs(loss) > best.epsilon:
            pair = (int(first[row]), int(second[row]))
            best = ExactAudit(abs(loss), pair if loss >= 0 else pair[::-1], int(output))
    return best


def _difference(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Log-ratios; an output that neither input gives counts as 0."""
    with np.errstate(invalid="ignore"):
        difference = first - second
    return np.where(np.isnan(difference), 0.0, difference)


def finite_epsilon(first: np.ndarray, second: np.ndarray, delta: float) -> float:
    """Least epsilon at which two finite distributions of the same outputs satisfy (epsilon, delta) in both directions.

    inf where more than ``delta`` of one distribution lies outside the support of the other.
    """
    losses = []
    for p, q in ((first, second), (second, first)):
        seen = p > 0
        with np.errstate(divide="ignore"):
            losses.append(_least_epsilon(np.log(p[seen]) - np.log(q[seen]), p[seen], delta))
    return max(losses)


def response_epsilon(epsilon: float, k: int, moved: int, delta: float) -> float:
    """Epsilon of k-ary randomised response on ``moved`` indices that all differ between two worlds.

    The loss is epsilon times (indices found as in this world less those as in the other): a sum of independent -1, 0
    and 1, whose distribution is an exact convolution.
    """
    if moved == 0:
        return 0.0
    keep = float(randomized_response_probability(epsilon, k))
    other = (1 - keep) / (k - 1)
    distribution = np.ones(1)
    for _ in range(moved):
        distribution = np.convolve(distribution, [other, max(1 - keep - other, 0.0), keep])
    return _least_epsilon(epsilon * np.arange(-moved, moved + 1), distribution, delta)


def _least_epsilon(losses: np.ndarray, distribution: np.ndarray, delta: float) -> float:
    """Root of sum P (1 - e^(epsilon - loss))_+ = delta in epsilon >= 0, from below: a lower bound stays one."""
    if float(np.sum(distribution[np.isinf(losses) & (losses > 0)])) > delta:
        return float("inf")

    def excess(epsilon: float) -> float:
        return float(np.sum(distribution * -np.expm1(np.minimum(epsilon - losses, 0.0)))) - delta

    finite = losses[np.isfinite(losses)]
    low, high = 0.0, max(float(finite.max(initial=0.0)), 0.0)
    return low if excess(low) <= 0 else bisect(lambda epsilon: excess(epsilon) > 0, low, high)[0]
