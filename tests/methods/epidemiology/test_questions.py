"""Question sets: mistakes are named before any record is read, and tables are released once."""

from __future__ import annotations

import math

import pytest

from partywise.core.randomness import stream
from partywise.federation.exchanges.noisy_sums import noise_factor
from partywise.methods.epidemiology.cohort import cohort_questions
from partywise.methods.epidemiology.contributions import table_noise
from partywise.methods.epidemiology.estimates.inference import Inference
from partywise.methods.epidemiology.estimates.report import report
from partywise.methods.epidemiology.estimator import FederatedEpidemiology
from partywise.methods.epidemiology.options import TablesOptions
from partywise.methods.epidemiology.plan import expected_tables
from partywise.methods.epidemiology.questions import Bands, Incidence, Questions
from partywise.privacy.accounting.calibration import gdp_mu

A = {"levels": {"a": [0, 1]}, "cross": [("a",)]}
MISTAKES = [
    ({}, "questions ask for nothing"),
    ({"by": "arm", "means": {"age": (0, 9)}}, r"by has 'arm', which has no levels: declare them as levels=\{'arm'"),
    ({"cross": [("a", "b")]}, "cross has 'a', which has no levels"),
    ({**A, "cross": ["a"]}, "cross has 'a': give each table as a tuple"),
    ({**A, "cross": [("a", "a")]}, "give each table as a tuple of different variables"),
    ({"levels": {"a": [0]}}, r"levels.a is \[0\]: give at least 2 levels as a list"),
    ({"levels": {"a": "yes"}}, "levels.a is 'yes': give at least 2 levels"),
    ({"levels": {"a": [0, 0]}}, "a level is repeated"),
    ({"levels": {"a": [None, "Some"]}}, "levels.a has the level None: it is read as an empty value"),
    ({"levels": {"a": ["missing", "x"]}}, "levels.a has the level 'missing'"),
    ({"levels": {"party": [0, 1]}}, "this name is that of the parties"),
    ({**A, "table_one": {"a": [0, 1]}}, "levels.a is given in table_one as well"),
    ({"means": {"age": (90, 20)}}, r"means.age is \(90, 20\): give a public range"),
    ({"means": {"age": (0, math.inf)}}, "means.age is .*: give a public range"),
    ({**A, "may_be_missing": ["age"]}, "may_be_missing has 'age': it is for columns of means"),
    (
        {
            "table_one": {"age": Bands([0, 5, 9])},
            "means": {"age": (0, 9)},
            "complete": ["age"],
            "may_be_missing": ["age"],
        },
        "may_be_missing has 'age', which is in complete as well",
    ),
    ({**A, "complete": ["b"]}, "complete has 'b', which has no levels"),
    ({"levels": {"age known": [0, 1]}, "means": {"age": (0, 9)}}, "levels.age known is the name of another variable"),
    ({"levels": {"exit by c": [0, 1]}, "incidence": [Incidence("t", "c", ["x"], 9)]}, "levels.exit by c is the name"),
    ({"means": {"t": (0, 9)}, "incidence": [Incidence("t", "c", ["x"], 9)]}, "means has 't', the time of an incidence"),
    ({"incidence": [Incidence("t", "c", [cause], 9) for cause in "xy"]}, "incidence has two curves by 'c'"),
    ({"incidence": [Incidence("t", cause, ["x"], end) for cause, end in (("c", 9), ("d", 8))]}, "has horizons 9 and 8"),
    ({**A, "where": {"a": [2]}}, "where.a is 2: it is not among the levels 0, 1"),
    ({**A, "impossible": [{"a": 2}]}, "impossible.a is 2: it is not among the levels"),
    (
        {"levels": {"a": list(range(80)), "b": list(range(80))}, "cross": [("a", "b")]},
        "the table a x b has 6561 cells, more than 5000: give 'a' fewer levels",
    ),
]


@pytest.mark.parametrize(("keys", "sentence"), MISTAKES)
def test_a_mistake_is_named(keys, sentence):
    with pytest.raises(ValueError, match=sentence):
        Questions(**keys)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"horizon": 0}, "horizon is 0: give the public end of follow-up"),
        ({"bins": 0}, "bins is 0: it must be a whole number from 1"),
        ({"causes": []}, r"causes is \[\]: give at least 1 level"),
        ({"causes": ["x", "x"]}, "a level is repeated"),
    ],
)
def test_a_mistake_of_an_incidence_is_named(keys, sentence):
    with pytest.raises(ValueError, match=sentence):
        Incidence(**{"time": "t", "cause": "c", "causes": ["x"], "horizon": 1, **keys})


