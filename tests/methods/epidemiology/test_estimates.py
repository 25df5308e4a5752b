"""Estimates without noise are those of other programs and of printed tables; with noise they say what it hides."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import xlogy
from scipy.stats import chi2_contingency, norm
from sklearn.metrics import roc_auc_score
from statsmodels.stats.contingency_tables import StratifiedTable, Table2x2
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint
from statsmodels.stats.weightstats import CompareMeans, DescrStatsW

from epidemiology_driver import (
    BERKELEY,
    BERKELEY_CELLS,
    CITIES,
    by_name,
    exact_table,
    expanded,
    noisy_table,
    release,
    shared_deviation,
    table_questions,
)
from partywise.core.randomness import stream
from partywise.methods.epidemiology.cohort import cohort_questions, draw_cohort
from partywise.methods.epidemiology.consistency import consistent_tables
from partywise.methods.epidemiology.contributions import contributions
from partywise.methods.epidemiology.estimates.counts import count_answers, level_proportions, whole_counts
from partywise.methods.epidemiology.estimates.curves import cumulative_incidence, quantiles, rates, roc_curve
from partywise.methods.epidemiology.estimates.inference import Inference, sidak_factor
from partywise.methods.epidemiology.estimates.moments import means
from partywise.methods.epidemiology.estimates.report import report, report_tests
from partywise.methods.epidemiology.estimates.strata import mantel_haenszel, standardise
from partywise.methods.epidemiology.estimates.tests import equal_means, independence, mantel_haenszel_test
from partywise.methods.epidemiology.estimates.two_by_two import Arms, constrained_risks, two_by_two
from partywise.methods.epidemiology.questions import Bands, Incidence, Questions

SAMPLE, WALD = Inference(), Inference(interval="wald")
NAMES = ("exposure", "outcome")
# Arthritis of the R package vcd, treatment by improvement: placebo 29, 7, 7; treated 13, 7, 21.
ARTHRITIS = np.array([[29, 7, 7], [13, 7, 21]])
# Improved or not, in the printed example of statsmodels: 35, 21 / 25, 58; events of its first row are its first column.
STATSMODELS = np.array([[58, 25], [21, 35]])
COHORT = contributions(cohort_questions().layout())
RECORDS = draw_cohort(2000, stream(5, "cohort"))


def ends(answer):
    return answer.lower, answer.upper


def test_two_by_two_of_statsmodels_page_to_its_printed_digits():
    answers = by_name(two_by_two(exact_table(NAMES, STATSMODELS), *NAMES, WALD))
    odds, risk = answers["odds ratio"], answers["risk ratio"]
    assert [f"{x:.3f}" for x in (odds.estimate, *ends(odds))] == ["3.867", "1.890", "7.912"]
    assert [f"{x:.3f}" for x in (risk.estimate, *ends(risk))] == ["2.075", "1.411", "3.051"]


@pytest.mark.parametrize("cells", [STATSMODELS, [[90, 3], [80, 13]], [[5, 95], [7, 20]]])
def test_normal_intervals_are_those_of_statsmodels(cells):
    cells = np.asarray(cells)
    answers = by_name(two_by_two(exact_table(NAMES, cells), *NAMES, WALD))
    table = Table2x2(cells[::-1, ::-1])
    for name, estimate, interval in (
        ("odds ratio", table.oddsratio, table.oddsratio_confint()),
        ("risk ratio", table.riskratio, table.riskratio_confint()),
    ):
        np.testing.assert_allclose((answers[name].estimate, *ends(answers[name])), (estimate, *interval), rtol=1e-10)


@pytest.mark.parametrize("cells", [STATSMODELS, [[90, 3], [80, 13]], [[5, 95], [7, 20]], [[96, 4], [50, 30]]])
def test_score_intervals_are_those_of_statsmodels(cells):
    cells = np.asarray(cells)
    answers = by_name(two_by_two(exact_table(NAMES, cells), *NAMES, SAMPLE))
    for name, compare in (("risk ratio", "ratio"), ("odds ratio", "odds-ratio")):
        arms = cells[1, 1], cells[1].sum(), cells[0, 1], cells[0].sum()
        # Its search divides by 0 at the ends of the range.
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = confint_proportions_2indep(*arms, method="score", compare=compare, correction=False)
        np.testing.assert_allclose(ends(answers[name]), expected, rtol=1e-5, atol=1e-6)
    for row, name in ((1, "exposed"), (0, "unexposed")):
        expected = proportion_confint(cells[row, 1], cells[row].sum(), method="wilson")
        np.testing.assert_allclose(ends(answers[f"risk of outcome, {name}"]), expected, rtol=1e-10)


def test_the_score_interval_of_a_difference_is_the_printed_one():
    """56 of 70 against 48 of 80: Mee's interval in table II of Newcombe (1998), Statistics in Medicine 17, 873-890."""
    answers = by_name(two_by_two(exact_table(NAMES, np.array([[32, 48], [14, 56]])), *NAMES, SAMPLE))
    assert [f"{x:.4f}" for x in ends(answers["risk difference"])] == ["0.0533", "0.3377"]


