"""VerticalPCA is the protocol, in scikit-learn's ways."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA

import partywise as pw
from glm_driver import records, start
from partywise.audits.contract import same
from partywise.core.arrays import orient
from partywise.federation.run import simulate
from partywise.methods.pca.components import pvalues, variance_inflation
from partywise.methods.pca.options import CorrelationOptions
from partywise.methods.pca.protocols import correlation

X, _ = records("gaussian", 120, 6, rho=0.5)
X = X * np.linspace(1, 3, 6) + 2


def test_the_estimator_is_the_protocol():
    groups = [(0, 3), (1, 2), (4, 5)]
    run = start(X, np.zeros(120), groups, CorrelationOptions(scores=True), rng_for=pw.Streams(5))
    estimate = simulate(correlation.fit, run)
    model = pw.VerticalPCA(scores=True).fit(X, parties=groups, rng=pw.Streams(5))
    assert same(model.estimate_.matrix, estimate.matrix) and same(model.estimate_.scores, estimate.scores)
    assert model.privacy_.epsilon_certified == np.inf and model.privacy_.unit == "features"
    assert model.ledger_.total("dealer", "features", 1e-5).epsilon_certified == np.inf
    assert model.privacy_.trust == "dealer does not collude"
    assert [row["bytes"] for row in model.transcript_] == [row["bytes"] for row in run.channel.transcript()]


def test_results_are_those_of_pooled_columns():
    model = pw.VerticalPCA().fit(X, parties=3, rng=1)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    oracle = PCA().fit(Z)
    np.testing.assert_allclose(model.correlation_, np.corrcoef(X.T), atol=1e-12)
    np.testing.assert_allclose(model.explained_variance_, oracle.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(model.explained_variance_ratio_, oracle.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(model.components_, orient(oracle.components_.T).T, atol=1e-9)
    np.testing.assert_allclose(model.pvalues_, pvalues(np.corrcoef(X.T), 120), rtol=1e-8)
    np.testing.assert_allclose(model.vif_, variance_inflation(np.corrcoef(X.T)), rtol=1e-10)
    np.testing.assert_allclose(np.abs(model.transform(X)), np.abs(oracle.transform(Z)), atol=1e-9)
    assert model.scores_ is None and not hasattr(model, "covariance_")
    wide = pw.VerticalPCA(matrix="covariance", scores=True).fit(X, parties=2, rng=1)
    np.testing.assert_allclose(wide.covariance_, np.cov(X.T), rtol=1e-10)
    np.testing.assert_allclose(wide.correlation_, model.correlation_, atol=1e-12)
    np.testing.assert_allclose(wide.transform(X), wide.scores_, atol=1e-9)


def test_as_published_it_has_no_correlation():
    model = pw.VerticalPCA().fit(X, rng=1)
    model.set_params(protocol="block_svd").fit(X, rng=1)
    assert not hasattr(model, "correlation_") and not hasattr(model, "pvalues_")
    assert np.max(np.abs(model.rotated_matrix_ - np.corrcoef(X.T))) > 0.5
    np.testing.assert_allclose(model.explained_variance_ratio_.sum(), 1)
    with pytest.raises(AttributeError, match="the loadings of 'block_svd' fit no columns"):
        model.transform(X)


def test_scikit_learns_ways_and_named_errors():
    model = clone(pw.VerticalPCA(matrix="covariance", scores=True, components=2))
    assert model.get_params()["components"] == 2 and model.fit(X, rng=1).scores_.shape == (120, 2)
    with pytest.raises(TypeError, match="'ridge' is not a parameter of VerticalPCA"):
        pw.VerticalPCA(ridge=1)
    with pytest.raises(ValueError, match="not fitted yet"):
        pw.VerticalPCA().transform(X)
    with pytest.raises(ValueError, match="X has 2 features, but VerticalPCA is expecting 6 features"):
        model.transform(X[:, :2])
    with pytest.raises(ValueError, match="not a partition"):
        pw.VerticalPCA().fit(X, parties=[[0, 1], [1, 2]], rng=1)
    constant = X.copy()
    constant[:, 4] = 7.0
    with pytest.raises(ValueError, match="column 'x4' of 'party 2' is 7 in every record"):
        pw.VerticalPCA().fit(constant, rng=1)
    with pytest.raises(ValueError, match="X holds values that are not finite"):
        pw.VerticalPCA().fit(np.where(X > 4, np.nan, X), rng=1)


def test_masks_of_a_run_that_is_no_experiment_come_from_the_system():
    models = [pw.VerticalPCA(scores=True, components=1).fit(X, rng=pw.SecureStreams(3)) for _ in range(2)]
    np.testing.assert_allclose(models[0].correlation_, np.corrcoef(X.T), atol=1e-12)
    # Whatever the masks, what they hide is exact: the results agree to the last bit.
    assert np.array_equal(models[0].correlation_, models[1].correlation_)
    assert np.array_equal(models[0].scores_, models[1].scores_)


@pytest.mark.parametrize("protocol", ["correlation", "block_svd"])
def test_records_in_orders_of_their_own_are_aligned_first(protocol):
    rng = pw.stream(4, "orders")
    orders = [rng.permutation(120)[:100] for _ in range(3)]
    groups = [[0, 1], [2], [3, 4, 5]]
    ids = [[f"P{i}" for i in order] for order in orders]
    blocks = [X[order][:, group] for order, group in zip(orders, groups, strict=True)]
    model = pw.VerticalPCA(protocol, alignment="psi").fit(blocks, ids=ids, names=list("abcdef"), rng=1)
    common = sorted(set(orders[0]) & set(orders[1]) & set(orders[2]))
    assert sorted(orders[1][model.rows_["party 2"]]) == common and model.names_ == tuple("abcdef")
    values = np.linalg.eigvalsh(np.corrcoef(X[common].T))[::-1]
    np.testing.assert_allclose(model.explained_variance_, values, rtol=1e-10)
    np.testing.assert_allclose(model.mean_, X[common].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.scale_, X[common].std(axis=0, ddof=1), rtol=1e-12)
    with pytest.raises(ValueError, match=r"ids\[1\] has 99 entries for 100 rows"):
        pw.VerticalPCA(protocol).fit(blocks, ids=[ids[0], ids[1][1:], ids[2]], rng=1)
    with pytest.raises(ValueError, match="give 6 different ones, one a column"):
        pw.VerticalPCA(protocol).fit(X, names=["a"] * 6, rng=1)
    blocks[2][:, 1] = 5
    with pytest.raises(ValueError, match="column 'e' of 'party 3' is 5 in every record"):
        pw.VerticalPCA(protocol, alignment="psi").fit(blocks, ids=ids, names=list("abcdef"), rng=1)
