"""Releases of tables for tests: of records or of printed counts, with Gaussian noise by address or without noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from statsmodels.datasets.china_smoking import load as load_china_smoking

from partywise.core.randomness import stream
from partywise.methods.epidemiology.consistency import ReleasedTables, consistent_tables
from partywise.methods.epidemiology.contributions import Contributions, contributions
from partywise.methods.epidemiology.estimates.inference import Answer
from partywise.methods.epidemiology.questions import Questions
from partywise.privacy.accounting.calibration import gdp_mu

# UCBAdmissions of R: department by sex (female, male) by (rejected, admitted).
BERKELEY = np.array(
    [
        [[19, 89], [313, 512]],
        [[8, 17], [207, 353]],
        [[391, 202], [205, 120]],
        [[244, 131], [279, 138]],
        [[299, 94], [138, 53]],
        [[317, 24], [351, 22]],
    ]
)
BERKELEY_CELLS = BERKELEY.transpose(1, 2, 0)

# Smoking by lung cancer in eight cities of China: smokers are exposed, cancer is the event.
_CITIES = load_china_smoking().data
CITIES = np.array(
    [
        [_CITIES["smoking_no_cancer_no"], _CITIES["smoking_no_cancer_yes"]],
        [_CITIES["smoking_yes_cancer_no"], _CITIES["smoking_yes_cancer_yes"]],
    ],
    dtype=int,
)


def expanded(names: Sequence[str], counts: np.ndarray) -> dict[str, np.ndarray]:
    """Columns of records, whose values are the numbers of the levels, with these counts (...)."""
    codes = np.indices(counts.shape).reshape(len(names), -1)
    return {name: np.repeat(row, counts.ravel()) for name, row in zip(names, codes, strict=True)}


def table_questions(names: Sequence[str], shape: Sequence[int], **keys: object) -> Questions:
    """Questions for one table of complete variables whose levels are numbers."""
    levels = {name: list(range(size)) for name, size in zip(names, shape, strict=True)}
    return Questions(levels=levels, cross=[tuple(names)], complete=list(names), **keys)  # type: ignore[arg-type]


def release(
    items: Contributions, columns: Mapping[str, np.ndarray], records: int | None, sd: float = 0.0, *address: str | int
) -> ReleasedTables:
    """Consistent tables of records, with noise of this deviation in steps from the stream of an address."""
    sums = items.sums(columns)
    noise = np.rint(stream(11, *address).normal(0, sd, len(sums))) if sd else 0.0
    return consistent_tables(items, sums + noise, sd, records)


def exact_table(names: Sequence[str], counts: np.ndarray, **keys: object) -> ReleasedTables:
    """Release of one printed table without noise."""
    items = contributions(table_questions(names, counts.shape, **keys).layout())
    return release(items, expanded(names, counts), int(counts.sum()))


def noisy_table(names: Sequence[str], counts: np.ndarray, deviation: float, *address: str | int) -> ReleasedTables:
    """Release of one table with noise of this deviation in every cell."""
    items = contributions(table_questions(names, counts.shape).layout())
    sd = deviation * items.weights[0]
    return release(items, expanded(names, counts), int(counts.sum()), sd, *address)


def shared_deviation(items: Contributions, records: int, epsilon: float, parties: int = 3) -> float:
    """Deviation in steps of shared noise against one colluder, at delta = n^-1.1."""
    return items.deviation(float(gdp_mu(epsilon, records**-1.1)), parties / (parties - 1))


def by_name(answers: Sequence[Answer]) -> dict[str, Answer]:
    """Answers by their names, each of which is there once."""
    rows = {answer.name: answer for answer in answers}
    assert len(rows) == len(answers)
    return rows