@pytest.mark.parametrize("theta", [-0.3, -0.05, 0.0, 0.2, 0.6])
@pytest.mark.parametrize("arms", [Arms(56, 70, 48, 80), Arms(3, 93, 13, 93), Arms(1.5, 40, 0.0, 30)])
def test_constrained_risks_of_a_difference_maximise_the_likelihood(theta, arms):
    def negative(risk):
        r1 = risk + theta
        terms = (
            xlogy(arms.a, r1),
            xlogy(arms.n1 - arms.a, 1 - r1),
            xlogy(arms.c, risk),
            xlogy(arms.n0 - arms.c, 1 - risk),
        )
        return -sum(terms)

    bounds = (max(0.0, -theta), min(1.0, 1 - theta))
    best = minimize_scalar(negative, bounds=bounds, method="bounded", options={"xatol": 1e-12})
    assert negative(constrained_risks("risk difference", theta, arms)[1]) <= best.fun + 1e-9


def test_attributable_fractions_follow_from_risks():
    answers = by_name(two_by_two(exact_table(NAMES, STATSMODELS), *NAMES, SAMPLE))
    ratio = answers["risk ratio"]
    exposed = answers["attributable fraction"]
    assert (exposed.estimate, *ends(exposed)) == pytest.approx([1 - 1 / x for x in (ratio.estimate, *ends(ratio))])
    risks = [answers[f"risk of outcome, {group}"].estimate for group in ("all", "unexposed")]
    assert answers["population attributable fraction"].estimate == pytest.approx(1 - risks[1] / risks[0])


def test_berkeley_is_as_printed():
    released = exact_table((*NAMES, "department"), BERKELEY_CELLS)
    crude = by_name(two_by_two(released, *NAMES, WALD))
    assert f"{crude['odds ratio'].estimate:.3f}" == "1.841"
    assert f"{independence(released, *NAMES).statistic:.4f}" == "92.2053"
    common = mantel_haenszel(released, *NAMES, ["department"], SAMPLE)[0]
    printed = ["0.9046968", "0.7719074", "1.0603298"]
    assert [f"{x:.7f}" for x in (common.estimate, *ends(common))] == printed
    test = mantel_haenszel_test(released, *NAMES, ["department"])
    assert (f"{test.statistic:.4f}", f"{test.p_value:.4f}") == ("1.5246", "0.2169")
    assert f"{standardise(released, *NAMES, ['department'], SAMPLE)[2].estimate:.4f}" == "-0.0426"


def test_mantel_haenszel_is_that_of_statsmodels():
    released = exact_table((*NAMES, "department"), BERKELEY_CELLS)
    table = StratifiedTable([stratum[::-1, ::-1] for stratum in BERKELEY.astype(float)])
    odds, risk = mantel_haenszel(released, *NAMES, ["department"], SAMPLE)
    np.testing.assert_allclose(
        (odds.estimate, *ends(odds)), (table.oddsratio_pooled, *table.oddsratio_pooled_confint())
    )
    assert risk.estimate == pytest.approx(table.riskratio_pooled, rel=1e-10)
    statistic = mantel_haenszel_test(released, *NAMES, ["department"]).statistic
    assert statistic == pytest.approx(table.test_null_odds(correction=False).statistic, rel=1e-10)


def test_eight_cities_have_their_printed_ratios():
    released = exact_table((*NAMES, "city"), CITIES)
    odds, risk = mantel_haenszel(released, *NAMES, ["city"], SAMPLE)
    assert [f"{x:.3f}" for x in (odds.estimate, *ends(odds))] == ["2.174", "1.984", "2.383"]
    assert f"{risk.estimate:.3f}" == "1.519"
    # The printed 280.138 has no correction for continuity either.
    assert f"{mantel_haenszel_test(released, *NAMES, ['city']).statistic:.3f}" == "280.138"


