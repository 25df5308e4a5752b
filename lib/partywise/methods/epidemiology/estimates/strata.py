"""Measures over strata: Mantel-Haenszel odds and risk ratios, and standardised risks and their comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from ....models.follow_up.incidence import complex_step
from ..consistency import ReleasedTables
from .inference import CLEAR, REMEDY, Answer, Cells, Inference, Scale, delta_answers, hidden_answer, undetermined_answer
from .two_by_two import binary_cells

MANTEL_HAENSZEL = ("Mantel-Haenszel odds ratio", "Mantel-Haenszel risk ratio")
STANDARDISED: Mapping[str, Scale] = {
    "standardised risk, exposed": "logit",
    "standardised risk, unexposed": "logit",
    "standardised risk difference": "identity",
    "standardised risk ratio": "log",
    "standardised mortality ratio": "log",
}


def mantel_haenszel(
    released: ReleasedTables, exposure: str, outcome: str, strata: Sequence[str], inference: Inference
) -> list[Answer]:
    """Common odds ratio and risk ratio of two known levels each, over strata.

    Intervals are on the scale of logarithms; sampling variances are those of Robins, Breslow and Greenland (1986) and
    of Greenland and Robins (1985). For a population strata whose size noise hides are left out and named.
    """
    cells, names = stratum_cells(released, exposure, outcome, strata)
    sizes = stratum_masks(cells)
    keep = cells.clear(sizes)
    if inference.target == "cohort" and not keep.all():
        return [undetermined_answer(name, inference, _hidden_strata(names, ~keep)) for name in MANTEL_HAENSZEL]
    if float(sizes[keep].sum(axis=0) @ cells.flat) < cells.size / 2:
        reason = f"strata that noise does not hide hold less than half of the records: {REMEDY}"
        return [undetermined_answer(name, inference, reason) for name in MANTEL_HAENSZEL]

    def parts(x: np.ndarray) -> np.ndarray:
        """Numerators and denominators (..., 4) of both ratios."""
        table = x.reshape(*x.shape[:-1], 2, 2, -1)[..., keep]
        terms = mantel_haenszel_terms(table)
        return np.stack([term.sum(axis=-1) for term in terms], axis=-1)

    def ratios(x: np.ndarray) -> np.ndarray:
        return parts(x)[..., ::2] / parts(x)[..., 1::2]

    clear = parts(cells.flat) > np.maximum(
        CLEAR * np.sqrt(cells.noise_variance(complex_step(parts, cells.flat))), 1e-12
    )
    sampling = _log_variances(np.maximum(cells.values.reshape(2, 2, -1)[..., keep], 0))
    answers = delta_answers(MANTEL_HAENSZEL, ratios, cells, inference, ["log", "log"], sampling=sampling)
    left_out = "" if keep.all() else f"without strata: {_hidden_strata(names, ~keep)}"
    return [
        replace(answer, reason=answer.reason or left_out)
        if pair.all()
        else hidden_answer(answer.name, inference, "a part of the ratio")
        for answer, pair in zip(answers, clear.reshape(2, 2), strict=True)
    ]


def mantel_haenszel_terms(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Terms (..., C) of numerator and denominator of the odds ratio, and of those of the risk ratio."""
    d, c, b, a = (table[..., row, column, :] for row in (0, 1) for column in (0, 1))
    n = a + b + c + d
    return a * d / n, b * c / n, a * (c + d) / n, c * (a + b) / n


def _log_variances(table: np.ndarray) -> np.ndarray:
    """Sampling variances (2,) of the logarithms of both ratios, of cells (2, 2, C) that are not negative."""
    d, c, b, a = (table[row, column] for row in (0, 1) for column in (0, 1))
    n = np.maximum(a + b + c + d, 1e-9)
    r, s = a * d / n, b * c / n
    p, q = (a + d) / n, (b + c) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = (
            (p * r).sum() / (2 * r.sum() ** 2)
            + (p * s + q * r).sum() / (2 * r.sum() * s.sum())
            + (q * s).sum() / (2 * s.sum() ** 2)
        )
        events, exposed, unexposed = a + c, a + b, c + d
        risks = ((exposed * unexposed * events - a * c * n) / n**2).sum()
        return np.array([odds, risks / ((a * unexposed / n).sum() * (c * exposed / n).sum())])


