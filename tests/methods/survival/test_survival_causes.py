"""Competing causes: cells by cause, cumulative incidence of released and of exact records, and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.duration.survfunc import CumIncidenceRight

import partywise as pw
from partywise.methods.survival.bands import _gradient, noisy_log_rank
from partywise.methods.survival.curves import aalen_johansen, incidence_curves
from partywise.methods.survival.records import SurvivalRecords
from partywise.methods.survival.tables import cell_counts, correct_sum, equal_edges

HORIZON = 10.0
CAUSES = [1, 2]
# Hazards of both causes, and of censoring.
RATES = (0.05, 0.08, 0.04)


def draw(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Durations and causes (0: censored) of exponential times."""
    rng = np.random.default_rng(seed)
    times = np.stack([rng.exponential(1 / rate, n) for rate in RATES])
    return times.min(axis=0), np.array([1, 2, 0])[times.argmin(axis=0)]


def records_of(n: int, seed: int) -> SurvivalRecords:
    times, causes = draw(n, seed)
    return SurvivalRecords(times, causes > 0, causes=np.maximum(causes - 1, 0))


def true_incidence(cause: int, time: float) -> float:
    total = RATES[0] + RATES[1]
    return float(RATES[cause] / total * (1 - np.exp(-total * time)))


def test_every_record_is_in_one_cell_of_its_cause():
    records = SurvivalRecords(
        np.array([0.5, 0.5, 1.5, 1.5, 9.0]), np.array([1, 1, 1, 0, 1], bool), causes=np.array([0, 1, 1, 1, 1])
    )
    np.testing.assert_array_equal(cell_counts(records, np.array([0.0, 1, 2]), 1, 2), [[1, 0, 1, 1, 0, 1, 1]])


def test_exact_incidence_is_that_of_statsmodels():
    times, causes = draw(400, 3)
    times = np.ceil(times * 4) / 4
    inside = times <= HORIZON
    exact = aalen_johansen(SurvivalRecords(times, causes > 0, causes=np.maximum(causes - 1, 0)).until(HORIZON), 2)
    known = CumIncidenceRight(np.minimum(times, HORIZON), np.where(inside, causes, 0))
    for cause in range(2):
        np.testing.assert_allclose(exact.at(known.times)[cause], known.cinc[cause], atol=1e-12)


def test_the_reference_and_the_table_without_noise_agree():
    times, causes = draw(4000, 5)
    arm = np.arange(4000) % 2
    given = {"horizon": HORIZON, "causes": CAUSES, "groups": [0, 1], "parties": 3}
    exact = pw.FederatedKaplanMeier("reference", **given).fit(times, causes, arm, rng=1)
    table = pw.FederatedKaplanMeier(epsilon=np.inf, bins=60, **given).fit(times, causes, arm, rng=1)
    for group in range(2):
        curve = exact.estimate_.incidences[group].at(table.timeline)
        np.testing.assert_allclose(table.cumulative_incidence_[group], curve, atol=0.005)
    assert exact.cumulative_incidence_interval_ is None and table.cumulative_incidence_interval_.shape == (2, 2, 61, 2)
    pooled = pw.FederatedKaplanMeier("reference", **(given | {"causes": None})).fit(times, causes > 0, arm, rng=1)
    np.testing.assert_array_equal(exact.survival_function_, pooled.survival_function_)
    assert exact.logrank_.p_value == pooled.logrank_.p_value


def test_the_noise_of_the_log_rank_test_counts_the_cells_of_every_cause():
    records = records_of(3000, 8)
    records = SurvivalRecords(records.times, records.events, groups=np.arange(3000) % 2, causes=records.causes)
    edges = equal_edges(HORIZON, 6)
    counts = cell_counts(records, edges, 2, 2).astype(float)
    table = correct_sum(counts, edges, 3.0, 3000, 2)
    with_noise, without = noisy_log_rank(table), noisy_log_rank(table, noise=False)
    assert with_noise is not None and without is not None
    step = 1e-4

    def moved(place: int) -> float:
        ends = []
        for sign in (1, -1):
            cells = table.cells.copy()
            cells.flat[place] += sign * step
            test = noisy_log_rank(type(table)(cells, edges, 3.0, 3000, 2))
            assert test is not None
            ends.append(test.difference)
        return (ends[0] - ends[1]) / (2 * step)

    slopes = np.array([moved(place) for place in range(table.cells.size)])
    assert with_noise.variance - without.variance == pytest.approx(9 * (slopes**2).sum(), rel=1e-4)
    assert len(_gradient(table.events.sum(axis=0), np.ones(6), np.ones(6), table)) == table.cells.size


def test_a_saved_model_gives_the_same_incidence(tmp_path):
    times, causes = draw(3000, 6)
    model = pw.FederatedKaplanMeier(epsilon=2.0, horizon=HORIZON, causes=CAUSES, parties=3).fit(times, causes, rng=2)
    model.save(tmp_path / "model.json")
    again = pw.load(tmp_path / "model.json")
    for name in ("cumulative_incidence_", "cumulative_incidence_interval_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(model, name))


def test_edges_where_the_numbers_at_risk_are_noise_have_the_whole_interval():
    table = correct_sum(
        cell_counts(records_of(60, 9), equal_edges(HORIZON, 8), 1, 2), equal_edges(HORIZON, 8), 15.0, 60, 2
    )
    intervals = incidence_curves(table).intervals()
    assert intervals is not None
    np.testing.assert_array_equal(
        intervals[:, table.determined_bins + 1 :],
        np.broadcast_to([0, 1], intervals[:, table.determined_bins + 1 :].shape),
    )


@pytest.mark.parametrize(
    ("protocol", "causes", "observed", "words"),
    [
        ("piecewise", [1, 2], [1, 2], "protocol 'piecewise' does not distinguish causes"),
        ("table", [1, 1], [1, 1], "at least two different numbers"),
        ("table", [0, 1], [1, 1], "other than 0"),
        ("table", [1, 2], [1, 3], "event_observed holds 3, which is not among causes"),
    ],
)
def test_mistakes_are_named(protocol, causes, observed, words):
    epsilon = {"epsilon": 1.0} if protocol == "table" else {}
    model = pw.FederatedKaplanMeier(protocol, horizon=2.0, causes=causes, **epsilon)
    with pytest.raises(ValueError, match=words):
        model.fit([1.0, 2.0], observed, parties=1, rng=1)


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_intervals_cover_the_true_incidence(epsilon):
    """500 draws of 1,500 records: the least coverage of both causes at three times is within 4 errors of 0.95."""
    at, covered = [3, 6, 12], []
    for seed in range(500):
        times, causes = draw(1500, 1000 + seed)
        model = pw.FederatedKaplanMeier(epsilon=epsilon, horizon=HORIZON, causes=CAUSES, bins=12, parties=3)
        intervals = model.fit(times, causes, rng=seed).cumulative_incidence_interval_[0][:, at]
        truth = np.array([[true_incidence(c, model.timeline[k]) for k in at] for c in range(2)])
        covered.append((intervals[..., 0] <= truth) & (truth <= intervals[..., 1]))
    coverage = np.mean(covered, axis=0)
    print(epsilon, coverage.round(3).tolist())
    assert (np.abs(coverage - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 500)).all(), coverage
