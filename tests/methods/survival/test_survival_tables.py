"""Cells, and what is read of released ones: curves, bands and the log-rank test."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partywise.methods.survival import exact
from partywise.methods.survival.bands import (
    Band,
    _gradient,
    compare_means,
    log_survival_covariance,
    noisy_log_rank,
    pointwise,
    public_draws,
    simultaneous,
)
from partywise.methods.survival.certified.whole import whole_cells
from partywise.methods.survival.curves import SurvivalCurve, survival_curve, survival_curves
from partywise.methods.survival.model import SurvivalEstimate, SurvivalFacts
from partywise.methods.survival.models import Weibull
from partywise.methods.survival.options import SurvivalTableOptions
from partywise.methods.survival.protocols import table as table_protocol
from partywise.methods.survival.records import SurvivalRecords, pool
from partywise.methods.survival.tables import CellTable, cell_counts, chosen_bins, correct_sum, equal_edges
from survival_driver import fit, scaled

EDGES = np.array([0.0, 1.0, 2.0, 3.0])
NO_COVARIATES = Weibull(coefficients=())


def one(time: float, event: bool) -> SurvivalRecords:
    """A single record."""
    return SurvivalRecords(np.array([time]), np.array([event]))


# Events in bins 0, 1, 2, censored in bins 0, 1, 2 (3, 4, 5), alive (6): an edge belongs to the bin that it closes.
PLACES = [
    (0.0, True, 0),
    (0.0, False, 3),
    (0.5, True, 0),
    (1.0, True, 0),
    (1.0, False, 3),
    (np.nextafter(1.0, 2), True, 0),
    (1.0 + 1e-8, True, 1),
    (np.nextafter(3.0, 4), True, 2),
    (3.0, True, 2),
    (3.0, False, 6),
    (3.5, True, 6),
    (1e300, False, 6),
]


@pytest.mark.parametrize(("time", "event", "cell"), PLACES)
def test_every_record_is_in_one_cell(time, event, cell):
    counts = cell_counts(one(time, event), EDGES)
    assert counts.shape == (1, 7) and counts.sum() == 1 and counts[0, cell] == 1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 4), st.booleans()), min_size=2, max_size=12), st.integers(0, 11), st.floats(0, 9)
)
def test_a_replaced_record_moves_two_counts_by_one(rows, place, time):
    times, events = np.array([t for t, _ in rows]), np.array([e for _, e in rows])
    before = cell_counts(SurvivalRecords(times, events), EDGES)
    times[place % len(rows)] = time
    moved = cell_counts(SurvivalRecords(times, events), EDGES) - before
    assert (moved**2).sum() in (0, 2) and moved.sum() == 0
    assert float(whole_cells(before).squares) == 2 and float(whole_cells(before, "add_remove").squares) == 1


def test_edges_are_equal_and_end_at_the_horizon_exactly():
    edges = equal_edges(0.1 + 0.2, 7)
    assert edges[0] == 0 and edges[-1] == 0.1 + 0.2 and len(edges) == 8
    np.testing.assert_allclose(np.diff(edges), 0.3 / 7)


def test_the_number_of_bins_follows_the_rule_within_its_limits():
    assert chosen_bins(2982, 0.26805112321118696) == 27 and chosen_bins(2982, 0.26805112321118696, 3.0) == 19
    assert chosen_bins(10, 0.1) == 4 and chosen_bins(10**6, 5.0) == 64


@pytest.fixture(scope="module")
def drawn() -> SurvivalRecords:
    """Many records without covariates, in two groups."""
    return scaled(Weibull(coefficients=(), hazard_ratio=1.5), 1500, seed=5)


def released(
    records: SurvivalRecords, bins: int, sd: float = 0.0, groups: int = 1, rng=None, public: bool = True
) -> CellTable:
    """A table of the records, with rounded normal noise."""
    cells = cell_counts(records, equal_edges(2.0, bins), groups)
    noise = 0 if rng is None else np.rint(rng.normal(0, sd, cells.shape))
    return correct_sum(cells + noise, equal_edges(2.0, bins), sd, len(records) if public else None)


def test_without_noise_the_curve_is_the_actuarial_estimate_at_the_edges(drawn):
    single = SurvivalRecords(drawn.times, drawn.events)
    curve = survival_curve(released(single, 8))
    expected, left = [1.0], float(len(drawn))
    for low, high in zip(curve.edges[:-1], curve.edges[1:], strict=True):
        inside = (drawn.times > low) & (drawn.times <= high) if low else drawn.times <= high
        d = (inside & drawn.events).sum()
        c = (inside & ~drawn.events & (drawn.times < 2.0)).sum()
        expected.append(expected[-1] * (1 - d / (left - c / 2)))
        left -= d + c
    np.testing.assert_allclose(curve.survival, expected, rtol=1e-13)
    exactly = exact.kaplan_meier(exact.event_table(single, exact.event_times(single)))
    fine = survival_curve(released(single, 64))
    grid = np.linspace(0, 2, 300)
    assert np.abs(fine.at(grid) - exactly.at(grid)).max() < 0.01
    assert fine.restricted_mean(2.0) == pytest.approx(exactly.restricted_mean(2.0), abs=0.003)
    assert fine.restricted_mean(0.7) == pytest.approx(exactly.restricted_mean(0.7), abs=0.003)


def test_the_restricted_mean_is_the_integral_of_the_curve_and_the_median_where_it_is_one_half():
    curve = SurvivalCurve(np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 0.6, 0.6, 0.2]), 3)
    grid = np.linspace(0, 3.3, 400_001)
    assert curve.restricted_mean(3.3) == pytest.approx(np.trapezoid(curve.at(grid), grid), rel=1e-9)
    assert curve.median is not None and curve.at(np.array([curve.median])) == pytest.approx(0.5)
    assert SurvivalCurve(EDGES, np.ones(4), 0).median is None


def test_a_released_curve_falls_and_stays_within_its_limits(drawn):
    rng = np.random.default_rng(0)
    for _ in range(20):
        curve = survival_curve(released(SurvivalRecords(drawn.times[:60], drawn.events[:60]), 16, 10.0, rng=rng))
        assert (np.diff(curve.survival) <= 0).all() and curve.survival.min() >= 1e-6 and curve.survival[0] <= 1


def test_the_sum_is_corrected_only_where_the_number_of_records_is_public(drawn):
    rng = np.random.default_rng(1)
    assert released(drawn, 6, 9.0, 2, rng).cells.sum() == pytest.approx(len(drawn))
    rough = released(drawn, 6, 9.0, 2, rng, public=False)
    assert rough.records is None and float(rough.cells.sum()).is_integer()


def numeric(function, cells: np.ndarray) -> np.ndarray:
    """Derivatives by every cell."""
    step, found = 1e-4, []
    for place in np.ndindex(cells.shape):
        up, down = cells.copy(), cells.copy()
        up[place] += step
        down[place] -= step
        found.append((function(up) - function(down)) / (2 * step))
    return np.array(found).T


def test_the_covariance_of_the_curve_is_that_of_its_derivatives_by_the_cells(drawn):
    """Multinomial records and independent noise, by numeric derivatives of log S."""
    table = released(SurvivalRecords(drawn.times, drawn.events), 6, 4.0)
    n, edges = len(drawn), table.edges

    def logs(cells: np.ndarray) -> np.ndarray:
        return np.log(survival_curve(CellTable(cells, edges, 4.0, n)).survival[1:])

    G = numeric(logs, table.cells.astype(float))
    q = table.cells[0] / n
    sampling = n * (G @ np.diag(q) @ G.T - np.outer(G @ q, G @ q))
    np.testing.assert_allclose(log_survival_covariance(table, noise=False), sampling, rtol=2e-3, atol=1e-9)
    centred = G - G.mean(axis=1, keepdims=True)
    wanted = sampling + (16 + 1 / 12) * centred @ centred.T
    np.testing.assert_allclose(log_survival_covariance(table), wanted, rtol=2e-3, atol=1e-9)
    unknown = CellTable(table.cells, edges, 4.0, None)
    np.testing.assert_allclose(
        log_survival_covariance(unknown), sampling + (16 + 1 / 12) * G @ G.T, rtol=2e-3, atol=1e-9
    )


def test_the_noise_of_the_log_rank_test_is_that_of_its_derivatives(drawn):
    table = released(drawn, 6, 3.0, groups=2)

    def difference(cells: np.ndarray) -> np.ndarray:
        test = noisy_log_rank(CellTable(cells, table.edges, 3.0, len(drawn)))
        assert test is not None
        return np.array([test.difference])

    numeric_gradient = numeric(difference, table.cells.astype(float))[0]
    at_risk = np.maximum(table.at_start - table.censorings / 2, 1)
    n = at_risk.sum(axis=0)
    formula = _gradient(table.events.sum(axis=0), n, at_risk[1] / n, table)
    size = 2 * table.bins + 1
    np.testing.assert_allclose(formula, np.concatenate([numeric_gradient[size:], numeric_gradient[:size]]), atol=1e-5)
    with_noise, without = noisy_log_rank(table), noisy_log_rank(table, noise=False)
    assert with_noise is not None and without is not None
    assert with_noise.variance - without.variance == pytest.approx(9 * (numeric_gradient**2).sum(), rel=1e-4)


def test_without_noise_and_with_fine_bins_the_log_rank_test_is_the_exact_one(drawn):
    times = exact.event_times(drawn)
    known = exact.log_rank(*(exact.event_table(drawn.of_group(group), times) for group in (0, 1)))
    found = noisy_log_rank(released(drawn, 64, groups=2))
    assert found is not None and found.statistic == pytest.approx(known.statistic, rel=0.02)


def test_bins_that_do_not_stand_out_are_left_out_and_a_table_of_noise_gives_no_test(drawn):
    assert noisy_log_rank(released(drawn, 8, 1e5, groups=2)) is None
    part, all_ = noisy_log_rank(released(drawn, 8, 25.0, groups=2)), noisy_log_rank(released(drawn, 8, 0.0, groups=2))
    assert part is not None and all_ is not None and abs(part.difference) < abs(all_.difference)
    with pytest.raises(ValueError, match="1 groups"):
        noisy_log_rank(released(SurvivalRecords(drawn.times, drawn.events), 8))


def test_bands_hold_where_nobody_had_an_event_and_where_everybody_had():
    edges = equal_edges(2.0, 4)
    nobody = correct_sum(np.array([[0, 0, 0, 0, 0, 0, 0, 0, 50]]), edges, 3.0, 50)
    curve = survival_curve(nobody)
    band = pointwise(curve, log_survival_covariance(nobody))
    assert np.isfinite(band.lower).all() and (band.upper == 1).all() and (band.lower < 1).all()
    all_at_once = correct_sum(np.array([[50, 0, 0, 0, 0, 0, 0, 0, 0]]), edges, 0.0, 50)
    curve = survival_curve(all_at_once)
    band = simultaneous(curve, log_survival_covariance(all_at_once), public_draws(4))
    assert np.isfinite(band.lower).all() and (band.lower <= curve.survival[1:]).all()


def test_an_interval_of_a_curve_near_1_with_much_noise_is_everything():
    """The exponent of the interval overflows, which is no warning."""
    curve = SurvivalCurve(EDGES, np.array([1.0, 0.9999, 0.9998, 0.9]), 3)
    band = pointwise(curve, np.diag([1.0, 1.0, 0.01]))
    assert band.lower[:2].tolist() == [0, 0] and band.upper[:2].tolist() == [1, 1] and 0 < band.lower[2] < 0.9


@pytest.mark.parametrize(("sd", "replicates"), [(5.3, 150)])
def test_bands_cover_the_true_curve_and_only_because_they_count_the_noise(sd, replicates):
    """n = 3000, J = 24, sd of epsilon 1 at one noise for all; binomial SE .018 at 150 replicates."""
    rng, covered, bare, together = np.random.default_rng(8), [], [], []
    truth = NO_COVARIATES.survival(equal_edges(2.0, 24)[1:])
    for _ in range(replicates):
        drawn = NO_COVARIATES.draw(3000, rng)
        table = released(SurvivalRecords(drawn.times, drawn.events), 24, sd, rng=rng)
        curve, covariance = survival_curve(table), log_survival_covariance(table)
        covered.append(pointwise(curve, covariance).covers(truth).mean())
        bare.append(pointwise(curve, log_survival_covariance(table, noise=False)).covers(truth).mean())
        together.append(simultaneous(curve, covariance, public_draws(24)).covers(truth).all())
    assert 0.92 < np.mean(covered) < 0.98 and 0.89 < np.mean(together) < 0.99
    assert np.mean(bare) < np.mean(covered) - 0.03


def test_pooling_parts_gives_the_records_again(drawn):
    halves = [
        SurvivalRecords(drawn.times[rows], drawn.events[rows], drawn.covariates[rows], drawn.groups[rows])
        for rows in np.array_split(np.arange(len(drawn)), 2)
    ]
    np.testing.assert_array_equal(cell_counts(pool(halves), EDGES, 2), cell_counts(drawn, EDGES, 2))


def test_errors_of_restricted_mean_and_median_are_those_of_their_derivatives():
    """By numeric derivatives of the curve by log S."""
    curve = SurvivalCurve(np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 0.7, 0.7, 0.2]), 3)

    def shifted(value):
        def at(logs: np.ndarray) -> np.ndarray:
            return np.array([value(replace(curve, survival=np.append(1.0, np.exp(logs))))])

        return numeric(at, np.log(curve.survival[1:]))[0]

    for end in (0.5, 2.0, 3.3, 4.0):
        known = shifted(lambda one, end=end: one.restricted_mean(end))
        np.testing.assert_allclose(curve.restricted_mean_gradient(end), known, atol=1e-5)
    np.testing.assert_allclose(curve.median_gradient, shifted(lambda one: one.median), atol=1e-5)


def test_released_means_and_medians_cover_and_their_difference_holds_its_level():
    """n = 2 x 1,000, J = 12, noise of sd 5: 150 replicates, binomial SE .018."""
    rng, edges, covered, rejected = np.random.default_rng(9), equal_edges(2.0, 12), [], []
    truth = 1 - np.exp(-2.0), np.log(2)
    for _ in range(150):
        drawn = SurvivalRecords(rng.exponential(size=2000), np.ones(2000, bool), groups=np.arange(2000) % 2)
        cells = cell_counts(drawn, edges, 2)
        table = correct_sum(cells + np.rint(rng.normal(0, 5.0, cells.shape)), edges, 5.0, 2000)
        found = SurvivalEstimate(curves=survival_curves(table), table=table)
        means, errors = np.array([one.restricted_mean(2.0) for one in found.curves]), found.restricted_mean_errors(2.0)
        medians = np.array([one.median for one in found.curves])
        covered.append(
            np.abs(np.stack([means, medians]).T - truth) <= 1.96 * np.stack([errors, found.median_errors()]).T
        )
        rejected.append(compare_means(means, errors).p_value < 0.05)
    assert (np.mean(covered, axis=(0, 1)) > 0.91).all() and (np.mean(covered, axis=(0, 1)) < 0.985).all()
    assert 0.01 < np.mean(rejected) < 0.1


def test_a_group_of_which_nothing_is_known_has_no_mean_and_intervals_from_0_to_1(drawn):
    """The third of three groups is empty."""
    rng = np.random.default_rng(4)
    records = SurvivalRecords(drawn.times[:300], drawn.events[:300], groups=np.arange(300) % 2)
    counts = cell_counts(records, EDGES, 3) + np.rint(rng.normal(0, 5.0, (3, 2 * len(EDGES) - 1)))
    table = correct_sum(counts, EDGES, 5.0, 300)
    empty = SurvivalEstimate(curves=survival_curves(table), table=table)
    assert empty.curves[2].median is None and np.isnan(empty.curves[2].restricted_mean(2.0))
    assert np.isnan(empty.restricted_mean_errors(2.0)).tolist() == [False, False, True]
    for together in (False, True):
        band = empty.bands(together=together)[2]
        assert (band.lower == 0).all() and (band.upper == 1).all()
    # Without noise as well.
    assert np.isnan(
        survival_curves(correct_sum(cell_counts(records, EDGES, 3), EDGES, 0.0, 300))[2].restricted_mean(1.0)
    )


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_intervals_of_few_records_are_numbers(epsilon):
    """The shares of a noisy table sum to 1, so that no variance is negative."""
    times = np.random.default_rng(0).uniform(1, 12, 5)
    for seed in range(40):
        done = fit(
            table_protocol.fit,
            SurvivalRecords(times, np.ones(5, bool)),
            SurvivalTableOptions(),
            1,
            epsilon,
            seed,
            horizon=10.0,
        )
        for together in (False, True):
            (band,) = done.estimate.bands(together=together)
            assert np.isfinite(band.lower).all() and (band.lower <= band.upper).all()


def test_a_band_between_edges_is_that_of_a_falling_curve():
    """Lower ends of the next edge, upper ends of the last one: a curve that falls at once stays within them."""
    edges, band = np.array([0.0, 1.0, 2.0]), Band(np.array([0.4, 0.2]), np.array([0.6, 0.5]))
    shown = band.at(np.array([0.0, 0.01, 1.0, 1.5, 2.0]), edges)
    np.testing.assert_array_equal(shown.lower, [0.4, 0.4, 0.4, 0.2, 0.2])
    np.testing.assert_array_equal(shown.upper, [1.0, 1.0, 0.6, 0.6, 0.5])


@pytest.mark.parametrize("third", [1 / 3, 2 / 3])
def test_a_time_that_is_an_edge_belongs_to_the_bin_that_it_closes(third):
    edges = SurvivalFacts(records=1, horizon=1.0, edges=(0.0, third, 1.0)).cell_edges(2)
    assert cell_counts(one(third, True).until(1.0), edges)[0, 0] == 1
    assert cell_counts(one(third, True).until(1.0), equal_edges(1.0, 3))[0, round(3 * third) - 1] == 1
