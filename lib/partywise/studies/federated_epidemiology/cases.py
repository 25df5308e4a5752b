"""The cases of the study: one replicate each, generated or dealt from a shipped table."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...core.randomness import Rng, stream
from ...data.fetch import read_files
from ...data.loaders.party_tables.frames import read_frame
from ...data.reading import as_text, require
from ...methods.epidemiology.cohort import cohort_questions, draw_cohort
from .data import EpidemiologyData
from .settings import EpidemiologyDatasetSettings, EpidemiologyGeneratedSettings
from .tables import RESOURCE, TABLES, CohortColumn, CohortTable

Columns = Mapping[str, np.ndarray]
# Records from which the numbers of the population are computed: their standard errors are 1/18 of those of 3,000.
POPULATION = 1_000_000


def draw_generated(settings: EpidemiologyGeneratedSettings, spec: object, rng_for: Rng, resources: Path) -> Columns:
    """New records of the made-up cohort."""
    return draw_cohort(settings.n, rng_for("records"))


def of_cohort(settings: EpidemiologyGeneratedSettings, columns: Columns) -> EpidemiologyData:
    """A replicate of generated records."""
    return EpidemiologyData(
        columns,
        cohort_questions(),
        settings.target,
        truth=population_numbers(),
        organisations=settings.organisations,
    )


def draw_dataset(settings: EpidemiologyDatasetSettings, spec: object, rng_for: Rng, resources: Path) -> Columns:
    """The records of a table in a new order."""
    columns = read_cohort(settings.dataset, Path(resources))
    rows = rng_for("deal").permutation(settings.table.rows)[: settings.n]
    return {name: column[rows] for name, column in columns.items()}


def of_dataset(settings: EpidemiologyDatasetSettings, columns: Columns) -> EpidemiologyData:
    """A replicate of a shipped table."""
    return EpidemiologyData(columns, settings.question_set, settings.target)


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


@lru_cache(maxsize=4)
def read_cohort(name: str, resources: Path, *, all_rows: bool = False) -> Mapping[str, np.ndarray]:
    """Columns (n,) of a shipped table by name: text with "" where it is missing, or numbers with nan.

    all_rows : whether records without an entry of the table's column ``only`` are there as well
    """
    table = TABLES[name]
    columns = _read_columns(table, resources, all_rows)
    if not all_rows:
        rows = len(columns[table.columns[0].name])
        require(rows == table.rows, f"{name} has {rows} records where {table.rows} are expected")
        for column in table.columns:
            values = columns[column.name]
            empty = int(np.sum(values == "") if column.levels else np.isnan(values).sum())
            require(empty == column.missing, f"{column.name} of {name} is empty {empty} times, not {column.missing}")
    return columns


def _read_columns(table: CohortTable, resources: Path, all_rows: bool) -> dict[str, np.ndarray]:
    """Columns of a table: of its file, of which cells are so many records, or of its own cells."""
    if table.cells:
        cells = np.repeat(np.arange(len(table.cells)), table.cells)
        codes = np.unravel_index(cells, [len(column.levels) for column in table.columns])
        return {c.name: np.array(c.levels)[code] for c, code in zip(table.columns, codes, strict=True)}
    contents, _, _ = read_files(RESOURCE, resources / RESOURCE)
    frame = read_frame(contents[table.file], table.file)
    if table.counts:
        frame = {name: np.repeat(column, frame[table.counts]) for name, column in frame.items()}
    if table.only and not all_rows:
        inside = ~np.isnan(np.asarray(frame[table.only], dtype=float))
        frame = {name: column[inside] for name, column in frame.items()}
    return {column.name: _entries(column, frame) for column in table.columns}


def _entries(column: CohortColumn, frame: Mapping[str, np.ndarray]) -> np.ndarray:
    """Numbers (n,), or levels (n,) with "" for an entry that is empty or not declared."""
    if column.first_of:
        happened = [np.asarray(frame[name]) == 1 for name in column.first_of]
        return np.select(happened, column.levels[:-1], column.levels[-1])
    values = frame[column.column or column.name]
    if not column.levels:
        return np.asarray(values, dtype=float)
    texts = as_text(values)
    matches = [texts == entry for entry in column.entries or column.levels]
    return np.select([*matches, texts == "nan"], [*column.levels, column.empty], "")
