"""The pooled estimator against an independent package: the same directions up to sign."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.regression.dimred import SlicedInverseReg

from partywise.core.randomness import stream
from partywise.methods.inverse_regression import models, projection_loss, sir


@pytest.mark.parametrize(
    ("model", "n", "p", "H"), [("II", 5000, 10, 8), ("III", 4000, 10, 10), ("IV", 1000, 30, 5), ("V", 600, 4, 8)]
)
def test_directions_agree_up_to_sign(model, n, p, H):
    X, y, _ = models.draw(model, n, p, stream(7, "slicing statsmodels", model))
    d = models.MODELS[model].n_directions
    expected = SlicedInverseReg(y, X).fit(slice_n=n // H).params[:, :d]
    found = sir(X, y, H, d)
    signs = np.sign(np.sum(found * expected, axis=0))
    np.testing.assert_allclose(found * signs, expected, atol=1e-8 * np.abs(expected).max())
    assert projection_loss(found, expected) < 1e-8
    # Another slicing is another estimate: the comparison can fail.
    assert projection_loss(sir(X, y, H + 1, d), expected) > 1e-4
