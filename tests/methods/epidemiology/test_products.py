"""Tables of organisations that hold different columns: equal to pooling, noise as proved and stated, refusals."""

from __future__ import annotations

import time
from fractions import Fraction
from math import inf, sqrt

import numpy as np
import pytest
from scipy.stats import chi2

import partywise as pw
from partywise.core.errors import PartyError
from partywise.federation.exchanges.homomorphic.column_products import LARGEST
from partywise.federation.folds import Fold, Spec
from partywise.federation.run import Run, simulate
from partywise.federation.secure_streams import addresses_of
from partywise.methods.epidemiology.cohort import BINARY, draw_cohort
from partywise.methods.epidemiology.contributions import Contributions, contributions
from partywise.methods.epidemiology.model import EpidemiologyFacts
from partywise.methods.epidemiology.options import ProductsOptions
from partywise.methods.epidemiology.protocols import products
from partywise.privacy.accounting.calibration import gdp_mu

N = 2000
DELTA = N**-1.1
OUTCOMES = ["outcome", "score", "years", "cause"]
WHERE = {"where": {"sex": ["1"], "smoking": ["now", "past"]}}


@pytest.fixture(scope="module")
def cohort() -> dict[str, np.ndarray]:
    columns = draw_cohort(N, np.random.default_rng(1))
    columns["age"][::7] = np.nan
    columns["sex"] = np.where(np.arange(N) % 11 == 0, "", columns["sex"].astype(str))
    return columns


def small(**keys) -> pw.Questions:
    """A set with tables of one and of two organisations, means of both, values that are missing, and a curve."""
    return pw.Questions(
        by="exposure",
        levels={"exposure": BINARY, "outcome": BINARY},
        table_one={"sex": BINARY, "smoking": ["never", "past", "now"], "age": pw.Bands([20, 50, 65, 90])},
        means={"age": (20, 90), "score": (0, 1)},
        may_be_missing=["age"],
        cross=[("outcome", "sex", "smoking"), ("exposure", "outcome")],
        incidence=[pw.Incidence("years", "cause", ["first", "second"], 10.0, 4)],
        complete=["exposure", "outcome"],
        **keys,
    )


def model(questions: pw.Questions, **given) -> pw.FederatedEpidemiology:
    return pw.FederatedEpidemiology(
        questions, "products", **({"random_state": 1, "delta": DELTA, "cipher": "sized"} | given)
    )


def pooled_sums(questions: pw.Questions, columns: dict[str, np.ndarray]) -> np.ndarray:
    """Sums of all records in steps of the contributions, whose values are rounded to the grid of the products."""
    layout = questions.layout()
    fine = Contributions(layout, (LARGEST,) * len(layout.items), Fraction(1, LARGEST)).sums(columns)
    parts = zip(layout.items, contributions(layout).weights, strict=True)
    return fine / LARGEST * np.concatenate([np.full(item.entries, float(weight)) for item, weight in parts])


def of_three() -> pw.Questions:
    """A set each of whose items has columns of at most two of three organisations."""
    return pw.Questions(
        by="exposure",
        levels={"exposure": BINARY, "outcome": BINARY},
        table_one={"sex": BINARY, "smoking": ["never", "past", "now"]},
        means={"age": (20, 90), "score": (0, 1)},
        cross=[("outcome", "exposure"), ("outcome", "sex", "smoking")],
        complete=["outcome"],
    )


TWO = {"a": ["exposure", "sex", "smoking", "age"], "b": OUTCOMES}
THREE = {"a": ["exposure"], "b": ["smoking", "sex", "score"], "c": ["outcome", "age"]}
DIVISIONS = {
    "one": (small(), {"a": [*TWO["a"], *OUTCOMES]}),
    "two": (small(), TWO),
    "exposure alone": (small(), {"a": ["exposure"], "b": ["sex", "smoking", "age", *OUTCOMES]}),
    "three": (of_three(), THREE),
    "a subset of both": (small(**WHERE), {"a": ["exposure", "sex", "age"], "b": ["smoking", *OUTCOMES]}),
    "a subset of another": (small(**WHERE), {"a": ["sex", "smoking"], "b": ["exposure", "age", *OUTCOMES]}),
}


