"""Protocols of tables: equal to pooling without noise, certified at the target, noise as stated, and the estimator."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from scipy.stats import chi2

import partywise as pw
from partywise.federation.exchanges.noisy_sums import GeometricNoise
from partywise.methods.epidemiology.cohort import cohort_questions, draw_cohort
from partywise.methods.epidemiology.contributions import contributions
from partywise.methods.epidemiology.estimates.inference import Inference
from partywise.methods.epidemiology.estimates.report import report
from partywise.methods.epidemiology.published import round_to_base
from partywise.privacy.statistics.whole import whole

N = 3000
MODES = ("shared", "local", "central")
CROSS = {
    "levels": {"exposure": ["0", "1"], "outcome": ["0", "1"]},
    "cross": [("exposure", "outcome")],
    "complete": ["exposure", "outcome"],
}


@pytest.fixture(scope="module")
def cohort() -> dict[str, np.ndarray]:
    return draw_cohort(N, np.random.default_rng(1))


def model(protocol: str = "tables", questions: pw.Questions | None = None, **given) -> pw.FederatedEpidemiology:
    given = {"parties": 3, "random_state": 1, "delta": 1.5e-4} | given
    return pw.FederatedEpidemiology(questions or cohort_questions(), protocol, **given)


# One party has nobody to share noise with.
@pytest.mark.parametrize(
    ("noise", "parties"),
    [(noise, parties) for noise in MODES for parties in (1, 2, 3, 7) if (noise, parties) != ("shared", 1)],
)
def test_without_noise_every_division_gives_the_pooled_sums(cohort, noise, parties):
    pooled = contributions(cohort_questions().layout()).sums(cohort)
    for protocol, given in (("reference", {}), ("tables", {"epsilon": inf, "noise": noise})):
        fitted = model(protocol, parties=parties, **given).fit(cohort)
        np.testing.assert_array_equal(fitted.estimate_.sums, pooled)
    exact = report(model("reference", parties=1).fit(cohort).released_, Inference())
    assert fitted.answers() == exact and len(exact) == 78


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize(
    ("noise", "given"), [("shared", {}), ("shared", {"colluders": 2}), ("local", {}), ("central", {})]
)
def test_the_certified_epsilon_is_the_target(cohort, epsilon, noise, given):
    fitted = model(epsilon=epsilon, noise=noise, **given).fit(cohort)
    assert fitted.privacy_.epsilon_certified == pytest.approx(epsilon, abs=1e-9)
    assert fitted.epsilon_claimed_ == epsilon


@pytest.mark.parametrize("noise", ["local", "central"])
def test_one_table_has_geometric_noise_of_the_target(cohort, noise):
    questions = pw.Questions(**CROSS)
    fitted = model(questions=questions, epsilon=2.0, noise=noise).fit(cohort)
    paid = {(event.mechanism, event.epsilon) for event in fitted.ledger_.rows if event.mechanism == "geometric"}
    assert paid == {("geometric", 2.0)} and fitted.estimate_.distribution == "laplace"
    assert (fitted.estimate_.sums == np.rint(fitted.estimate_.sums)).all()
    gaussian = model(questions=questions, epsilon=2.0, noise=noise, distribution="gaussian").fit(cohort)
    assert fitted.estimate_.noise_sd < gaussian.estimate_.noise_sd / 4096
    # Means cannot have it: auto is Gaussian there.
    assert model(epsilon=2.0, noise=noise).fit(cohort).estimate_.distribution == "gaussian"


@pytest.mark.parametrize("noise", MODES)
def test_the_noise_has_the_stated_deviation(cohort, noise):
    """188 entries of 30 seeds: the sum of squares over the stated variance is within its 0.1 % ends."""
    squares, count, pooled = 0.0, 0, contributions(cohort_questions().layout()).sums(cohort)
    for seed in range(30):
        estimate = model(epsilon=2.0, noise=noise, random_state=seed).fit(cohort).estimate_
        errors = estimate.sums - pooled
        squares, count = squares + float(errors @ errors) / estimate.noise_sd**2, count + len(errors)
    assert chi2.ppf(0.001, count) < squares < chi2.ppf(0.999, count)


def test_geometric_noise_has_the_stated_law():
    """200,000 draws: variance and kurtosis within 5 standard errors."""
    noise = GeometricNoise(2.0, 6)
    statistic = whole(np.zeros(200_000, dtype=np.int64), 18, 1.0, "test")
    drawn = noise.release(statistic, np.random.default_rng(3), owner="a", release_id="r").value
    scaled = (drawn / noise.standard_deviation) ** 2
    assert np.mean(scaled) == pytest.approx(1, abs=5 * scaled.std() / np.sqrt(len(drawn)))
    fourth = scaled**2
    assert np.mean(fourth) == pytest.approx(3 + noise.excess_kurtosis, abs=5 * fourth.std() / np.sqrt(len(drawn)))


def test_a_record_moves_the_sums_by_no_more_than_their_certificate(cohort):
    """Extreme records replace each other: the squared move, in whole numbers, is at most D2."""
    made = contributions(cohort_questions().layout())
    rng = np.random.default_rng(5)
    first = {name: column[:200].copy() for name, column in cohort.items()}
    before, largest = made.sums(first), 0
    for _ in range(60):
        changed = {name: column.copy() for name, column in first.items()}
        place = int(rng.integers(200))
        for name, column in changed.items():
            column[place] = rng.choice(cohort[name]) if column.dtype.kind in "US" else rng.choice([-9e9, 0, 1, 5, 9e9])
        moved = made.sums(changed) - before
        largest = max(largest, int((moved.astype(object) ** 2).sum()))
    assert 0.5 * made.squares < largest <= made.squares


def test_the_same_seed_gives_the_same_bits_and_another_one_others(cohort):
    first, again, other = (model(epsilon=2.0, random_state=seed).fit(cohort).estimate_.sums for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert (first != other).mean() > 0.9


def test_tables_by_party_keep_the_public_sizes(cohort):
    questions = pw.Questions(table_one={"sex": ["0", "1"]}, complete=["sex"], by_party=True)
    fitted = model(questions=questions, epsilon=1.0, parties=[range(500), range(500, 3000)]).fit(cohort)
    by_party = fitted.released_.table("party").values
    np.testing.assert_allclose(by_party, [500, 2500])


def test_a_party_with_another_number_of_records_stops_the_release(cohort):
    from partywise.core.errors import PartyError
    from partywise.federation.folds import Fold, Spec
    from partywise.federation.run import Run, simulate
    from partywise.federation.secure_streams import addresses_of
    from partywise.methods.epidemiology.model import EpidemiologyFacts
    from partywise.methods.epidemiology.options import TablesOptions
    from partywise.methods.epidemiology.protocols import tables

    parties = [pw.Party(f"client {k}", "client", {name: c[:100] for name, c in cohort.items()}) for k in (1, 2)]
    facts = EpidemiologyFacts(300, cohort_questions(), (100, 200))
    spec = Spec(TablesOptions(), None, None, facts)
    run = Run(
        parties, epsilon=1.0, fold=Fold(np.zeros(300, int), 0, 1), rng_for=addresses_of(1), spec=spec, extra=("server",)
    )
    with pytest.raises(PartyError, match="another number of records than is public"):
        simulate(tables.fit, run)


def test_refused_tables_are_left_out_and_others_are_exact():
    """At one of two parties two men are exposed: that table is refused, and with it the share of men."""
    frame = {"arm": [0, 1, 1, 0] * 25, "sex": ["f", "f", "f", "m"] * 25, "died": [0, 1, 0, 1] * 25}
    frame["sex"][1] = frame["sex"][5] = "m"
    questions = pw.Questions(
        by="arm",
        levels={"arm": [0, 1], "died": [0, 1]},
        table_one={"sex": ["f", "m"]},
        cross=[("arm", "died")],
        complete=["arm", "died", "sex"],
    )
    refused = model("suppressed", questions, parties=2, threshold=3).fit(frame)
    assert [table.name for table in refused.released_.layout.tables] == ["arm x died"]
    allowed = model("suppressed", questions, parties=2, threshold=2).fit(frame)
    assert [table.name for table in allowed.released_.layout.tables] == ["arm x sex", "arm x died"]
    exact = model("reference", questions, parties=2).fit(frame)
    assert allowed.answers() == exact.answers()
    assert refused.two_by_two("arm", "died") == exact.two_by_two("arm", "died")
    with pytest.raises(KeyError, match="no table of arm, sex was released: a party refuses it for a small count"):
        refused.counts("arm", "sex")
    with pytest.warns(UserWarning, match="every table is refused"):
        nothing = model("suppressed", questions, parties=2, threshold=100).fit(frame)
    assert nothing.status_ == "not_estimable" and nothing.answers() == () and nothing.tests() == ()
    with pytest.raises(KeyError, match="no table was released"):
        nothing.counts()


def test_curves_and_means_of_refused_tables_are_named_as_refused():
    frame = {"arm": [0, 1] * 50, "years": [1.0] * 99 + [3.0], "cause": ["x", ""] * 50}
    frame["age"] = [40.0] * 98 + [np.nan] * 2
    incidence = pw.Incidence("years", "cause", ["x"], 5, 5, person_time=False)
    questions = pw.Questions(
        by="arm",
        levels={"arm": [0, 1]},
        means={"age": (20, 60)},
        may_be_missing=["age"],
        complete=["arm"],
        cross=[("arm",)],
        incidence=[incidence],
    )
    fitted = model("suppressed", questions, parties=1).fit(frame)
    assert [table.name for table in fitted.released_.layout.tables] == ["arm"]
    for wanted, argument in ((fitted.cumulative_incidence, "cause"), (fitted.rates, "cause"), (fitted.means, "age")):
        with pytest.raises(KeyError, match="was released: a party refuses it for a small count; give fewer levels"):
            wanted(argument)
    with pytest.raises(KeyError, match="no person-time of 'years' was released"):
        model("reference", questions, parties=1).fit(frame).rates("cause")


def test_a_subset_has_a_count_of_its_records():
    questions = pw.Questions(levels={"sex": ["f", "m"]}, cross=[("sex",)], complete=["sex"], where={"sex": ["f"]})
    (answer,) = model(questions=questions, epsilon=4.0, random_state=2).fit({"sex": ["f", "m"] * 500}).counts()
    assert answer.lower < 500 < answer.upper and answer.noise_share == 1


@pytest.mark.parametrize(
    ("how", "base", "expected"),
    [
        ("nearest", 5, [0, 0, 0, 5, 5, 5, 5, 5, 10]),
        ("nearest", 10, [0, 0, 0, 0, 0, 10, 10, 10, 10]),
        ("midpoint", 6, [0, 3, 3, 3, 3, 3, 3, 9, 9]),
    ],
)
def test_rounded_counts_by_hand(how, base, expected):
    np.testing.assert_array_equal(round_to_base(np.arange(9), base, how, np.random.default_rng(1)), expected)


def test_counts_rounded_at_random_have_their_mean():
    drawn = np.array(
        [round_to_base(np.array([3, 7, 10]), 5, "random", np.random.default_rng(seed)) for seed in range(4000)]
    )
    assert set(drawn[:, 0]) == {0, 5} and set(drawn[:, 1]) == {5, 10} and set(drawn[:, 2]) == {10}
    np.testing.assert_allclose(drawn.mean(axis=0), [3, 7, 10], atol=5 * 2.5 / np.sqrt(4000))


def test_rounded_tables_are_sums_of_rounded_counts(cohort):
    questions = pw.Questions(**CROSS)
    fitted = model("rounded", questions, base=10).fit(cohort)
    parts = [{name: cohort[name][rows] for name in CROSS["complete"]} for rows in np.array_split(np.arange(N), 3)]
    counts = [
        np.array([[np.sum((p["exposure"] == a) & (p["outcome"] == y)) for y in (0, 1)] for a in (0, 1)]) for p in parts
    ]
    shown = sum(round_to_base(count, 10, "nearest", np.random.default_rng(1)) for count in counts)
    made = contributions(questions.layout())
    np.testing.assert_array_equal(fitted.estimate_.sums, made.weights[0] * shown.ravel())


def test_table_one_has_counts_that_add_up_intervals_and_notes(cohort):
    fitted = model(epsilon=2.0).fit(cohort)
    table = fitted.table_one()
    rows = {(row[0], row[1]): row for row in table.rows}
    assert table.headings == ("variable", "level", "0", "1", "p")
    assert {name for name, _ in rows if name} == {*cohort_questions().table_one, "body mass"}
    # Every variable's shown counts add to the same shown sizes of the groups, and these to n.
    sizes = set()
    for name in ("sex", "stage", "smoking", "education"):
        counts = [answer.estimate for answer in fitted.counts("exposure", name)]
        sizes.add(tuple(np.reshape(counts, (2, -1)).sum(axis=1)))
    assert len(sizes) == 1 and sum(sizes.pop()) == N
    assert "epsilon 2 at delta 0.00015" in table.notes[0]
    assert table.html().count("<tr>") == len(table.rows) + 1 and "<table>" in table.html()
    assert len(table.csv().splitlines()) == len(table.rows) + 1 + len(table.notes)
    frame = table.frame()
    assert list(frame.columns) == list(table.headings) and len(frame) == len(table.rows)
    exact = model("reference").fit(cohort).table_one()
    assert exact.notes == ("Nothing protects the records: the numbers may not be published.",)
    women = np.sum((cohort["sex"] == 0) & (cohort["exposure"] == 0))
    (row,) = [row for row in exact.rows if row[:2] == ("sex", "0")]
    assert row[2].startswith(f"{women} ({100 * women / np.sum(cohort['exposure'] == 0):.1f})")


def test_a_level_is_escaped_in_html():
    questions = pw.Questions(table_one={"grade": ["<2", "2"]}, complete=["grade"])
    made = model("reference", questions, parties=2).fit({"grade": ["<2", "2"] * 50}).table_one()
    assert "&lt;2" in made.html() and "<2" not in made.html()


def test_intervals_together_are_wider(cohort):
    single, together = (model(epsilon=2.0, together=both).fit(cohort).answers() for both in (False, True))
    pairs = [(a.width, b.width) for a, b in zip(single, together, strict=True) if a.determined and b.determined]
    assert all(b >= a for a, b in pairs) and np.mean([b > a for a, b in pairs]) > 0.9


MISTAKES = [
    ({"distribution": "laplace"}, {}, "distribution is 'laplace': shares of noise are Gaussian"),
    ({"distribution": "laplace", "noise": "local"}, {}, "distribution is 'laplace' and moments of"),
    ({"colluders": 2, "noise": "local"}, {}, "colluders is 2: it is read with noise 'shared' only"),
    ({"target": "sample"}, {}, "target is 'sample': it must be one of population, cohort"),
    ({}, {"age": None}, "frame has no column 'age'"),
    ({}, {"age": ["x"] * N}, "frame has text in 'age'"),
    ({}, {"sex": ["1"] * 7}, "frame has columns of [7, 3000] records"),
    ({}, {"years": np.zeros(N, dtype="datetime64[D]")}, "frame holds dates in 'years'"),
    ({}, {"sex": ["0", "1", "2"] * 1000}, "frame has 1000 values of 'sex' that are empty or not among its levels"),
    ({}, {"sex": ["0", "1", ""] * 1000}, "frame has 1000 values of 'sex' that are empty or not among its levels"),
    ({"weights": {"age": -1.0}}, {}, "weights.age is -1.0"),
    ({"relation": "add_remove"}, {}, "'relation' is not a parameter of FederatedEpidemiology"),
    ({"display_floor": 10}, {}, "'display_floor' is not a parameter of FederatedEpidemiology"),
    ({"one_row": "any"}, {}, "'one_row' is not a parameter of FederatedEpidemiology"),
    ({"protocol": "rounded", "how": "sticky", "epsilon": None}, {}, "how is 'sticky': it must be one of nearest"),
]


@pytest.mark.parametrize(("given", "columns", "words"), MISTAKES)
def test_mistakes_are_named_before_anything_is_released(cohort, given, columns, words):
    frame = {name: column for name, column in (cohort | columns).items() if column is not None}
    with pytest.raises((ValueError, TypeError)) as caught:
        model(**({"epsilon": 1.0} | given)).fit(frame)
    assert words in str(caught.value)


def test_undeclared_values_are_counted_and_not_shown(cohort):
    with pytest.warns(UserWarning, match="values are not among their declared levels .300 of 'smoking'.") as seen:
        fitted = model(epsilon=2.0).fit(cohort | {"smoking": np.append(["seldom"] * 300, cohort["smoking"][300:])})
    assert fitted.status_ == "clipped" and "seldom" not in str(seen[0].message)


def test_values_beyond_the_range_of_a_mean_are_named_with_it(cohort):
    questions = pw.Questions(means={"age": (50, 70)})
    with pytest.warns(
        UserWarning, match=r"the fit is clipped: .* beyond their public bounds \(means\.age=\(50, 70\)\)"
    ):
        fitted = model(questions=questions, epsilon=2.0).fit(cohort)
    assert fitted.status_ == "clipped"
    with pytest.raises(ValueError, match=r"means\.age=\(20, 40\).*or give clipped='allow'"):
        model(questions=pw.Questions(means={"age": (20, 40)}), epsilon=2.0).fit(cohort)
    with pytest.warns(UserWarning, match=r"means\.age=\(20, 40\)"):
        model(questions=pw.Questions(means={"age": (20, 40)}), epsilon=2.0, clipped="allow").fit(cohort)


def test_missing_questions_and_unknown_tables_are_named(cohort):
    with pytest.raises(ValueError, match=r"questions=None: give pw\.Questions"):
        pw.FederatedEpidemiology(epsilon=1.0, parties=2).fit(cohort)
    fitted = model(epsilon=2.0).fit(cohort)
    with pytest.raises(KeyError, match="add \\('sex', 'stage'\\) to cross"):
        fitted.two_by_two("sex", "stage")
    with pytest.raises(KeyError, match=r"add pw\.Incidence"):
        fitted.rates("stage")


@pytest.mark.statistical
@pytest.mark.parametrize("noise", ["shared", "local"])
def test_intervals_of_the_estimator_cover_on_average(noise):
    """300 draws of 3,000 records, epsilon 2, 78 numbers: prints the least coverage; truth: one draw of 2 million."""
    truth = report(
        model("reference", parties=1).fit(draw_cohort(2_000_000, np.random.default_rng(99))).released_, Inference()
    )
    covered = []
    # Numbers that noise hides have no interval, and do not count.
    for seed in range(300):
        fitted = model(epsilon=2.0, noise=noise, random_state=seed).fit(
            draw_cohort(N, np.random.default_rng(1000 + seed))
        )
        pairs = zip(fitted.answers(), truth, strict=True)
        covered.append([float(a.holds(t.estimate)) if a.determined else np.nan for a, t in pairs])
    determined = np.isfinite(covered).sum(axis=0)
    coverage = np.nanmean(covered, axis=0)
    print(
        noise, determined.min(), f"mean {coverage.mean():.4f}, least {coverage.min():.3f}, largest {coverage.max():.3f}"
    )
    assert 0.94 <= coverage.mean() <= 0.965


def test_means_of_a_column_whose_known_values_are_refused_are_left_out():
    """One value is missing, so that the table of known values has a cell of 1."""
    columns = {"arm": np.array([0, 1] * 50), "weight": np.append(np.nan, np.full(99, 70.0))}
    questions = pw.Questions(
        by="arm",
        levels={"arm": [0, 1]},
        cross=[("arm",)],
        means={"weight": (40, 100)},
        may_be_missing=["weight"],
        complete=["arm"],
    )
    model = pw.FederatedEpidemiology(questions, "suppressed", parties=1, random_state=7).fit(columns)
    assert model.answers() == ()
    assert [answer.estimate for answer in model.counts("arm")] == [50, 50]
