"""Attacks on the messages of seeds 001 and 004: what they recover, and what does not stop them."""

import time

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from error_rates import ALPHA
from partywise.attacks.exchange import (
    candidate_rotations,
    column_space,
    dictionary_attack,
    hash_identifiers,
    recover_rows,
    scores_of_block,
)
from partywise.attacks.tracing import (
    discriminant_direction,
    roc_curve,
    signed_records,
    trace_split,
    tracing_auc,
    tracing_scores,
)
from partywise.randomness import stream

N, K = 5000, 8


def block(n=N, k=K, seed=1):
    """Correlated columns of unlike sizes and shapes."""
    rng = stream(seed, "block")
    mixed = rng.standard_normal((n, k)) @ rng.standard_normal((k, k)) + rng.exponential(size=(n, k))
    return mixed * np.linspace(1, 3, k)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def test_eight_known_rows_give_all_others():
    X = block()
    message = scores_of_block(X)
    # The message does not look like the data: no column is one of them.
    assert np.max(np.abs(np.corrcoef(message.T, X.T)[:K, K:])) < 0.99
    known = np.arange(K) * 37
    found = recover_rows(message, known, X[known])
    others = np.setdiff1d(np.arange(N), known)
    assert len(others) == 4992
    assert np.max(np.abs(found - X)[others]) < 1e-11 * np.max(np.abs(X))
    # Guessing the rows by their mean is what someone without the message could do.
    assert np.mean(np.abs(X - X.mean(axis=0))[others]) > 1


def test_one_row_fewer_does_not_determine_the_rotation():
    X = block()
    with pytest.raises(ValueError, match="span 7 of 8"):
        recover_rows(scores_of_block(X), np.arange(7), X[:7])
    with pytest.raises(ValueError, match="span 1 of 8"):
        recover_rows(scores_of_block(X), np.zeros(8, dtype=int), X[np.zeros(8, dtype=int)])


def test_standardising_by_unknown_scales_costs_the_attacker_one_row():
    X = block()
    message = scores_of_block(standardised(X))
    found = recover_rows(message, np.arange(9), X[:9], law="affine")
    assert np.max(np.abs(found - X)) < 1e-9 * np.max(np.abs(X))
    with pytest.raises(ValueError, match="span 8 of 9"):
        recover_rows(message, np.arange(8), X[:8], law="affine")
    assert np.max(np.abs(recover_rows(message, np.arange(8), X[:8]) - X)) > 1


def test_no_known_row_leaves_one_of_two_to_the_k():
    """The published correlation matrix fixes the rotation up to signs; one known value then decides."""
    X = standardised(block(n=500))
    message = scores_of_block(X)
    rotations = candidate_rotations(message, (len(X) - 1) * np.corrcoef(X.T))
    assert rotations.shape == (2**K, K, K)
    errors = np.max(np.abs(message @ rotations - X), axis=(1, 2))
    assert np.count_nonzero(errors < 1e-10) == 1 and np.sort(errors)[1] > 0.1
    known = np.abs(rotations[:, :, 0] @ message[3] - X[3, 0])
    assert np.argmin(known) == np.argmin(errors)


def test_candidates_need_distinct_eigenvalues_and_the_right_gram():
    X = block(n=200, k=3)
    message = scores_of_block(X)
    with pytest.raises(ValueError, match="is not X'X"):
        candidate_rotations(message, 1.1 * X.T @ X)
    square = np.linalg.qr(X)[0]
    with pytest.raises(ValueError, match="equal eigenvalues"):
        candidate_rotations(scores_of_block(square), np.eye(3))
    with pytest.raises(ValueError, match="at most 16"):
        candidate_rotations(np.ones((20, 17)), np.eye(17))
    with pytest.raises(ValueError, match=r"give \(n, k\) and \(k, k\)"):
        candidate_rotations(message, np.eye(4))


def descent(blocks, y, rounds, ridge=1e-4):
    """The linear predictors that the first party shares while block coordinate descent runs (seed 004, binomial)."""
    betas = [np.zeros(X.shape[1]) for X in blocks]
    shared = []
    for _ in range(rounds):
        for k, X in enumerate(blocks):
            other = sum(Z @ b for j, (Z, b) in enumerate(zip(blocks, betas, strict=True)) if j != k)
            fitted = expit(other + X @ betas[k])
            weight = fitted * (1 - fitted)
            working = other + X @ betas[k] + (y - fitted) / weight
            product = X.T @ (weight[:, None] * X) + ridge * np.eye(X.shape[1])
            betas[k] = np.linalg.solve(product, X.T @ (weight * (working - other)))
        shared.append(blocks[0] @ betas[0])
    return np.column_stack(shared)


def test_linear_predictors_span_the_columns_and_then_give_the_rows():
    X = standardised(block(n=400, k=6, seed=3))
    y = (stream(4, "label").random(400) < expit(X @ np.linspace(-1, 1, 6))).astype(float)
    mine = X[:, :3]
    messages = descent([mine, X[:, 3:]], y, 12)
    basis = column_space(messages)
    assert basis.shape == (400, 3)
    np.testing.assert_allclose(basis.T @ basis, np.eye(3), atol=1e-12)
    assert np.max(np.abs(mine - basis @ (basis.T @ mine))) < 1e-7
    assert np.max(np.abs(recover_rows(basis, np.arange(3), mine[:3], law="linear") - mine)) < 1e-6
    # The other party's columns are not in there, and two messages span two directions only.
    other = X[:, 3:]
    assert np.max(np.abs(other - basis @ (basis.T @ other))) > 0.1
    assert column_space(messages[:, :2]).shape == (400, 2)
    assert column_space(np.column_stack([messages[:, 0]] * 5)).shape == (400, 1)


@pytest.mark.parametrize("messages", [np.zeros((5, 2)), np.ones(5), np.full((5, 2), np.nan)])
def test_no_span_of_nothing(messages):
    with pytest.raises(ValueError, match="finite matrix"):
        column_space(messages)


def test_bad_rows_are_refused():
    message = scores_of_block(block(n=50, k=3))
    with pytest.raises(ValueError, match="law='shear'"):
        recover_rows(message, [0, 1, 2], np.ones((3, 3)), law="shear")
    with pytest.raises(ValueError, match="one row each"):
        recover_rows(message, [0, 1], np.ones((3, 3)))
    with pytest.raises(ValueError, match="maps 3 columns to as many, but rows have 2"):
        recover_rows(message, [0, 1, 2], np.ones((3, 2)))


def test_hashes_of_identifiers_are_looked_up():
    """994 identifiers of a scheme with 100 000: all found, faster than they would be typed."""
    chosen = stream(5, "ids").choice(100_000, 994, replace=False)
    names = [f"PATIENT_{number:05d}" for number in chosen]
    hashes = hash_identifiers(names)
    assert hashes[0] != names[0] and len(hashes[0]) == 64
    start = time.process_time()
    found = dictionary_attack(hashes, (f"PATIENT_{number:05d}" for number in range(100_000)))
    assert time.process_time() - start < 2.0
    assert [found[digest] for digest in hashes] == names
    salted = hash_identifiers(f"salt{name}" for name in names)
    assert dictionary_attack(salted, names) == {}


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
