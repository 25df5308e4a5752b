"""Long checks of certified tables against the acceptance numbers of their specification.

Part of ``./run test --long`` alone.  Noise is Gaussian with the deviation of the exchange, added to whole sums; records
are drawn anew for every draw, so that intervals for a population are tried against the population.  Every number is
printed next to its limits with the number of draws.
"""

from __future__ import annotations

import functools
import math
import time
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from epidemiology_driver import by_name, release, shared_deviation, table_questions
from partywise.core.randomness import stream
from partywise.methods.epidemiology.cohort import cohort_questions, draw_cohort
from partywise.methods.epidemiology.consistency import consistent_tables
from partywise.methods.epidemiology.contributions import Contributions, contributions
from partywise.methods.epidemiology.estimates.counts import level_proportions
from partywise.methods.epidemiology.estimates.curves import (
    _rate,
    _RateParts,
    cumulative_incidence,
    quantiles,
    roc_curve,
)
from partywise.methods.epidemiology.estimates.inference import Inference, sidak_factor
from partywise.methods.epidemiology.estimates.report import report
from partywise.methods.epidemiology.estimates.strata import mantel_haenszel
from partywise.methods.epidemiology.estimates.tests import equal_means, independence, mantel_haenszel_test
from partywise.methods.epidemiology.estimates.two_by_two import binary_cells, score_answer, two_by_two
from partywise.methods.epidemiology.estimator import FederatedEpidemiology
from partywise.methods.epidemiology.questions import Bands, Incidence, Questions

pytestmark = pytest.mark.statistical

SAMPLE, COHORT = Inference(), Inference("cohort")
NAMES = ("exposure", "outcome")
ITEMS = contributions(cohort_questions().layout())
RECORDS, EPSILON, DRAWS = 3000, 2.0, 500


def require(*rows: tuple[str, float, float, float]) -> None:
    """Each number between its limits; all are printed first."""
    for what, low, value, high in rows:
        print(f"{'  ' if low <= value <= high else '! '}{what}: {low:.4g} <= {value:.4g} <= {high:.4g}")
    assert not [what for what, low, value, high in rows if not low <= value <= high]


@functools.cache
def population() -> tuple[dict[str, float], dict[tuple[str, ...] | str, object]]:
    """Numbers of the report in the population, and what a plan expects: from 10 million records."""
    millions, sums, ages, bodies, arms = 10, 0, [], [], []
    for part in range(millions):
        columns = draw_cohort(10**6, stream(99, "population", part))
        sums = sums + ITEMS.sums(columns)
        ages.append(columns["age"])
        bodies.append(columns["body mass"])
        arms.append(columns["exposure"])
    released = consistent_tables(ITEMS, sums, 0.0, millions * 10**6)
    truth = {answer.name: answer.estimate for answer in report(released, SAMPLE)}
    age, arm = np.concatenate(ages), np.concatenate(arms)
    for group in (0, 1):
        for probability in (0.25, 0.5, 0.75):
            name = f"quantile {probability:g} of age | exposure = {group}"
            truth[name] = float(np.quantile(age[arm == group], probability))
    expected: dict[tuple[str, ...] | str, object] = {
        table.names: released.table(*table.names).values / (millions * 10**6) for table in ITEMS.layout.tables
    }
    expected["age"] = (float(age.mean()), float(age.std()))
    body = np.concatenate(bodies)
    expected["body mass"] = (float(body.mean()), float(body.std()))
    return truth, expected


