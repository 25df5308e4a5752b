"""Claims of published protections of counts: what attacks read, that corrections bound them, and planted seeds."""

from __future__ import annotations

from dataclasses import replace
from math import exp, inf, isnan

import numpy as np
import pytest
from scipy.stats import binom

from audit_driver import scalars
from partywise.audits.attacks.nested_counts import named_by_jumps
from partywise.audits.contract import Subject, check_neighbours
from partywise.audits.worlds import World
from partywise.core.errors import ContractError
from partywise.core.randomness import Streams, stream
from partywise.experiment.plan import plan
from partywise.experiment.trial import subject
from partywise.federation.run import Run
from partywise.methods.epidemiology.cohort import cohort_questions, draw_cohort
from partywise.methods.epidemiology.contributions import contributions
from partywise.methods.epidemiology.model import EpidemiologyEstimate
from partywise.methods.epidemiology.options import (
    RoundedOptions,
    SuppressedOptions,
    TablesOptions,
    TablesReferenceOptions,
)
from partywise.methods.epidemiology.protocols.common import whole_sums
from partywise.methods.epidemiology.published import round_to_base
from partywise.methods.epidemiology.questions import Bands, Questions
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.audit.exact import finite_epsilon
from partywise.privacy.mechanisms.integer import IntegerGaussian
from partywise.studies.federated_epidemiology import leaks
from partywise.studies.federated_epidemiology.data import EpidemiologyData
from partywise.studies.federated_epidemiology.metrics import records_read
from partywise.studies.federated_epidemiology.trials import TRIALS

DELTA = 1e-5


@pytest.mark.parametrize(
    ("name", "settings", "entries", "share"),
    [
        ("threshold", {}, (168, 200), None),
        ("threshold", {"threshold": 10}, (160, 196), None),
        ("suppressed_margin", {}, (25, 50), (0.81, 1.0)),
        ("nearest_rounding", {"orders": 1}, None, (0.14, 0.25)),
        ("nearest_rounding", {}, None, (0.58, 0.76)),
        ("nearest_rounding", {"orders": 20}, None, (0.95, 1.0)),
        ("nearest_rounding", {"base": 10}, None, (0.31, 0.49)),
        ("midpoint_rounding", {}, None, (0.52, 0.70)),
        ("random_rounding", {}, None, (0.86, 0.97)),
        ("random_rounding", {"answers": 200}, None, (0.98, 1.0)),
        ("sticky_rounding", {}, None, (0.86, 0.97)),
    ],
)
def test_published_protections_are_read_without_a_claim(name, settings, entries, share):
    """Ranges: the stated numbers of targets and shares of cases, with about 3 standard errors of one data set."""
    cell = scalars(name, settings, trials=200)
    assert isnan(cell["epsilon_claimed"]) and cell["certified_for_claim"] == inf and cell["claim_refuted"] is None
    assert cell["exact_epsilon"] > 15, "one record is distinguished nearly for certain"
    if entries is not None:
        assert entries[0] <= cell["recovered_entries"] <= entries[1]
    if share is not None:
        assert share[0] <= cell["recovered_share"] <= share[1]


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize(
    "name",
    [
        "threshold",
        "suppressed_margin",
        "nearest_rounding",
        "midpoint_rounding",
        "random_rounding",
        "sticky_rounding",
        "seeded_noise",
        "dsvert_artifacts",
    ],
)
def test_the_corrected_tables_keep_their_epsilon_and_reach_it(name, epsilon):
    cell = scalars(name, {"n": 300}, "corrected", epsilon, draws=5000)
    assert cell["epsilon_claimed"] == epsilon and cell["claim_refuted"] is False
    assert cell["certified_for_claim"] == pytest.approx(epsilon, rel=1e-6)
    # The worst pair moves every table as far as one record can.
    assert 0.999 * epsilon < cell["exact_epsilon"] <= cell["certified_for_claim"] * (1 + 1e-9)


