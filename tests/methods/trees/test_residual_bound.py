"""What a public bound of residuals is read for, and what is said of one that is too small; numbers given as text."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import partywise as pw
from partywise.federation.estimators.column_estimator import share_explained
from partywise.methods.trees.options import GatheringOptions
from partywise.methods.trees.protocols import feature_gathering
from partywise.methods.trees.protocols.common import held_out
from tree_driver import SQUARES, fitted

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (120, 4))
EDGES = [np.array([-0.5, 0.0, 0.5])] * 4
NUMBERS = 3 * X[:, 0] + RNG.standard_normal(120)
LABELS = (NUMBERS > 0).astype(float)


def boosted(protocol, y, criterion, **options):
    options |= {"cipher": "sized"} if protocol == "tables" else {}
    model = pw.VerticalBoosting(protocol, epsilon=1.0, loss=criterion, public_edges=EDGES, **options)
    return model.fit(X, y, rng=1).ensemble_.scores(X)


def test_a_bound_that_no_word_holds_is_refused_with_advice():
    with pytest.raises(OverflowError, match=r"residual_bound=1e\+12 .* use units in which residual_bound is smaller"):
        boosted("tables", NUMBERS, "RegressionMSELoss", residual_bound=1e12)
    # What is advised helps.
    assert np.isfinite(boosted("tables", NUMBERS, "RegressionMSELoss", residual_bound=8.0)).all()


@pytest.mark.parametrize("protocol", ["tables", "local_tables"])
@pytest.mark.parametrize(("epsilon", "units"), [(4.0, (2.0**-8, 2.0**-30, 2.0**-40)), (np.inf, (1.0, 1e-9, 1e-11))])
def test_tables_are_the_same_in_whatever_unit_the_response_has(protocol, epsilon, units):
    """With noise in units whose noise is drawn alike."""
    options = {"loss": "RegressionMSELoss", "epsilon": epsilon, "public_edges": EDGES, "random_state": 1}
    options |= {"cipher": "sized"} if protocol == "tables" else {}
    shares = []
    for unit in units:
        model = pw.VerticalBoosting(protocol, residual_bound=20 * unit, **options).fit(X, NUMBERS * unit)
        shares.append(model.score(X, NUMBERS * unit))
        assert model.privacy_.epsilon_certified <= epsilon
    assert shares[0] > 0.3 and np.ptp(shares) < 1e-6, shares


@pytest.mark.parametrize("protocol", ["tables", "local_tables"])
def test_labels_of_classes_read_no_bound_in_either_kind_of_tables(protocol):
    without = boosted(protocol, LABELS, "CrossEntropyLoss")
    np.testing.assert_array_equal(boosted(protocol, LABELS, "CrossEntropyLoss", residual_bound=0.01), without)


@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_a_number_that_is_given_as_text_is_named(name):
    given = {"epsilon": 1.0} | {name: "0.5"}
    with pytest.raises(TypeError, match=rf"{name}='0\.5' must be a number, not str: write it without quotes"):
        pw.VerticalBoosting("tables", public_edges=EDGES, cipher="sized", **given).fit(X, LABELS, rng=1)


@pytest.mark.parametrize("cipher", ["sized", "identity"])
def test_gradients_are_rounded_in_the_unit_of_their_bound(cipher):
    """The same fit in whatever unit the response has."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y, options = X[:, 0] + X[:, 3], {"loss": "RegressionMSELoss", "cipher": cipher, "random_state": 1}
    shares = []
    for unit in (1.0, 1e-9, 1e-11, 8.0):
        model = pw.VerticalBoosting("label_scattering", residual_bound=20 * unit, num_of_trees=8, **options)
        shares.append(model.fit(X, y * unit).score(X, y * unit))
    assert shares[0] > 0.5 and np.ptp(shares) < 1e-6, shares


@pytest.mark.parametrize("inference", ["plain", "he", "ss"])
def test_scores_are_rounded_in_the_unit_of_their_weights(inference):
    """The parties score together as well in whatever unit the response has."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y, shares = X[:, 0] + X[:, 3], []
    for unit in (1.0, 1e-9, 1e-10, 1e-11):
        cipher = {"inference_cipher": "sized"} if inference == "he" else {}
        options = GatheringOptions(inference=inference, num_of_trees=4, **cipher)
        estimate, run = fitted(feature_gathering.fit, X, unit * y, options, criterion=SQUARES, extra=("dealer",))
        test = held_out(run.fold)
        shares.append(share_explained(estimate.scores, unit * y[test]))
        expected = share_explained(estimate.ensemble.scores(X[test]), unit * y[test])
        assert shares[-1] == pytest.approx(expected, abs=1e-6)
    assert shares[0] > 0.5 and np.ptp(shares) < 1e-6, shares


@pytest.mark.parametrize("protocol", ["tables", "local_tables"])
def test_the_share_of_clipped_residuals_is_that_of_the_statistic(protocol):
    """Residuals of the active party's own trees, which all but a few lie beyond a bound of 0.001."""
    options = {
        "loss": "RegressionMSELoss",
        "epsilon": 4.0,
        "public_edges": EDGES,
        "random_state": 1,
        "clipped": "allow",
    }
    options |= {"cipher": "sized"} if protocol == "tables" else {}
    shares = []
    for bound in (0.001, 1.0, 20.0):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = pw.VerticalBoosting(protocol, residual_bound=bound, **options).fit(X, NUMBERS)
        own = model.ensemble_.__class__(model.ensemble_.trees, model.ensemble_.base, model.ensemble_.weight)
        shares.append(model.estimate_.numbers["residual_clip_share"])
        assert shares[-1] == np.mean(np.abs(own.scores(X) - NUMBERS) > bound)
        assert any("residual_bound" in str(one.message) for one in caught) == (shares[-1] > 0.05)
    assert shares[0] > 0.99 > shares[1] > 0.05 and shares[2] == 0
    with pytest.raises(ValueError, match="residual_bound"):
        pw.VerticalBoosting(protocol, residual_bound=0.001, **options | {"clipped": "refuse"}).fit(X, NUMBERS)
    model = pw.VerticalBoosting(protocol, residual_bound=0.001, **options | {"loss": "CrossEntropyLoss"})
    assert "residual_clip_share" not in model.fit(X, LABELS).estimate_.numbers
