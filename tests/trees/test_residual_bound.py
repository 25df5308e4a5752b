"""What a public bound of residuals is read for, and what is said of one that is too small; numbers given as text."""

from __future__ import annotations

import numpy as np
import pytest

import partywise as pw

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (120, 4))
EDGES = [np.array([-0.5, 0.0, 0.5])] * 4
NUMBERS = 3 * X[:, 0] + RNG.standard_normal(120)
LABELS = (NUMBERS > 0).astype(float)


def boosted(protocol, y, criterion, **options):
    options |= {"cipher": "sized"} if protocol == "tables" else {}
    model = pw.VerticalBoosting(protocol, epsilon=1.0, loss=criterion, public_edges=EDGES, **options)
    return model.fit(X, y, rng=1).ensemble_.scores(X)


def test_a_tiny_bound_is_refused_with_the_advice_to_make_it_larger():
    """Hessians of regression are 1: their noise beside tiny residuals fills the words."""
    with pytest.raises(
        OverflowError, match=r"residual_bound=1e-09 .* use a larger residual_bound, or a larger epsilon"
    ):
        boosted("tables", NUMBERS, "RegressionMSELoss", residual_bound=1e-9)
    with pytest.raises(OverflowError, match=r"residual_bound=1e\+12 .* use units in which residual_bound is smaller"):
        boosted("tables", NUMBERS, "RegressionMSELoss", residual_bound=1e12)
    # What is advised helps.
    assert np.isfinite(boosted("tables", NUMBERS, "RegressionMSELoss", residual_bound=1.0)).all()


@pytest.mark.parametrize("protocol", ["tables", "local_tables"])
def test_labels_of_classes_read_no_bound_in_either_kind_of_tables(protocol):
    without = boosted(protocol, LABELS, "CrossEntropyLoss")
    np.testing.assert_array_equal(boosted(protocol, LABELS, "CrossEntropyLoss", residual_bound=0.01), without)


@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_a_number_that_is_given_as_text_is_named(name):
    given = {"epsilon": 1.0} | {name: "0.5"}
    with pytest.raises(TypeError, match=rf"{name}='0\.5' must be a number, not str: write it without quotes"):
        pw.VerticalBoosting("tables", public_edges=EDGES, cipher="sized", **given).fit(X, LABELS, rng=1)
