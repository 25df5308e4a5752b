"""Published systems: gradients beside brute force, proved bounds beside pairs, what is sent beside the formulas."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from forked import in_all_ways
from partywise.methods.survival import exact
from partywise.methods.survival.models import STRONG, Weibull
from partywise.methods.survival.options import (
    CoxNoisyGradientOptions,
    DpPropensityOptions,
    EncryptedHistogramOptions,
    NoisedTimesOptions,
    TreeBreslowOptions,
)
from partywise.methods.survival.protocols import (
    dp_propensity,
    encrypted_histogram,
    noised_times,
    noisy_gradient,
    tree_breslow,
)
from partywise.methods.survival.published import gradient_cox, hazard_tree, histograms, propensity
from partywise.methods.survival.published import noised_times as noised
from partywise.methods.survival.records import SurvivalRecords
from partywise.privacy.accountants.exact import Exact
from partywise.privacy.accounting.calibration import gaussian_epsilon
from partywise.privacy.accounting.compose import cost
from survival_driver import fit, run_of, scaled

MODERATE = Weibull(coefficients=tuple(b / 2 for b in STRONG))


@pytest.fixture(scope="module")
def records() -> SurvivalRecords:
    """Moderate effects; times in days, two years long."""
    drawn = scaled(MODERATE, 300, seed=31)
    return SurvivalRecords(np.ceil(drawn.times * 365), drawn.events, drawn.covariates)


def by_hand(records: SurvivalRecords, coefficients: np.ndarray, cutoff: float) -> np.ndarray:
    """The gradient record by record, in sorted order."""
    order = np.argsort(records.times, kind="stable")
    z, found = records.covariates[order], np.zeros(records.covariates.shape[1])
    for place, row in enumerate(order):
        if records.events[row] and records.times[row] <= cutoff:
            weights = np.exp(z[place:] @ coefficients)
            found += z[place] - weights @ z[place:] / weights.sum()
    return found / len(records)


def test_the_gradient_is_that_of_a_risk_set_for_each_event(records):
    at = np.linspace(-0.5, 0.5, 6)
    for cutoff in (200.0, 1e9):
        found = gradient_cox.SortedRecords.of(records, cutoff).gradient(at)
        np.testing.assert_allclose(found, by_hand(records, at, cutoff), atol=1e-13)


def test_the_proved_sensitivity_is_come_close_to_and_never_exceeded():
    """Early events with z = u, late ones with -u: the last record turned from -u to u; and random pairs."""
    rng, largest = np.random.default_rng(3), 0.0
    for number in range(300):
        n, norm = int(rng.integers(5, 200)), float(rng.choice([0.0, 0.5, 1.0, 3.0]))
        u = rng.standard_normal(3)
        u /= np.linalg.norm(u)
        times = np.sort(rng.random(n))
        early = max(n // 20, 1)
        z = np.where(np.arange(n)[:, None] < early, u, -u) if number % 2 else rng.choice([-1.0, 1.0], (n, 1)) * u
        other = z.copy()
        other[-1] = -z[-1]
        at = norm * u * (1 if number % 3 else -1)
        one, two = (
            gradient_cox.SortedRecords.of(SurvivalRecords(times, np.ones(n, dtype=bool), rows), 2.0).gradient(at)
            for rows in (z, other)
        )
        bound = gradient_cox.proved_sensitivity(n, norm)
        moved = float(np.linalg.norm(one - two))
        assert moved <= bound * (1 + 1e-9)
        largest = max(largest, moved / bound)
    assert largest > 0.7
    assert gradient_cox.proved_sensitivity(2982, 0.0) / gradient_cox.published_sensitivity(2982, 0.0) == pytest.approx(
        1.297, abs=0.001
    )


WAYS = [
    (noisy_gradient.fit, CoxNoisyGradientOptions(variant=variant, sensitivity=sensitivity, steps=12))
    for variant in ("central", "interactive", "federated")
    for sensitivity in ("published", "bound")
] + [
    # Four steps: the announced profile and the drawn one differ in their last digit.
    (noisy_gradient.fit, CoxNoisyGradientOptions(variant="central", sensitivity="bound", steps=4)),
    (noised_times.fit, NoisedTimesOptions()),
    (noised_times.fit, NoisedTimesOptions(noise="gaussian", snr=10.0, seed=4)),
    (noised_times.fit, NoisedTimesOptions(noise="none")),
    (encrypted_histogram.fit, EncryptedHistogramOptions()),
    (tree_breslow.fit, TreeBreslowOptions()),
    (tree_breslow.fit, TreeBreslowOptions(range="all", levels=4)),
    (dp_propensity.fit, DpPropensityOptions()),
    (dp_propensity.fit, DpPropensityOptions(seed="own", treatment=4)),
]


@pytest.mark.parametrize(("program", "options"), WAYS)
def test_all_ways_to_run_are_one(records, program, options):
    in_all_ways(program, lambda: run_of(records, options, 3, 4.0, horizon=1e4))


def test_weights_levels_and_noise_are_those_of_the_formulas():
    """min(n, n^2 epsilon^2 / p) is 6.25 for ten records and 100 for a hundred; with p = 1 it is 10 and 100."""
    weights = gradient_cox.client_weights((10, 100), 0.5, 4)
    np.testing.assert_allclose(weights, np.array([6.25, 100]) / 106.25, rtol=1e-15)
    assert hazard_tree.tree_levels((10, 100), 0.5) == math.floor(math.log2(110) / 2) == 3
    assert gradient_cox.federated_sd(3.0, 2.0, 1e-5) == pytest.approx(1.5 * math.sqrt(2 * math.log(1.25e5)))


def test_a_record_is_in_one_batch_at_most(records):
    options, n = CoxNoisyGradientOptions(variant="federated", steps=7), len(records)
    plan = noisy_gradient.GradientPlan(options, run_of(records, options, 1).spec.public, (n,), 3.0, 1e-5)
    batches = noisy_gradient.batches_of(records, plan)
    assert [len(batch.covariates) for batch in batches] == [n // 7] * 7
    taken = {tuple(row) for batch in batches for row in batch.covariates}
    assert len(taken) == len({tuple(row) for row in records.covariates[: n // 7 * 7]})


@pytest.mark.parametrize("variant", ["central", "interactive", "federated"])
def test_what_is_certified_is_the_target_with_the_proved_bound_and_far_above_as_published(records, variant):
    kept = fit(
        noisy_gradient.fit, records, CoxNoisyGradientOptions(variant=variant, sensitivity="bound", steps=8), 1, 3.0
    )
    assert kept.total().epsilon_certified == pytest.approx(3.0, rel=1e-3)
    printed = fit(noisy_gradient.fit, records, CoxNoisyGradientOptions(variant=variant, steps=8), 1, 3.0)
    assert printed.total().epsilon_certified > 50 and printed.estimate.epsilon_claimed == 3.0
    assert kept.bytes_of("gradient") == printed.bytes_of("gradient") == [8 * 6] * 8


def test_without_noise_the_steps_go_to_the_pooled_fit(records):
    done = fit(noisy_gradient.fit, records, CoxNoisyGradientOptions(steps=400, step=2.0, c_beta=50.0), 3, horizon=1e4)
    pooled = exact.cox(records, "breslow")
    off = (done.estimate.coefficients - pooled.coefficients) / pooled.standard_errors
    # Tied events have risk sets of their own there, in the order of the records.
    assert np.abs(off).max() < 0.02


def test_noised_times_are_those_of_the_generator_of_the_seed(records):
    drawn = noised.add_noise(records.times, "poisson", 0)
    np.testing.assert_array_equal(drawn, np.random.RandomState(0).poisson(records.times))
    np.testing.assert_array_equal(noised.add_noise(records.times[:40], "poisson", 0), drawn[:40])
    normal = np.random.RandomState(0).normal(0, np.sqrt(records.times.var() / 4), len(records.times))
    expected = np.maximum(records.times + np.round(normal), 0)
    np.testing.assert_array_equal(noised.add_noise(records.times, "gaussian", 0, 4.0), expected)
    with pytest.raises(ValueError, match="snr"):
        noised.add_noise(records.times, "gaussian", 0)
    with pytest.raises(ValueError, match="snr"):
        NoisedTimesOptions(noise="gaussian")


def test_without_noise_the_tables_give_the_pooled_curve_and_bytes_are_those_of_times_and_tables(records):
    done = fit(noised_times.fit, records, NoisedTimesOptions(noise="none"), horizon=1e4)
    times = exact.event_times(records)
    pooled = exact.kaplan_meier(exact.event_table(records, times))
    np.testing.assert_allclose(done.estimate.curves[0].at(times), pooled.values, atol=1e-12)
    union = len(np.unique(records.times))
    rows = np.array_split(np.arange(300), 3)
    assert done.bytes_of("times") == [8 * len(np.unique(records.times[r])) for r in rows]
    assert done.bytes_of("tables") == [32 * union] * 3
    assert math.isinf(done.total().epsilon_certified)


def test_histograms_give_the_curve_of_rounded_times_and_their_bytes(records):
    done = fit(encrypted_histogram.fit, records, EncryptedHistogramOptions(), horizon=1e4)
    weeks = SurvivalRecords(np.ceil(records.times / 7) * 7, records.events)
    times = exact.event_times(weeks)
    pooled = exact.kaplan_meier(exact.event_table(weeks, times))
    np.testing.assert_allclose(done.estimate.curves[0].at(times), pooled.values, atol=1e-12)
    bins = int(np.ceil(records.times.max() / 7))
    assert done.bytes_of("largest bin") == [8] * 3 and done.bytes_of("histograms") == [16 * (bins + 1)] * 3
    assert done.bytes_of("sum") == [16 * (bins + 1)] * 3
    assert math.isinf(done.total().epsilon_certified)
    sizes = {row["kind"] for row in done.run.channel.transcript() if row["name"] == "histograms"}
    assert sizes == {"cipher"}


def test_a_client_reads_the_others_who_are_alone_in_a_cell(records):
    parts = np.array_split(np.arange(300), 3)
    own = [SurvivalRecords(records.times[r], records.events[r]) for r in parts]
    bins = int(np.ceil(records.times.max() / 7))
    counts = np.array([histograms.histograms(one, 7.0, bins) for one in own])
    others = histograms.histograms(SurvivalRecords(records.times[100:], records.events[100:]), 7.0, bins)
    assert histograms.alone(counts)[0] == (others == 1).sum() > 0


def restated_leaves(records: SurvivalRecords, cutoff: float, levels: int, floor_share: float) -> np.ndarray:
    """The published loop, word for word with its counters from 1, at coefficients of 0."""
    order = np.argsort(records.times, kind="stable")
    at_risk = np.arange(len(records), 0, -1)
    rows = [i for i, row in enumerate(order) if records.events[row] and records.times[row] <= min(cutoff, 3000.0)]
    time = [0.0, *(records.times[order[i]] for i in rows[1:])]
    added = [0.0, *(min(1 / at_risk[i], 1 / (floor_share * len(records))) for i in rows[1:])]
    counter = old = 1
    found = []
    for leaf in range(1, 2**levels + 1):
        while time[counter - 1] < cutoff * leaf / 2**levels and counter < len(rows):
            counter += 1
        # old:(counter - 1) of R, which runs backwards where it is empty; position 0 holds nothing.
        last = counter - 1
        span = range(old, last + 1) if last >= old else range(last, old + 1)
        found.append(sum(added[i - 1] for i in span if i >= 1))
        old = counter
    return np.array(found)


@pytest.mark.parametrize("cutoff", [400.0, 900.0, 4000.0])
def test_the_published_loop_loses_the_ends_and_doubles_empty_leaves(records, cutoff):
    """Times stretched to five years: the last leaves lie after day 3,000 where the cutoff does."""
    longer = SurvivalRecords(records.times * 5, records.events)
    found = hazard_tree.leaf_sums(longer, np.zeros(0), cutoff, 5, 0.1, "published")
    np.testing.assert_allclose(found, restated_leaves(longer, cutoff, 5, 0.1), atol=1e-14)
    every = hazard_tree.leaf_sums(longer, np.zeros(0), cutoff, 5, 1e-9, "all")
    happened = np.sort(longer.times[longer.events & (longer.times <= cutoff)])
    at_risk = [int((longer.times > time).sum()) for time in happened]
    # Tied events have risk sets of their own: at least those after them, and themselves.
    assert every.sum() <= np.sum(1 / (np.array(at_risk) + 1)) and not np.allclose(every, found)


def test_nodes_without_noise_add_up_to_the_leaves_before():
    leaves = np.random.default_rng(2).random(32)
    nodes = hazard_tree.noisy_nodes(leaves, 0.0, np.random.default_rng(1))
    assert len(nodes) == 2**6 - 2
    np.testing.assert_allclose(hazard_tree.hazards_of(nodes), np.cumsum(leaves), atol=1e-12)


def test_without_noise_a_tree_of_all_events_is_the_hazard_at_the_ends_of_leaves(records):
    done = fit(tree_breslow.fit, records, TreeBreslowOptions(range="all", levels=6, cutoff=500.0), 1, horizon=1e4)
    (curve,) = done.estimate.curves
    pooled = exact.nelson_aalen(exact.event_table(records, exact.event_times(records)))
    np.testing.assert_allclose(-np.log(curve.values), pooled.at(curve.times), rtol=0.01)
    assert done.bytes_of("tree") == [8 * (2**7 - 2)]
    assert math.isinf(fit(tree_breslow.fit, records, TreeBreslowOptions(), 3, 3.0).total().epsilon_certified)


PRINTED = [(1, 1e-3, 0.093), (10, 0.1, 0.245)]
PRINTED += [
    pytest.param(*more, marks=pytest.mark.statistical)
    for more in ((0.1, 1e-3, 0.006), (5, 1e-3, 0.474), (10, 1e-3, 0.904))
]


@pytest.mark.parametrize(("epsilon", "delta", "printed"), PRINTED)
def test_the_noise_of_the_propensity_model_is_for_more_steps_than_are_made(epsilon, delta, printed):
    """What 40 steps of fresh noise hold, for a record that is added or removed, at clients of 100."""
    plan = propensity.PropensityTraining()
    z = propensity.noise_multiplier(plan, 100, epsilon, delta)
    planned = 1000 * cost(mu=1 / z, rate=plan.planned_rate(100))
    assert Exact(planned).epsilon(delta) <= epsilon
    made = 40 * cost(mu=1 / z, rate=plan.sampled_rate(100))
    assert Exact(made).epsilon(delta) == pytest.approx(printed, rel=0.1)


def test_own_seeds_are_certified_and_the_fixed_one_is_not(records):
    options = DpPropensityOptions(seed="own")
    made, every = (
        fit(dp_propensity.fit, records, replace(options, steps=steps), 3, 1.0) for steps in ("published", "planned")
    )
    z = propensity.noise_multiplier(propensity.PropensityTraining(), 100, 1.0, 1e-5)
    for done, steps in ((made, 40), (every, 1000)):
        assert done.estimate.numbers["steps"] == steps and done.bytes_of("model") == [8 * 6] * 3 * 10
        assert done.total().epsilon_certified == pytest.approx(gaussian_epsilon(2 * math.sqrt(steps) / z, 1e-5))
    fixed = fit(dp_propensity.fit, records, DpPropensityOptions(), 3, 1.0)
    assert math.isinf(fixed.total().epsilon_certified) and fixed.estimate.epsilon_claimed == 1.0


def test_noise_of_the_fixed_seed_is_subtracted(records):
    """Who knows the algorithm computes the noise of a round: it is that of the seed, whatever the client."""
    plan = propensity.PropensityTraining()
    X, y = propensity.propensity_table(records.covariates[:100], 0)
    z = propensity.noise_multiplier(plan, 100, 1.0, 1e-3)
    noise = [propensity.normal_noise(sd, np.random.RandomState(42)) for sd in (z, 0.0)]
    sent = [propensity.descend(X, y, np.zeros(6), plan, 1, np.random.default_rng(5), one) for one in noise]
    known = plan.rate * np.random.RandomState(42).normal(0, z * plan.clip, 6) / plan.batch
    np.testing.assert_allclose(sent[0] + known, sent[1], atol=1e-9)
