"""Noisy Newton and gradient steps: what they compute without noise, what they cost, what crosses, what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from fixed import fixed
from forked import in_all_ways
from glm_driver import FAMILIES, records
from noisy_driver import GROUPS, default_total, oracle, private_run
from partywise.core.errors import BudgetExceeded
from partywise.federation.exchanges.secure_sum import AGGREGATOR
from partywise.federation.run import simulate
from partywise.methods.glm.noisy_statistics.scaling import split_budget
from partywise.methods.glm.options import GlmNoisyGradientOptions, NoisyNewtonOptions
from partywise.methods.glm.protocols import noisy_gradient, noisy_newton
from partywise.privacy.accounted_values import Public
from partywise.privacy.accounting.calibration import gdp_mu

FITS = {
    "newton": (noisy_newton.fit, NoisyNewtonOptions()),
    "gradient": (noisy_gradient.fit, GlmNoisyGradientOptions(steps=6)),
}
S = default_total()
# Bound of r that the specification names, where the response has the unit of the driver's constants: ranges of
# half-width 5, means of 2 at the start.
BOUNDS = {"gaussian": 10 / 3, "binomial": 0.8, "poisson": 2 * np.sqrt(2), "gamma": 4.0, "inverse_gaussian": 2.0}


def clip_of(family, clip, bound):
    """(C, bound of r) by the specification: C = b sqrt(p + 1) by record, else sqrt(1 + S^2) b."""
    how = clip or ("record" if family in ("gaussian", "binomial", "poisson") else "residual")
    if how == "record":
        return bound or BOUNDS[family] * np.sqrt(6), np.inf
    return np.hypot(1, S) * (bound or BOUNDS[family]), bound or BOUNDS[family]


@pytest.mark.parametrize("clip", [(None, None), ("record", 1.5), ("residual", 0.7), ("record", None)])
@pytest.mark.parametrize("family", FAMILIES)
def test_without_noise_iterates_are_those_of_clipped_scores(family, clip):
    X, y = records(family, 300, 5)
    C, bound = clip_of(family, *clip)
    how = {"clip": clip[0], "bound": clip[1]}
    options = NoisyNewtonOptions(steps=3, iterate="last", **how)
    found = simulate(noisy_newton.fit, private_run(X, y, options, family, np.inf))
    expected = oracle(family, X, y, C=C, bound=bound, steps=3, rate=None)
    np.testing.assert_allclose(found.coefficients, expected[-1], rtol=1e-9, atol=1e-9)
    mean = NoisyNewtonOptions(steps=3, iterate="mean", **how)
    found = simulate(noisy_newton.fit, private_run(X, y, mean, family, np.inf))
    np.testing.assert_allclose(found.coefficients, expected[2:].mean(axis=0), rtol=1e-9, atol=1e-9)
    options = GlmNoisyGradientOptions(steps=5, rate=0.3, **how)
    found = simulate(noisy_gradient.fit, private_run(X, y, options, family, np.inf))
    expected = oracle(family, X, y, C=C, bound=bound, steps=5, rate=0.3)
    np.testing.assert_allclose(found.coefficients, expected[-1], rtol=1e-9, atol=1e-9)
    assert found.iterations == 5


@pytest.mark.parametrize("family", FAMILIES)
def test_the_answer_is_the_mean_of_later_iterates_of_two_families_and_the_last_of_others(family):
    X, y = records(family, 60, 5)
    answers = [
        simulate(
            noisy_newton.fit, private_run(X, y, NoisyNewtonOptions(steps=4, iterate=how), family, 4.0)
        ).coefficients
        for how in (None, "last", "mean")
    ]
    assert np.array_equal(answers[0], answers[2 if family in ("gaussian", "inverse_gaussian") else 1])
    assert not np.allclose(answers[1], answers[2])


@pytest.mark.parametrize(("n", "family", "steps"), [(50, "gaussian", 4), (50, "poisson", 2), (20_000, "poisson", 8)])
def test_the_default_number_of_scores_comes_from_the_family_and_the_public_n(n, family, steps):
    assert noisy_newton.steps_of(NoisyNewtonOptions(), family, n) == steps
    assert noisy_newton.steps_of(NoisyNewtonOptions(steps=5), family, n) == 5


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0, 16.0])
@pytest.mark.parametrize("name", FITS)
def test_every_view_costs_the_target_and_never_more(name, epsilon):
    fit, options = FITS[name]
    run = private_run(*records("gamma", 80, 5), options, "gamma", epsilon)
    estimate = simulate(fit, run)
    assert estimate.epsilon_claimed == epsilon
    ledger, worst = run.channel.ledger, run.channel.ledger.worst_total(run.channel.names, "row", 1e-5)
    assert worst.trust == "aggregator does not collude"
    assert epsilon * (1 - 1e-9) <= worst.epsilon_certified <= epsilon
    # The aggregator, who is trusted with the records, owns none of them: nothing is proved against it.
    assert worst.epsilon_any == np.inf and worst.epsilon_public == worst.epsilon_certified
    names = frozenset(run.channel.names)
    for view in (frozenset[str](), *(frozenset([name]) for name in names), *(names - {name} for name in names)):
        total = ledger.total(view, "row", 1e-5)
        if AGGREGATOR in view:
            assert total.epsilon_certified == np.inf, view
            continue
        assert total.epsilon_certified <= epsilon, view
        # A party needs no protection from its own counts, which are part of Newton's releases alone.
        holds = name == "newton" and not view <= {"analyst", "dealer"}
        assert total.epsilon_certified == pytest.approx(epsilon, rel=0.03 if holds else 1e-9), view
        assert set(total.trust_model.split(";")) <= ({"central", "local"} if name == "newton" else {"central"})


def test_an_infinite_target_has_no_noise_and_no_guarantee():
    run = private_run(*records("gamma", 80, 5), NoisyNewtonOptions(), "gamma", np.inf)
    simulate(noisy_newton.fit, run)
    assert run.channel.ledger.worst_total(run.channel.names, "row", 1e-5).epsilon_certified == np.inf


@pytest.mark.parametrize("epsilon", [2.0, np.inf])
@pytest.mark.parametrize("name", FITS)
def test_any_number_of_parties_with_the_same_radius_gives_one_answer(name, epsilon):
    """Records no longer than any party's radius: how the columns are dealt then changes nothing, noise included."""
    fit, options = FITS[name]
    X, y = records("gaussian", 200, 5)
    X = X / np.abs(X).max()
    deals = [((0, 1), (2, 3, 4)), ((0, 4), (2,), (1, 3)), ((0,), (1,), (2,), (3,), (4,))]
    answers = []
    for deal in deals:
        names = ["active", *(f"passive {place}" for place in range(1, len(deal)))]
        # Squares of the radii that add up to the same, however columns are dealt; default ones do not.
        radii = {name: fixed(1.4 * len(own) ** 0.5) for name, own in zip(names, deal, strict=True)}
        run = private_run(X, y, options, "gaussian", epsilon, groups=deal, facts={"radii": radii})
        answers.append(simulate(fit, run))
    for other in answers[1:]:
        np.testing.assert_allclose(other.coefficients, answers[0].coefficients, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", FITS)
def test_places_and_processes_give_the_same_bytes(name):
    fit, options = FITS[name]
    in_all_ways(fit, lambda: private_run(*records("binomial", 60, 5), options, "binomial", 1.0))


@pytest.mark.parametrize("name", FITS)
def test_what_crosses_is_closed_released_or_made_of_releases(name):
    fit, options = FITS[name]
    run = private_run(*records("binomial", 60, 5), options, "binomial", 1.0)
    estimate = simulate(fit, run)
    rows = run.channel.transcript()
    records_sent = [row for row in rows if row["receiver"] == "aggregator" and row["kind"] == "cipher"]
    assert sum(row["bytes"] for row in records_sent) == 8 * 60 * (5 + 1)
    scores = [row for row in rows if row["name"].startswith("score")]
    assert [row["bytes"] for row in scores] == [8 * 6] * estimate.iterations
    assert {row["kind"] for row in rows} == {"cipher", "release", "public"}
    back = [row["bytes"] for row in rows if row["name"] == "coefficients"]
    assert back == [8 * (len(group) + (k == 0)) for k, group in enumerate(GROUPS)]
    second = [row["bytes"] for row in rows if row["name"] == "second moments"]
    assert second == ([8 * (6 * 7 // 2 - 1)] if name == "newton" else [])


SAID = "declared by the test"
MISSING = [
    ({"location": None}, "location=None"),
    ({"scale": None}, "scale=None"),
    ({"eta_start": None}, "eta_start=None"),
    ({"statistic": None}, "statistic=None"),
    ({"statistic": Public((1.0, 1.0), SAID)}, "statistic=.* is not a range"),
    ({"radii": {"passive 1": Public(0.0, SAID)}}, "radii=0.0 of party 'passive 1'"),
    ({"scale": Public(np.zeros(5), SAID)}, "scale=0.0 of column 'x0'"),
]


@pytest.mark.parametrize(("changes", "says"), MISSING)
@pytest.mark.parametrize("name", FITS)
def test_missing_public_facts_are_named_before_anything_is_sent(name, changes, says):
    fit, options = FITS[name]
    run = private_run(*records("gaussian", 40, 5), options, "gaussian", 1.0, facts=changes)
    with pytest.raises(ValueError, match=says):
        simulate(fit, run)
    assert run.channel.transcript() == []


def test_a_budget_is_divided_or_refused():
    mu = float(gdp_mu(1.0, 1e-5))
    found = split_budget(1.0, 1e-5, (0.1, 0.45, 0.45))
    assert np.square(found) / mu**2 == pytest.approx([0.1, 0.45, 0.45], rel=1e-12)
    assert sum(value**2 for value in split_budget(1.0, 1e-5, (1 / 49,) * 49)) <= mu**2 * (1 + 1e-13)
    assert split_budget(np.inf, 1e-5, (0.5, 0.5)) == (np.inf, np.inf)
    with pytest.raises(BudgetExceeded, match=r"shares of 2 releases are 1.1 of the squared budget"):
        split_budget(1.0, 1e-5, (0.5, 0.6))
    with pytest.raises(ValueError, match="shares="):
        split_budget(1.0, 1e-5, (0.5, 0.0))
    with pytest.raises(ValueError, match="epsilon is 0"):
        split_budget(0.0, 1e-5, (1.0,))


@pytest.mark.parametrize("name", FITS)
def test_a_target_of_nothing_is_refused_before_anything_is_sent(name):
    fit, options = FITS[name]
    run = private_run(*records("gaussian", 40, 5), options, "gaussian", 0.0)
    with pytest.raises(ValueError, match="epsilon is 0"):
        simulate(fit, run)
    assert run.channel.transcript() == []