@pytest.mark.parametrize("division", DIVISIONS)
def test_without_noise_every_division_of_columns_gives_the_pooled_sums(cohort, division):
    questions, parties = DIVISIONS[division]
    # A value that is not declared of a complete variable is in no cell.
    cohort = cohort | {"outcome": np.where(np.arange(N) % 13, cohort["outcome"], 2)}
    with pytest.warns(UserWarning, match="154 of 'outcome'"):
        fitted = model(questions, epsilon=inf, clipped="allow").fit(cohort, parties=parties)
    np.testing.assert_array_equal(fitted.estimate_.sums, pooled_sums(questions, cohort))
    # Tables are those of divided rows to the last bit; means are rounded more finely.
    same = slice(sum(table.entries for table in questions.layout().tables))
    np.testing.assert_array_equal(fitted.estimate_.sums[same], contributions(questions.layout()).sums(cohort)[same])


def test_parties_may_be_numbers_of_columns_or_of_runs(cohort):
    places = [[list(cohort).index(name) for name in group] for group in TWO.values()]
    numbered = model(small(), epsilon=inf).fit(cohort, parties=places)
    read = {name: cohort[name] for name in ("outcome", "sex")}
    questions = pw.Questions(
        levels={"outcome": BINARY, "sex": BINARY}, cross=[("outcome", "sex")], complete=["outcome"]
    )
    runs = model(questions, epsilon=inf, parties=2).fit(read)
    for fitted, columns in ((numbered, cohort), (runs, read)):
        np.testing.assert_array_equal(fitted.estimate_.sums, pooled_sums(fitted.questions, columns))
    senders = [message["sender"] for message in runs.transcript_ if message["receiver"] == "analyst"]
    assert senders == ["party 1", "party 2"]


@pytest.mark.parametrize("cipher", ["sized", "paillier"])
def test_ciphers_give_the_same_bits(cohort, cipher):
    first = {name: column[:40] for name, column in cohort.items()}
    fitted = model(small(), epsilon=inf, cipher=cipher, key_size=2048).fit(first, parties=TWO)
    np.testing.assert_array_equal(fitted.estimate_.sums, pooled_sums(small(), first))


def releases_of(questions: pw.Questions, parties: dict[str, list[str]]) -> tuple[list[pw.Party], tuple]:
    """Parties with numbers of columns, and the releases of a question set."""
    layout = questions.layout()
    numbers = {name: tuple(map(layout.columns.index, group)) for name, group in parties.items()}
    holders = [pw.Party(name, "passive", {}, columns) for name, columns in numbers.items()]
    return holders, products.product_releases(contributions(layout), holders)


@pytest.mark.parametrize("division", ["two", "a subset of both", "a subset of another"])
def test_no_two_records_are_farther_apart_than_the_certificate(cohort, division):
    """Each record's products, in whole numbers and weighted, against each other's: D2 is reached to 2 % by extremes."""
    questions, parties = DIVISIONS[division]
    layout, rng = questions.layout(), np.random.default_rng(4)
    rows = {name: rng.choice(column, 160) for name, column in cohort.items()}
    # The ends of ranges, and far beyond.
    rows["age"], rows["score"] = rng.choice([20.0, 90.0, 1e9], 160), rng.choice([0.0, 1.0, np.nan], 160)
    rows["years"] = rng.choice([0.0, 10.0, 50.0], 160)
    rows |= {"sex": np.full(160, "1"), "smoking": rng.choice(["past", "now", "never"], 160)}
    _, releases = releases_of(questions, parties)
    for release in releases:
        columns = []
        for name, factors in release.factors.items():
            block = {key: rows[key] for key in parties[name]}
            columns.append(products.local_columns(pw.Party(name, "passive", block), factors, layout))
        whole, (first, second) = np.concatenate(columns, axis=1), release.layout.pairs
        # A record's entries of weight w count as w times as many.
        moves = (whole[:, first] * whole[:, second] / LARGEST**2) * np.sqrt(release.total.weights)
        farthest = max(float(((moves - row) ** 2).sum(axis=1).max()) for row in moves)
        bound = float(release.total.squares) / LARGEST**4
        assert 0.5 * bound < farthest <= bound * (1 + 1e-12)


