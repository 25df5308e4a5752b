"""Numbers of dsVert's validation table, recomputed: its tables and measures under its noise, its regions and ours.

Each family of tables is released with two draws of geometric noise on a grid of 1/256 and moved into [0, capacity].
Measures are functions of these cells by the source's formulas; our intervals are those of `target` cohort, without a
public number of records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ....core.randomness import stream
from ....federation.exchanges.noisy_sums import GeometricNoise
from ....methods.epidemiology.consistency import ReleasedTables, consistent_tables
from ....methods.epidemiology.contributions import contributions
from ....methods.epidemiology.estimates.curves import quantiles
from ....methods.epidemiology.estimates.inference import Answer, Cells, Inference, Scale, corner_values, delta_answers
from ....methods.epidemiology.estimates.strata import mantel_haenszel, mantel_haenszel_terms
from ....methods.epidemiology.estimates.two_by_two import two_by_two
from ....methods.epidemiology.estimator import FederatedEpidemiology
from ....methods.epidemiology.published import box_radius
from ....methods.epidemiology.questions import Bands, Questions
from ....models.follow_up.incidence import complex_step, exit_curves
from ....privacy.mechanisms.laplace import draw_geometric

ROOT_SEED = 20240601
STEPS, DRAWS = 256, 20_000
# Draws of the source; and of those whose intervals are computed for the register.
PRINTED_DRAWS, INTERVALS = 1000, 100
COHORT = Inference("cohort")
# Measures of a 2 x 2 table, with the scales of their intervals; the first eight are those of `two_by_two`.
ASSOCIATION: Mapping[str, Scale] = {
    "risk_exposed": "logit",
    "risk_unexposed": "logit",
    "population_risk": "logit",
    "risk_difference": "identity",
    "risk_ratio": "log",
    "odds_ratio": "log",
    "attributable_fraction_exposed": "identity",
    "population_attributable_fraction": "identity",
    "sensitivity": "logit",
    "specificity": "logit",
    "ppv": "logit",
    "npv": "logit",
    "prevalence": "logit",
    "accuracy": "logit",
    "balanced_accuracy": "logit",
    "f1_score": "logit",
    "lr_positive": "log",
    "lr_negative": "log",
    "direct_standardized_risk": "logit",
    "observed_expected_ratio": "log",
    "auc": "logit",
}
OFFERED = 8
CURVES = {"kaplan_meier": 6, "nelson_aalen": 6, "cumulative_incidence": 12, "rmst": 1}
CURVE_SCALES: Mapping[str, Scale] = {"kaplan_meier": "logit", "nelson_aalen": "log", "cumulative_incidence": "logit"}
# Four hundred values in the middles of eight bands of width 1/2.
BANDS, WIDTH = (38, 56, 49, 61, 43, 57, 39, 57), 0.5
QUARTILES = (0.25, 0.5, 0.75)


def association(x: np.ndarray) -> np.ndarray:
    """Measures (..., 21) of cells (..., 4): unexposed without and with the event, then exposed."""
    d, c, b, a = np.moveaxis(x, -1, 0)
    n, exposed, unexposed = a + b + c + d, a / (a + b), c / (c + d)
    everyone, specificity, odds_ratio = (a + c) / n, d / (c + d), a * d / (b * c)
    fractions = (1 - unexposed / exposed, 1 - unexposed / everyone)
    effects = (exposed, unexposed, everyone, exposed - unexposed, exposed / unexposed, odds_ratio, *fractions)
    predictive = (a / (a + c), d / (b + d), (a + b) / n, (a + d) / n)
    balanced = (exposed + specificity) / 2
    ratios = (exposed / unexposed, (1 - exposed) / specificity)
    standardised = (0.4 * unexposed + 0.6 * exposed, (a + c) / (0.15 * (c + d) + 0.30 * (a + b)))
    diagnostic = (exposed, specificity, *predictive, balanced, 2 * a / (2 * a + b + c), *ratios)
    return np.stack([*effects, *diagnostic, *standardised, balanced], axis=-1)


def common_odds_ratio(x: np.ndarray) -> np.ndarray:
    """Mantel-Haenszel odds ratio (..., 1) of cells (..., 12): exposure, outcome, stratum."""
    numerator, denominator, *_ = mantel_haenszel_terms(x.reshape(*x.shape[:-1], 2, 2, 3))
    return np.asarray(numerator.sum(axis=-1) / denominator.sum(axis=-1))[..., None]


def curves(x: np.ndarray) -> np.ndarray:
    """Survival, cumulative hazard, incidence of two causes and restricted mean (..., 25) of cells (..., 19).

    Cells are the censored, then those of each cause, in six bins; the last is of records outside of the analysis. A
    record that leaves in a bin is at risk in all of it.
    """
    blocks = x[..., :18].reshape(*x.shape[:-1], 3, 6)
    exits = exit_curves(blocks[..., 1:, :], blocks[..., 0, :], 0.0, lost=0.0)
    hazard = np.cumsum(exits.hazards.sum(axis=-2), axis=-1)
    incidence = exits.incidence[..., 1:].reshape(*x.shape[:-1], 12)
    mean = exits.survival[..., :-1].sum(axis=-1)[..., None]
    return np.concatenate([exits.survival[..., 1:], hazard, incidence, mean], axis=-1)


def description(x: np.ndarray) -> np.ndarray:
    """Mean and variance (..., 2) on [0, 4] of the number, sum and sum of squares of values on [0, 1]."""
    size, total, squares = np.moveaxis(x[..., :3], -1, 0)
    return np.stack([4 * total / size, 16 * (squares / size - (total / size) ** 2)], axis=-1)


@dataclass(frozen=True)
class Family:
    """Tables that the source releases together.

    cells : exact; epsilon, move, capacity : of the release; the move is that of all cells together
    function, measures : of the cells, with the scale of each; those of one name are points of one curve
    """

    cells: tuple[float, ...]
    epsilon: float
    move: int
    capacity: int
    function: Callable[[np.ndarray], np.ndarray]
    measures: tuple[tuple[str, Scale], ...]

    @property
    def noise(self) -> GeometricNoise:
        """Noise of a cell, in steps."""
        return GeometricNoise(self.epsilon, self.move * STEPS, 2)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of a cell, in counts."""
        return self.noise.standard_deviation / STEPS

    def places(self, measure: str) -> np.ndarray:
        """Places of a measure, or of the points of its curve."""
        return np.flatnonzero([name == measure for name, _ in self.measures])