@pytest.mark.parametrize("cells", [ARTHRITIS, STATSMODELS])
def test_independence_is_pearsons(cells):
    expected = chi2_contingency(cells, correction=False)
    test = independence(exact_table(NAMES, cells), *NAMES)
    assert (test.statistic, test.p_value) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-10)
    assert test.distribution == f"chi-squared, {expected.dof} degrees of freedom"


def test_arthritis_has_its_printed_p_value():
    assert f"{independence(exact_table(NAMES, ARTHRITIS), *NAMES).p_value:.7f}" == "0.0014626"


def test_standardised_risks_are_weighted_means_by_hand():
    released = exact_table((*NAMES, "department"), BERKELEY_CELLS)
    risks = BERKELEY[:, :, 1] / BERKELEY.sum(axis=2)
    share = BERKELEY.sum(axis=(1, 2)) / BERKELEY.sum()
    answers = standardise(released, *NAMES, ["department"], SAMPLE)
    exposed, unexposed = share @ risks[:, 1], share @ risks[:, 0]
    expected = BERKELEY[:, 1].sum(axis=1) @ risks[:, 0]
    by_hand = [exposed, unexposed, exposed - unexposed, exposed / unexposed, BERKELEY[:, 1, 1].sum() / expected]
    np.testing.assert_allclose([answer.estimate for answer in answers], by_hand, rtol=1e-10)
    weights = [1, 1, 1, 1, 1, 0]
    direct = standardise(released, *NAMES, ["department"], SAMPLE, weights)
    assert direct[0].estimate == pytest.approx(risks[:5, 1].mean(), rel=1e-10)


def test_weights_of_strata_are_checked():
    released = exact_table((*NAMES, "department"), BERKELEY_CELLS)
    with pytest.raises(ValueError, match=r"weights is .*: give 6 numbers from 0, one per stratum"):
        standardise(released, *NAMES, ["department"], SAMPLE, [1, -1])
    with pytest.raises(ValueError, match=r"weights is .*: give a stratum that can occur a positive weight"):
        standardise(released, *NAMES, ["department"], SAMPLE, [0] * 6)


def test_an_impossible_stratum_is_left_out_and_an_undeclared_one_is_not_determined():
    cells = BERKELEY_CELLS.copy()
    cells[0, :, 1] = 0
    names = (*NAMES, "department")
    hidden = standardise(exact_table(names, cells), *NAMES, ["department"], SAMPLE)
    assert not any(answer.determined for answer in hidden) and "department = 1" in hidden[0].reason
    declared = exact_table(names, cells, impossible=[{"exposure": 0, "department": 1}])
    rest = np.delete(BERKELEY_CELLS, 1, axis=2)
    without = standardise(exact_table(names, rest), *NAMES, ["department"], SAMPLE)
    for answer, expected in zip(standardise(declared, *NAMES, ["department"], SAMPLE), without, strict=True):
        assert answer.estimate == pytest.approx(expected.estimate)


def test_the_area_is_that_of_scikit_learn_on_the_bands():
    released = release(COHORT, RECORDS, 2000)
    edges = released.layout.variables["score"].edges
    band = np.digitize(RECORDS["score"], edges[1:-1])
    curve = roc_curve(released, "score", "outcome", SAMPLE)
    assert curve.area.estimate == pytest.approx(roc_auc_score(RECORDS["outcome"], band), rel=1e-10)
    high = RECORDS["score"] >= curve.thresholds[3]
    assert curve.sensitivities[3].estimate == pytest.approx(high[RECORDS["outcome"] == 1].mean())
    assert curve.false_positives[3].estimate == pytest.approx(high[RECORDS["outcome"] == 0].mean())


def test_intervals_of_a_roc_curve_that_hold_together_are_wider_and_its_area_has_an_interval_of_its_own():
    released = release(COHORT, RECORDS, 2000, shared_deviation(COHORT, 2000, 2.0), "roc")
    alone, together = (roc_curve(released, "score", "outcome", Inference(together=joint)) for joint in (False, True))
    assert alone.area == together.area
    factors = []
    for kind in ("sensitivities", "false_positives"):
        for single, joint in zip(getattr(alone, kind), getattr(together, kind), strict=True):
            assert (single.name, single.estimate) == (joint.name, joint.estimate)
            if single.lower > 0 and single.upper < 1:
                factors.append(joint.width / single.width)
    # Between one number and Sidak's factor for 18, which is 3.0.
    assert 1.2 < np.mean(factors) < sidak_factor(18) / sidak_factor(1)


