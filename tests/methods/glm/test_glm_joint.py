"""Joint fits with the opened link: pooled results for any parties, what is opened and to whom, what ends them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forked import in_all_ways
from glm_driver import FAMILIES, fitted, records, start
from glm_oracle import ORACLES, oracle
from party_tables import arrays
from partywise.audits.contract import same
from partywise.core.randomness import Streams
from partywise.data.descriptions import TABLES
from partywise.federation.run import simulate
from partywise.federation.secure_streams import SecureStreams
from partywise.methods.glm.diagnostics import diagnose, sums_of
from partywise.methods.glm.exact import fit_glm as pooled
from partywise.methods.glm.options import JointOptions
from partywise.methods.glm.protocols import joint
from partywise.methods.glm.records import WeightedResponse
from partywise.models.families import FAMILIES as OBJECTS

NEWTON = JointOptions()
LBFGS = JointOptions(solver="lbfgs")
BLOCK = JointOptions(solver="lbfgs", start="block")
SOLVERS = {"newton": NEWTON, "gram": LBFGS, "block": BLOCK}


def split(p, parties):
    """Contiguous groups of columns."""
    return [group.tolist() for group in np.array_split(np.arange(p), parties)]


def close(found, expected, tolerance=1e-8):
    """Largest deviation, relative to the largest entry."""
    return np.abs(np.asarray(found) - expected).max() <= tolerance * np.abs(expected).max()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("parties", [2, 3, 5])
@pytest.mark.parametrize("family", FAMILIES)
def test_any_parties_have_the_fit_of_statsmodels(family, parties, solver):
    X, y = records(family, 200, 7)
    options = replace(SOLVERS[solver], tolerance=1e-9)
    found, _ = fitted(joint.fit, X, y, split(7, parties), options, family=family)
    expected = oracle(X, y, family)
    assert found.status == "ok"
    assert close(found.coefficients, expected.params)
    assert close(found.standard_errors, expected.bse)
    assert close(found.covariance, expected.cov_params())
    assert close(found.deviance, expected.deviance) and close(found.null_deviance, expected.null_deviance)
    assert close(found.dispersion, expected.scale)
    scale = expected.deviance / 200 if OBJECTS[family].facts.estimates_dispersion else 1.0
    assert close(found.log_likelihood, expected.model.loglike(expected.params, scale=scale))
    path = found.objective
    assert len(path) == found.iterations and np.all(np.diff(path) <= 1e-12 * path[:-1])


@pytest.mark.parametrize("solver", ["newton", "gram"])
@pytest.mark.parametrize("family", FAMILIES)
def test_weights_offset_ridge_and_dispersion_count(family, solver):
    X, y = records(family, 150, 5)
    rng = np.random.default_rng(2)
    block = {"weights": rng.choice([0.0, 0.5, 1.0, 3.0], 150), "offset": rng.normal(0, 0.3, 150)}
    for ridge in (0.0, 2.5):
        options = replace(SOLVERS[solver], ridge=ridge, dispersion="pearson", tolerance=1e-9)
        found, _ = fitted(joint.fit, X, y, [[3, 0], [4, 1], [2]], options, family=family, block=block)
        fit = pooled(X, y, family, ridge=ridge, tolerance=1e-10, **block)
        sums = sums_of(WeightedResponse(y, OBJECTS[family], **block), fit.eta)
        terms = {"ridge": ridge, "dispersion": "pearson"}
        expected = diagnose(sums, fit.information, fit.scaling, family, **terms)
        assert close(found.coefficients, fit.coefficients)
        assert close(found.covariance, expected.covariance)
        assert close(found.dispersion, expected.dispersion) and close(found.deviance, expected.deviance)
        assert found.objective[-1] == pytest.approx(fit.objective[-1], rel=1e-12)
        if not ridge:
            again = oracle(X, y, family, var_weights=block["weights"], offset=block["offset"], scale="X2")
            assert close(found.coefficients, again.params) and close(found.null_deviance, again.null_deviance)


TABLES_OF = [
    ("azpro", "los", "gamma"),
    ("azpro", "los", "inverse_gaussian"),
    ("hmda", "deny", "binomial"),
    ("nhefs", "sbp", "gaussian"),
    ("doctor_visits", "visits", "poisson"),
]


@pytest.mark.parametrize(("table", "response", "family"), TABLES_OF)
def test_natural_parties_have_the_fit_of_statsmodels_on_their_table(table, response, family):
    """All tables are among the long checks."""
    X, y = arrays(table, response)
    found, _ = fitted(joint.fit, X, y, TABLES[table].groups, NEWTON, family=family)
    expected = oracle(X, y, family)
    assert found.status == "ok" and found.iterations <= 12
    assert close(found.coefficients, expected.params)
    assert np.allclose(found.standard_errors, expected.bse, rtol=1e-8, atol=0)
    assert close(found.deviance, expected.deviance) and close(found.null_deviance, expected.null_deviance)


# Evaluations of the specification's table (section 4), 2,000 records, rho 0, .6, .9 (and .99 among the long checks).
COUNTS = {
    "gaussian": (2, 2, (7, 14, 18)),
    "binomial": (5, 8, (8, 13, 20)),
    "poisson": (5, 9, (10, 17, 18)),
    "gamma": (5, 8, (9, 14, 19)),
    "inverse_gaussian": (7, 12, (12, 16, 19)),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_iterations_are_those_of_the_specification(family):
    newton, gram, blocks = COUNTS[family]
    for rho, block in zip((0.0, 0.6, 0.9), blocks, strict=True):
        X, y = records(family, 2000, 10, rho=rho)
        for options, expected, most in ((NEWTON, newton, 9), (LBFGS, gram, 15), (BLOCK, block, 35)):
            found, _ = fitted(joint.fit, X, y, split(10, 2), options, family=family)
            assert found.status == "ok" and found.iterations <= most
            assert abs(found.iterations / expected - 1) <= 0.25, (rho, options.solver, options.start)
            assert np.all(np.diff(found.objective) <= 1e-12 * found.objective[:-1])
            assert close(found.coefficients, pooled(X, y, family).coefficients)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_unit_of_a_response_does_not_matter(unit):
    """Scores and directions cross relative to their largest number."""
    X, y = records("gaussian", 150, 4)
    expected = np.linalg.lstsq(np.column_stack([np.ones(150), X]), y, rcond=None)[0]
    for options in (NEWTON, LBFGS):
        found, _ = fitted(joint.fit, X, unit * y, split(4, 2), options)
        assert close(found.coefficients / unit, expected)
    X, y = records("inverse_gaussian", 150, 4)
    expected = pooled(X, y, "inverse_gaussian").coefficients
    found, _ = fitted(joint.fit, X, unit * y, split(4, 2), NEWTON, family="inverse_gaussian")
    expected[0] += np.log(unit)
    assert close(found.coefficients, expected)


@pytest.mark.parametrize("options", [NEWTON, LBFGS, BLOCK])
def test_scales_of_columns_do_not_matter(options):
    X, y = records("gamma", 200, 6)
    plain, _ = fitted(joint.fit, X, y, split(6, 2), options, family="gamma")
    scaled = X * 10.0 ** np.linspace(-6, 6, 6) + [0, 0, 1, 0, 0, 1e7]
    found, _ = fitted(joint.fit, scaled, y, split(6, 2), options, family="gamma")
    assert np.abs(found.predictor(scaled) - plain.predictor(X)).max() <= 1e-9
    assert found.iterations == plain.iterations


@pytest.mark.parametrize(
    ("family", "mean"), [("gamma", 100.0), ("inverse_gaussian", 10.0), ("poisson", 5.0), ("poisson", 200.0)]
)
def test_large_means_are_no_trouble(family, mean):
    X, y = records(family, 400, 6, mean=mean)
    for options, most in ((NEWTON, 9), (LBFGS, 15)):
        found, _ = fitted(joint.fit, X, y, split(6, 2), options, family=family)
        assert found.status == "ok" and found.iterations <= most
        assert np.all(np.diff(found.objective) <= 1e-12 * found.objective[:-1])


def costs():
    """Inverse Gaussian costs over five orders of magnitude, where observed weights are negative for many records."""
    X, _ = records("gaussian", 500, 4)
    rng = np.random.default_rng(11)
    return X, np.exp(6 + X[:, 0] + 2.0 * rng.standard_normal(500))


def test_costs_without_convexity_take_other_weights_and_reach_the_optimum():
    X, y = costs()
    found, run = fitted(joint.fit, X, y, split(4, 2), NEWTON, family="inverse_gaussian")
    assert found.status == "ok" and found.iterations <= 12
    states = [value for message, value in run.channel.view("dealer") if message.name == "state"]
    assert "other weights" in states, "the case must need them"
    assert close(found.coefficients, pooled(X, y, "inverse_gaussian").coefficients)
    model = ORACLES["inverse_gaussian"]
    mu = np.exp(found.predictor(X))
    gradient = np.column_stack([np.ones(500), X]).T @ ((y - mu) / (model.variance(mu) * model.link.deriv(mu)))
    assert np.abs(gradient).max() <= 1e-8 * np.abs((y - mu) / mu**2).sum()


@pytest.mark.parametrize("options", [NEWTON, LBFGS, BLOCK])
def test_separated_responses_are_named_without_a_ridge_and_fitted_with_one(options):
    X, _ = records("binomial", 80, 4)
    y = (X[:, 0] + X[:, 2] > 0).astype(float)
    found, _ = fitted(joint.fit, X, y, split(4, 2), options, family="binomial")
    assert found.status == "diverged" and "separate the responses" in found.reason
    assert found.standard_errors is None and found.dispersion is None and found.deviance < 1e-6
    found, _ = fitted(joint.fit, X, y, split(4, 2), replace(options, ridge=0.01), family="binomial")
    assert found.status == "ok" and found.numbers["penalised"]
    assert close(found.coefficients, pooled(X, y, "binomial", ridge=0.01, tolerance=1e-11).coefficients, 1e-7)


@pytest.mark.parametrize("options", [NEWTON, LBFGS, BLOCK])
def test_a_column_at_two_parties_is_named_with_the_pooled_rank(options):
    X, y = records("poisson", 100, 4)
    twice = np.column_stack([X, X[:, 0]])
    with pytest.raises(np.linalg.LinAlgError, match="have rank 5, not 6"):
        fitted(joint.fit, twice, y, [[0, 1], [2, 3, 4]], options, family="poisson")
    found, _ = fitted(joint.fit, twice, y, [[0, 1], [2, 3, 4]], replace(options, ridge=0.1), family="poisson")
    assert found.status == "ok" and close(found.coefficients[1], found.coefficients[5], 1e-6)


def test_steps_that_run_out_have_a_status_and_no_standard_errors():
    X, y = records("inverse_gaussian", 200, 4)
    for options in (NEWTON, LBFGS):
        found, _ = fitted(joint.fit, X, y, split(4, 2), replace(options, max_iter=2), family="inverse_gaussian")
        assert (found.status, found.iterations) == ("not_converged", 2)
        assert found.standard_errors is None and found.log_likelihood is None
        assert found.reason == "max_iter=2 evaluations"
        assert found.deviance < found.null_deviance


def test_what_is_refused_is_named_before_anything_is_sent():
    X, y = records("poisson", 60, 4)
    for changed, match in ((y - y + 3, "null deviance is 0"), (y - 0.5, "takes 0, 1, 2"), (y + np.nan, "value nan")):
        run = start(X, changed, split(4, 2), NEWTON, family="poisson")
        with pytest.raises(ValueError, match=match):
            simulate(joint.fit, run)
        assert not run.channel.messages
    run = start(X[:5], y[:5], split(4, 2), NEWTON, family="poisson")
    with pytest.raises(ValueError, match="n=5 records"):
        simulate(joint.fit, run)
    assert not run.channel.messages


@pytest.mark.parametrize("parties", [2, 3])
@pytest.mark.parametrize("options", [NEWTON, LBFGS])
def test_the_active_party_sees_one_predictor_an_iteration_and_nobody_else_sees_any(options, parties):
    n = 300
    X, y = records("poisson", n, 7)
    found, run = fitted(joint.fit, X, y, split(7, parties), options, family="poisson")
    shown = {"active": 0}
    for place in ("active", "analyst", "dealer", "passive 1"):
        for message, _ in run.channel.view(place):
            if message.kind != "cipher" and message.name != "public keys" and message.bytes >= 8 * n:
                assert (place, message.name) == ("active", "predictor of the direction")
                shown["active"] += 1
    # Each party sends its part, of which the sum alone is open: one vector an iteration.
    assert shown["active"] == (parties - 1) * found.iterations
    assert found.numbers["record_openings"] == found.iterations
    others = np.concatenate(split(7, parties)[1:])
    history = found.views["active: " + " + ".join(f"passive {k}" for k in range(1, parties))]
    assert history.shape == (n, found.iterations)
    # With two parties it spans what the other has: after as many iterations as columns, all of it.
    centred = X[:, others] - X[:, others].mean(axis=0)
    inside = centred @ np.linalg.lstsq(centred, history, rcond=None)[0]
    assert np.abs(inside - history).max() < 1e-9
    if parties == 3:
        parts = [value for m, value in run.channel.view("active") if m.name == "predictor of the direction"]
        own = centred[:, : len(split(7, 3)[1])]
        lone = parts[0].view(np.int64).astype(float)
        assert np.corrcoef(own @ np.linalg.lstsq(own, lone, rcond=None)[0], lone)[0, 1] < 0.5


def test_everything_that_hides_a_record_is_a_cipher_and_looks_uniform():
    X, y = records("gamma", 400, 5)
    _, run = fitted(joint.fit, X, y, split(5, 2), NEWTON, family="gamma")
    masked = [(m, v) for m, v in run.channel.view("active", "passive 1") if m.name.startswith("masked: ")]
    assert len({m.name for m, _ in masked}) > 10
    for message, value in masked:
        assert message.kind == "cipher" and message.argument == "key: dealer"
        residues = value.content[0].astype(float) / 2**20
        # Uniform on (-1/2, 1/2): mean 0 with standard error at most .289 / sqrt(400) = .0144.
        assert abs(residues.mean()) < 0.075 and abs(residues.std() - 0.2887) < 0.05


@pytest.mark.parametrize("options", [NEWTON, LBFGS])
def test_masks_move_no_bit(options):
    """Whatever is drawn, the integers that are opened are the same: by another seed, and by the operating system."""
    X, y = records("gamma", 120, 6)
    fits = [
        fitted(joint.fit, X, y, split(6, 3), options, family="gamma", rng_for=rng_for)[0]
        for rng_for in (Streams(7, "glm"), Streams(8, "glm"), SecureStreams(3))
    ]
    assert same(fits[0], fits[1]) and same(fits[0], fits[2])


def test_bytes_follow_from_public_sizes():
    n, groups = 200, [[0, 1], [2, 3, 4], [5, 6]]
    X, y = records("poisson", n, 7)
    found, run = fitted(joint.fit, X, y, groups, NEWTON, family="poisson")
    bytes_of = {}
    for message in run.channel.messages:
        key = message.name.partition(", step")[0]
        bytes_of[key] = bytes_of.get(key, 0) + message.bytes
    element, t = 4 * 7, found.iterations
    # Seven primes below 2^20 hold 38 + 38 + 38 bits after the point and n.
    assert bytes_of["predictor of the direction"] == 8 * n * 2 * t
    assert bytes_of["masked: scores"] == element * n * 2 * t
    assert bytes_of["masked: weights, observed"] == element * n * 2 * t
    for party, p in (("active", 2), ("passive", 5)):
        sent = [m for m in run.channel.messages if m.name.startswith(f"masked: columns of {party}")]
        assert sum(m.bytes for m in sent) == element * n * p * 2
    sums = [m for m in run.channel.messages if m.name == "X'u of passive 1"]
    assert len(sums) == 2 * t and {m.bytes for m in sums} == {4 * 5 * 3}
    assert bytes_of["direction"] == t * (8 * 8 + 3 * 8)


def test_who_pays_for_what():
    X, y = records("gaussian", 100, 6)
    _, run = fitted(joint.fit, X, y, split(6, 3), NEWTON)
    ledger = run.channel.ledger
    for view in ("analyst", "active", "passive 1", "passive 2"):
        assert ledger.total(view, "features", 1e-5).epsilon_certified == np.inf
    assert ledger.total("passive 1", "label", 1e-5).epsilon_certified == np.inf
    owners = {row.owner for row in ledger.rows if "predictor of the direction" in row.release_id}
    assert owners == {"passive 1", "passive 2"}


@pytest.mark.parametrize("options", [NEWTON, LBFGS, replace(BLOCK, ridge=0.5)])
def test_one_process_a_place_does_the_same(options):
    given = *records("inverse_gaussian", 60, 5), split(5, 3), replace(options, max_iter=3)
    block = {"weights": np.linspace(0.5, 2, 60), "offset": np.linspace(-1, 1, 60)}
    expected, _ = in_all_ways(joint.fit, lambda: start(*given, family="inverse_gaussian", block=block))
    assert expected.numbers["secure_products"] > 0