def _described_cells() -> tuple[float, ...]:
    middles = (np.arange(8) + 0.5) / 8
    return (sum(BANDS), float(middles @ BANDS), float(middles**2 @ BANDS), *BANDS, 0)


STRATA = (150, 300, 160, 50, 100, 40, 80, 100, 120, 120, 200, 80)
EXITS = (5, 10, 15, 20, 30, 75, 10, 8, 6, 4, 2, 0, 5, 4, 3, 2, 1, 0, 0)
POINTS = tuple((name, CURVE_SCALES.get(name, "identity")) for name, points in CURVES.items() for _ in range(points))
FAMILIES = {
    "epidemiology_2x2": Family((320, 80, 240, 160), 3, 2, 2000, association, tuple(ASSOCIATION.items())),
    "mantel_haenszel": Family(STRATA, 3, 2, 2000, common_odds_ratio, (("common_odds_ratio", "log"),)),
    "survival_rmst": Family(EXITS, 3, 2, 250, curves, POINTS),
    "describe_quantile_median": Family(
        _described_cells(), 6, 5, 600, description, (("bounded_mean", "identity"), ("bounded_variance", "identity"))
    ),
    # Only its radius is recomputed: correlations and components are not measures of tables.
    "gaussian_correlation_pca": Family((0.0,) * 12, 6, 12, 1000, description, ()),
}
MEASURES = {name: family for family, row in FAMILIES.items() for name, _ in row.measures}
MEASURES |= {f"q{100 * probability:g}": "describe_quantile_median" for probability in QUARTILES}


@lru_cache(maxsize=8)
def noisy_cells(family: str) -> np.ndarray:
    """Released cells (20000, c) of a family."""
    row = FAMILIES[family]
    rng, rate = stream(ROOT_SEED, "dsvert", family), Fraction(row.epsilon) / (row.move * STEPS)
    noise = sum(draw_geometric(rng, rate, (DRAWS, len(row.cells))) for _ in range(2))
    cells = np.clip(np.asarray(row.cells) + noise / STEPS, 0, row.capacity)
    if row.function is description:
        # The number of records is shown as a whole one.
        cells[:, 0] = np.rint(cells[:, 0])
    return cells


def endpoints(cells: np.ndarray, probability: float) -> np.ndarray:
    """Upper end (...) of the first band up to which a share of the records is, of cells (..., 12)."""
    cumulated = np.cumsum(cells[..., 3:11], axis=-1)
    return np.asarray(WIDTH * (1 + np.argmax(cumulated >= probability * cumulated[..., -1:], axis=-1)))


def numbers_of(measure: str, cells: np.ndarray) -> np.ndarray:
    """Values (..., points) of a measure of cells (..., c)."""
    family = FAMILIES[MEASURES[measure]]
    if measure.startswith("q"):
        return endpoints(cells, float(measure[1:]) / 100)[..., None]
    values: np.ndarray = family.function(cells)[..., family.places(measure)]
    return values


def rmse(measure: str) -> np.ndarray:
    """Values (20000,) whose mean is the root mean square error of a measure.

    The standard error of their mean is that of its difference from the error over the source's draws.
    """
    family = MEASURES[measure]
    errors = numbers_of(measure, noisy_cells(family)) - numbers_of(measure, np.array(FAMILIES[family].cells))
    squares = (errors**2).mean(axis=-1)
    root = np.sqrt(squares.mean())
    return np.asarray(root + np.sqrt(1 + DRAWS / PRINTED_DRAWS) * (squares - root**2) / (2 * root))


