"""How far two neighbours are from each other, in exact arithmetic."""

from partywise.privacy.statistics.whole import Whole


def squared_move(one: Whole, other: Whole) -> int:
    """Sum of weight (k - k')^2 over all entries."""
    weights = [1] * one.integers.size if one.weights is None else one.weights.ravel().tolist()
    pairs = zip(one.integers.ravel().tolist(), other.integers.ravel().tolist(), weights, strict=True)
    return sum(weight * (int(a) - int(b)) ** 2 for a, b, weight in pairs)