def test_curves_of_two_causes_are_those_by_hand():
    """Bins (0, 1] and (1, 2]: 10 records, of whom 1 and 2 leave by the causes, 1 is censored, then 2, 1, 1; 2 stay."""
    times = np.array([0.5, 0.6, 1.0, 0.7, 1.5, 1.6, 1.7, 1.8, 2.0, 9.0])
    causes = np.array(["x", "y", "y", "", "x", "x", "y", "", "", "y"])
    questions = Questions(incidence=[Incidence("t", "c", ["x", "y"], 2.0, 2)])
    released = release(contributions(questions.layout()), {"t": times, "c": causes}, 10)
    (curve,) = cumulative_incidence(released, "exit by c", SAMPLE)
    at_risk = [10 - 0.5, 6 - 0.5]
    hazards = np.array([[1, 2], [2, 1]]) / np.array(at_risk)[:, None]
    survival = np.cumprod(1 - hazards.sum(axis=1))
    x = [hazards[0, 0], hazards[0, 0] + survival[0] * hazards[1, 0]]
    np.testing.assert_allclose([a.estimate for a in curve.survival], survival, rtol=1e-10)
    np.testing.assert_allclose([a.estimate for a in curve.incidence["x"]], x, rtol=1e-10)
    assert curve.restricted_mean.estimate == pytest.approx((1 + 2 * survival[0] + survival[1]) / 2, rel=1e-10)
    person_time = np.minimum(times, 2).sum()
    assert [a.estimate for a in rates(released, "exit by c", SAMPLE)] == pytest.approx(
        [3 / person_time, 3 / person_time], rel=1e-3
    )


def test_means_and_deviations_are_those_of_the_records():
    answers = by_name(means(release(COHORT, RECORDS, 2000), "age", WALD))
    arms = [RECORDS["age"][RECORDS["exposure"] == arm] for arm in (0, 1)]
    for arm, ages in enumerate(arms):
        assert answers[f"mean of age | exposure = {arm}"].estimate == pytest.approx(ages.mean(), abs=0.005)
        assert answers[f"standard deviation of age | exposure = {arm}"].estimate == pytest.approx(ages.std(), abs=0.01)
        reach = 1.959964 * ages.std() / math.sqrt(len(ages))
        assert answers[f"mean of age | exposure = {arm}"].width == pytest.approx(2 * reach, rel=1e-3)
    expected = CompareMeans(DescrStatsW(arms[1]), DescrStatsW(arms[0])).zconfint_diff(usevar="unequal")
    assert ends(answers["difference of means of age"]) == pytest.approx(expected, abs=0.01)
    spread = math.sqrt((arms[0].var() + arms[1].var()) / 2)
    difference = (arms[1].mean() - arms[0].mean()) / spread
    assert answers["standardised difference of age"].estimate == pytest.approx(difference, abs=1e-3)
    z = (arms[1].mean() - arms[0].mean()) / math.sqrt(sum(ages.var() / len(ages) for ages in arms))
    test = equal_means(release(COHORT, RECORDS, 2000), "age")
    assert (test.statistic, test.p_value) == pytest.approx((z, 2 * norm.sf(abs(z))), rel=5e-3)


def test_a_mean_of_known_values_is_over_their_number():
    questions = Questions(
        by="a", levels={"a": [0, 1]}, complete=["a"], means={"age": (0, 10)}, may_be_missing=["age"], sd=False
    )
    columns = {"a": np.repeat([0, 1], 50), "age": np.where(np.arange(100) % 2, 4.0, np.nan)}
    released = release(contributions(questions.layout()), columns, 100)
    for answer in means(released, "age", SAMPLE)[:2]:
        assert answer.estimate == pytest.approx(4.0, abs=0.005)
        assert answer.reason == "without squares the interval counts the largest variance"


def test_shares_of_levels_are_among_known_values_and_missing_ones_among_all():
    answers = by_name(level_proportions(release(COHORT, RECORDS, 2000), "smoking", SAMPLE))
    arm = RECORDS["smoking"][RECORDS["exposure"] == 1]
    known = arm[arm != ""]
    assert answers["smoking = now | exposure = 1"].estimate == pytest.approx((known == "now").mean())
    assert answers["smoking = missing | exposure = 1"].estimate == pytest.approx((arm == "").mean())


