"""Geometric noise by two peers as published, and regions read from a box around all cells."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import partywise as pw
from partywise.federation.exchanges.noisy_sums import GeometricNoise
from partywise.methods.epidemiology.cohort import cohort_questions, draw_cohort
from partywise.methods.epidemiology.contributions import contributions, value_grid
from partywise.methods.epidemiology.published import box_radius
from partywise.privacy.statistics.whole import whole

BINARY = {
    "levels": {"exposure": ["0", "1"], "outcome": ["0", "1"]},
    "cross": [("exposure", "outcome")],
    "complete": ["exposure", "outcome"],
}
# The source's table: 80 of 400 unexposed and 160 of 400 exposed have the event.
TABLE = np.array([[320, 80], [240, 160]])
FRAME = {
    "exposure": np.repeat(["0", "0", "1", "1"], TABLE.ravel()),
    "outcome": np.repeat(["0", "1", "0", "1"], TABLE.ravel()),
}
# Printed mean widths of regions over 1,000 draws.
WIDTHS = {
    "risk of outcome, exposed": 0.0191167314418409,
    "risk difference": 0.0382355849143234,
    "risk ratio": 0.287718651537248,
    "odds ratio": 0.533104406182902,
    "attributable fraction": 0.0717499488319928,
}


def model(questions: pw.Questions, **options) -> pw.FederatedEpidemiology:
    options = {"epsilon": 3.0, "parties": 2, "random_state": 1} | options
    return pw.FederatedEpidemiology(questions, "geometric_box", **options)


# Printed: epsilon, absolute move and entries of a family, radius and probability of a miss.
@pytest.mark.parametrize(
    ("epsilon", "move", "entries", "radius", "missed"),
    [
        (6, 5, 12, 5.8203125, 0.0498261642353147),
        (3, 2, 4, 3.82421875, 0.0497965216905787),
        (3, 2, 12, 4.65625, 0.04980012485232),
        (3, 2, 19, 5.0, 0.0497849078111537),
        (6, 12, 12, 13.96484375, 0.049973554164488),
    ],
)
def test_the_printed_radii_are_recomputed_exactly(epsilon, move, entries, radius, missed):
    steps, probability = box_radius(entries, GeometricNoise(epsilon, 256 * move, 2))
    assert steps / 256 == radius
    assert probability == pytest.approx(missed, rel=1e-10)


def test_the_box_of_one_draw_is_that_of_the_closed_form():
    noise = GeometricNoise(1.0, 20)
    p, (steps, missed) = noise.ratio, box_radius(7, noise)
    tails = [7 * 2 * p ** (t + 1) / (1 + p) for t in (steps - 1, steps)]
    assert tails[0] > 0.05 >= tails[1] == pytest.approx(missed, rel=1e-9)
    assert box_radius(7, GeometricNoise(inf, 20, 2)) == (0, 0.0)


def test_two_draws_have_the_stated_law_and_miss_the_box_as_often_as_stated():
    noise = GeometricNoise(2.0, 6, 2)
    statistic = whole(np.zeros((50_000, 4), dtype=np.int64), 18, 1.0, "test")
    drawn = noise.release(statistic, np.random.default_rng(3), owner="a", release_id="r").value
    scaled = (drawn / noise.standard_deviation) ** 2
    assert np.mean(scaled) == pytest.approx(1, abs=5 * scaled.std() / np.sqrt(scaled.size))
    fourth = scaled**2
    assert np.mean(fourth) == pytest.approx(3 + noise.excess_kurtosis, abs=5 * fourth.std() / np.sqrt(scaled.size))
    steps, missed = box_radius(4, noise)
    share = float((np.abs(drawn) > steps).mean())
    assert 4 * share == pytest.approx(missed, abs=5 * 4 * np.sqrt(share / drawn.size))


@pytest.mark.parametrize("draws", [1, 2, 3])
def test_the_certified_epsilon_is_the_target_by_one_draw(draws):
    fitted = model(pw.Questions(**BINARY), draws=draws, delta=1e-12).fit(FRAME)
    assert fitted.privacy_.epsilon_certified == pytest.approx(3.0, abs=1e-9)
    assert fitted.epsilon_claimed_ == 3.0
    (event,) = [event for event in fitted.ledger_.rows if event.mechanism == "geometric"]
    assert (event.epsilon, event.sensitivity) == (3.0, 512.0)


def test_regions_at_the_exact_table_have_the_printed_widths():
    """Within 0.5 %: printed widths are means over noisy tables."""
    fitted = model(pw.Questions(**BINARY)).fit(FRAME)
    assert fitted.estimate_.radius == 3.82421875
    fitted.estimate_.sums[:] = 4096 * TABLE.ravel()
    fitted._derive()
    answers = fitted.two_by_two("exposure", "outcome")
    assert {name: answers[name].width for name in WIDTHS} == pytest.approx(WIDTHS, rel=0.005)
    assert {answer.target for answer in answers.values()} == {"cohort"}
    assert fitted.tests() == () and "box of half-width 3.824" in fitted.table_one().html()


def test_regions_hold_the_numbers_of_every_table_in_the_box():
    fitted = model(pw.Questions(**BINARY)).fit(FRAME)
    answers = fitted.two_by_two("exposure", "outcome")
    rng, cells = np.random.default_rng(2), fitted.released_.table("exposure", "outcome").values
    ends = rng.choice([-1.0, 1.0], size=(500, 2, 2)) * rng.choice([1.0, 1.0, 0.5], size=(500, 2, 2))
    tables = cells + fitted.estimate_.radius * ends
    risks = tables[:, :, 1] / tables.sum(axis=2)
    everyone = tables[:, :, 1].sum(axis=1) / tables.sum(axis=(1, 2))
    numbers = {
        "risk of outcome, exposed": risks[:, 1],
        "risk of outcome, all": everyone,
        "risk difference": risks[:, 1] - risks[:, 0],
        "risk ratio": risks[:, 1] / risks[:, 0],
        "population attributable fraction": 1 - risks[:, 0] / everyone,
    }
    for name, values in numbers.items():
        answer = answers[name]
        assert answer.lower - 1e-12 <= values.min() and values.max() <= answer.upper + 1e-12
        assert values.max() - values.min() > 0.9 * answer.width


def test_counts_are_moved_into_the_capacity():
    fitted = model(pw.Questions(**BINARY), epsilon=0.01, capacity=300).fit(FRAME)
    counts = fitted.estimate_.sums / 4096
    assert counts.min() >= 0 and counts.max() <= 300 and fitted.estimate_.radius == 300


def test_a_paper_has_a_region_or_a_sentence_for_every_number():
    fitted = model(cohort_questions(), epsilon=2.0, parties=3).fit(draw_cohort(3000, np.random.default_rng(1)))
    answers = fitted.answers()
    assert len(answers) == 78 and sum(answer.determined for answer in answers) == 68
    assert all(answer.lower <= answer.estimate <= answer.upper for answer in answers if answer.determined)
    assert {answer.reason for answer in answers if not answer.determined} == {
        "the source of the box states no region of it"
    }


def test_the_largest_absolute_move_is_that_of_every_pair():
    terms = contributions(pw.Questions(means={"age": (0, 1)}, table_one={"age": pw.Bands([0, 0.5, 1])}).layout())
    *tables, weight = terms.weights
    grid = value_grid(weight, True)[::64]
    pairs = int(np.abs(grid[:, None] - grid[None]).sum(axis=2).max())
    assert pairs <= terms.absolute_move - 2 * sum(tables) <= 1.001 * pairs