def test_the_cohort_is_covered_with_narrow_intervals_and_the_plan_knows_their_width():
    truth, expected = population()
    sd = shared_deviation(ITEMS, RECORDS, EPSILON)
    together = Inference(factor=sidak_factor(len(truth)))
    covered, without, widths = defaultdict(list), defaultdict(list), defaultdict(list)
    ratios, joint, seconds = defaultdict(list), [], []
    for draw in range(DRAWS):
        sums = ITEMS.sums(draw_cohort(RECORDS, stream(7, "cohort", draw)))
        noisy = sums + np.rint(stream(8, "noise", draw).normal(0, sd, len(sums)))
        start = time.process_time()
        released = consistent_tables(ITEMS, noisy, sd, RECORDS)
        answers = report(released, SAMPLE)
        seconds.append(time.process_time() - start)
        exact = by_name(report(consistent_tables(ITEMS, sums, 0.0, RECORDS), SAMPLE))
        naive = by_name(report(consistent_tables(ITEMS, noisy, 0.0, RECORDS), SAMPLE))
        wide = report(released, together)
        joint.append(all(a.holds(truth[a.name]) for a in wide if a.determined))
        for answer in answers:
            if answer.determined:
                name = answer.name
                covered[name].append(answer.holds(truth[name]))
                without[name].append(naive[name].holds(truth[name]))
                widths[name].append(answer.width)
                ratios[name].append(math.log(answer.width / exact[name].width))
    coverage = {name: float(np.mean(row)) for name, row in covered.items()}
    log_ratios = np.array([np.mean(row) for row in ratios.values()])
    determined = min(len(row) for row in covered.values()) / DRAWS
    planned = by_name(cohort_questions().plan(RECORDS, EPSILON, 3, delta=RECORDS**-1.1, expected=expected))
    plan = np.array([planned[name].width / np.exp(np.mean(np.log(row))) for name, row in widths.items()]) - 1
    print(sorted(coverage.items(), key=lambda row: row[1])[:5], sorted(coverage.items(), key=lambda row: row[1])[-3:])
    require(
        ("numbers", 78, len(coverage), 78),
        ("least share of draws in which a number is determined", 0.9, determined, 1),
        (f"mean coverage, {DRAWS} draws", 0.94, float(np.mean(list(coverage.values()))), 0.965),
        ("least coverage", 0.91, min(coverage.values()), 1),
        ("largest coverage", 0.95, max(coverage.values()), 0.985),
        ("mean coverage without the noise term", 0, float(np.mean([np.mean(row) for row in without.values()])), 0.87),
        ("all together", 0.93, float(np.mean(joint)), 1),
        ("geometric mean of width over exact width", 1, float(np.exp(log_ratios.mean())), 1.52),
        ("median of width over exact width", 1, float(np.exp(np.median(log_ratios))), 1.50),
        ("planned within 5 %", 0.9, float(np.mean(np.abs(plan) <= 0.05)), 1),
        ("largest error of the plan", 0, float(np.abs(plan).max()), 0.12),
        ("CPU seconds of an analysis", 0, float(np.median(seconds)), 0.04),
    )


def test_the_cohort_of_two_organisations_with_columns_is_covered():
    """Exposure and covariates at one, outcome, score and causes at the other; ciphers are computed openly."""
    truth, draws = population()[0], 400
    parties = {"registry": ["outcome", "score", "years", "cause"]}
    parties["hospital"] = [name for name in ITEMS.layout.columns if name not in parties["registry"]]
    given = {"epsilon": EPSILON, "delta": RECORDS**-1.1, "cipher": "sized"}
    covered, ratios, seconds = defaultdict(list), defaultdict(list), []
    for draw in range(draws):
        columns = draw_cohort(RECORDS, stream(7, "cohort", draw))
        model = FederatedEpidemiology(cohort_questions(), "products", random_state=draw, **given)
        start = time.process_time()
        answers = model.fit(columns, parties=parties).answers()
        seconds.append(time.process_time() - start)
        exact = by_name(report(consistent_tables(ITEMS, ITEMS.sums(columns), 0.0, RECORDS), SAMPLE))
        for answer in answers:
            if answer.determined:
                covered[answer.name].append(answer.holds(truth[answer.name]))
                ratios[answer.name].append(math.log(answer.width / exact[answer.name].width))
    coverage = {name: float(np.mean(row)) for name, row in covered.items()}
    error = math.sqrt(0.95 * 0.05 / draws)
    rarest = min(covered, key=lambda name: len(covered[name]))
    print(f"{draws} draws, standard error {error:.4f}; seldom determined: {rarest}")
    print(sorted(coverage.items(), key=lambda row: row[1])[:5])
    require(
        ("numbers", 78, len(coverage), 78),
        ("least share of draws in which a number is determined", 0.85, len(covered[rarest]) / draws, 1),
        ("mean coverage", 0.94, float(np.mean(list(coverage.values()))), 0.965),
        ("least coverage", 0.91, min(coverage.values()), 1),
        ("largest coverage", 0.95, max(coverage.values()), 0.985),
        ("median of width over exact width", 1, math.exp(np.median([np.mean(row) for row in ratios.values()])), 1.6),
        ("CPU seconds of a fit and its numbers", 0, float(np.median(seconds)), 0.5),
    )


