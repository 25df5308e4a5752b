"""Attacks on published protections of counts over many data sets: each stated number within 10 %, printed.

Part of ``./run test --long`` alone.  Stated are the numbers of section 8 of the specification, each from one data set
of 1,000 records; measured are means over data sets, whose standard errors are far below 10 %.
"""

from __future__ import annotations

import numpy as np
import pytest

from partywise.audits.attacks.nested_counts import exact_by_means
from partywise.audits.exposure import Task
from partywise.audits.worlds import World
from partywise.core.randomness import stream
from partywise.experiment.claims import Claim, ClaimSettings
from partywise.methods.epidemiology.published import round_to_base
from partywise.studies.federated_epidemiology.claims import (
    CLAIMS,
    ArtifactSettings,
    MidpointSettings,
    NestedSettings,
    SplitSettings,
    ThresholdSettings,
)

pytestmark = pytest.mark.statistical

DATA_SETS = 40


def attack(name: str, settings: ClaimSettings, data_set: int, trials: int = 400) -> tuple[dict[str, float], int]:
    """What the attack on the published form of a claim reads in one data set, and the number of cases."""
    [claim] = [claim for claim in CLAIMS if claim.name == name]
    assert isinstance(claim, Claim)

    def rng_for(*names: str | int) -> np.random.Generator:
        return stream(17, name, data_set, *names)

    data = claim.generate(settings, None, rng_for, None)
    worlds = [World(x, y) for x, y in zip(data.x, data.y, strict=True)]
    task = Task(settings, 3.0, 1e-5, tuple(worlds[:2]), tuple(worlds[2:]), ("owner",), "owner", rng_for, trials)
    return dict(claim.published.expose(task).numbers), int(data.y[0].sum())


def compared(title: str, measured: float, stated: float, tolerance: float = 0.1) -> None:
    """Print both numbers and compare them."""
    print(f"{title}: {measured:.3f}, stated {stated:.3f}")
    assert measured == pytest.approx(stated, rel=tolerance)


@pytest.mark.parametrize(("threshold", "stated"), [(3, 186), (10, 178)])
def test_targets_that_are_alone_between_two_allowed_tables(threshold, stated):
    """Of 200 targets, those whose diagnosis is read and right."""
    read = [attack("threshold", ThresholdSettings(threshold=threshold), number)[0] for number in range(DATA_SETS)]
    compared(f"threshold {threshold}, targets read", np.mean([row["recovered_entries"] for row in read]), stated)


def test_hidden_counts_that_margins_give_away():
    read = [attack("suppressed_margin", ThresholdSettings(), number)[0] for number in range(DATA_SETS)]
    right = sum(row["recovered_entries"] for row in read)
    hidden = sum(row["recovered_entries"] / row["recovered_share"] for row in read)
    print(f"hidden per table {hidden / DATA_SETS:.1f}")
    compared("share of hidden counts", right / hidden, 36 / 40)


@pytest.mark.parametrize(
    ("name", "base", "orders", "stated"),
    [
        ("nearest_rounding", 5, 1, 27 / 137),
        ("nearest_rounding", 5, 5, 94 / 141),
        ("nearest_rounding", 5, 20, 150 / 152),
        ("nearest_rounding", 10, 1, 16 / 163),
        ("nearest_rounding", 10, 5, 66 / 161),
        ("nearest_rounding", 10, 20, 139 / 155),
        ("midpoint_rounding", 6, 1, 25 / 145),
        ("midpoint_rounding", 6, 5, 93 / 154),
        ("midpoint_rounding", 6, 20, 152 / 153),
    ],
)
def test_cases_at_which_rounded_counts_jump(name, base, orders, stated):
    kind = NestedSettings if name == "nearest_rounding" else MidpointSettings
    rows = [attack(name, kind(base=base, orders=orders), number) for number in range(DATA_SETS)]
    named, cases = sum(row["recovered_entries"] for row, _ in rows), sum(cases for _, cases in rows)
    compared(f"{name} {base}, {orders} orders, share of cases", named / cases, stated)


@pytest.mark.parametrize(("base", "answers", "stated"), [(5, 10, 0.55), (5, 50, 0.93), (5, 200, 1.0), (10, 200, 0.91)])
def test_means_of_answers_rounded_at_random(base, answers, stated):
    """Counts 100 to 149, all rests alike, 2,000 repetitions of each."""
    rng = stream(17, "random rounding", base, answers)
    drawn = [
        exact_by_means(round_to_base(np.full((2000, answers), count), base, "random", rng), count)
        for count in range(100, 150)
    ]
    compared(f"random rounding {base}, mean of {answers}", float(np.mean(drawn)), stated)


@pytest.mark.parametrize(("splits", "stated"), [(20, 0.52), (100, 0.94), (400, 1.0)])
def test_sums_over_splits_of_cells_whose_rounding_stays(splits, stated):
    read = [attack("sticky_rounding", SplitSettings(splits=splits), number)[0] for number in range(DATA_SETS)]
    compared(f"sticky rounding, {splits} splits", np.mean([row["recovered_share"] for row in read]), stated)


@pytest.mark.parametrize(("artifacts", "stated"), [(1, 0.278), (10, 0.60), (50, 0.94), (200, 1.0)])
def test_means_over_artifacts_with_one_table(artifacts, stated):
    """Two draws on each of two cells at epsilon 3, scale 2/3.

    The specification has 0.21 for one artifact, which is what continuous Laplace noise of this scale gives (0.23);
    dsVert's noise is geometric, whose sum of four draws is 0 with probability 0.278, by convolution below.
    """
    read = [attack("dsvert_artifacts", ArtifactSettings(artifacts=artifacts), k, 4000)[0] for k in range(10)]
    compared(f"{artifacts} artifacts", np.mean([row["recovered_share"] for row in read]), stated)
    if artifacts == 1:
        p, steps = np.exp(-1.5), np.arange(-60, 61)
        law = (1 - p) / (1 + p) * p ** np.abs(steps)
        two = np.convolve(law, law)
        assert np.sum(two**2) == pytest.approx(stated, abs=0.001)
