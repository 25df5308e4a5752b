"""The pooled protocol: statsmodels' fit whoever holds which columns, what crosses, what is reported of a failure."""

from __future__ import annotations

import math

import numpy as np
import pytest

from forked import in_all_ways
from glm_driver import FAMILIES, fitted, records, start
from glm_oracle import oracle
from partywise.audits.attacks.linear_images import attack_rows, attack_space
from partywise.methods.glm.options import GlmReferenceOptions
from partywise.methods.glm.protocols import reference

DEALS = {2: [[1, 3], [0, 2, 4]], 3: [[4], [0, 3], [2, 1]], 5: [[2], [0], [4], [1], [3]]}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("k", DEALS)
def test_any_deal_gives_the_fit_of_statsmodels(family, k):
    X, y = records(family, 120, 5)
    rng = np.random.default_rng(3)
    block = {"weights": rng.choice([0.5, 1.0, 2.0], 120), "offset": rng.normal(0, 0.3, 120)}
    estimate, _ = fitted(reference.fit, X, y, DEALS[k], GlmReferenceOptions(), family=family, block=block)
    expected = oracle(X, y, family, var_weights=block["weights"], offset=block["offset"])
    assert np.abs(estimate.coefficients - expected.params).max() <= 1e-8 * np.abs(expected.params).max()
    assert np.allclose(estimate.standard_errors, expected.bse, rtol=1e-8, atol=0)
    assert math.isclose(estimate.deviance, expected.deviance, rel_tol=1e-10) and estimate.status == "ok"
    assert np.allclose(estimate.predictor(X, block["offset"]), expected.predict(which="linear"), atol=1e-8)
    alone, _ = fitted(reference.fit, X, y, [[0, 1, 2], [3, 4]], GlmReferenceOptions(), family=family, block=block)
    assert np.allclose(alone.coefficients, estimate.coefficients, rtol=0, atol=1e-12)


def test_columns_cross_in_the_clear_and_are_counted_from_the_view():
    X, y = records("poisson", 60, 5)
    estimate, run = fitted(reference.fit, X, y, DEALS[3], GlmReferenceOptions(), family="poisson")
    rows = [
        (row["sender"], row["receiver"], row["name"], row["kind"], row["bytes"]) for row in run.channel.transcript()
    ]
    assert rows == [
        ("passive 1", "active", "columns", "clear", 8 * 60 * 2),
        ("passive 2", "active", "columns", "clear", 8 * 60 * 2),
        ("active", "analyst", "coefficients", "clear", 8 * 6),
    ]
    found = [value for message, value in run.channel.view("active") if message.kind != "cipher"]
    vectors = sum(value.shape[1] for value in found if value.shape[0] == 60)
    assert estimate.numbers["record_openings"] == vectors == 4
    assert np.array_equal(estimate.views["active: passive 2"], X[:, [2, 1]])
    for view in ("active", "analyst"):
        assert run.channel.ledger.total(view, "row", 1e-5).epsilon_certified == math.inf


def test_a_fit_that_diverges_has_no_standard_errors():
    X = np.column_stack([np.linspace(-2, 2, 40), np.sin(np.arange(40))])
    y = (X[:, 0] > 0.1).astype(float)
    found, _ = fitted(reference.fit, X, y, [[0], [1]], GlmReferenceOptions(), family="binomial")
    assert found.status == "diverged" and found.standard_errors is None and found.covariance is None
    assert "the columns separate the responses" in found.reason
    assert np.all(np.isfinite(found.coefficients))
    found, _ = fitted(reference.fit, X, y, [[0], [1]], GlmReferenceOptions(ridge=1e-4), family="binomial")
    assert found.status == "ok" and np.all(np.isfinite(found.standard_errors)) and found.numbers["penalised"]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda X, y: (np.column_stack([X, X[:, 0]]), y), np.linalg.LinAlgError, "have rank 4, not 5: drop dependent"),
        (lambda X, y: (np.column_stack([X, X @ [1, 2, 3]]), y), np.linalg.LinAlgError, "have rank 4, not 5"),
        (lambda X, y: (np.column_stack([X, np.full(40, 7.0)]), y), np.linalg.LinAlgError, "have rank 4, not 5"),
        (lambda X, y: (X[:4], y[:4]), ValueError, "n=4 records .* for 4 coefficients: give more records"),
        (lambda X, y: (X, np.full(40, 3.0)), ValueError, "y is 3 in all records: the null deviance is 0"),
        (lambda X, y: (X, y - 9), ValueError, "y of 'active' has the value -.*: family 'poisson' takes"),
        (lambda X, y: (np.where(X[3, 1] == X, np.nan, X), y), ValueError, "column 'x1' of 'passive 1'.* in record 3"),
    ],
)
def test_what_is_wrong_is_named(change, error, words):
    X, y = change(*records("poisson", 40, 3))
    groups = [[0], list(range(1, X.shape[1]))]
    with pytest.raises(error, match=words):
        fitted(reference.fit, X, y, groups, GlmReferenceOptions(), family="poisson")


def test_a_column_in_two_hands_is_no_error_with_a_ridge():
    X, y = records("gamma", 40, 3)
    X = np.column_stack([X, X[:, 0]])
    found, _ = fitted(reference.fit, X, y, [[0, 1], [2, 3]], GlmReferenceOptions(ridge=1e-3), family="gamma")
    assert found.status == "ok" and abs(found.coefficients[1] - found.coefficients[4]) < 1e-9


def test_one_party_alone_is_refused():
    X, y = records("gaussian", 20, 3)
    with pytest.raises(ValueError, match="parties has 1 active and 0 passive ones"):
        fitted(reference.fit, X, y, [[0, 1, 2]], GlmReferenceOptions())


def test_all_modes_give_one_run():
    """In one process, with the place of every value checked, and with one process a place."""
    given = *records("gamma", 40, 4), [[0, 2], [1], [3]], GlmReferenceOptions()
    in_all_ways(reference.fit, lambda: start(*given, family="gamma"))


def test_what_crosses_is_all_that_there_is():
    """The attacks of the study find every row of the passive parties in the view of the active one."""
    X, y = records("gaussian", 60, 5)
    estimate, _ = fitted(reference.fit, X, y, DEALS[3], GlmReferenceOptions())
    for name, columns in (("passive 1", [0, 3]), ("passive 2", [2, 1])):
        sent = estimate.views[f"active: {name}"]
        assert attack_space(sent, X[:, columns]) == pytest.approx(1)
        assert attack_rows(sent, X[:, columns], np.arange(3), transformation="affine") == 1