def one_table(shape: tuple[int, ...], names: tuple[str, ...] = NAMES) -> Contributions:
    """Contributions to one table."""
    return contributions(table_questions(names, shape).layout())


def drawn(items: Contributions, counts: np.ndarray, deviation: float, *address: str | int):
    """Release of counts of one table with noise of this deviation in each cell."""
    weight = items.weights[0]
    noisy = counts.ravel() + stream(12, *address).normal(0, deviation, counts.size)
    return consistent_tables(items, noisy * weight, deviation * weight, int(counts.sum()))


SMALL = [
    ([[2079, 21], [886.5, 13.5]], 12.0),
    ([[2079, 21], [886.5, 13.5]], 4.9),
    ([[1995, 105], [832.5, 67.5]], 12.0),
    ([[2565, 285], [127.5, 22.5]], 12.0),
    ([[138600, 1400], [59100, 900]], 12.0),
]


@pytest.mark.parametrize(("expected", "deviation"), SMALL)
def test_small_cells_are_covered(expected, deviation):
    expected, draws = np.array(expected), 400
    items, shares, size = one_table((2, 2)), (expected / expected.sum()).ravel(), int(expected.sum())
    (p00, p01), (p10, p11) = expected
    r0, r1 = p01 / (p00 + p01), p11 / (p10 + p11)
    truth = {"risk difference": r1 - r0, "risk ratio": r1 / r0, "odds ratio": r1 * (1 - r0) / (r0 * (1 - r1))}
    covered = defaultdict(list)
    for draw in range(draws):
        counts = stream(13, "small", size, int(10 * deviation), draw).multinomial(size, shares).reshape(2, 2)
        for name, answer in by_name(two_by_two(drawn(items, counts, deviation, "small", draw), *NAMES, SAMPLE)).items():
            if name in truth:
                assert answer.determined and answer.lower <= answer.estimate <= answer.upper
                covered[name].append(answer.holds(truth[name]))
    require(*((f"{name}, {draws} draws", 0.90, float(np.mean(row)), 0.98) for name, row in covered.items()))


def test_an_empty_level_is_covered_and_no_interval_is_turned_around():
    items, draws = one_table((3,), ("level",)), 4000
    covered = []
    for draw in range(draws):
        released = drawn(items, np.array([400, 600, 0]), 12.0, "empty", draw)
        answer = level_proportions(released, "level", SAMPLE)[2]
        assert 0 <= answer.lower <= answer.upper <= 1
        covered.append(answer.holds(0.0))
    require((f"empty level, {draws} draws", 0.925, float(np.mean(covered)), 1))


@pytest.mark.parametrize("events", [0, 6, 30])
def test_rates_of_few_events_are_covered(events):
    draws, time_sum, noise = 4000, 5000.0, 25.0
    covered, widths = [], []
    for draw in range(draws):
        rng = stream(14, "rate", events, draw)
        parts = _RateParts(
            rng.poisson(events) + rng.normal(0, noise), time_sum + rng.normal(0, 60), noise**2, 3600.0, 0.0
        )
        answer = _rate("rate", parts, SAMPLE)
        assert answer.lower <= answer.upper
        covered.append(answer.holds(events / time_sum))
        widths.append(answer.width)
    require(
        (f"rate of {events} events, {draws} draws", 0.925, float(np.mean(covered)), 1),
        ("median width in noise deviations", 1, float(np.median(widths)) * time_sum / noise, 6),
    )


