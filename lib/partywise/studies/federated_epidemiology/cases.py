"""The cases of the study: one replicate each, generated or dealt from a shipped table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...core.randomness import Rng, stream
from ...methods.epidemiology.cohort import cohort_questions, draw_cohort
from .data import EpidemiologyData
from .settings import EpidemiologyGeneratedSettings

Columns = Mapping[str, np.ndarray]
# Records from which the numbers of the population are computed: their standard errors are 1/18 of those of 3,000.
POPULATION = 1_000_000


def draw_generated(settings: EpidemiologyGeneratedSettings, spec: object, rng_for: Rng, resources: Path) -> Columns:
    """New records of the made-up cohort."""
    return draw_cohort(settings.n, rng_for("records"))


def of_cohort(settings: EpidemiologyGeneratedSettings, columns: Columns) -> EpidemiologyData:
    """A replicate of generated records."""
    return EpidemiologyData(columns, cohort_questions(), settings.target, truth=population_numbers())


@lru_cache(maxsize=1)
def population_numbers() -> Mapping[str, float]:
    """Numbers of the made-up cohort's population by the names of their answers, from a million public records."""
    columns = draw_cohort(POPULATION, stream(0, "population of the cohort"))
    population = EpidemiologyData(columns, cohort_questions())
    numbers = {name: answer.estimate for name, answer in population.exact_answers.items()}
    # Quartiles of the records themselves: those of the answers are read between the edges of bands.
    for group in np.unique(columns["exposure"]):
        ages = columns["age"][columns["exposure"] == group]
        for probability in (0.25, 0.5, 0.75):
            numbers[f"quantile {probability:g} of age | exposure = {group}"] = float(np.quantile(ages, probability))
    return {name: number for name, number in numbers.items() if number is not None}
