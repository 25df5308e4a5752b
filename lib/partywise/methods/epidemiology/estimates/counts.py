"""Counts and proportions of levels in groups, and whole counts for reading."""

from __future__ import annotations

import numpy as np

from ..consistency import Counts, ReleasedTables
from ..layout import Variable
from .inference import (
    Answer,
    Cells,
    Inference,
    delta_answers,
    hidden_answer,
    interval_answer,
    quadratic_interval,
    scaled_answer,
)


def proportion(name: str, cells: Cells, part: np.ndarray, whole: np.ndarray, inference: Inference) -> Answer:
    """Share of the records of one set of cells that are in another.

    part, whole : (c,) masks of the cells, the first inside the second

    The interval inverts the score test of the share p: (a - p N)^2 <= z^2 (N p (1 - p) + s_aa - 2 p s_aN + p^2 s_NN),
    which is Wilson's without noise.  A noisy count a outside of [0, N] is moved to the nearest end first.
    """
    a, size = float(part @ cells.flat), float(whole @ cells.flat)
    s_aa, s_an, s_nn = (
        float(left @ cells.noise @ right) for left, right in ((part, part), (part, whole), (whole, whole))
    )
    if inference.radius:
        return delta_answers([name], lambda x: (x @ part / (x @ whole))[..., None], cells, inference, ["identity"])[0]
    if not cells.clear(whole):
        return hidden_answer(name, inference)
    a = min(max(a, 0.0), size)
    share = a / size
    noise = max(s_aa - 2 * share * s_an + share**2 * s_nn, 0.0)
    sampling = size * share * (1 - share)
    if inference.interval == "wald":
        kurtosis = cells.kurtosis(part - share * whole)
        return scaled_answer(name, share, noise / size**2, sampling / size**2, inference, "identity", kurtosis=kurtosis)
    variance = noise + sampling * inference.sampling
    noise_share = noise / variance if variance > 0 else 0.0
    z = inference.reach(cells.kurtosis(part - share * whole), noise_share) ** 2
    zn = z * size if inference.sampling else 0.0
    ends = quadratic_interval(size**2 + zn - z * s_nn, a * size + zn / 2 - z * s_an, a**2 - z * s_aa, 0.0, 1.0)
    return interval_answer(name, share, ends, inference, noise_share)


def level_proportions(released: ReleasedTables, name: str, inference: Inference) -> list[Answer]:
    """Shares of the levels of a variable by group: of a known level among the known ones, of missing ones among all.

    A variable of two known levels has one answer per group, that of the last level.
    """
    by = released.layout.by
    names = (by, name) if by and by != name else (name,)
    counts = released.table(*names)
    group = counts.variables[0] if len(names) == 2 else None
    variable = counts.variables[-1]
    cells = Cells(counts.values, counts.covariance, counts.size, released.excess, counts.records is not None)
    levels = (
        range(len(variable.levels))
        if variable.known_levels > 2
        else [variable.known_levels - 1, *range(2, len(variable.levels))]
    )
    answers = []
    for row in range(group.known_levels if group else 1):
        for level in levels:
            part = _mask(counts, row if group else None, slice(level, level + 1))
            whole = _mask(
                counts, row if group else None, slice(variable.known_levels if level < variable.known_levels else None)
            )
            answers.append(
                proportion(answer_name(name, variable.levels[level], group, row), cells, part, whole, inference)
            )
    return answers


def answer_name(name: str, level: str, group: Variable | None, row: int) -> str:
    """Name of the answer of a level in a group, as ``sex = f | arm = drug``."""
    label = f"{name} = {level}" if level else name
    return label if group is None else f"{label} | {group.name} = {group.levels[row]}"


def _mask(counts: Counts, row: int | None, levels: slice) -> np.ndarray:
    """Mask (c,) of the cells of some levels of the last variable, in one row of the first or in all."""
    mask = np.zeros(counts.values.shape)
    mask[..., levels] = 1
    if row is not None:
        mask[np.arange(len(mask)) != row] = 0
    return mask.ravel()


def count_answers(counts: Counts, inference: Inference) -> list[Answer]:
    """Counts of all cells of a table, in C order: whole numbers for reading, with intervals for these records."""
    whole = whole_counts(counts.values, counts.records)
    deviations = np.sqrt(np.diag(counts.covariance))
    answers = []
    for place, index in enumerate(np.ndindex(counts.values.shape)):
        pairs = zip(counts.variables, index, strict=True)
        name = ", ".join(f"{variable.name} = {variable.levels[level]}" for variable, level in pairs) or "records"
        value, reach = float(counts.values[index]), inference.radius or inference.factor * float(deviations[place])
        ends = max(0.0, value - reach), max(0.0, value) + reach
        answers.append(Answer(name, float(whole[index]), *ends, "cohort", float(reach > 0)))
    return answers


def whole_counts(values: np.ndarray, total: int | None) -> np.ndarray:
    """Counts for reading, int64: not negative, and rows of the first axis add to totals that add to ``total``.

    Estimates do not come from these: what makes counts whole makes small ones too large on average.
    """
    if values.ndim < 2:
        target = max(round(float(values.sum())), 0) if total is None else total
        return _round_to_sum(values.reshape(-1), target).reshape(values.shape)
    rows = values.reshape(len(values), -1)
    totals = whole_counts(rows.sum(axis=1), total)
    return np.stack([_round_to_sum(row, int(size)) for row, size in zip(rows, totals, strict=True)]).reshape(
        values.shape
    )


def _round_to_sum(values: np.ndarray, total: int) -> np.ndarray:
    """Whole numbers of the sum ``total`` next to the projection of values on {u >= 0, sum u = total}."""
    if not total:
        return np.zeros(values.shape, dtype=np.int64)
    ordered = np.sort(values)[::-1]
    shifts = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    shift = shifts[np.flatnonzero(ordered > shifts)[-1]]
    projected = np.maximum(values - shift, 0)
    floors = np.floor(projected + 1e-9).astype(np.int64)
    rest = total - int(floors.sum())
    # The largest remainders are rounded up; of equal ones the first.
    order = np.argsort(-np.round(projected - floors, 9), kind="stable")
    floors[order[:rest]] += 1
    return floors