@pytest.mark.parametrize("squares", [True, False])
def test_all_pairs_of_values_are_within_the_certificate_of_their_mean(squares):
    """All pairs of 4,097 values and the missing one, in one group and in two: exact integers, 2 W^4 to 1 in 10,000."""
    questions = pw.Questions(
        by="a", levels={"a": BINARY}, means={"z": (-1, 1)}, may_be_missing=["z"], sd=squares, complete=["a"]
    )
    _, (release,) = releases_of(questions, {"p": ["a"], "q": ["z"]})
    item, layout = questions.layout().moments[0], questions.layout()
    values = np.append(np.arange(-2048, 2049) / 2048, np.nan)
    factor = next(factor for factor in release.factors["q"] if factor.moments is not None)
    entries = LARGEST * products.local_columns(pw.Party("q", "passive", {"z": values}), [factor], layout)
    same = max(int(((entries - entry) ** 2).sum(axis=1).max()) for entry in entries)
    other = 2 * int((entries**2).sum(axis=1).max())
    assert max(same, other) == LARGEST**2 * products.largest_square(item, LARGEST)
    assert 0.9999 * 2 * LARGEST**4 * (1 if squares else 0.5) < max(same, other) <= 2 * LARGEST**4 * (1 + 1e-4)


@pytest.mark.parametrize("division", ["two", "exposure alone", "three"])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_certified_epsilon_is_the_target_in_every_view(cohort, epsilon, division):
    questions, parties = DIVISIONS[division]
    fitted = model(questions, epsilon=epsilon).fit(cohort, parties=parties)
    assert fitted.privacy_.epsilon_certified == pytest.approx(epsilon, abs=1e-9)
    views = {view: fitted.ledger_.total(view, "row", DELTA).epsilon_certified for view in ("analyst", *parties)}
    # A party knows what it released of its own columns alone.
    assert views["analyst"] == pytest.approx(epsilon, abs=1e-9) and max(views.values()) <= epsilon


def test_four_tables_of_two_organisations_take_seconds_and_have_the_stated_noise():
    """12 x 11 indicators under keys of 2,048 bits; 132 counts within the 0.1 % ends of the stated variance."""
    rng, n, levels = np.random.default_rng(3), 3000, {"a": 8, "b": 4, "c": 5, "d": 6}
    frame = {name: rng.integers(size, size=n) for name, size in levels.items()}
    questions = pw.Questions(
        levels={name: list(range(size)) for name, size in levels.items()},
        cross=[(one, other) for one in "ab" for other in "cd"],
        complete=list(levels),
    )
    given = {"epsilon": 2.0, "delta": n**-1.1, "weights": "equal", "cipher": "paillier"}
    start = time.process_time()
    fitted = model(questions, **given).fit(frame, parties=[["a", "b"], ["c", "d"]])
    assert time.process_time() - start < 3
    deviation = fitted.estimate_.noise_sd[0] / 4096
    # Two organisations add the noise of sqrt(2 sum w^2) / mu each.
    assert deviation == pytest.approx(sqrt(2) * sqrt(2 * 4) / gdp_mu(2.0, n**-1.1), rel=1e-12)
    assert round(deviation, 2) == 6.74
    errors = (fitted.estimate_.sums - contributions(questions.layout(), "equal").sums(frame)) / 4096
    assert chi2.ppf(0.001, 132) < float(errors @ errors) / deviation**2 < chi2.ppf(0.999, 132)


def test_numbers_of_one_organisation_have_half_the_variance(cohort):
    questions = small()
    squares, pooled = 0.0, pooled_sums(questions, cohort)
    for seed in range(30):
        fitted = model(questions, epsilon=2.0, random_state=seed).fit(cohort, parties=TWO)
        deviations = fitted.estimate_.noise_sd
        alike = [np.full(item.entries, sd) for item, sd in zip(questions.layout().items, deviations, strict=True)]
        squares = squares + ((fitted.estimate_.sums - pooled) / np.concatenate(alike)) ** 2
    own = np.concatenate(alike) == min(deviations)
    assert own.any() and not own.all() and max(deviations) == pytest.approx(sqrt(2) * min(deviations))
    for some in (own, ~own):
        count = 30 * int(some.sum())
        assert chi2.ppf(0.001, count) < squares[some].sum() < chi2.ppf(0.999, count)


def test_intervals_hold_the_pooled_numbers(cohort):
    """20 draws of the noise, 30 numbers of these records: coverage within 4 standard errors of 0.95, and not 1."""
    questions, names, held = small(), [], []
    exact = {
        answer.name: answer.estimate for answer in model(questions, epsilon=inf).fit(cohort, parties=TWO).answers()
    }
    for seed in range(20):
        fitted = model(questions, epsilon=4.0, target="cohort", random_state=seed).fit(cohort, parties=TWO)
        rows = [answer for answer in fitted.answers() if answer.determined]
        names.append(len(rows))
        held += [answer.holds(exact[answer.name]) for answer in rows]
    assert len(exact) > 40 and min(names) > 30
    # Numbers of a draw are correlated: as many independent ones as tables are counted.
    assert abs(np.mean(held) - 0.95) < 4 * sqrt(0.95 * 0.05 / (20 * len(questions.layout().items)))