def test_quartiles_are_near_those_of_the_records_and_whole_ones_are_whole():
    released = release(COHORT, RECORDS, 2000)
    ages = RECORDS["age"][RECORDS["exposure"] == 0]
    expected = np.quantile(ages, [0.25, 0.5, 0.75])
    assert [a.estimate for a in quantiles(released, "age", SAMPLE)[:3]] == pytest.approx(expected, abs=0.4)
    values = np.repeat(np.arange(30), 20)
    questions = Questions(table_one={"count": Bands(range(0, 31, 3), whole=True)}, complete=["count"])
    released = release(contributions(questions.layout()), {"count": values}, len(values))
    answers = quantiles(released, "count", SAMPLE)
    assert [a.estimate for a in answers] == [7.0, 15.0, 22.0]
    assert all(float(x).is_integer() for a in answers for x in ends(a))


def test_quantiles_need_finite_bands():
    with pytest.raises(ValueError, match="'score' has no finite bands"):
        quantiles(release(COHORT, RECORDS, 2000), "score", SAMPLE)


def test_a_full_band_widens_the_interval_to_its_edges():
    questions = Questions(table_one={"x": Bands([0, 1, 2, 3, 4])}, complete=["x"])
    columns = {"x": np.repeat([0.5, 1.5, 2.5, 3.5], [100, 700, 100, 100])}
    answer = quantiles(release(contributions(questions.layout()), columns, 1000), "x", SAMPLE)[1]
    assert answer.lower <= 1 and answer.upper >= 2 and answer.reason.startswith("the band 1 to 2 holds many records")


@pytest.mark.parametrize("seed", range(20))
def test_whole_counts_are_whole_and_add_up(seed):
    rng = stream(seed, "whole counts")
    for _ in range(50):
        values = rng.normal(3, 12, (rng.integers(1, 5), rng.integers(1, 7)))
        total = max(round(values.sum()), 0) + int(rng.integers(0, 20))
        counts = whole_counts(values, total)
        assert counts.dtype == np.int64 and (counts >= 0).all() and counts.sum() == total
        np.testing.assert_array_equal(counts.sum(axis=1), whole_counts(values.sum(axis=1), total))


def test_whole_counts_of_counts_are_those():
    counts = stream(1, "counts").integers(0, 40, (3, 4))
    np.testing.assert_array_equal(whole_counts(counts.astype(float), int(counts.sum())), counts)


def test_a_group_below_zero_does_not_add_records():
    assert whole_counts(np.array([-5.0, 1000.4, 2004.6]), 3000).tolist() == [0, 998, 2002]


def test_counts_have_intervals_for_these_records():
    counts = noisy_table(("a",), np.array([3, 997]), 8.0, "counts").table("a")
    answers = count_answers(counts, SAMPLE)
    assert sum(answer.estimate for answer in answers) == 1000 and answers[0].name == "a = 0"
    reach = 1.959964 * math.sqrt(counts.covariance[0, 0])
    assert ends(answers[0]) == pytest.approx((max(0, counts.values[0] - reach), max(0, counts.values[0]) + reach))


def test_these_records_alone_have_no_sampling_error():
    released = noisy_table(NAMES, STATSMODELS * 20, 5.0, "cohort")
    sample, cohort = (two_by_two(released, *NAMES, Inference(target)) for target in ("population", "cohort"))
    assert all(a.width < b.width and a.noise_share == pytest.approx(1) for a, b in zip(cohort, sample, strict=True))
    exact = two_by_two(exact_table(NAMES, STATSMODELS), *NAMES, Inference("cohort"))
    assert max(answer.width for answer in exact) < 1e-8