def test_one_artifact_keeps_its_epsilon_and_many_add_up():
    one, ten = scalars("dsvert_epsilon", {}, epsilon=3.0), scalars("dsvert_artifacts", {}, epsilon=3.0)
    assert (
        one["certified_for_claim"] == pytest.approx(3.0, rel=1e-4) and one["claim_refuted"] is False and one["control"]
    )
    assert one["exact_epsilon"] == pytest.approx(3.0, rel=1e-4)
    assert ten["certified_for_claim"] == pytest.approx(30.0, rel=1e-4) and ten["exact_epsilon"] == pytest.approx(
        30.0, rel=1e-3
    )


def test_noise_of_the_question_is_refuted():
    """The difference of the answers before and after a record is exact: two worlds are distinguished for certain."""
    cell = scalars("seeded_noise", {})
    assert cell["audited_lower"] == inf and cell["claim_refuted"] is True and cell["recovered_share"] == 1.0


def test_the_bound_of_roundings_is_that_of_the_enumerated_outcomes():
    """Two roundings of 6 against 7, base 5: probabilities 1/5 and 2/5 to go up, four outcomes each."""
    pair = leaks.rounding_pair(np.array([6, 6, 30]), np.array([7, 7, 30]), 5, 0.01)
    outcomes = [np.outer([1 - p, p], [1 - p, p]).ravel() for p in (0.2, 0.4)]
    assert finite_epsilon(pair.first, pair.second, 0.01) == pytest.approx(finite_epsilon(*outcomes, 0.01))
    np.testing.assert_allclose(pair.first, binom.pmf([0, 1, 2], 2, 0.2))
    same = leaks.rounding_pair(np.array([6]), np.array([6]), 5, 0.01)
    assert finite_epsilon(same.first, same.second, 0.01) == 0.0


def advantage_bound(epsilon: float) -> float:
    """Largest difference of a test's true- and false-positive rates."""
    return (exp(epsilon) - 1 + 2 * DELTA) / (exp(epsilon) + 1)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_difference_of_two_noisy_tables_tells_no_more_than_epsilon(epsilon):
    """Attack of the claim `threshold` on its correction: 1,000 releases of each world, one record alone at its day."""
    terms, rng = contributions(leaks.BIRTHDAYS.layout()), stream(3, "birthdays")
    x, y = rng.random((400, 1)), (rng.random(400) < 0.15).astype(float)
    x[0] = leaks.TARGET
    mechanism, rates = IntegerGaussian(mu=float(gdp_mu(epsilon, DELTA))), []
    for case in (1.0, 0.0):
        world = World(x, np.append(case, y[1:]))
        statistic = whole_sums(terms.sums(leaks._birthday_columns(world)), terms)
        released = [mechanism(statistic, rng, owner="a", release_id=str(k)).value for k in range(1000)]
        before, up_to = np.array(released).reshape(-1, 2, 2, 2).transpose(1, 0, 2, 3)
        # Columns: others, cases; those of the level 1 of "before" and "up to".
        others, cases = (up_to - before)[:, 1].T
        rates.append(np.mean(cases > others))
    advantage, error = rates[0] - rates[1], np.sqrt(sum(rate * (1 - rate) for rate in rates) / 1000)
    assert 0 < advantage < advantage_bound(epsilon) + 4 * error
    assert advantage < 0.9, "without noise every diagnosis is right"


