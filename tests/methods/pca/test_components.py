"""Components, p-values and nearest matrices against numpy, scikit-learn, scipy and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import stdtr
from scipy.stats import pearsonr
from sklearn.decomposition import PCA
from statsmodels.stats.correlation_tools import corr_nearest
from statsmodels.stats.outliers_influence import variance_inflation_factor
from statsmodels.tools.sm_exceptions import IterationLimitWarning

from partywise.core.arrays import orient
from partywise.core.randomness import stream
from partywise.methods.pca.components import (
    alike,
    components,
    correlation_of,
    eigenspaces,
    loading_angle,
    nearest_correlation,
    pvalues,
    shares,
    variance_inflation,
)


def columns(n=300, p=5, seed=1):
    rng = stream(seed, "pca columns")
    return rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + rng.exponential(size=(n, p))


def test_components_are_those_of_scikit_learn_up_to_sign():
    X = columns()
    values, loadings = components(np.cov(X.T))
    oracle = PCA().fit(X)
    np.testing.assert_allclose(values, oracle.explained_variance_, rtol=1e-12)
    np.testing.assert_allclose(shares(values), oracle.explained_variance_ratio_, rtol=1e-12)
    np.testing.assert_allclose(loadings, orient(oracle.components_.T), atol=1e-12)
    largest = np.abs(loadings).argmax(axis=0)
    assert np.all(loadings[largest, np.arange(5)] > 0)
    np.testing.assert_allclose(shares(components(np.corrcoef(X.T))[0]) * 5, components(np.corrcoef(X.T))[0], rtol=1e-12)


def test_of_tied_loadings_the_first_decides():
    pair = np.array([[1.0, 0.5], [0.5, 1.0]])
    root = np.sqrt(0.5)
    np.testing.assert_allclose(components(pair)[1], [[root, root], [root, -root]], atol=1e-15)
    tied = np.array([[-root, root * (1 + 1e-14)], [root * (1 + 1e-14), -root]])
    assert np.all(orient(tied)[0] > 0)
    assert orient(np.array([[-0.1], [-0.9], [0.5]]))[1] > 0


def test_equal_eigenvalues_are_compared_as_subspaces():
    rng = stream(2, "equal eigenvalues")
    basis = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    values = np.array([3.0, 2.0, 2.0, 2.0, 0.5])
    matrix = (basis * values) @ basis.T
    found, loadings = components(matrix)
    assert eigenspaces(found) == (range(1), range(1, 4), range(4, 5))
    assert np.max(np.abs(np.abs(loadings) - np.abs(basis))) > 0.05
    assert loading_angle(loadings, basis, values) < 1e-12
    np.testing.assert_allclose(alike(loadings, basis, values), basis, atol=1e-12)
    turned = basis.copy()
    turned[:, [0, 1]] = turned[:, [0, 1]] @ [[np.cos(0.3), -np.sin(0.3)], [np.sin(0.3), np.cos(0.3)]]
    assert loading_angle(turned, basis, values) == pytest.approx(0.3, abs=1e-12)
    # A rotation by a tiny angle is seen: sines keep what cosines round away.
    turned[:, [0, 1]] = basis[:, [0, 1]] @ [[1, -1e-10], [1e-10, 1]]
    assert loading_angle(turned, basis, values) == pytest.approx(1e-10, rel=1e-4)


def test_pvalues_are_those_of_scipy():
    X = columns(n=40)
    found = pvalues(np.corrcoef(X.T), 40)
    for j in range(5):
        for k in range(5):
            expected = 0.0 if j == k else pearsonr(X[:, j], X[:, k]).pvalue
            assert found[j, k] == pytest.approx(expected, rel=1e-9, abs=1e-300)
    # A correlation so large that 1 - cdf is 0 in floating point.
    tiny = pvalues(np.array([[1, 0.999999], [0.999999, 1]]), 60)[0, 1]
    assert tiny == pytest.approx(2 * stdtr(58, -0.999999 * np.sqrt(58 / (1e-6 * 1.999999))), rel=1e-8)
    assert 0 < tiny < 1e-100
    with pytest.raises(ValueError, match="n is 2: a p-value"):
        pvalues(np.eye(2), 2)


def test_variance_inflation_is_that_of_statsmodels():
    X = columns(p=4)
    design = np.column_stack([np.ones(len(X)), X])
    expected = [variance_inflation_factor(design, j) for j in range(1, 5)]
    np.testing.assert_allclose(variance_inflation(np.corrcoef(X.T)), expected, rtol=1e-10)
    # The third column is a function of the first two, the fourth is not.
    X[:, 2] = X[:, 0] - 2 * X[:, 1]
    found = variance_inflation(np.corrcoef(X.T))
    rest = variance_inflation(np.corrcoef(X[:, [0, 1, 3]].T))
    assert np.all(np.isinf(found[:3])) and found[3] == pytest.approx(rest[2], rel=1e-8)
    with pytest.raises(ValueError, match="nearest correlation matrix first"):
        variance_inflation(np.array([[1.0, 1.2], [1.2, 1.0]]))


def test_the_nearest_correlation_matrix_is_highams():
    """Higham (2002), section 1: entries 0.7607 and 0.1573."""
    matrix = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    nearest, least = nearest_correlation(matrix)
    np.testing.assert_allclose(nearest[0], [1, 0.7607, 0.1573], atol=5e-5)
    assert least == pytest.approx(1 - np.sqrt(2)) and np.linalg.eigvalsh(nearest)[0] > -1e-12
    assert np.all(np.diag(nearest) == 1)
    distance = np.linalg.norm(nearest - matrix)
    with pytest.warns(IterationLimitWarning):
        oracle = corr_nearest(matrix, n_fact=200)
    np.testing.assert_allclose(nearest, oracle, atol=1e-6)
    assert distance <= np.linalg.norm(oracle - matrix) + 1e-6
    good = np.corrcoef(columns().T)
    np.testing.assert_allclose(nearest_correlation(good)[0], good, atol=1e-12)


def test_correlation_of_a_covariance_matrix():
    X = columns()
    np.testing.assert_allclose(correlation_of(np.cov(X.T)), np.corrcoef(X.T), atol=1e-14)
    with pytest.raises(ValueError, match="column 'b' has variance 0: it has no correlations"):
        correlation_of(np.diag([1.0, 0.0]), ("a", "b"))


@pytest.mark.parametrize(
    ("matrix", "message"), [(np.ones((2, 3)), r"shape \(2, 3\)"), (np.full((2, 2), np.nan), "4 entries that are not")]
)
def test_bad_matrices_are_refused(matrix, message):
    for function in (components, nearest_correlation, variance_inflation):
        with pytest.raises(ValueError, match=message):
            function(matrix)
    with pytest.raises(ValueError, match="sum to 0: shares"):
        shares(np.zeros(3))
