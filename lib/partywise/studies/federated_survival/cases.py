"""The cases of the study: one replicate each, generated or dealt from a shipped table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from ...core.randomness import Rng
from ...data.fetch import read_files
from ...data.loaders.party_tables.frames import read_frame
from ...data.reading import as_text, require
from ...methods.survival.models import STRONG, Weibull
from ...methods.survival.records import SurvivalRecords, scale
from .data import SurvivalData
from .settings import SurvivalCaseSettings, SurvivalDatasetSettings, SurvivalGeneratedSettings
from .tables import RESOURCE, TABLES, Choice, ClientFile

# Times at which true survival is kept, in parts of the horizon: all usual edges are among them.
TRUE_TIMES = 192


def draw_generated(settings: SurvivalGeneratedSettings, spec: object, rng_for: Rng, resources: Path) -> SurvivalData:
    """New records."""
    factor = {"strong": 1.0, "moderate": 0.5}[settings.effects]
    effects = tuple(factor * value for value in STRONG) if settings.covariates else ()
    weibull = Weibull(coefficients=effects, hazard_ratio=settings.hazard_ratio)
    drawn = weibull.draw(settings.n, rng_for("records"))
    known = np.linspace(0, weibull.horizon, TRUE_TIMES + 1)
    groups = range(max(len(settings.groups), 1))
    truth = [] if settings.covariates else [weibull.survival(known, group) for group in groups]
    data = of_records(settings, drawn, weibull.centre, weibull.half_width)
    data = replace(data, truth=_limit_of_pooled_fits(weibull) * weibull.half_width)
    return replace(data, true_times=known, true_survival=np.array(truth)) if truth else data


@lru_cache(maxsize=8)
def _limit_of_pooled_fits(weibull: Weibull) -> np.ndarray:
    """Return what a cohort's pooled Cox fit, and hence every private one, estimates; replicates share it."""
    return weibull.pooled_coefficients() if weibull.coefficients else np.zeros(0)


def draw_dataset(settings: SurvivalDatasetSettings, spec: object, rng_for: Rng, resources: Path) -> SurvivalData:
    """The records of a table in a new order, or those of natural clients as they are."""
    table = settings.table
    times, events, covariates, sizes = read_table(settings.dataset, Path(resources))
    if table.rows_per_user is not None or settings.natural_clients:
        rows = np.arange(len(times))
    else:
        rows = rng_for("deal").permutation(len(times))[: settings.n]
    chosen = table.covariates if settings.covariates else ()
    return of_records(
        settings,
        SurvivalRecords(times[rows], events[rows], covariates[rows, : len(chosen)]),
        np.array([covariate.centre for covariate in chosen]),
        np.array([covariate.half_width for covariate in chosen]),
        sizes=sizes if settings.natural_clients else (),
    )


def of_records(
    settings: SurvivalCaseSettings,
    records: SurvivalRecords,
    centre: np.ndarray,
    half_width: np.ndarray,
    sizes: Sequence[int] = (),
) -> SurvivalData:
    """A replicate of records with raw covariates (n, p), which are scaled by public numbers; its truth is unknown."""
    scaled = scale(records.covariates, centre, half_width, settings.longest)
    return SurvivalData(
        times=records.times,
        events=records.events,
        covariates=scaled,
        groups=records.groups,
        sizes=np.array(sizes, dtype=int),
        clip_mask=np.abs(scaled - (records.covariates - centre) / half_width).max(axis=1, initial=0.0) > 1e-12,
        edges=np.asarray(settings.edges, dtype=float),
        horizon=float(settings.end),
        radius=float(settings.longest),
        client_names=settings.natural_clients,
        group_names=settings.groups,
    )


@lru_cache(maxsize=2)
def read_table(dataset: str, resources: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[int, ...]]:
    """Times (n,), events (n,) and raw covariates (n, p) of all parts of a table, and the records of each part."""
    contents, _, _ = read_files(RESOURCE, resources / RESOURCE)
    parts = [_part(part, read_frame(contents[part.file], part.file)) for part in TABLES[dataset].parts]
    fields = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
    return fields[0], fields[1], fields[2], tuple(len(times) for times, _, _ in parts)


def _part(part: ClientFile, frame: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, events and raw covariates of one file."""
    only = part.only
    mask = np.ones(len(frame[part.times[0]]), bool) if only is None else matching_rows(only, frame[only.column])
    happened = np.stack([np.isin(as_text(frame[name]), part.event_levels) for name in part.events])
    times = np.stack([np.asarray(frame[name], dtype=float) for name in part.times])
    # The first kind of event that came; the last time where none did.
    first = np.where(happened.any(axis=0), happened.argmax(axis=0), len(times) - 1)
    covariates = [np.zeros((len(mask), 0))]
    for covariate in part.covariates:
        column = frame[covariate.read_from]
        if covariate.is_indicator:
            values = matching_rows(covariate, column).astype(float)
        else:
            values = np.asarray(column, dtype=float)
            values = np.log(values) if covariate.log else np.log1p(values) if covariate.log1p else values
        covariates.append(values[:, None])
    at, seen, raw = times[first, np.arange(len(mask))], happened.any(axis=0), np.concatenate(covariates, axis=1)
    require(int(mask.sum()) == part.rows, f"{part.file} has {int(mask.sum())} records where {part.rows} are expected")
    return at[mask], np.asarray(seen)[mask], raw[mask]


def matching_rows(choice: Choice, column: np.ndarray) -> np.ndarray:
    """Mask (n,) of the rows that have one of the entries."""
    if choice.levels:
        return np.isin(as_text(column), choice.levels)
    numbers = np.asarray(column, dtype=float)
    low = -np.inf if choice.above is None else choice.above
    high = np.inf if choice.at_most is None else choice.at_most
    with np.errstate(invalid="ignore"):
        in_range = np.asarray((numbers > low) & (numbers <= high))
    return in_range | np.isnan(numbers) if choice.missing else in_range
