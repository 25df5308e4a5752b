"""The tracing attack on messages of seed 001: what it recovers, and what does not stop it."""

import numpy as np
import pytest
from scipy.stats import norm

from error_rates import ALPHA
from partywise.audits.attacks.membership import (
    discriminant_direction,
    roc_curve,
    signed_records,
    trace_split,
    tracing_auc,
    tracing_scores,
)
from partywise.core.randomness import stream


def split_aucs(n, p, replicates, seed, estimate=discriminant_direction, signal=True):
    """Areas under the curve of independent splits of 2n + 1 Gaussian records; the label is the sign of x'beta."""
    values = []
    for r in range(replicates):
        rng = stream(seed, "tracing", n, p, r)
        X = rng.standard_normal((2 * n + 1, p))
        y = (X @ np.full(p, p**-0.5) > 0) if signal else rng.random(2 * n + 1) < 0.5
        values.append(tracing_auc(*vars(trace_split(X, y.astype(int), rng, estimate)).values()))
    return np.array(values)


def z_score(values, expected):
    return (values.mean() - expected) / (values.std(ddof=1) / np.sqrt(len(values)))


def test_the_area_without_signal_follows_theory():
    """Scores differ by p/n in mean with variance p/n, so the area is Phi(sqrt(p / 2n)) for large p and n."""
    limit = norm.isf(ALPHA / 2)
    values = split_aucs(200, 100, 200, 6, signal=False)
    expected = norm.cdf(np.sqrt(100 / 400))
    assert abs(z_score(values, expected)) < limit
    for wrong in (0.5, norm.cdf(np.sqrt(100 / 200))):
        assert abs(z_score(values, wrong)) > limit


def test_noise_hides_members_and_many_records_do_so_without_any():
    """The second is why the area is no evidence of privacy: the raw direction has epsilon = inf at any n."""
    limit = norm.isf(ALPHA / 2)

    def noised(X, y):
        return discriminant_direction(X, y) + 5 * stream(7, "noise", float(X[0, 0]).hex()).standard_normal(X.shape[1])

    few = split_aucs(120, 13, 200, 7)
    hidden = split_aucs(120, 13, 200, 7, noised)
    many = split_aucs(20_000, 13, 10, 7)
    assert z_score(few, 0.5) > limit
    assert abs(z_score(hidden, 0.5)) < limit and abs(many.mean() - 0.5) < 0.01


def test_the_direction_and_its_scores():
    rng = stream(8, "direction")
    X, y = rng.standard_normal((40, 3)), rng.integers(0, 2, 40)
    slices = np.array([X[y == h].sum(axis=0) / 40 for h in (0, 1)])
    direction = discriminant_direction(X, y)
    np.testing.assert_allclose(direction, slices[1] - slices[0], atol=1e-15)
    scores = tracing_scores(X, y, direction)
    assert scores[0] == pytest.approx((2 * y[0] - 1) * X[0] @ direction)
    assert scores.mean() == pytest.approx(direction @ direction)
    # The reference moves all scores alike: no area depends on it.
    moved = tracing_scores(X, y, direction, reference=signed_records(X, y)[5])
    np.testing.assert_allclose(scores - moved, scores[5], atol=1e-12)
    assert tracing_auc(scores[:20], scores[20:]) == tracing_auc(moved[:20], moved[20:])


def test_halves_are_disjoint_and_of_the_size_asked_for():
    X, y = np.arange(21.0)[:, None] + 1, np.ones(21, dtype=int)
    trace = trace_split(X, y, stream(9, "halves"), lambda X, y: np.ones(1), size=7)
    both = np.concatenate([trace.members, trace.nonmembers])
    assert len(trace.members) == len(trace.nonmembers) == 7 and len(np.unique(both)) == 14
    assert len(trace_split(X, y, stream(9, "halves")).members) == 10
    for size in (0, 11):
        with pytest.raises(ValueError, match=f"size={size}"):
            trace_split(X, y, stream(9, "halves"), size=size)


def test_area_and_curve_agree_with_their_definitions():
    rng = stream(10, "curve")
    members, others = rng.integers(0, 12, 60) + 2.0, rng.integers(0, 12, 40).astype(float)
    pairs = members[:, None] - others
    assert tracing_auc(members, others) == pytest.approx(np.mean((pairs > 0) + 0.5 * (pairs == 0)), abs=1e-15)
    fpr, tpr = roc_curve(members, others)
    assert (fpr[0], tpr[0], fpr[-1], tpr[-1]) == (0, 0, 1, 1)
    assert np.all(np.diff(fpr) >= 0) and np.all(np.diff(tpr) >= 0)
    assert np.trapezoid(tpr, fpr) == pytest.approx(tracing_auc(members, others), abs=1e-14)
    assert tracing_auc([2.0, 3.0], [0.0, 1.0]) == 1 and tracing_auc([0.0], [1.0]) == 0
    assert tracing_auc(np.zeros(3), np.zeros(5)) == 0.5


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tracing_auc([], [1.0]), "an entry each"),
        (lambda: roc_curve([1.0], [[1.0]]), "an entry each"),
        (lambda: tracing_auc([np.nan], [1.0]), "not all finite"),
        (lambda: signed_records(np.ones((3, 2)), [0, 1]), r"\(n, p\) and \(n,\)"),
        (lambda: signed_records(np.ones((2, 2)), [-1, 1]), "labels 0 and 1"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
