"""Published protections of counts under audit: what a party shows, and how many records an analyst reads off it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import bdtr

from ...audits.attacks.nested_counts import (
    Show,
    exact_by_means,
    named_by_jumps,
    read_by_differences,
    read_by_margins,
)
from ...audits.exposure import Exposure, Task, unproved_release
from ...audits.pairs import ClearPair, DistributionPair, GaussianPair, ResponseDistributionPair, clear_exposure
from ...audits.worlds import AuditData, World
from ...core.randomness import Rng, stream
from ...federation.exchanges.noisy_sums import GeometricNoise
from ...methods.epidemiology.contributions import contributions
from ...methods.epidemiology.layout import Columns
from ...methods.epidemiology.protocols.common import whole_sums
from ...methods.epidemiology.published import round_to_base, suppress
from ...methods.epidemiology.questions import Bands, Questions
from ...privacy.audit.exact import finite_epsilon
from ...privacy.mechanisms.integer import IntegerGaussian
from .claims import AnswerSettings, ArtifactSettings, CountSettings, NestedSettings, SplitSettings, ThresholdSettings

# Values of the record that the worst pair differs in; leaks ask at this value, which is public.
TARGET = 0.5
# Birthdays of 40 years, regions of unequal size, cells of a table of counts, bands of the corrected nested counts.
DAYS, REGIONS, CELLS, BANDS = 14_610, 75, 20, 100
BINARY = (0, 1)
BIRTHDAYS = Questions(
    levels={"before": BINARY, "up to": BINARY, "case": BINARY},
    cross=[("before", "case"), ("up to", "case")],
    complete=["before", "up to", "case"],
)


def another_case(settings: CountSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """One record is a case or is not; in the ordinary pair it is replaced by one with other values as well."""
    rng, n = rng_for("records"), settings.n
    x = np.repeat(rng.random((1, n, settings.columns)), 4, axis=0)
    y = np.repeat((rng.random(n) < settings.prevalence).astype(float)[None], 4, axis=0)
    x[:2, 0], y[:2, 0] = TARGET, (1.0, 0.0)
    x[3, 0], y[3, 0] = rng.random(settings.columns), float(rng.random() < settings.prevalence)
    return AuditData(x, y)


def _table(name: str, levels: int) -> Questions:
    """Questions for one table of cases."""
    return Questions(
        levels={name: tuple(range(levels)), "case": BINARY}, cross=[(name, "case")], complete=[name, "case"]
    )


def _cases(world: World) -> np.ndarray:
    """Mask (n,) of the cases."""
    return np.asarray(world.y > 0.5)


def _levels(values: np.ndarray, levels: int) -> np.ndarray:
    """Numbers from 0 to levels - 1 of values in [0, 1]."""
    return np.asarray(np.clip(np.floor(np.clip(values, 0, 1) * levels).astype(int), 0, levels - 1))


def _columns(name: str, levels: int, world: World) -> Columns:
    """Columns of a table of cases by the first value of each record."""
    return {name: _levels(world.x[:, 0], levels), "case": _cases(world).astype(int)}


def _birthday_columns(world: World) -> Columns:
    """Columns of the two tables at the birthday that is known."""
    days, target = _levels(world.x[:, 0], DAYS), int(TARGET * DAYS)
    masks = {"before": days < target, "up to": days <= target, "case": _cases(world)}
    return {name: mask.astype(int) for name, mask in masks.items()}


def _regions(world: World) -> Columns:
    """Columns of the table of cases by region: regions with small numbers are small."""
    return _columns("region", REGIONS, World(np.clip(world.x, 0, 1) ** 2, world.y))


def _noisy_tables(task: Task[CountSettings], questions: Questions, columns: Callable[[World], Columns]) -> Exposure:
    """Releases of all tables of the questions that share the budget; entries that a pair differs in are attacked."""
    number = task.settings.releases
    mu = task.mu / math.sqrt(number)
    terms = contributions(questions.layout())
    statistic = whole_sums(terms.sums(columns(task.worst[0])), terms)
    payloads = {
        place: IntegerGaussian(mu=mu)(
            statistic, task.rng_for("release", place), owner=task.owner, release_id=f"tables {place} of {task.owner}"
        )
        for place in task.deal_releases(number)
    }
    # The mean of releases of one statistic is sufficient: it is one release of the whole budget.
    noise = terms.deviation(task.mu, 1.0)

    def pair_of(data: World, neighbour: World) -> GaussianPair:
        first, second = (terms.sums(columns(world)).astype(float) for world in (data, neighbour))
        moved = first != second
        # A pair that differs in no count has one entry to draw.
        moved[0] |= not moved.any()
        return GaussianPair(first[moved], second[moved], noise)

    return Exposure(payloads, task.pairs(pair_of))


def read_diagnoses(settings: ThresholdSettings, data: World) -> np.ndarray:
    """Mask of the targets whose diagnosis two allowed tables give away."""
    cases = _cases(data)
    read, diagnoses = read_by_differences(_levels(data.x[:, 0], DAYS), cases, settings.threshold)
    return np.asarray((read & (diagnoses == cases))[: settings.targets])


def allowed_tables(task: Task[ThresholdSettings]) -> Exposure:
    """Tables of cases born before a day and up to it, each unless it has a small count."""
    settings, data = task.settings, task.worst[0]
    terms = contributions(BIRTHDAYS.layout())

    def tables(world: World) -> np.ndarray:
        values = suppress(terms.sums(_birthday_columns(world)), terms, None, threshold=settings.threshold)
        return np.asarray(np.nan_to_num(values, nan=-1.0))

    right = read_diagnoses(settings, data)
    return clear_exposure(task, tables, "row", recovered_entries=int(right.sum()), recovered_share=float(right.mean()))


def noisy_birthdays(task: Task[ThresholdSettings]) -> Exposure:
    """Both tables at the known birthday in one noisy release."""
    return _noisy_tables(task, BIRTHDAYS, _birthday_columns)


def hidden_counts(task: Task[ThresholdSettings]) -> Exposure:
    """Table of cases by region in which small counts are hidden, with the number of records of each region."""
    threshold = task.settings.threshold

    def counts(world: World) -> np.ndarray:
        columns = _regions(world)
        places = 2 * columns["region"] + columns["case"]
        return np.bincount(places, minlength=2 * REGIONS).reshape(REGIONS, 2).astype(float)

    def hide(exact: np.ndarray) -> np.ndarray:
        return np.where((exact > 0) & (exact < threshold), np.nan, exact)

    def visible(world: World) -> np.ndarray:
        exact = counts(world)
        return np.asarray(np.nan_to_num(np.column_stack([hide(exact), hide(exact.sum(axis=1))]), nan=-1.0))

    exact = counts(task.worst[0])
    hidden = np.isnan(hide(exact))
    right = (read_by_margins(hide(exact), hide(exact.sum(axis=1))) == exact)[hidden]
    return clear_exposure(task, visible, "row", recovered_entries=int(right.sum()), recovered_share=float(right.mean()))


def noisy_regions(task: Task[ThresholdSettings]) -> Exposure:
    """The table of cases by region in one noisy release."""
    return _noisy_tables(task, _table("region", REGIONS), _regions)


def named_cases(data: World, show: Show) -> np.ndarray:
    """Mask of the cases that jumps of the shown counts name, in any of the orders."""
    cases = _cases(data)
    return np.asarray(named_by_jumps(list(data.x.T), cases, show)[cases])


def rounded_counts(task: Task[NestedSettings]) -> Exposure:
    """Rounded counts of the cases up to each value, in every order of the records."""
    settings, data = task.settings, task.worst[0]
    show = partial(round_to_base, base=settings.base, how=settings.how, rng=task.rng_for("unread"))

    def counts(world: World) -> np.ndarray:
        return show(np.cumsum(_cases(world)[np.argsort(world.x, axis=0, kind="stable")], axis=0))

    named = named_cases(data, show)
    return clear_exposure(task, counts, "row", recovered_entries=int(named.sum()), recovered_share=float(named.mean()))


def noisy_orders(task: Task[NestedSettings]) -> Exposure:
    """Tables of cases by bands of every order in one noisy release, from which all nested counts follow."""
    names = [f"order {number}" for number in range(1, task.settings.orders + 1)]
    bands = Bands(np.linspace(0, 1, BANDS + 1).tolist())
    questions = Questions(
        levels={**dict.fromkeys(names, bands), "case": BINARY},
        cross=[(name, "case") for name in names],
        complete=[*names, "case"],
    )

    def columns(world: World) -> Columns:
        return {**dict(zip(names, world.x.T, strict=True)), "case": _cases(world).astype(int)}

    return _noisy_tables(task, questions, columns)


def _asked_counts(settings: AnswerSettings | SplitSettings, world: World) -> np.ndarray:
    """Exact counts (cells, answers, parts) of the cases, whose parts add to the count of each cell."""
    cells, cases = _levels(world.x[:, 0], CELLS), _cases(world)
    if isinstance(settings, AnswerSettings):
        counts = np.bincount(cells[cases], minlength=CELLS)
        return np.repeat(counts[:, None, None], settings.answers, axis=1)
    halves = world.x[cases, 1:] < TARGET
    inside = np.arange(CELLS)[:, None] == cells[cases]
    parts = (inside.astype(int) @ half.astype(int) for half in (halves, ~halves))
    return np.stack(list(parts), axis=2)


def rounded_answers(task: Task[AnswerSettings | SplitSettings]) -> Exposure:
    """Counts of the cases of each cell, rounded at random: the cell itself many times, or both parts of many splits."""
    settings, base = task.settings, task.settings.base
    asked = _asked_counts(settings, task.worst[0])
    sent = round_to_base(asked, base, "random", task.rng_for("roundings"))
    rng = task.rng_for("repetitions")
    shares = []
    for counts in asked:
        answers = round_to_base(np.broadcast_to(counts, (task.trials, *counts.shape)), base, "random", rng)
        shares.append(exact_by_means(answers.sum(axis=2), int(counts[0].sum())))
    payload = unproved_release(sent, task.owner, "row", "random rounding", task.noise())

    def pair_of(data: World, neighbour: World) -> DistributionPair:
        first, second = (_asked_counts(settings, world).ravel() for world in (data, neighbour))
        return rounding_pair(first, second, base, task.delta)

    return Exposure({0: payload}, task.pairs(pair_of), {"recovered_share": float(np.mean(shares))})


def rounding_pair(first: np.ndarray, second: np.ndarray, base: int, delta: float) -> DistributionPair:
    """Distributions of independent roundings at random of counts (m,) that differ by one at most.

    Of all roundings with the same two probabilities to go up, their number is compared; of several such groups, the one
    that reveals most, so that the bound is a lower one.
    """
    low = base * (np.minimum(first, second) // base)
    moved = first != second
    chances = np.column_stack([first - low, second - low])[moved] / base
    groups, sizes = np.unique(chances, axis=0, return_counts=True)
    pairs = [
        DistributionPair(*(np.diff(bdtr(np.arange(size + 1), size, chance), prepend=0.0) for chance in group))
        for group, size in zip(groups, sizes, strict=True)
    ]
    same = DistributionPair(np.ones(1), np.ones(1))
    return max(pairs, key=lambda pair: finite_epsilon(pair.first, pair.second, delta), default=same)


def noisy_cells(task: Task[CountSettings]) -> Exposure:
    """The table of cases by cell in one noisy release, which is stored and returned to every later question."""
    return _noisy_tables(task, _table("cell", CELLS), partial(_columns, "cell", CELLS))


def artifacts(task: Task[ArtifactSettings]) -> Exposure:
    """Artifacts with one table of cases, each with geometric noise of a peer against the other one.

    A count that moves by one step is distinguished as a response of two values of the same epsilon: two outcomes, up to
    the count and above it, have all of the likelihood ratio.
    """
    number = task.settings.artifacts
    terms = contributions(_table("exposed", 2).layout(), distribution="laplace")
    noise = GeometricNoise(task.epsilon, terms.shift)

    def sums(world: World) -> np.ndarray:
        return terms.sums(_columns("exposed", 2, world))

    statistic = whole_sums(sums(task.worst[0]), terms)
    payloads = {
        place: noise.release(
            statistic, task.rng_for("artifact", place), owner=task.owner, release_id=f"artifact {place} of {task.owner}"
        )
        for place in task.deal_releases(number)
    }

    def pair_of(data: World, neighbour: World) -> ResponseDistributionPair:
        moves = np.repeat(np.abs(sums(data) - sums(neighbour)), number)
        return ResponseDistributionPair(np.zeros_like(moves), moves, task.epsilon / terms.shift, 2)

    # The number of cases is the sum of two cells, each with a full draw of both peers.
    draws = whole_sums(np.zeros((task.trials, number, 4), dtype=np.int64), terms)
    drawn = noise.release(draws, task.rng_for("repetitions"), owner="experimenter", release_id="repetitions").value
    share = exact_by_means(drawn.sum(axis=2), 0)
    return Exposure(payloads, task.pairs(pair_of), {"recovered_share": share})


def noisy_exposure(task: Task[ArtifactSettings]) -> Exposure:
    """The table of cases by exposure in each artifact, whose releases share the budget by a ledger."""
    return _noisy_tables(task, _table("exposed", 2), partial(_columns, "exposed", 2))


def seeded_answers(task: Task[CountSettings]) -> Exposure:
    """One question before and after a record is added, with noise that only the question decides."""
    noise = np.rint(stream(0, "cases by cell").normal(0, np.sqrt(2) * task.analytic, (CELLS, 1)))

    def answers(world: World) -> np.ndarray:
        without = World(world.x[1:], world.y[1:])
        tables = [_columns("cell", CELLS, data) for data in (without, world)]
        counts = [np.bincount(table["cell"][table["case"] == 1], minlength=CELLS) for table in tables]
        return np.stack(counts, axis=1) + noise

    payload = unproved_release(answers(task.worst[0]), task.owner, "row", "noise of the question", task.noise())
    pairs = task.pairs(lambda data, neighbour: ClearPair(*(np.diff(answers(world)) for world in (data, neighbour))))
    difference = np.diff(answers(task.worst[0]))
    return Exposure({0: payload}, pairs, {"recovered_share": float(difference.sum() == task.worst[0].y[0])})
