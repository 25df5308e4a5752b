"""Raw units: public bounds map them to [0, 1]; without these a private fit names a column that it does not suit."""

from __future__ import annotations

import numpy as np
import pytest

import partywise as pw

N = 2000
UNITS = pw.stream(3, "units").uniform(size=(N, 2))
BOUNDS = [(18, 90), (0, 100_000)]
RAW = np.array([18, 0]) + UNITS * [72, 100_000]
LABELS = pw.stream(3, "labels").uniform(size=N) < 1 / (1 + np.exp(1 - 6 * UNITS[:, 0] + 4 * UNITS[:, 1]))
METHODS = pw.LabelPrivateLogisticRegression.methods


def model(protocol, **more):
    epsilon = 2.0 if METHODS[protocol].options().uses_epsilon else None
    return pw.LabelPrivateLogisticRegression(protocol, epsilon=epsilon, random_state=1, **more)


@pytest.mark.parametrize("protocol", METHODS)
def test_public_bounds_are_the_fit_of_units(protocol):
    units = model(protocol).fit(UNITS, LABELS)
    raw = model(protocol, public_bounds=BOUNDS).fit(RAW, LABELS)
    assert raw.status_ == "ok" and raw.score(RAW, LABELS) > 0.75
    np.testing.assert_allclose(raw.decision_function(RAW), units.decision_function(UNITS), atol=1e-9)
    if protocol != "buckets":  # its coefficients are those of cells
        np.testing.assert_allclose(RAW @ raw.coef_ + raw.intercept_, units.decision_function(UNITS), atol=1e-9)
    if units.conf_int_ is not None:
        np.testing.assert_allclose(raw.conf_int_[1:] * [[72], [100_000]], units.conf_int_[1:], rtol=1e-6)


@pytest.mark.parametrize("protocol", ["walr", "noisy_gradient", "label_sgd"])
@pytest.mark.parametrize(("column", "factor"), [(0, 100.0), (1, 1e-3)])
def test_a_column_of_another_size_is_named(protocol, column, factor):
    columns = UNITS.copy()
    columns[:, column] *= factor
    with pytest.raises(ValueError, match=rf"column 'x{column}': protocol='{protocol}' suits .* give public_bounds"):
        model(protocol).fit(columns, LABELS)


def test_rare_indicators_and_heavy_tails_are_fitted():
    draw = pw.stream(3, "columns")
    columns = np.column_stack([UNITS[:, 0], draw.uniform(size=N) < 0.002, np.minimum(draw.lognormal(size=N), 30) / 2])
    assert model("walr").fit(columns, LABELS).status_ == "ok"


@pytest.mark.parametrize(
    ("bounds", "words"),
    [([(0, 1)], "public_bounds has 1 entries for 2 columns"), ([(0, 1), (1, 1)], r"public_bounds\[1\]=\(1, 1\)")],
)
def test_bounds_are_checked(bounds, words):
    with pytest.raises(ValueError, match=words):
        model("walr", public_bounds=bounds).fit(UNITS, LABELS)


def test_features_beyond_their_bounds_are_reported(tmp_path):
    with pytest.raises(ValueError, match="or give clipped='allow'"):
        model("walr", public_bounds=[(18, 20), (0, 10)]).fit(RAW, LABELS)
    with pytest.warns(UserWarning, match="the fit is clipped"):
        fitted = model("walr", public_bounds=[(18, 80), (0, 100_000)]).fit(RAW, LABELS)
    assert fitted.status_ == "clipped" and fitted.conf_int_ is None and "no intervals" in fitted.summary()
    fitted.save(tmp_path / "model.json")
    loaded = pw.load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.decision_function(RAW), fitted.decision_function(RAW))