COLUMNS = {
    "exponential": (Bands(np.linspace(0, 10, 11)), lambda rng, n: np.minimum(rng.exponential(2, n), 9.999)),
    "whole": (Bands(range(0, 105, 5), whole=True), lambda rng, n: np.clip(np.floor(rng.normal(55, 15, n)), 0, 99)),
    "tied": (Bands(range(0, 12, 1), whole=True), lambda rng, n: rng.binomial(10, 0.35, n).astype(float)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_quartiles_are_covered(name):
    bands, draw_column = COLUMNS[name]
    items, draws, n = contributions(Questions(table_one={"x": bands}, complete=["x"]).layout()), 1000, 1000
    truth = np.quantile(draw_column(stream(15, name), 2 * 10**6), [0.25, 0.5, 0.75], method="inverted_cdf")
    covered = np.zeros((draws, 3))
    for draw in range(draws):
        column = draw_column(stream(15, name, draw), n)
        released = release(items, {"x": column}, n, 12.0 * items.weights[0], name, draw)
        answers = quantiles(released, "x", SAMPLE)
        assert all(answer.lower <= answer.upper for answer in answers)
        covered[draw] = [answer.holds(value) for answer, value in zip(answers, truth, strict=True)]
    require(
        *(
            (f"quartile {i + 1} of {name}, {draws} draws", 0.925, float(c), 1)
            for i, c in enumerate(covered.mean(axis=0))
        )
    )


@pytest.mark.parametrize(("sizes", "deviation"), [([100] * 30, 5.0), ([600] * 5 + [6], 12.0), ([50] * 60, 12.0)])
def test_common_odds_ratios_of_small_strata_are_covered_or_not_given(sizes, deviation):
    sizes, draws, odds_ratio = np.array(sizes), 400, 1.5
    items = one_table((2, 2, len(sizes)), (*NAMES, "stratum"))
    risks = np.stack([np.full(len(sizes), 0.3), 0.3 * odds_ratio / (0.7 + 0.3 * odds_ratio) * np.ones(len(sizes))])
    answers = []
    for draw in range(draws):
        rng = stream(16, "strata", len(sizes), draw)
        exposed = rng.binomial(sizes, 0.4)
        arms = np.stack([sizes - exposed, exposed])
        events = rng.binomial(arms, risks)
        released = drawn(items, np.stack([arms - events, events], axis=1), deviation, "strata", draw)
        answers.append(mantel_haenszel(released, *NAMES, ["stratum"], SAMPLE)[0])
    determined = [answer for answer in answers if answer.determined]
    assert all(answer.estimate > 0 for answer in determined)
    share = len(determined) / draws
    if len(sizes) == 60:
        require(("60 strata of 50: share of draws that give a number", 0, share, 0.01))
    else:
        estimates = [answer.estimate for answer in determined]
        require(
            ("share of draws that give a number", 0.9, share, 1),
            (f"coverage, {len(determined)} draws", 0.925, float(np.mean([a.holds(odds_ratio) for a in determined])), 1),
            ("first percentile of the estimates", 0.82, float(np.quantile(estimates, 0.01)), odds_ratio),
        )


def test_curves_under_heavy_censoring_are_covered_where_they_are_given():
    questions = Questions(incidence=[Incidence("t", "c", ["x"], 10.0, 20, person_time=False)])
    items, draws, n = contributions(questions.layout()), 1000, 1000
    covered = [[] for _ in range(20)]
    edges = np.linspace(0, 10, 21)[1:]
    width = 0.5
    # What the actuarial estimate of bins is of: half of those censored in a bin count as at risk.
    left = math.exp(-0.5 * width)
    event, censored = (1 - left) * 0.1 / 0.5, (1 - left) * 0.4 / 0.5
    hazard = event / (1 - censored / 2)
    for draw in range(draws):
        rng = stream(17, "censoring", draw)
        times = rng.exponential(size=(2, n)) / np.array([[0.1], [0.4]])
        columns = {"t": times.min(axis=0), "c": np.array(["x", ""])[times.argmin(axis=0)]}
        (curve,) = cumulative_incidence(release(items, columns, n, 5.0 * items.weights[0], draw), "exit by c", SAMPLE)
        for place, answer in enumerate(curve.survival):
            if answer.determined:
                covered[place].append(answer.holds((1 - hazard) ** (place + 1)))
    given = [len(row) / draws for row in covered]
    rows = [(edge, row) for edge, row in zip(edges, covered, strict=True) if len(row) >= 0.2 * draws]
    require(
        ("first bin is given", 1, given[0], 1),
        ("last bin, where 7 records are left, is given", 0, given[-1], 0.05),
        *((f"survival at {edge:g}, {len(row)} draws", 0.925, float(np.mean(row)), 1) for edge, row in rows),
    )


@pytest.mark.parametrize("records", [1000, 3000])
def test_tests_keep_their_level_because_they_know_the_noise(records):
    draws = 1000
    levels = {f"v{number}": list("abcd") for number in range(12)}
    questions = Questions(
        by="arm", levels={"arm": [0, 1]}, table_one=levels, complete=["arm", *levels], means={"x": (0, 1)}
    )
    items = contributions(questions.layout())
    sd = shared_deviation(items, records, EPSILON)
    rejected = np.zeros((draws, 4))
    for draw in range(draws):
        rng = stream(18, "level", records, draw)
        columns = {name: rng.choice(list("abcd"), records, p=(0.4, 0.3, 0.2, 0.1)) for name in levels}
        columns |= {"arm": (rng.random(records) < 0.4).astype(int), "x": rng.beta(2, 3, records)}
        sums = items.sums(columns)
        noisy = sums + np.rint(rng.normal(0, sd, len(sums)))
        for place, deviation in enumerate((sd, 0.0)):
            released = consistent_tables(items, noisy, deviation, records)
            tests = (independence(released, "arm", "v3"), equal_means(released, "x"))
            rejected[draw, 2 * place : 2 * place + 2] = [test.p_value < 0.05 for test in tests]
    table, mean, naive_table, _ = rejected.mean(axis=0)
    require(
        (f"table, n = {records}, {draws} draws", 0.035, float(table), 0.075),
        (f"mean, n = {records}", 0.035, float(mean), 0.075),
        ("table without the noise", 0.12, float(naive_table), 1),
    )


def test_the_test_over_strata_keeps_its_level_and_has_power():
    draws, records = 4000, 3000
    items = one_table((2, 2, 6), (*NAMES, "stratum"))
    # Noise as with twelve tables.
    deviation = 9.0
    rejected = {}
    for odds_ratio in (1.0, 1.5):
        r1 = 0.25 * odds_ratio / (0.75 + 0.25 * odds_ratio)
        arms = np.array([[0.6 * 0.75, 0.6 * 0.25], [0.4 * (1 - r1), 0.4 * r1]])
        shares = (arms[..., None] * np.full(6, 1 / 6)).ravel()
        p_values = []
        for draw in range(draws):
            counts = stream(19, "strata", int(10 * odds_ratio), draw).multinomial(records, shares).reshape(2, 2, 6)
            released = drawn(items, counts, deviation, "over strata", draw)
            p_values.append(mantel_haenszel_test(released, *NAMES, ["stratum"]).p_value)
        rejected[odds_ratio] = float(np.mean(np.array(p_values) < 0.05))
    require((f"level, {draws} draws", 0.035, rejected[1.0], 0.075), ("power at 1.5", 0.8, rejected[1.5], 1))


def test_eight_measures_of_one_table_hold_together():
    draws, items, shares = 2000, one_table((2, 2)), np.array([0.48, 0.12, 0.28, 0.12])
    truth = {"risk difference": 0.1, "risk ratio": 1.5, "odds ratio": 0.3 * 0.8 / (0.7 * 0.2)}
    truth |= {"risk of outcome, exposed": 0.3, "risk of outcome, unexposed": 0.2, "risk of outcome, all": 0.24}
    truth |= {"attributable fraction": 1 - 0.2 / 0.3, "population attributable fraction": 1 - 0.2 / 0.24}
    together, alone = np.zeros(draws), np.zeros(draws)
    for draw in range(draws):
        counts = stream(21, "together", draw).multinomial(1000, shares).reshape(2, 2)
        released = drawn(items, counts, 10.0, "together", draw)
        for row, inference in ((together, replace(SAMPLE, together=True)), (alone, SAMPLE)):
            row[draw] = all(answer.holds(truth[answer.name]) for answer in two_by_two(released, *NAMES, inference))
    require(
        (f"all eight with the factor of their correlation, {draws} draws", 0.94, float(together.mean()), 0.98),
        ("all eight, each alone", 0.8, float(alone.mean()), 0.93),
    )


def test_all_rates_of_a_roc_curve_hold_together():
    draws, bands = 1000, 8
    questions = Questions(levels={"outcome": [0, 1], "score": Bands(range(bands + 1))}, cross=[("outcome", "score")])
    items = contributions(replace(questions, complete={"outcome", "score"}).layout())
    others, events = np.linspace(1.6, 0.4, bands), np.linspace(0.4, 1.6, bands)
    shares = np.stack([0.8 * others / others.sum(), 0.2 * events / events.sum()])
    truth = [row[::-1].cumsum()[:-1] / row.sum() for row in shares[::-1]]
    held = {True: np.zeros(draws), False: np.zeros(draws)}
    for draw in range(draws):
        counts = stream(21, "roc", draw).multinomial(3000, shares.ravel()).reshape(2, bands)
        released = drawn(items, counts, 12.0, "roc", draw)
        for together, row in held.items():
            curve = roc_curve(released, "score", "outcome", Inference(together=together))
            pairs = zip((curve.sensitivities, curve.false_positives), truth, strict=True)
            row[draw] = all(
                answer.holds(value) for answers, line in pairs for answer, value in zip(answers, line, strict=True)
            )
    require(
        (f"rates at {bands - 1} thresholds, {draws} draws", 0.93, float(held[True].mean()), 0.98),
        ("the same, each alone", 0.4, float(held[False].mean()), 0.9),
    )


def test_the_kurtosis_of_geometric_noise_is_counted():
    """Three parties add geometric noise of their own to every cell, so that noise alone is not normal."""
    draws, items, scale, parties = 20000, one_table((2, 2)), 20.0, 3
    p = 1 - math.exp(-1 / scale)
    deviation = math.sqrt(parties * 2 * (1 - p)) / p
    excess = (6 + p**2 / (1 - p)) / (2 * parties)
    cells = np.array([[500.0, 100], [300, 100]])
    covered = np.zeros((draws, 2))
    for draw in range(draws):
        rng = stream(22, "geometric", draw)
        noise = (rng.geometric(p, (parties, 4)) - rng.geometric(p, (parties, 4))).sum(axis=0)
        steps = (cells.ravel() + noise) * items.weights[0]
        for place, kurtosis in enumerate((0.0, excess)):
            released = consistent_tables(items, steps, deviation * items.weights[0], 1000, excess=kurtosis)
            covered[draw, place] = score_answer("risk difference", binary_cells(released, *NAMES), COHORT).holds(1 / 12)
    plain, counted = covered.mean(axis=0)
    require(
        (f"with the kurtosis, {draws} draws", 0.945, float(counted), 0.955),
        ("gain over the normal factor", 0.001, float(counted - plain), 0.02),
    )


def test_two_hundred_tables_and_a_million_records_are_quick():
    names = [f"v{number}" for number in range(200)]
    questions = Questions(
        by="arm", levels={"arm": [0, 1]}, table_one={name: [0, 1, 2, 3] for name in names}, complete=["arm", *names]
    )
    items = contributions(questions.layout())
    rng = stream(20, "large")
    column = rng.integers(0, 4, 10**6)
    columns = {name: column for name in names} | {"arm": rng.integers(0, 2, 10**6)}
    start = time.process_time()
    sums = items.sums(columns)
    added = time.process_time() - start
    start = time.process_time()
    released = consistent_tables(items, sums, 1.0, 10**6)
    consistent = time.process_time() - start
    assert len(released.tables) == 200
    require(("CPU seconds of a million records", 0, added, 5), ("of consistency", 0, consistent, 0.2))