REFUSED = {
    "by party": (pw.Questions(table_one={"sex": BINARY}, by_party=True), {"a": ["sex"]}, "leave by_party out"),
    "a curve of two": (
        small(),
        {"a": [*TWO["a"], "years"], "b": ["outcome", "score", "cause"]},
        r"'exit by cause' reads 'years' and 'cause' of a and b: one organisation must hold both",
    ),
    "a column of nobody": (small(), {"a": TWO["a"], "b": OUTCOMES[1:]}, "the column 'outcome' is held by none"),
    "a column of both": (small(), TWO | {"b": [*OUTCOMES, "sex"]}, "the column 'sex' is held by a and b"),
    "an unknown column": (small(), TWO | {"b": [*OUTCOMES, "dose"]}, "name the column 'dose'"),
    "a number of no column": (small(), [[0, 99], [1]], "have the column 99"),
    "a party without columns": (small(), TWO | {"c": ["education"]}, "'c' holds no column"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_released_is_refused_before_any_work(cohort, case, monkeypatch):
    questions, parties, message = REFUSED[case]
    monkeypatch.setattr(products, "local_columns", None)
    with pytest.raises(ValueError, match=message):
        model(questions, epsilon=1.0).fit(cohort, parties=parties)


def test_a_table_of_three_organisations_is_refused_with_the_remedy():
    """With a subset of a third organisation as well; a column of joint levels at one of them is the remedy."""
    levels = {"a": BINARY, "b": BINARY, "c": BINARY}
    frame = {name: np.arange(200) // size % 2 for name, size in (("a", 1), ("b", 2), ("c", 4))}
    parties = {"north": ["a"], "south": ["b"], "west": ["c"]}
    refusal = "north, south and west.*at most two organisations; ask for columns of two, or let one that holds two"
    for keys in ({"cross": [("a", "b", "c")]}, {"cross": [("a", "b")], "where": {"c": ["1"]}}):
        questions = pw.Questions(levels=levels, complete="abc", **keys)
        with pytest.raises(ValueError, match=refusal):
            model(questions, epsilon=1.0).fit(frame, parties=parties)
    joint = {"b and c": 2 * frame["b"] + frame["c"], "a": frame["a"]}
    questions = pw.Questions(
        levels={"a": BINARY, "b and c": range(4)}, cross=[("a", "b and c")], complete=["a", "b and c"]
    )
    fitted = model(questions, epsilon=inf).fit(joint, parties={"north": ["a"], "south": ["b and c"]})
    np.testing.assert_array_equal(fitted.released_.table("a", "b and c").values, np.full((2, 4), 25))


def test_columns_of_rows_are_refused_with_the_protocol(cohort):
    with pytest.raises(
        ValueError, match=r"parties name 'exposure'.* take a protocol of parties that hold different col"
    ):
        pw.FederatedEpidemiology(small(), epsilon=1.0).fit(cohort, parties=list(TWO.values()))
    with pytest.raises(TypeError, match="give a number of parties, or the list of each"):
        pw.FederatedEpidemiology(small(), epsilon=1.0).fit(cohort, parties=TWO)
    with pytest.raises(ValueError, match="key_size is 512"):
        model(small(), epsilon=1.0, key_size=512).fit(cohort, parties=TWO)


def test_an_organisation_with_another_number_of_records_stops_the_release(cohort):
    questions = small()
    read = questions.layout().columns
    parties = [
        pw.Party(name, "passive", {key: cohort[key][:size] for key in group}, tuple(map(read.index, group)))
        for (name, group), size in zip(TWO.items(), (N, N - 1), strict=True)
    ]
    spec = Spec(ProductsOptions("sized"), None, None, EpidemiologyFacts(N, questions))
    fold = Fold(np.zeros(N, int), 0, 1)
    run = Run(parties, epsilon=inf, fold=fold, rng_for=addresses_of(1), spec=spec, extra=("analyst",))
    with pytest.raises(PartyError, match="'b' has another number of records than is public: align"):
        simulate(products.fit, run)