@pytest.mark.parametrize("edges", [[1], [1, 1], [2, 1]])
def test_edges_increase(edges):
    with pytest.raises(ValueError, match="give at least two increasing numbers"):
        Bands(edges)


def test_the_set_of_the_cohort_has_14_items_and_188_numbers():
    layout = cohort_questions().layout()
    assert (len(layout.items), layout.entries) == (14, 188)


def test_a_table_that_is_asked_for_twice_is_released_once_and_listed():
    questions = Questions(levels={"a": [0, 1], "b": [0, 1]}, cross=[("a", "b"), ("b", "a"), ("b",)])
    assert [table.name for table in questions.layout().tables] == ["a x b", "b"]
    assert questions.merged_tables == ("the table a x b is asked for twice; it is released once",)


def test_known_values_are_counted_where_no_other_table_has_them():
    keys = {"by": "a", "levels": {"a": [0, 1]}, "means": {"age": (20, 90)}, "complete": ["a"]}
    names = [table.name for table in Questions(**keys, may_be_missing=["age"]).layout().tables]
    assert names == ["a x age known"]
    banded = Questions(**keys, may_be_missing=["age"], table_one={"age": Bands([20, 60, 90])})
    assert [table.name for table in banded.layout().tables] == ["a x age"]
    assert [table.name for table in Questions(**keys).layout().tables] == ["a"]


def test_parties_are_levels_of_every_table():
    questions = Questions(levels={"a": [0, 1]}, cross=[("a",)], by_party=True)
    assert questions.layout(["north", "south"]).tables[0].shape == (3, 2)


@pytest.mark.parametrize("by_party", [False, True])
@pytest.mark.parametrize("weights", ["auto", {"a x y x c": 0.5}])
@pytest.mark.parametrize("noise", ["shared", "local", "central"])
def test_a_plan_has_the_defaults_and_the_widths_of_a_fit(noise, weights, by_party):
    if by_party and weights != "auto":
        weights = {"a x y x c x party": 0.5}
    levels = {"a": [0, 1], "y": [0, 1], "c": list("uvw")}
    questions = Questions(by="a", levels=levels, cross=[("a", "y", "c"), ("y", "c")], by_party=by_party)
    rng = stream(4, "plan")
    columns = {"a": rng.integers(0, 2, 6000), "y": rng.integers(0, 2, 6000), "c": rng.choice(list("uvw"), 6000)}
    options = {"noise": noise, "weights": weights}
    shares = {"a": [0.5, 0.5, 0], "y": [0.5, 0.5, 0], "c": [1 / 3, 1 / 3, 1 / 3, 0]}
    planned = {answer.name: answer for answer in questions.plan(6000, 1.0, 3, **options, expected=shares)}
    model = FederatedEpidemiology(questions, epsilon=1.0, parties=3, random_state=1, **options).fit(columns)
    difference = model.two_by_two("a", "y")["risk difference"]
    assert planned["risk difference"].width == pytest.approx(difference.width, rel=0.05)
    assert planned["risk difference"].noise_share == pytest.approx(difference.noise_share, rel=0.1)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"records": 0}, "records is 0: it must be a whole number from 1"),
        ({"epsilon": -1.0}, "epsilon is -1.0: it must be a positive finite number"),
        ({"distribution": "laplace"}, "distribution is 'laplace': shares of noise are Gaussian"),
        ({"noise": "local", "colluders": 2}, "colluders is 2: it is read with noise 'shared' only"),
        ({"colluders": 1.5}, "colluders is 1.5: it must be a whole number"),
        ({"weights": "same"}, "weights is 'same': it must be one of auto, equal"),
        ({"noise": "none"}, "noise is 'none': it must be one of shared, local, central"),
        ({"target": "sample"}, "target is 'sample': it must be one of population, cohort"),
        ({"weights": {"a": "large"}}, "weights.a='large' must be a number"),
        ({"weights": {"b": 1.0}}, "weights.b is 1.0: no item has this name"),
        ({"expected": {"b": 0.5}}, "expected has 'b': no question is about it"),
        ({"expected": {"a": [0.5, 0.6]}}, "expected has .* for 'a': give shares of the shape"),
    ],
)
def test_a_mistake_of_a_plan_is_named(keys, sentence):
    questions = Questions(levels={"a": [0, 1]}, cross=[("a",)], complete=["a"])
    with pytest.raises((ValueError, TypeError), match=sentence):
        questions.plan(**{"records": 100, "epsilon": 1.0, **keys})


