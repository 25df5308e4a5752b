"""Correlation from secure cross products: what pooled columns give, opened once, and no record with it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from glm_driver import fitted, records, start
from partywise.core.arrays import orient
from partywise.federation.cipher import Cipher
from partywise.federation.place_checks import PlacedRun
from partywise.methods.pca.components import components, loading_angle
from partywise.methods.pca.options import BlockSvdOptions, CorrelationOptions
from partywise.methods.pca.protocols import block_svd, correlation

GROUPS = {
    2: [(0, 1, 2, 3), (4, 5, 6, 7, 8)],
    3: [(0, 4), (1, 2, 8), (3, 5, 6, 7)],
    5: [(8,), (0, 1), (2, 3), (4, 5), (6, 7)],
}


def data(n=300, units=4):
    X, y = records("gaussian", n, 9, rho=0.6)
    # Units as unlike as in tables, and a mean far from 0.
    return X * np.logspace(-units, units, 9) + np.linspace(0, 100, 9), y


@pytest.mark.parametrize("K", GROUPS)
def test_it_is_the_pooled_correlation(K):
    X, y = data()
    estimate, run = fitted(correlation.fit, X, y, GROUPS[K], CorrelationOptions())
    R = np.corrcoef(X.T)
    values, vectors = components(R)
    np.testing.assert_allclose(estimate.matrix, R, atol=1e-10)
    np.testing.assert_allclose(estimate.eigenvalues, values, rtol=1e-10)
    assert loading_angle(estimate.loadings, vectors, values) < 1e-10
    assert np.max(np.abs(estimate.loadings - vectors)) < 1e-9 and estimate.scores is None
    # Each party got its rows of the loadings, and pairs of parties multiplied.
    for party in run.parties:
        (rows,) = [value for message, value in run.channel.view(party.name) if message.name == "loadings"]
        assert np.array_equal(rows[0], estimate.loadings[list(party.columns)])
    sizes = [len(group) for group in GROUPS[K]]
    pairs = sum(sizes[j] * sizes[k] for j in range(K) for k in range(j))
    assert estimate.numbers["secure_products"] == 300 * pairs


@pytest.mark.parametrize("n", [40, 200, 230])
def test_one_record_that_differs_in_all_columns_keeps_its_score(n):
    """It reaches the bound sqrt(n p) of the words: 100 columns are 1 for one record and about 0 elsewhere."""
    rng = np.random.default_rng(n)
    X = 1e-7 * rng.standard_normal((n, 100))
    X[n // 2] = 1.0
    columns = [tuple(range(50)), tuple(range(50, 100))]
    estimate, _ = fitted(correlation.fit, X, np.zeros(n), columns, CorrelationOptions(scores=True, components=1))
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    largest = np.max(np.abs(estimate.scores))
    assert largest == pytest.approx((n - 1) / np.sqrt(n) * 10, rel=1e-6) and largest < np.sqrt(100 * n)
    np.testing.assert_allclose(estimate.scores[:, 0], Z @ estimate.loadings[:, 0], atol=1e-10 * largest)


@pytest.mark.parametrize("K", GROUPS)
def test_covariances_and_scores_are_scikit_learns(K):
    X, y = data(units=1)
    estimate, _ = fitted(correlation.fit, X, y, GROUPS[K], CorrelationOptions(matrix="covariance", scores=True))
    oracle = PCA().fit(X)
    np.testing.assert_allclose(estimate.matrix, np.cov(X.T), rtol=1e-10)
    np.testing.assert_allclose(estimate.eigenvalues, oracle.explained_variance_, rtol=1e-10)
    truth = (X - X.mean(axis=0)) @ orient(oracle.components_.T)
    np.testing.assert_allclose(estimate.scores, truth, atol=1e-10 * np.abs(truth).max())
    # With all components the analyst has every record: what the flag opens is not an aggregate.
    back = estimate.scores @ estimate.loadings.T
    np.testing.assert_allclose(back, X - X.mean(axis=0), atol=1e-10 * np.abs(X).max())


def test_leading_scores_alone_are_opened():
    X, y = data(n=80)
    options = CorrelationOptions(scores=True, components=2)
    estimate, _ = fitted(correlation.fit, X, y, GROUPS[3], options)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    np.testing.assert_allclose(estimate.scores, Z @ components(np.corrcoef(X.T))[1][:, :2], atol=1e-9)
    assert estimate.numbers["record_openings"] == estimate.scores.shape[1] == 2
    with pytest.raises(ValueError, match="components is 12: 9 columns have 9 components at most"):
        fitted(correlation.fit, X, y, GROUPS[3], CorrelationOptions(scores=True, components=12))
    with pytest.raises(ValueError, match="components is 2: it is read with scores: true only"):
        CorrelationOptions(components=2)


def n_vectors(run, name, n):
    """How many n-vectors a participant saw in the clear, and how many behind masks."""
    sizes = {True: 0, False: 0}
    for message, value in run.channel.view(name):
        if name not in message.sender:
            content = value.content if isinstance(value, Cipher) else value
            if isinstance(content, np.ndarray) and n in content.shape:
                sizes[isinstance(value, Cipher)] += content.size // n
    return sizes[False], sizes[True]


def test_every_record_that_crosses_is_closed():
    X, y = data(n=61)
    estimate, run = fitted(correlation.fit, X, y, GROUPS[3], CorrelationOptions())
    seen = {name: n_vectors(run, name, 61) for name in run.names}
    assert estimate.numbers["record_openings"] == sum(clear for clear, _ in seen.values()) == 0
    assert seen["analyst"] == (0, 0) and seen["dealer"] == (0, 0) and all(seen[p.name][1] for p in run.parties)
    assert not estimate.views
    # The published protocol, read in the same way.
    published, other = fitted(block_svd.fit, X, y, GROUPS[3], BlockSvdOptions())
    assert published.numbers["record_openings"] == n_vectors(other, "analyst", 61)[0] == 9


def test_no_run_has_the_rotations_and_the_matrix():
    """What A3 needs never meets: no message of one protocol is a message of the other."""
    X, y = data(n=61)
    names = []
    for fit, options in ((correlation.fit, CorrelationOptions(scores=True)), (block_svd.fit, BlockSvdOptions())):
        _, run = fitted(fit, X, y, GROUPS[2], options)
        names.append({message.name for message, _ in run.channel.view("analyst")})
    assert names[1] == {"scores U D"} and not names[0] & names[1]


def test_the_ledger_charges_features_and_nobody_knows_the_labels():
    X, y = data(n=61)
    _, run = fitted(correlation.fit, X, y, GROUPS[3], CorrelationOptions())
    ledger = run.channel.ledger
    assert ledger.total("analyst", "features", 1e-5).epsilon_certified == np.inf
    assert ledger.total("dealer", "row", 1e-5).epsilon_certified == np.inf, "it drew the masks"
    assert ledger.worst_total(run.names, "label", 1e-5).epsilon_certified == 0


def test_bytes_are_those_of_the_table():
    X, y = data(n=61)
    _, run = fitted(correlation.fit, X, y, GROUPS[2], CorrelationOptions())
    sizes = {}
    for row in run.channel.transcript():
        sizes.setdefault(row["name"].split(":")[0].split(" of ")[0], []).append(row["bytes"])
    assert sizes["masked"] == [4 * 5 * 61 * 4, 4 * 5 * 61 * 5]
    assert sizes["correction"] == [4 * 5 * 4 * 5] and sizes["products"] == [4 * 5 * 4 * 5] * 2
    assert "standard deviations" not in sizes
    assert sizes["own products"] == [8 * 16, 8 * 25] and sizes["loadings"] == [8 * (4 * 9 + 1), 8 * (5 * 9 + 1)]


@pytest.mark.parametrize("options", [CorrelationOptions(), CorrelationOptions(matrix="covariance", scores=True)])
def test_places_are_checked(options):
    X, y = data(n=50)
    correlation.fit(PlacedRun(start(X, y, GROUPS[3], options)))


def test_bad_columns_are_named_before_anything_is_sent():
    X, y = data(n=50)
    X[:, 5] = 3.0
    run = start(X, y, GROUPS[3], CorrelationOptions())
    with pytest.raises(ValueError, match="column 'x5' of 'passive 2' is 3 in every record"):
        correlation.fit(run)
    assert not run.channel.transcript()
    short = start(data()[0], y, GROUPS[3], CorrelationOptions())
    with pytest.raises(
        ValueError, match="X of 'active' has 300 rows for 50 records: give all parties the same records"
    ):
        correlation.fit(short)
    assert not short.channel.transcript()
    with pytest.raises(ValueError, match="parties has 1 entry: columns must be at 2 parties or more"):
        correlation.fit(start(X, y, [tuple(range(9))], CorrelationOptions()))