def test_nested_counts_of_a_noisy_table_name_cases_as_chance_does():
    """Attack of the claim `nearest_rounding` on its correction, epsilon 1: 40 data sets, each band a record."""
    n, bands = 100, 100
    questions = Questions(
        levels={"order": Bands(np.linspace(0, 1, bands + 1).tolist()), "case": (0, 1)},
        cross=[("order", "case")],
        complete=["order", "case"],
    )
    terms, mechanism, rng = (
        contributions(questions.layout()),
        IntegerGaussian(mu=float(gdp_mu(1.0, DELTA))),
        stream(4, "orders"),
    )
    advantages = []
    for number in range(40):
        order, cases = rng.permutation(n) / n + 0.5 / n, rng.random(n) < 0.3
        statistic = whole_sums(terms.sums({"order": order, "case": cases.astype(int)}), terms)
        noisy = mechanism(statistic, rng, owner="a", release_id=str(number)).value / terms.weights[0]
        cumulated = np.rint(np.cumsum(noisy.reshape(bands, 2)[:, 1])).astype(int)

        def show(counts: np.ndarray) -> np.ndarray:
            return round_to_base(np.concatenate([[0], cumulated]), 5, "nearest", rng)  # noqa: B023

        named = named_by_jumps([order], cases, show)
        advantages.append(named[cases].mean() - named[~cases].mean())
    error = np.std(advantages, ddof=1) / np.sqrt(40)
    assert np.mean(advantages) < advantage_bound(1.0) + 4 * error
    exact = named_by_jumps([order], cases, lambda counts: counts)
    np.testing.assert_array_equal(exact, cases)


def tried(method: str, **options: object) -> Subject:
    """A protocol on a small cohort of three parties, as the contract takes it."""
    grid = {"methods": [method], "replicates": 1, "parties": [3], "folds": 1, "epsilon": [2.0]}
    block = {
        "methods": {method: {"protocol": method, **options}},
        "cases": {"cohort": {"source": "generated", "settings": {"n": 300}, "grid": grid}},
    }
    return subject(plan("federated_epidemiology", block, 7), "cohort", method, TRIALS["cohort"])


def test_a_certified_run_sends_nothing_that_the_attacks_take():
    """Attacks take counts in the clear: published protocols send nothing else, `tables` sends none."""
    kinds = {}
    for method in ("suppressed", "rounded", "tables"):
        protocol = tried(method)
        kinds[method] = {row["kind"] for row in protocol.channel(protocol.data(0), 0)().transcript()}
    assert kinds["suppressed"] == kinds["rounded"] == {"clear"} and "clear" not in kinds["tables"]


@pytest.mark.parametrize("noise", ["local", "shared"])
def test_tables_with_noise_of_the_question_are_found(noise):
    """Planted: the address of the noise is the question, so that the same question has the same noise for any data."""
    honest = tried("tables", noise=noise)
    check_neighbours(honest, ["row"], 2, 1)

    def start(data: EpidemiologyData, seed: int) -> Run:
        run = honest.start(data, seed)
        run.rng_for = Streams(0, repr(run.spec.public.questions))
        return run

    with pytest.raises(ContractError, match="has the same noise for another seed"):
        check_neighbours(replace(honest, start=start), ["row"], 2, 1)


@pytest.mark.parametrize(
    ("options", "least", "most"),
    [
        (TablesReferenceOptions(), 0.99, 1.0),
        (SuppressedOptions(), 0.9, 1.0),
        (RoundedOptions(), 0.5, 0.68),
        (RoundedOptions(10), 0.26, 0.42),
        (RoundedOptions(6, "midpoint"), 0.43, 0.60),
        (RoundedOptions(5, "random"), 0.97, 1.0),
    ],
)
def test_the_share_of_records_that_an_analyst_names(options, least, most):
    """Four columns of numbers: with base b a record is named in one of them, 1 - (1 - 1/b)^4."""
    data = EpidemiologyData(draw_cohort(600, stream(5, "cohort")), cohort_questions())
    estimate = EpidemiologyEstimate(names=("a", "b", "c"), sizes=(200, 200, 200))
    assert least <= records_read(estimate, data, options) <= most
    assert records_read(replace(estimate, noise_sd=1.0), data, TablesOptions()) == 0.0


def test_no_column_of_numbers_no_attack():
    questions = Questions(levels={"exposure": (0, 1)}, cross=[("exposure",)], complete=["exposure"])
    data = EpidemiologyData(draw_cohort(60, stream(5, "cohort")), questions)
    assert records_read(EpidemiologyEstimate(names=("a",), sizes=(60,)), data, SuppressedOptions()) is None