@pytest.mark.parametrize(("parties", "options"), [(1, {}), (2, {"colluders": 5}), (2, {"noise": "central"})])
def test_a_plan_has_the_noise_of_a_fit(parties, options):
    """One party, more colluders than others, and geometric noise on a single table."""
    questions = Questions(levels={"sex": ["f", "m"]}, cross=[("sex",)], table_one={"age": Bands([0, 50, 99])})
    model = FederatedEpidemiology(questions, epsilon=1.0, parties=parties, random_state=1, **options)
    fitted = model.fit({"sex": ["f", "m"] * 500, "age": [20, 60] * 500})
    options = TablesOptions(**options)
    factor = noise_factor(options.noise, parties, options.colluders)
    noise = table_noise(options, questions.layout(), 1.0, float(gdp_mu(1.0, 1e-5)), factor)
    planned = expected_tables(noise, 1000, {})
    assert planned.excess == fitted.released_.excess
    assert planned.table("sex").variances == pytest.approx(fitted.released_.table("sex").variances)
    given = {"noise": options.noise, "colluders": options.colluders}
    assert questions.plan(1000, 1.0, parties, **given) == report(planned, Inference())


def test_a_plan_by_party_has_the_shares_of_a_whole_table():
    questions = Questions(levels={"a": [0, 1], "y": [0, 1]}, cross=[("a", "y")], complete=["a", "y"], by_party=True)
    shares = {("a", "y"): [[0.4, 0.1], [0.2, 0.3]]}
    answers = {answer.name: answer.estimate for answer in questions.plan(6000, 1.0, 3, expected=shares)}
    assert answers["risk difference"] == pytest.approx(0.6 - 0.2)


def test_bands_without_end_have_shares_and_no_quantiles():
    questions = Questions(table_one={"age": Bands([-math.inf, 40, math.inf])}, complete=["age"])
    model = FederatedEpidemiology(questions, epsilon=math.inf, parties=2, random_state=1)
    model.fit({"age": stream(4, "age").permutation(100) + 0.0})
    assert [(row[1], row[2].split(" [")[0]) for row in model.table_one().rows] == [
        ("-inf to 40", "40 (40.0)"),
        ("40 to inf", "60 (60.0)"),
    ]
    assert [answer.name for answer in model.answers()] == ["age = 40 to inf"]
    assert [(answer.name, answer.estimate) for answer in model.counts()] == [("records", 100)]
    with pytest.raises(ValueError, match="'age' has no finite bands"):
        model.quantiles("age")
    with pytest.raises(KeyError, match="no table of weight was released"):
        model.quantiles("weight")
    with pytest.raises(ValueError, match=r"probabilities has 1\.5"):
        model.quantiles("age", [1.5])


def test_person_time_of_two_causes_of_one_time_is_released_once():
    layout = Questions(incidence=[Incidence("t", cause, ["x"], 9) for cause in "cd"]).layout()
    assert [item.name for item in layout.items] == ["exit by c", "exit by d", "t"]


def test_a_declared_table_is_expected_in_larger_tables_as_well():
    """The table of three variables was planned as if the declared pair were independent."""
    levels = {name: [0, 1] for name in ("arm", "died", "sex")}
    questions = Questions(levels=levels, cross=[("arm", "died", "sex")], complete=list(levels))
    expected = {("arm", "died"): [[0.4, 0.1], [0.3, 0.2]], "sex": 0.25}
    answers = {answer.name: answer for answer in questions.plan(3000, 4.0, expected=expected)}
    assert answers["risk difference"].estimate == pytest.approx(0.2)
    assert answers["Mantel-Haenszel risk ratio"].estimate == pytest.approx(2.0)