def standardise(
    released: ReleasedTables,
    exposure: str,
    outcome: str,
    strata: Sequence[str],
    inference: Inference,
    weights: Sequence[float] | None = None,
) -> list[Answer]:
    """Risks standardised to all records, their difference and ratio, and the ratio of observed to expected events.

    The first four are the g-formula for confounders that are categories, or with public ``weights`` (C,) of the strata
    direct standardisation. The last expects the risks of the unexposed among the exposed. None is determined where
    noise hides the number of records of an arm in a stratum.
    """
    cells, names = stratum_cells(released, exposure, outcome, strata)
    possible = _possible_strata(released, exposure, strata)
    masks = np.zeros((2, len(names), 2, 2, len(names)))
    for arm, stratum in product(range(2), range(len(names))):
        masks[arm, stratum, arm, :, stratum] = 1
    hidden = possible & ~cells.clear(masks.reshape(2, len(names), -1)).all(axis=0)
    if hidden.any():
        reason = f"{_hidden_strata(names, hidden)}; or declare a combination that cannot occur as impossible"
        return [undetermined_answer(name, inference, reason) for name in STANDARDISED]
    standard = None if weights is None else _checked_weights(weights, possible)[possible]

    def measures(x: np.ndarray) -> np.ndarray:
        """Standardised risks of both arms, their difference and ratio, and observed over expected events."""
        table = x.reshape(*x.shape[:-1], 2, 2, -1)[..., possible]
        sizes = table.sum(axis=-2)
        by_stratum = table[..., 1, :] / sizes
        share = table.sum(axis=(-3, -2)) if standard is None else standard
        share = share / share.sum(axis=-1, keepdims=True)
        arms = (by_stratum * share[..., None, :]).sum(axis=-1)
        unexposed, exposed = arms[..., 0], arms[..., 1]
        expected = (sizes[..., 1, :] * by_stratum[..., 0, :]).sum(axis=-1)
        observed = table[..., 1, 1, :].sum(axis=-1)
        return np.stack([exposed, unexposed, exposed - unexposed, exposed / unexposed, observed / expected], axis=-1)

    return delta_answers(list(STANDARDISED), measures, cells, inference, list(STANDARDISED.values()))


def stratum_cells(
    released: ReleasedTables, exposure: str, outcome: str, strata: Sequence[str]
) -> tuple[Cells, list[str]]:
    """Cells (2, 2, ...) of known levels, and the names of the C strata."""
    cells = binary_cells(released, exposure, outcome, *strata)
    variables = [released.layout.variables[name] for name in strata]
    labels = [[f"{v.name} = {level}" for level in v.levels[: v.known_levels]] for v in variables]
    return cells, [", ".join(row) for row in product(*labels)]


def stratum_masks(cells: Cells) -> np.ndarray:
    """Masks (C, c) of the cells of each stratum."""
    strata = cells.flat.size // 4
    return np.broadcast_to(np.eye(strata)[:, None, :], (strata, 4, strata)).reshape(strata, -1)


def _possible_strata(released: ReleasedTables, exposure: str, strata: Sequence[str]) -> np.ndarray:
    """Mask (C,) of the strata in which both arms can be."""
    shape = [released.layout.variables[name].known_levels for name in strata]
    possible = np.ones(shape, dtype=bool)
    for row in released.layout.impossible:
        levels = dict(row)
        if set(levels) <= {exposure, *strata} and set(levels) & set(strata):
            possible[tuple(levels.get(name, slice(None)) for name in strata)] = False
    return possible.ravel()


def _checked_weights(weights: Sequence[float], possible: np.ndarray) -> np.ndarray:
    """Public weights of the strata; ValueError if one is missing or negative, or those of possible strata are all 0."""
    values = np.asarray(weights, dtype=float)
    if values.shape != possible.shape or not (values >= 0).all() or not np.isfinite(values).all():
        raise ValueError(f"weights is {list(weights)}: give {len(possible)} numbers from 0, one per stratum.")
    if not values[possible].any():
        raise ValueError(f"weights is {list(weights)}: give a stratum that can occur a positive weight.")
    return values


def _hidden_strata(names: Sequence[str], mask: np.ndarray) -> str:
    """Name the strata whose number of records noise hides."""
    rows = [name for name, hidden in zip(names, mask, strict=True) if hidden]
    listed = "; ".join(rows[:3]) + (f" and {len(rows) - 3} more" if len(rows) > 3 else "")
    return f"noise hides the number of records where {listed}: {REMEDY}"