def test_small_noisy_groups_are_not_determined_and_say_why():
    released = noisy_table((*NAMES, "department"), BERKELEY_CELLS // 40, 20.0, "hidden")
    for answer in (
        *mantel_haenszel(released, *NAMES, ["department"], Inference("cohort")),
        *standardise(released, *NAMES, ["department"], SAMPLE),
    ):
        assert (answer.determined, answer.estimate, answer.lower) == (False, None, None)
        assert "noise hides" in answer.reason and "larger epsilon" in answer.reason


def test_hidden_strata_are_left_out_and_named():
    cells = np.concatenate([BERKELEY_CELLS, np.ones((2, 2, 1), dtype=int)], axis=2)
    released = noisy_table((*NAMES, "department"), cells, 5.0, "left out")
    for answer in mantel_haenszel(released, *NAMES, ["department"], SAMPLE):
        assert answer.determined and "department = 6" in answer.reason


def test_an_unbounded_interval_says_so():
    items = contributions(table_questions(NAMES, (2, 2)).layout())
    steps = np.array([400.0, -3, 390, 40]) * items.weights[0]
    answers = by_name(two_by_two(consistent_tables(items, steps, 8.0 * items.weights[0], 827), *NAMES, SAMPLE))
    for name in ("risk ratio", "odds ratio"):
        assert answers[name].upper == math.inf and "unbounded" in answers[name].reason and answers[name].lower > 1


def test_a_measure_of_two_levels_refuses_three():
    with pytest.raises(ValueError, match="'outcome' has 3 levels: this measure compares two"):
        two_by_two(exact_table(NAMES, ARTHRITIS), *NAMES, SAMPLE)


def test_together_intervals_are_wider_by_their_correlation():
    released = noisy_table(NAMES, STATSMODELS * 20, 5.0, "together")
    alone, together = (two_by_two(released, *NAMES, Inference(together=value)) for value in (False, True))
    ratio = together[3].width / alone[3].width
    assert 1.05 < ratio < sidak_factor(6) / 1.96
    assert sidak_factor(78) == pytest.approx(3.41, abs=0.005)


def test_laplace_noise_widens_by_its_kurtosis():
    items = contributions(Questions(levels={"a": [0, 1]}, cross=[("a",)], complete=["a"]).layout())
    steps = np.array([400.0, 600.0]) * items.weights[0]
    sd = 20.0 * items.weights[0]
    gaussian, laplace = (
        level_proportions(consistent_tables(items, steps, sd, 1000, excess=excess), "a", Inference("cohort"))[0]
        for excess in (0.0, 3.0)
    )
    # Half of the sum's noise is that of each cell: kurtosis 3/2, factor 1.96 + (1.96^3 - 3 * 1.96) / 16.
    z = 1.959964
    assert laplace.width / gaussian.width == pytest.approx((z + (z**3 - 3 * z) * 1.5 / 24) / z, rel=1e-3)


def test_the_report_of_the_cohort_has_78_numbers_and_names_each_once():
    released = release(COHORT, RECORDS, 2000, shared_deviation(COHORT, 2000, 4.0), "report")
    answers = by_name(report(released, SAMPLE))
    assert len(answers) == 78
    assert all(a.lower <= a.estimate <= a.upper for a in answers.values() if a.determined)
    assert len(report_tests(released)) == 10


@pytest.mark.parametrize("records", [1, 5, 100])
@pytest.mark.parametrize("epsilon", [0.01, 50.0, math.inf])
@pytest.mark.parametrize("inference", [SAMPLE, Inference("cohort", together=True), WALD])
def test_few_records_and_much_noise_give_numbers_in_their_intervals_or_reasons(records, epsilon, inference):
    sd = 0.0 if epsilon == math.inf else shared_deviation(COHORT, max(records, 2), epsilon)
    for draw in range(3):
        released = release(COHORT, draw_cohort(records, stream(draw, "few")), records, sd, "few", draw)
        for answer in report(released, inference):
            if answer.determined:
                assert answer.lower <= answer.estimate <= answer.upper, answer
            else:
                assert answer.estimate is None and answer.reason
        assert all(test.reason or 0 <= test.p_value <= 1 for test in report_tests(released))


def test_an_option_of_inference_is_checked():
    with pytest.raises(ValueError, match="target is 'sample': it must be one of population, cohort"):
        Inference("sample")
    with pytest.raises(ValueError, match="factor is 0: it must be a positive finite number"):
        replace(SAMPLE, factor=0)


def test_a_plan_has_the_widths_of_the_release_that_it_expects():
    counts = STATSMODELS * 20
    questions = Questions(levels={"exposure": [0, 1], "outcome": [0, 1]}, cross=[NAMES], complete=NAMES)
    n = int(counts.sum())
    planned = questions.plan(n, 2.0, 3, delta=n**-1.1, expected={NAMES: counts / n})
    items = contributions(questions.layout())
    released = consistent_tables(
        items, items.sums(expanded(NAMES, counts)).astype(float), shared_deviation(items, n, 2.0), n
    )
    for plan, answer in zip(planned, report(released, SAMPLE), strict=True):
        assert plan == answer
