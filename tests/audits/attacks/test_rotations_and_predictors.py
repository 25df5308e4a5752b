"""Attacks on the messages of seed 004: what they recover, and what does not stop them."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.special import expit

from block_attacks import binary_column, candidate_rotations, candidate_rows
from partywise.alignment.identifiers import hash_identifiers
from partywise.audits.attacks.linear_images import (
    attack_rows,
    attack_space,
    column_space,
    recover_rows,
    row_errors,
    space_by_iteration,
)
from partywise.audits.attacks.messages import attack_ids, dictionary_attack, directions_seen
from partywise.core.randomness import stream
from partywise.methods.pca.protocols.block_svd import scores_of_block

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
    found = recover_rows(message, np.arange(9), X[:9], transformation="affine")
    assert np.max(np.abs(found - X)) < 1e-9 * np.max(np.abs(X))
    with pytest.raises(ValueError, match="span 8 of 9"):
        recover_rows(message, np.arange(8), X[:8], transformation="affine")
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
    assert np.max(np.abs(recover_rows(basis, np.arange(3), mine[:3], transformation="linear") - mine)) < 1e-6
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
    with pytest.raises(ValueError, match="transformation='shear'"):
        recover_rows(message, [0, 1, 2], np.ones((3, 3)), transformation="shear")
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


def test_one_row_fewer_leaves_two_candidates_and_half_the_rows_half_the_variance():
    X = standardised(block(seed=2) @ np.linalg.qr(stream(2, "mix").standard_normal((K, K)))[0])
    message = scores_of_block(X)
    candidates = candidate_rows(message, np.arange(K - 1), X[: K - 1])
    errors = [np.max(np.abs(candidate - X)) for candidate in candidates]
    assert len(candidates) == 2 and min(errors) < 1e-10 and max(errors) > 0.1
    white = scores_of_block(stream(3, "white").standard_normal((N, K)))
    rotated = white @ np.linalg.qr(stream(4, "mix").standard_normal((K, K)))[0]
    (guess,) = candidate_rows(white, np.arange(4), rotated[:4])
    assert 1 - np.sum((guess - rotated) ** 2) / np.sum(rotated**2) == pytest.approx(0.5, abs=0.02)


def test_the_direction_of_least_kurtosis_is_a_binary_column():
    rng = stream(5, "binary")
    X = block(n=2000, k=5, seed=5)
    X[:, 2] = X[:, 0] + 2 * rng.standard_normal(2000) > 0.3 * np.std(X[:, 0])
    found, residual = binary_column(scores_of_block(standardised(X)), rng)
    assert abs(np.corrcoef(found, X[:, 2])[0, 1]) > 1 - 1e-12 and residual < 1e-20
    # Where no column has two values, the residual says that none was found.
    none, left = binary_column(scores_of_block(standardised(block(n=2000, k=5, seed=6))), rng)
    assert left > 0.05 and none.shape == (2000,)


def test_what_a_study_asks_of_what_was_seen():
    rng = stream(7, "seen")
    X, known = block(n=300, k=4, seed=7), np.arange(5)
    path = X @ rng.standard_normal((4, 6))
    np.testing.assert_allclose(space_by_iteration(path, X), [0.25, 0.5, 0.75, 1, 1, 1], atol=1e-9)
    assert attack_space(path, X) == pytest.approx(1) and attack_space(path[:, :0], X) == 0
    assert attack_space(rng.standard_normal((300, 2)), X) < 0.1
    assert attack_rows(path, X, known) == 1 and np.median(row_errors(path, X, known)) < 1e-10
    # Centred at the party: one known row more, and a shift.
    centred = scores_of_block(standardised(X))
    assert attack_rows(centred, X, known, transformation="affine") == 1 and attack_rows(centred, X, known) < 0.05
    assert attack_space(centred, X) == pytest.approx(1)
    # Too little was seen, or nothing.
    assert attack_rows(path[:, :3], X, known) == 0 and attack_rows(path, X, known[:3]) == 0
    assert attack_rows(path[:, :0], X, known) == 0 and row_errors(path[:, :0], X, known) is None
    names = [f"P{i:03d}" for i in range(40)]
    everyone = [f"P{i:03d}" for i in range(1000)]
    assert attack_ids(hash_identifiers(names)[::-1], names, everyone) == 1
    assert attack_ids(hash_identifiers(names), names, everyone[:10]) == 0.25
    assert attack_ids([], names, everyone) == 0 and attack_ids([b"blind"], names, everyone, str.encode) == 0


ROWS = stream(1, "rows").uniform(-1, 1, size=(20, 3))


def test_multiples_of_rows_give_them_away():
    factors = np.array([-3.0, 1e-200, 1e300, 2.0**120])
    found = directions_seen(factors[:, None] * ROWS[:4], ROWS)
    assert found.tolist() == [True] * 4 + [False] * 16


def test_sums_and_nearby_directions_do_not():
    assert not directions_seen(ROWS.sum(axis=0)[None], ROWS).any()
    turned = ROWS + 1e-3 * np.roll(ROWS, 1, axis=1)
    assert not directions_seen(turned, ROWS).any()


def test_what_has_no_direction_is_not_found():
    assert not directions_seen(np.ones((1, 1)), np.ones((5, 1))).any()
    assert not directions_seen(np.zeros((2, 3)), np.zeros((5, 3))).any()
    assert not directions_seen(np.empty((0, 3)), ROWS).any()