def radius(family: str) -> float:
    """Half-width of the box of a family, in counts."""
    row = FAMILIES[family]
    return box_radius(len(row.cells), row.noise)[0] / STEPS


def miss_probability(family: str) -> float:
    """Bound of the probability that the box of a family misses an exact cell."""
    row = FAMILIES[family]
    return box_radius(len(row.cells), row.noise)[1]


def region_width(measure: str) -> float:
    """Width of the range of a measure over the box around the exact cells; of a curve the mean of its points."""
    family = FAMILIES[MEASURES[measure]]
    point, places = np.array(family.cells), family.places(measure)
    gradients = complex_step(family.function, point)
    lower, upper = corner_values(family.function, point, gradients, radius(MEASURES[measure]))
    return float((upper - lower)[places].mean())


def interval_width(measure: str, draws: int = INTERVALS) -> np.ndarray:
    """Mean widths (draws,) of our intervals of a measure, of a curve over its points."""
    cells = noisy_cells(MEASURES[measure])[:draws]
    return np.array([np.mean([answer.width for answer in answers_of(measure, row)]) for row in cells])


def coverage(measure: str, draws: int = INTERVALS) -> float:
    """Share of our intervals of a measure that hold its exact value."""
    family = MEASURES[measure]
    exact = numbers_of(measure, np.array(FAMILIES[family].cells))
    rows = [answers_of(measure, row) for row in noisy_cells(family)[:draws]]
    return float(np.mean([answer.holds(value) for row in rows for answer, value in zip(row, exact, strict=True)]))


def answers_of(measure: str, cells: np.ndarray) -> list[Answer]:
    """Our intervals of a measure, or of the points of its curve, from released cells (c,)."""
    name = MEASURES[measure]
    if measure.startswith("q"):
        return [_quartile(cells, float(measure[1:]) / 100)]
    return [_family_answers(name, tuple(cells.tolist()))[place] for place in FAMILIES[name].places(measure)]


@lru_cache(maxsize=4 * PRINTED_DRAWS)
def _family_answers(name: str, values: tuple[float, ...]) -> list[Answer]:
    """All answers of a family."""
    family, cells = FAMILIES[name], np.array(values)
    noise = family.deviation**2 * np.eye(len(cells))
    plain = Cells(cells, noise, float(cells.sum()), family.noise.excess_kurtosis, centred=False)
    names, scales = zip(*family.measures, strict=True)
    answers = delta_answers(names, family.function, plain, COHORT, scales)
    if family.function is association:
        offered = two_by_two(_noisy_tables(family, cells, "exposed", "event"), "exposed", "event", COHORT)
        return [*offered, *answers[OFFERED:]]
    if family.function is common_odds_ratio:
        released = _noisy_tables(family, cells, "exposed", "event", "stratum")
        return mantel_haenszel(released, "exposed", "event", ("stratum",), COHORT)[:1]
    return answers


def _noisy_tables(family: Family, cells: np.ndarray, *names: str) -> ReleasedTables:
    """Table of binary variables and strata as our release has it, without a public number of records."""
    levels = {name: range(3 if name == "stratum" else 2) for name in names}
    questions = Questions(levels=levels, cross=[names], complete=names)
    terms = contributions(questions.layout(), "equal", "laplace")
    return consistent_tables(terms, cells, family.deviation, None, excess=family.noise.excess_kurtosis)


def _quartile(cells: np.ndarray, probability: float) -> Answer:
    """Quantile of a number of whole bands, as the upper end of a band."""
    family = FAMILIES["describe_quantile_median"]
    questions = Questions(table_one={"band": Bands(range(9), whole=True)}, complete=["band"])
    terms = contributions(questions.layout(), "equal", "laplace")
    released = consistent_tables(terms, cells[3:11], family.deviation, None, excess=family.noise.excess_kurtosis)
    (answer,) = quantiles(released, "band", COHORT, [probability])
    return answer.transform(answer.name, lambda band: WIDTH * (1 + band))


def certified_epsilon() -> float:
    """Epsilon that the ledger certifies, at delta 1e-12, of the release of the 2 x 2 table at epsilon 3."""
    cells = np.array(FAMILIES["epidemiology_2x2"].cells, dtype=int)
    frame = {"exposed": np.repeat([0, 0, 1, 1], cells), "event": np.repeat([0, 1, 0, 1], cells)}
    questions = Questions(levels=dict.fromkeys(frame, range(2)), cross=[tuple(frame)], complete=frame)
    model = FederatedEpidemiology(questions, "geometric_box", epsilon=3.0, delta=1e-12, parties=2, random_state=1)
    return round(model.fit(frame).privacy_.epsilon_certified, 9)
