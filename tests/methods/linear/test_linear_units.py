"""Fits do not depend on units of columns and responses: fixed point has its digits where the declared bounds say."""

from __future__ import annotations

import numpy as np
import pytest

import partywise as pw
from partywise.core.randomness import stream

X = stream(1, "units").uniform(-1, 1, (40, 3))
Y = X @ [0.5, -0.3, 0.8] + 0.1


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e-12, 1e-30])
@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e-20])
def test_small_units_keep_their_digits(scale, unit):
    """The steps of the reference on the same numbers, to ten digits, whatever their size."""
    given = {"model": "linear", "total_round_num": 4, "batch_size": None, "learning_rate": 0.1}
    reference = pw.VerticalLinear("pooled", **given).fit(X * scale, Y * unit, rng=1)
    bounds = {"bounds": scale, "label_bound": 2 * unit}
    closed = pw.VerticalLinear("certified", cipher="sized", **bounds, **given).fit(X * scale, Y * unit, rng=1)
    assert np.all(reference.coef_ != 0)
    np.testing.assert_allclose(closed.coef_, reference.coef_, rtol=1e-9)
    np.testing.assert_allclose(closed.intercept_, reference.intercept_, rtol=1e-9)
