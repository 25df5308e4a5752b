"""Block coordinate descent: the source's formulas, the pooled optimum, what breaks, and what the analyst sees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm

from forked import in_all_ways
from glm_driver import FAMILIES, fitted, records, start
from partywise.federation.run import simulate
from partywise.methods.glm.exact import fit_glm as pooled
from partywise.methods.glm.options import BcdOptions
from partywise.methods.glm.protocols import bcd

PUBLISHED = BcdOptions()
CORRECTED = BcdOptions(variant="corrected")
MODELS = {
    "gaussian": sm.families.Gaussian(),
    "binomial": sm.families.Binomial(),
    "poisson": sm.families.Poisson(),
    "gamma": sm.families.Gamma(sm.families.links.Log()),
    "inverse_gaussian": sm.families.InverseGaussian(sm.families.links.Log()),
}


def split(p, parties):
    """Contiguous groups of columns."""
    return [group.tolist() for group in np.array_split(np.arange(p), parties)]


def seed_loop(X, y, groups, family, ridge, sweeps):
    """The loop of document 004 on pooled columns, written from its tables with formulas by hand."""
    blocks = [np.column_stack([np.ones(len(y)), X[:, groups[0]]]), *(X[:, group] for group in groups[1:])]
    b = [np.zeros(block.shape[1]) for block in blocks]
    mean = {"gaussian": lambda eta: eta, "binomial": lambda eta: 1 / (1 + np.exp(-eta))}.get(family, np.exp)
    weight = {"binomial": lambda mu: mu * (1 - mu), "poisson": lambda mu: mu, "inverse_gaussian": lambda mu: 1 / mu}
    for _ in range(sweeps):
        for k, block in enumerate(blocks):
            rest = sum(blocks[j] @ b[j] for j in range(len(blocks)) if j != k)
            eta = rest + block @ b[k]
            mu = mean(eta)
            W = weight.get(family, np.ones_like)(mu)
            z = eta + (y - mu) / (1.0 if family == "gaussian" else mu * (1 - mu) if family == "binomial" else mu)
            gram = block.T @ np.diag(W) @ block + ridge * np.eye(block.shape[1])
            b[k] = np.linalg.inv(gram) @ block.T @ (W * (z - rest))
    return np.concatenate(b)


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_published_sweeps_are_those_of_the_source(family, parties):
    X, y = records(family, 150, 6, rho=0.0, mean=1.0)
    options = replace(PUBLISHED, ridge=0.5, max_sweeps=4, tolerance=1e-15)
    found, _ = fitted(bcd.fit, X, y, split(6, parties), options, family=family)
    expected = seed_loop(X, y, split(6, parties), family, 0.5, 4)
    np.testing.assert_allclose(found.coefficients, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    assert (found.status, found.iterations, len(found.objective)) == ("not_converged", 4, 5)
    assert found.reason == "max_sweeps=4 sweeps"


@pytest.mark.parametrize("variant", ["published", "corrected"])
@pytest.mark.parametrize("family", FAMILIES)
def test_without_a_ridge_it_ends_at_the_fit_of_statsmodels(family, variant):
    X, y = records(family, 400, 6)
    options = BcdOptions(variant=variant, ridge=0.0, tolerance=1e-10)
    found, _ = fitted(bcd.fit, X, y, split(6, 3), options, family=family)
    expected = sm.GLM(y, sm.add_constant(X), MODELS[family]).fit(tol=1e-12, maxiter=200)
    assert found.status == "ok"
    np.testing.assert_allclose(found.coefficients, expected.params, rtol=0, atol=1e-6)
    assert found.deviance == pytest.approx(expected.deviance, rel=1e-6)
    assert found.null_deviance == pytest.approx(expected.null_deviance, rel=1e-8)


def test_columns_go_back_to_their_global_numbers():
    X, y = records("poisson", 300, 5)
    for options in (PUBLISHED, CORRECTED):
        one, _ = fitted(bcd.fit, X, y, [[0, 1, 2], [3, 4]], options, family="poisson")
        other, _ = fitted(bcd.fit, X, y, [[4], [2, 0], [3, 1]], options, family="poisson")
        np.testing.assert_allclose(one.coefficients, other.coefficients, atol=1e-6)


@pytest.mark.parametrize("local", ["one_step", "argmin"])
def test_the_ridge_is_on_every_coefficient_as_published_and_else_not_on_the_intercept(local):
    X, y = records("gamma", 300, 4)
    X = X * [1.0, 3.0, 0.2, 1.0] + 1.0
    changes = {"local": local, "ridge": 5.0, "tolerance": 1e-10}
    found, _ = fitted(bcd.fit, X, y, split(4, 2), replace(PUBLISHED, **changes), family="gamma")
    mu = np.exp(found.predictor(X))
    gradient = sm.add_constant(X).T @ (y / mu - 1) - 5.0 * found.coefficients
    assert np.abs(gradient).max() < 1e-6
    found, _ = fitted(bcd.fit, X, y, split(4, 2), replace(CORRECTED, **changes), family="gamma")
    np.testing.assert_allclose(found.coefficients, pooled(X, y, "gamma", ridge=5.0).coefficients, atol=1e-7)
    assert found.objective[-1] == pytest.approx(pooled(X, y, "gamma", ridge=5.0).objective[-1], rel=1e-10)


@pytest.mark.parametrize("variant", ["published", "corrected"])
@pytest.mark.parametrize("family", ["poisson", "gaussian"])
def test_weights_and_offset_count(family, variant):
    X, y = records(family, 300, 4)
    rng = np.random.default_rng(3)
    block = {"weights": rng.integers(0, 4, 300).astype(float), "offset": rng.normal(0, 0.5, 300)}
    options = BcdOptions(variant=variant, ridge=0.0, tolerance=1e-10)
    found, _ = fitted(bcd.fit, X, y, split(4, 2), options, family=family, block=block)
    model = sm.GLM(y, sm.add_constant(X), MODELS[family], freq_weights=block["weights"], offset=block["offset"])
    expected = model.fit(tol=1e-12)
    np.testing.assert_allclose(found.coefficients, expected.params, atol=1e-6)
    assert found.deviance == pytest.approx(expected.deviance, rel=1e-6)


# Sweeps measured for the specification on one draw of 2,000 records, 2 x 5 columns, rho 0, .6 and .9.
SWEEPS = {
    "gaussian": (5, 70, 368),
    "binomial": (8, 72, 362),
    "poisson": (10, 65, 355),
    "gamma": (8, 70, 363),
    "inverse_gaussian": (9, 71, 367),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_correlation_costs_sweeps_and_none_raises_the_objective(family):
    for rho, expected in zip((0.0, 0.6, 0.9), SWEEPS[family], strict=True):
        X, y = records(family, 2000, 10, rho=rho)
        found, _ = fitted(bcd.fit, X, y, split(10, 2), CORRECTED, family=family)
        assert found.status == "ok"
        assert abs(found.iterations / expected - 1) <= 0.25, (rho, found.iterations)
        assert np.all(np.diff(found.objective) <= 1e-12 * found.objective[:-1])


@pytest.mark.parametrize(
    ("family", "mean", "published"),
    [("gamma", 100, "diverged"), ("inverse_gaussian", 10, "diverged"), ("poisson", 5, "rises"), ("poisson", 200, "")],
)
def test_a_start_at_zero_breaks_down_and_the_corrected_one_does_not(family, mean, published):
    X, y = records(family, 2000, 10, rho=0.3, mean=mean)
    bad, _ = fitted(bcd.fit, X, y, split(10, 2), replace(PUBLISHED, max_sweeps=300), family=family)
    if published == "rises":
        assert np.diff(bad.objective).max() > bad.objective[0]
    else:
        assert bad.status in (published or "diverged", "not_converged")
        assert bad.status != "diverged" or np.all(np.isnan(bad.coefficients))
        assert bad.deviance is None or np.isfinite(bad.deviance)
    good, _ = fitted(bcd.fit, X, y, split(10, 2), CORRECTED, family=family)
    assert good.status == "ok" and good.iterations <= 28
    assert np.all(np.diff(good.objective) <= 1e-12 * good.objective[:-1])
    np.testing.assert_allclose(good.coefficients, pooled(X, y, family).coefficients, atol=1e-4)


def test_every_fit_has_the_text_of_a_reason_so_that_replicates_stand_in_one_block():
    reasons = {}
    for mean, most in ((2, 300), (100, 300), (2, 2)):
        X, y = records("gamma", 2000, 10, rho=0.3, mean=mean)
        found, _ = fitted(bcd.fit, X, y, split(10, 2), replace(PUBLISHED, max_sweeps=most), family="gamma")
        reasons[found.status] = found.reason
    assert reasons["ok"] == "" and reasons["not_converged"] == "max_sweeps=2 sweeps"
    assert all(isinstance(reason, str) for reason in reasons.values()) and len(reasons) == 3


def test_separated_responses_have_a_status_without_a_ridge_and_a_fit_with_one():
    X, _ = records("binomial", 200, 4)
    y = (X[:, 0] + X[:, 2] > 0).astype(float)
    for options in (PUBLISHED, replace(CORRECTED, ridge=0.0)):
        found, _ = fitted(bcd.fit, X, y, split(4, 2), options, family="binomial")
        assert found.status == "diverged" and np.all(np.isnan(found.coefficients))
        words = "overflowed" if options is PUBLISHED else "separate the responses"
        assert words in found.reason
    found, _ = fitted(bcd.fit, X, y, split(4, 2), replace(CORRECTED, ridge=1.0), family="binomial")
    expected = pooled(X, y, "binomial", ridge=1.0).coefficients
    assert found.status == "ok"
    np.testing.assert_allclose(found.coefficients, expected, atol=1e-6)


def test_scales_of_columns_move_the_published_fit_alone():
    X, y = records("gaussian", 1000, 10)
    scaled = X * 10.0 ** np.linspace(-6, 6, 10)
    least = pooled(X, y, "gaussian").objective[-1]
    bad, _ = fitted(bcd.fit, scaled, y, split(10, 2), PUBLISHED)
    good, _ = fitted(bcd.fit, scaled, y, split(10, 2), CORRECTED)
    same, _ = fitted(bcd.fit, X, y, split(10, 2), CORRECTED)
    assert bad.deviance > 1.04 * least
    np.testing.assert_allclose(good.predictor(scaled), same.predictor(X), rtol=0, atol=1e-9)


def test_a_column_at_two_parties_is_split_by_who_moves_first_as_published():
    """The predictors are those of the column once; its share at each party is an accident."""
    X, y = records("poisson", 300, 4)
    twice = np.column_stack([X, X[:, 0]])
    expected = pooled(X, y, "poisson").coefficients
    shares = []
    for groups in ([[0, 1], [2, 3, 4]], [[4, 2, 3], [0, 1]]):
        found, _ = fitted(bcd.fit, twice, y, groups, replace(PUBLISHED, max_sweeps=300), family="poisson")
        np.testing.assert_allclose(found.predictor(twice), X @ expected[1:] + expected[0], atol=1e-4)
        shares.append(found.coefficients[1] / expected[1])
    assert abs(shares[0] - 0.5) > 0.2 and abs(shares[0] - shares[1]) > 0.4


def test_what_is_refused_is_named_before_anything_is_sent():
    X, y = records("gaussian", 60, 4)
    twice = np.column_stack([X, X[:, 3]])
    run = start(twice, y, [[0, 1], [2, 3, 4]], replace(CORRECTED, ridge=0.0))
    with pytest.raises(np.linalg.LinAlgError, match="'passive 1' have rank 2, not 3"):
        simulate(bcd.fit, run)
    for changed, match in ((y - y, "null deviance is 0"), (y - y + np.nan, "value nan")):
        run = start(X, changed, split(4, 2), PUBLISHED)
        with pytest.raises(ValueError, match=match):
            simulate(bcd.fit, run)
        assert not run.channel.messages
    run = start(X[:5], y[:5], split(4, 2), replace(PUBLISHED, ridge=0.0))
    with pytest.raises(ValueError, match="n=5 records"):
        simulate(bcd.fit, run)


def predictors(run, viewer, name):
    """The n-vectors of a name that somebody received in the clear."""
    return [value for message, value in run.channel.view(viewer) if message.name == name and message.kind == "clear"]


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("options", [PUBLISHED, CORRECTED])
def test_the_analyst_sees_k_predictors_a_sweep(options, parties):
    X, y = records("poisson", 200, 6)
    found, run = fitted(bcd.fit, X, y, split(6, parties), options, family="poisson")
    seen = predictors(run, "analyst", "predictor")
    assert all(value.shape == (200,) for value in seen)
    assert found.numbers["record_openings"] == len(seen) == parties * found.iterations
    # No other n-vector reaches the analyst; passive parties get the response and the sums of the others.
    vectors = [m for m, value in run.channel.view("analyst") if np.size(value) >= 200]
    assert len(vectors) == len(seen)
    assert np.array_equal(predictors(run, "passive 1", "response")[0], y)
    names = ["active", *(f"passive {k}" for k in range(1, parties))]
    assert list(found.views) == [f"analyst: {name}" for name in names]
    for place, history in enumerate(found.views.values()):
        np.testing.assert_array_equal(history, np.column_stack(seen[place::parties])[:, :30])
    history = found.views["analyst: passive 1"]
    # After five sweeps it spans the columns of the party.
    own = X[:, split(6, parties)[1]]
    own = own - own.mean(axis=0) if options.variant == "corrected" else own
    share = np.linalg.lstsq(history[:, :8], own, rcond=None)[0]
    assert np.abs(history[:, :8] @ share - own).max() < 1e-3
    sizes = {"predictor": 0, "predictors of the others": 0}
    for message in run.channel.messages:
        if message.name in sizes:
            sizes[message.name] += message.bytes
    assert sizes["predictor"] == 8 * 200 * parties * found.iterations
    assert sizes["predictors of the others"] == 8 * 200 * (parties * found.iterations + 1)


def test_every_view_costs_infinity_for_everybody_whose_data_it_holds():
    X, y = records("gaussian", 100, 6)
    _, run = fitted(bcd.fit, X, y, split(6, 3), PUBLISHED)
    ledger = run.channel.ledger
    for view, unit in (("analyst", "label"), ("analyst", "features"), ("passive 2", "label"), ("active", "features")):
        assert ledger.total(view, unit, 1e-5).epsilon_certified == np.inf
    owners = {
        (row.owner, row.audience, row.unit) for row in ledger.rows if "/predictors of the others/" in row.release_id
    }
    assert ("active", ("passive 1",), "features;label") in owners
    assert ("passive 2", ("passive 1",), "features") in owners and (
        "passive 1",
        ("passive 1",),
        "features",
    ) not in owners
    assert ledger.total("dealer", "label", 1e-5).epsilon_certified == np.inf, "it hears when the sweeps end"


@pytest.mark.parametrize("options", [replace(PUBLISHED, max_sweeps=3), replace(CORRECTED, local="argmin")])
def test_one_process_a_place_does_the_same(options):
    given = *records("poisson", 60, 5), split(5, 3), options
    block = {"weights": np.linspace(0, 2, 60), "offset": np.linspace(-1, 1, 60)}
    in_all_ways(bcd.fit, lambda: start(*given, family="poisson", block=block))
