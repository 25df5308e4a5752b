"""The case of a person's own clients: files to a replicate, and curves and log hazard ratios to take home."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from ...core.errors import DataMissing
from ...data.own.columns import feature_rows, features, level_numbers, numbers_of, scale_of
from ...data.own.csv import TextTable
from ...data.own.records import client_records, client_rows, reader_of_files
from ...experiment.owner_outputs import NO_INTERVALS, OwnerReport
from ...methods.survival.bands import log_survival_covariance
from ...methods.survival.curves import SurvivalCurve
from ...methods.survival.model import SurvivalEstimate
from ...methods.survival.records import SurvivalRecords
from ...models.intervals import Intervals, reason_of
from .cases import of_records
from .data import SurvivalData
from .own_settings import OwnSurvivalSettings

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec

SCALE = (
    "log hazard ratio = sum of coefficient times the column in its own units, clipped at its bounds; a level counts as "
    "1 where the record has it. Hazards are those of a record in the middle of all bounds, halfway between levels."
)


class OwnSurvivalDraw(TypedDict):
    """Draw of a replicate, which differs from others in its noise alone."""

    records: int


def draw(
    settings: OwnSurvivalSettings, spec: object, rng_for: Callable[..., np.random.Generator], resources: Path
) -> OwnSurvivalDraw:
    """Return the number of records."""
    return {"records": len(_read(settings).times)}


def table(settings: OwnSurvivalSettings, drawn: OwnSurvivalDraw) -> SurvivalData:
    """Own clients, read from their files."""
    return _read(settings)


@reader_of_files
def _read(settings: OwnSurvivalSettings, texts: Mapping[str, bytes]) -> SurvivalData:
    """The records of all clients, one client after another."""
    clients = client_rows(settings, texts)
    for name, client in zip(settings.party_names, clients, strict=True):
        if not client.rows:
            raise DataMissing(
                f"{client.file}: client {name!r} has no records: leave the client out, or bring its rows."
            )
    sizes, ids, person = client_records(clients, settings)
    columns = settings.columns
    z = features(clients, columns, -1.0, clip=False) if columns else np.zeros((sizes.sum(), 0))
    levels = (*settings.censoring, *settings.events)
    events = _concatenate(
        level_numbers(client, settings.event, levels) >= len(settings.censoring) for client in clients
    )
    records = SurvivalRecords(_concatenate(_times(client, settings.time) for client in clients), events, z)
    if settings.group_by is not None:
        groups = _concatenate(level_numbers(client, settings.group_by, settings.groups) for client in clients)
        records = replace(records, groups=groups.astype(int))
    unscaled = (np.zeros(z.shape[1]), np.ones(z.shape[1]))
    data = of_records(settings, records, *unscaled, sizes=sizes.tolist())
    return replace(data, ids=ids, person=person)


def _times(client: TextTable, name: str) -> np.ndarray:
    """Times (n_k,); DataMissing for a negative one."""
    times = numbers_of(client, name)
    if (times < 0).any():
        row = int(np.flatnonzero(times < 0)[0])
        raise DataMissing(
            f"{client.file}: {name} is {times[row]:g} in row {client.lines[row]}, which is negative: count time "
            "from the start of follow-up, and correct it."
        )
    return times


def _concatenate(parts: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate(list(parts))


def owner_outputs(
    estimate: SurvivalEstimate,
    data: SurvivalData,
    train: np.ndarray,
    spec: MethodSpec[object, object, OwnSurvivalSettings],
) -> OwnerReport:
    """Follow-up as it was read, and hazards against a record in the middle of all bounds, where these are estimated."""
    columns = {"observed": data.times, "event": data.events.astype(float)}
    if estimate.coefficients is not None:
        columns["partial_hazard"] = np.exp(data.covariates @ estimate.coefficients)
    return OwnerReport(data.ids, np.zeros(len(data.times), dtype=bool), columns, model(estimate, spec))


def model(estimate: SurvivalEstimate, spec: MethodSpec[object, object, OwnSurvivalSettings]) -> dict[str, object]:
    """Survival by group and time, with the interval of each and the band of all together; log hazard ratios."""
    settings = spec.settings
    fields: dict[str, object] = {"kind": "survival analysis", "horizon": settings.end, "unit": settings.unit}
    fields["curves"] = [
        {"name": name, **_summary(curve, settings.end, mean_error, median_error), "survival": list(points)}
        for name, curve, mean_error, median_error, points in zip(
            settings.groups or ("all records",),
            estimate.curves,
            estimate.restricted_mean_errors(settings.end),
            estimate.median_errors(),
            _points(estimate),
            strict=False,
        )
        if isinstance(curve, SurvivalCurve)
    ]
    if estimate.log_rank is not None:
        test = estimate.log_rank
        of_test = {"log-rank statistic": test.statistic, "log-rank p-value": test.p_value}
        fields |= {key: {"estimate": value, NO_INTERVALS: reason_of("test")} for key, value in of_test.items()}
    return fields if estimate.coefficients is None else fields | _ratios(estimate, settings)


def _summary(curve: SurvivalCurve, end: float, mean_error: float, median_error: float) -> dict[str, object]:
    half = curve.median
    return {
        f"restricted mean to {end:g}": _with_interval(curve.restricted_mean(end), mean_error),
        "median": _with_interval(np.nan if half is None else half, median_error),
    }


def _with_interval(value: float, error: float) -> dict[str, object]:
    """Return a number with its standard error and interval, or why it has none."""
    numbers: dict[str, object] = {"estimate": value, "standard_error": error}
    bounds = Intervals(np.array([value]), np.array([error])).bounds()
    if bounds is None or not np.isfinite(bounds).all():
        return numbers | {NO_INTERVALS: reason_of("not estimable")}
    return numbers | {"interval": bounds[0]}


def _points(estimate: SurvivalEstimate) -> Iterator[Iterator[dict[str, object]]]:
    """Yield the points of each curve after time 0: the interval of each, then the band of all together."""
    single, together = (estimate.bands(together=both) for both in (False, True))
    for group, (intervals, band) in enumerate(zip(single, together, strict=True)):
        curve, cells = estimate.curves[group], estimate.table
        assert isinstance(curve, SurvivalCurve) and cells is not None
        of_all, of_records = (log_survival_covariance(cells.group(group), noise=noise) for noise in (True, False))
        sd = curve.survival[1:] * np.sqrt(np.maximum(np.diag(of_all - of_records), 0))
        yield _rows(curve, intervals.lower, intervals.upper, band.lower, band.upper, sd)


def _rows(curve: SurvivalCurve, *columns: np.ndarray) -> Iterator[dict[str, object]]:
    for time, value, lower, upper, low, high, sd in zip(curve.edges[1:], curve.survival[1:], *columns, strict=True):
        common = {"estimate": value, "noise_sd": sd}
        yield {"name": f"survival at {time:g}", **common, "interval": [lower, upper]}
        yield {"name": f"survival at {time:g} within the band", **common, "interval": [low, high]}


def _ratios(estimate: SurvivalEstimate, settings: OwnSurvivalSettings) -> dict[str, object]:
    """Log hazard ratios in the units of the columns, and the hazard of each bin."""
    slope = scale_of(settings.columns, -1.0).slope
    assert estimate.coefficients is not None
    coefficients = estimate.coefficients * slope
    numbers: dict[str, Iterable[object] | None] = {}
    if (errors := estimate.standard_errors) is not None:
        numbers = {"standard_error": errors * slope, "interval": Intervals(coefficients, errors * slope).bounds()}
    rows = feature_rows(settings.columns, coefficient=coefficients, **numbers)
    fields: dict[str, object] = {"scale": SCALE, "log_hazard_ratios": rows}
    if estimate.model is not None and estimate.terms is not None:
        edges, hazards = estimate.terms.edges, np.exp(estimate.model.log_hazards)
        fields["hazards"] = [
            {"name": f"hazard to {end:g}", "estimate": hazard} for end, hazard in zip(edges[1:], hazards, strict=True)
        ]
    return fields
