"""The architecture of seed 004 with every message released: what it computes, costs, sends and refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from forked import in_all_ways
from glm_driver import records
from noisy_driver import GROUPS, clipped, facts, in_steps, oracle_score, private_run
from partywise.federation.run import simulate
from partywise.methods.glm.noisy_statistics.scaling import default_radius
from partywise.methods.glm.options import NoisyPredictorOptions
from partywise.methods.glm.protocols.noisy_predictor import fit
from partywise.privacy.accounted_values import Public
from partywise.privacy.secure.fixed_point import whole_records

BOUND = {"gaussian": 10.0, "binomial": 1.0}
# Constant entry of the block of the active party: the typical size of its others.
CONSTANT = default_radius(len(GROUPS[0])) / np.sqrt(len(GROUPS[0]))
SAID = "declared by the test"
ONE = NoisyPredictorOptions(cipher="sized")
MORE = replace(ONE, sweeps=2, shares=(0.1, 0.3, 0.6), own="exact")


def block_descent(family, X, y, sweeps, own):
    """Coefficients (1 + p,) after Gauss-Seidel sweeps from the start with the mean weight, clipped blocks in steps."""
    weight = {"binomial": 0.18}.get(family, 1.0)
    blocks = [clipped(X[:, group], default_radius(len(group))) for group in map(list, GROUPS)]
    blocks[0] = np.column_stack([np.full(len(y), CONSTANT), blocks[0]])
    betas = [np.zeros(block.shape[1]) for block in blocks]
    level = facts(family)["eta_start"].value
    lengths = [float(np.hypot(default_radius(len(g)), CONSTANT * (k == 0))) for k, g in enumerate(GROUPS)]
    seconds = [(whole := in_steps(block, length)).T @ whole for block, length in zip(blocks, lengths, strict=True)]
    for _ in range(sweeps):
        for k, block in enumerate(blocks):
            eta = level + sum(
                predictor(*one, exact=own == "exact") for one in enumerate(zip(blocks, betas, strict=True))
            )
            r = np.clip(oracle_score(family, y, eta), -BOUND[family], BOUND[family])
            if k:
                given = (block, lengths[k]), (r[:, None], BOUND[family])
                one, other = (whole_records(part, most, most / 2**15)[0] * (most / 2**15) for part, most in given)
                score = one.T @ other[:, 0]
            else:
                score = in_steps(block * r[:, None], lengths[0] * BOUND[family]).sum(axis=0)
            betas[k] = betas[k] + np.linalg.solve(seconds[k], score) / weight
    answer = np.zeros(1 + X.shape[1])
    answer[0] = level + CONSTANT * betas[0][0]
    for group, beta in zip(GROUPS, [betas[0][1:], *betas[1:]], strict=True):
        answer[[1 + j for j in group]] = beta
    return answer


def predictor(k, given, *, exact):
    """Linear predictors of a block in steps of 2^-20 of the longest; the constant part is added as it is."""
    block, beta = given
    if exact and k == 0:
        return block @ beta
    columns, slopes, level = (block[:, 1:], beta[1:], CONSTANT * beta[0]) if k == 0 else (block, beta, 0.0)
    longest = default_radius(len(slopes)) * np.linalg.norm(slopes)
    return level + (in_steps((columns @ slopes)[:, None], longest)[:, 0] if longest else 0.0)


@pytest.mark.parametrize("own", ["released", "exact"])
@pytest.mark.parametrize("sweeps", [1, 3])
@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_without_noise_it_is_block_descent_at_the_mean_weight(family, sweeps, own):
    X, y = records(family, 300, 5)
    run = private_run(X, y, replace(ONE, sweeps=sweeps, own=own), family, np.inf)
    found = simulate(fit, run)
    np.testing.assert_allclose(found.coefficients, block_descent(family, X, y, sweeps, own), rtol=1e-9, atol=1e-9)
    assert found.iterations == sweeps


def test_without_noise_many_sweeps_are_the_pooled_least_squares():
    X, y = records("gaussian", 300, 5)
    X = X / np.abs(X).max()
    found = simulate(fit, private_run(X, y, replace(ONE, sweeps=200), "gaussian", np.inf))
    expected = np.linalg.lstsq(np.column_stack([np.ones(300), X]), y, rcond=None)[0]
    # Records are rounded to 2^-20 of a ball 3.4 long, a millionth of it: as much of slopes of about 1.
    np.testing.assert_allclose(found.coefficients, expected, atol=5e-5)


@pytest.mark.parametrize("options", [ONE, MORE])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 16.0])
def test_the_analyst_is_charged_the_target_and_nobody_more(options, epsilon):
    run = private_run(*records("gaussian", 80, 5), options, "gaussian", epsilon)
    assert simulate(fit, run).epsilon_claimed == epsilon
    ledger = run.channel.ledger
    assert not any(row.knows for row in ledger.rows)
    for view in run.channel.names:
        assert ledger.total((view,), "row", 1e-5).epsilon_certified <= epsilon
    assert ledger.worst_total(run.channel.names, "row", 1e-5).epsilon_certified <= epsilon
    total = ledger.total(("analyst",), "row", 1e-5)
    assert total.epsilon_certified == pytest.approx(epsilon, abs=1e-9)
    assert "local" in total.trust_model


@pytest.mark.parametrize("own", ["released", "exact"])
def test_places_and_processes_give_the_same_bytes(own):
    options = replace(ONE, sweeps=2, own=own)
    in_all_ways(fit, lambda: private_run(*records("binomial", 60, 5), options, "binomial", 1.0))


def test_what_crosses():
    """K n-vectors a sweep as releases; the response never leaves; what goes back is made of releases."""
    n, sweeps = 60, 2
    run = private_run(*records("binomial", n, 5), replace(ONE, sweeps=sweeps), "binomial", 1.0)
    estimate = simulate(fit, run)
    rows = run.channel.transcript()
    assert {row["kind"] for row in rows} == {"cipher", "release", "public"}
    vectors = [row for row in rows if row["name"].startswith("linear predictor of")]
    assert {row["kind"] for row in vectors} == {"release"}
    assert sum(row["bytes"] for row in vectors) == 8 * n * len(GROUPS) * sweeps
    assert estimate.numbers["record_openings"] == len(vectors)
    # Columns of passive parties times residuals, each a product of two secret numbers.
    assert estimate.numbers["secure_products"] == n * 3 * sweeps
    noisy = [row for row in rows if row["name"].startswith("X'r of passive") and row["kind"] == "release"]
    assert [(row["sender"], row["bytes"]) for row in noisy] == [("analyst", 8), ("analyst", 16)] * sweeps
    assert not [row for row in rows if row["sender"] == "active" and row["kind"] not in ("cipher", "release")]
    for name in ("active", "passive 1", "passive 2"):
        sent = [value for m, value in run.channel.view("analyst") if m.name.startswith(f"linear predictor of {name},")]
        assert np.array_equal(estimate.views[f"analyst: {name}"], np.column_stack(sent)) and len(sent) == sweeps
    back = [row["bytes"] for row in rows if row["name"] == "coefficients"]
    assert back == [8 * (len(group) + (k == 0)) for k, group in enumerate(GROUPS)]


@pytest.mark.parametrize("family", ["poisson", "gamma", "inverse_gaussian"])
def test_other_families_are_refused_before_anything_is_sent(family):
    run = private_run(*records(family, 40, 5), ONE, family, 1.0)
    with pytest.raises(ValueError, match=rf"family='{family}' of noisy_predictor: it takes gaussian and binomial"):
        simulate(fit, run)
    assert run.channel.transcript() == []


@pytest.mark.parametrize("name", ["location", "scale", "eta_start", "statistic"])
def test_missing_public_facts_are_named_before_anything_is_sent(name):
    for value, says in ((None, f"{name}=None"), (Public(np.array([np.nan, 1.0]), SAID), name)):
        run = private_run(*records("gaussian", 40, 5), ONE, "gaussian", 1.0, facts={name: value})
        with pytest.raises(ValueError, match=says):
            simulate(fit, run)
        assert run.channel.transcript() == []


def test_records_with_weights_are_refused():
    X, y = records("gaussian", 40, 5)
    run = private_run(X, y, ONE, "gaussian", 1.0, block={"weights": np.ones(40)})
    with pytest.raises(ValueError, match="weights of party 'active'"):
        simulate(fit, run)
