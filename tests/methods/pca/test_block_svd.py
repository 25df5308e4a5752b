"""Block SVD as published: its matrix is that of rotated columns, and the analyst holds every rotated record."""

from __future__ import annotations

import numpy as np
import pytest

from glm_driver import fitted, records, start
from partywise.federation.place_checks import PlacedRun
from partywise.methods.pca.components import components, loading_angle, shares
from partywise.methods.pca.options import BlockSvdOptions
from partywise.methods.pca.protocols import block_svd
from partywise.methods.pca.protocols.block_svd import scores_of_block, stack_rotations

GROUPS = {
    2: [(0, 1, 2, 3), (4, 5, 6, 7, 8)],
    3: [(0, 4), (1, 2, 8), (3, 5, 6, 7)],
    5: [(8,), (0, 1), (2, 3), (4, 5), (6, 7)],
}


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def rotation(X, groups):
    """B of the right singular vectors of all blocks, by the global numbers of columns."""
    B = np.zeros((X.shape[1], X.shape[1]))
    for group in groups:
        block = standardised(X)[:, group]
        # The signs of the vectors are those that the party's own decomposition takes.
        B[np.ix_(group, group)] = np.linalg.lstsq(block, scores_of_block(block), rcond=None)[0]
    return B


@pytest.mark.parametrize("K", GROUPS)
def test_the_matrix_is_that_of_rotated_columns(K):
    X, y = records("gaussian", 2000, 9, rho=0.6)
    estimate, _ = fitted(block_svd.fit, X, y, GROUPS[K], BlockSvdOptions())
    R, B = np.corrcoef(X.T), rotation(X, GROUPS[K])
    np.testing.assert_allclose(B.T @ B, np.eye(9), atol=1e-12)
    np.testing.assert_allclose(estimate.matrix, B.T @ R @ B, atol=1e-12)
    np.testing.assert_allclose(B @ estimate.matrix @ B.T, R, atol=1e-12)
    values, loadings = components(R)
    np.testing.assert_allclose(estimate.eigenvalues, values, rtol=1e-12)
    np.testing.assert_allclose(shares(estimate.eigenvalues), values / 9, rtol=1e-12)
    for group in GROUPS[K]:
        inside = estimate.matrix[np.ix_(group, group)]
        assert np.max(np.abs(inside - np.diag(np.diag(inside)))) < 1e-12
    assert loading_angle(B @ estimate.loadings, loadings, values) < 1e-11
    # The scores are right up to signs: they do not depend on the rotation.
    truth = standardised(X) @ loadings
    np.testing.assert_allclose(np.abs(estimate.scores), np.abs(truth), atol=1e-10)


def test_the_published_matrix_is_no_correlation_matrix():
    """Section 2 of the specification: largest difference above 3, diagonal from .4 to 3.5."""
    X, y = records("gaussian", 2000, 9, rho=0.6)
    estimate, _ = fitted(block_svd.fit, X, y, GROUPS[2], BlockSvdOptions())
    difference, diagonal = np.abs(estimate.matrix - np.corrcoef(X.T)), np.diag(estimate.matrix)
    assert difference.max() > 2.5 and diagonal.min() < 0.45 and diagonal.max() > 3.2
    assert loading_angle(estimate.loadings, *components(np.corrcoef(X.T))[::-1]) > 0.5


def test_the_analyst_sees_p_columns_in_the_clear():
    X, y = records("gaussian", 60, 5)
    estimate, run = fitted(block_svd.fit, X, y, [(0, 1), (2, 3, 4)], BlockSvdOptions())
    view = run.channel.view("analyst")
    assert sum(value.shape[1] for _, value in view if len(value) == 60) == estimate.numbers["record_openings"] == 5
    assert [message.bytes for message, _ in view] == [8 * 60 * 2, 8 * 60 * 3]
    assert all(message.kind == "clear" and message.argument == "features" for message, _ in view)
    assert run.channel.ledger.worst_total(run.names, "features", 1e-5).epsilon_certified == np.inf
    assert run.channel.ledger.worst_total(run.names, "label", 1e-5).epsilon_certified == 0
    for name, (_, value) in zip(("active", "passive 1"), view, strict=True):
        assert np.array_equal(estimate.views[f"analyst: {name}"], value)


def test_fewer_records_than_columns():
    X, y = records("gaussian", 4, 9)
    estimate, _ = fitted(block_svd.fit, X, y, GROUPS[2], BlockSvdOptions())
    np.testing.assert_allclose(estimate.eigenvalues, components(np.corrcoef(X.T))[0], atol=1e-12)
    assert stack_rotations(scores_of_block(X)).loadings.shape == (9, 9)


def test_places_are_checked():
    X, y = records("gaussian", 50, 5)
    block_svd.fit(PlacedRun(start(X, y, [(0, 1), (2, 3, 4)], BlockSvdOptions())))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (np.nan, "column 'x3' of 'passive 1' has the value nan in record 7"),
        (np.inf, "column 'x3' of 'passive 1' has the value inf in record 7"),
        ("constant", "column 'x3' of 'passive 1' is 0.1 in every record: a constant has no correlation"),
    ],
)
def test_columns_without_correlations_are_named_before_anything_is_sent(change, message):
    X, y = records("gaussian", 50, 5)
    X[7, 3] = 0.1 if change == "constant" else change
    X[:, 3] = 0.1 if change == "constant" else X[:, 3]
    run = start(X, y, [(0, 1), (2, 3, 4)], BlockSvdOptions())
    with pytest.raises(ValueError, match=message):
        block_svd.fit(run)
    assert not run.channel.transcript()


def test_the_true_matrix_beside_the_rotations_is_refused():
    with pytest.raises(ValueError, match="sign patterns; use protocol 'correlation'"):
        BlockSvdOptions(matrix="correlation")
