"""The case of a person's own clients: files to a replicate, by the settings alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import numpy as np

from ...core.errors import DataMissing
from ...core.randomness import draw_root
from ...data.own.columns import (
    FeatureScale,
    clip_to_bounds,
    feature_names,
    feature_rows,
    features,
    numbers_of,
    scale_of,
    values,
)
from ...data.own.csv import TextTable
from ...data.own.grammar import ColumnBlock
from ...data.own.records import client_records, client_rows, reader_of_files
from ...experiment.owner_outputs import OwnerReport
from ...methods.inverse_regression.model import SlicingEstimate
from .cases import of_records
from .data import SlicingData
from .own_settings import OwnSlicingSettings

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec

SCALE = (
    "projection on a direction = constant + sum of coefficient times the column in its own units, nothing clipped; a "
    "level counts as 1 where the record has it. Only the space that all directions span is estimated: signs and turns "
    "within it mean nothing. Intervals are of coefficients of the same length. The scaling is public: bounds and "
    "levels of the configuration."
)


class OwnSlicingDraw(TypedDict):
    """Root of the clients' addresses, and the records that figures draw."""

    key: int
    shown_rows: np.ndarray


def draw(
    settings: OwnSlicingSettings, spec: object, rng_for: Callable[..., np.random.Generator], resources: Path
) -> OwnSlicingDraw:
    """Draw what replicates differ in: the noise, and the records that figures show."""
    n = len(_read(settings).y)
    rows = np.sort(rng_for("shown").choice(n, min(settings.n_shown, n), replace=False))
    return {"key": draw_root(rng_for("clients")), "shown_rows": rows}


def table(settings: OwnSlicingSettings, drawn: OwnSlicingDraw) -> SlicingData:
    """Own clients, read from their files."""
    shared = _read(settings)
    return replace(shared, key=drawn["key"], shown_rows=drawn["shown_rows"])


@reader_of_files
def _read(settings: OwnSlicingSettings, texts: Mapping[str, bytes]) -> SlicingData:
    """Return the data that all replicates share, without addresses and shown records of one."""
    clients = client_rows(settings, texts)
    for name, client in zip(settings.party_names, clients, strict=True):
        if len(client.rows) < settings.least:
            raise DataMissing(
                f"{client.file}: client {name!r} has {len(client.rows)} records where least is {settings.least}: lower "
                "least, which sets delta, or leave the client out."
            )
    sizes, ids, person = client_records(clients, settings)
    X, y = features(clients, settings.columns, -1.0, clip=False), _response(clients, settings)
    shared = of_records(X, y, sizes, np.array(feature_names(settings.columns)), settings)
    if len(np.unique(shared.public_slices.codes(y))) < 2:
        raise DataMissing(
            f"{clients[0].file}: {settings.response} falls into one of {settings.slices} slices in all {len(y)} rows: "
            "place the edges where its values are."
        )
    return replace(shared, client_names=settings.party_names, ids=ids, person=person, kinds=settings.kinds)


def _response(clients: Sequence[TextTable], settings: OwnSlicingSettings) -> np.ndarray:
    """Responses (N,) of all clients: numbers, or numbers of the levels."""
    if settings.levels:
        block = ColumnBlock(name=settings.response, levels=settings.levels)
        return np.concatenate([values(client, block) for client in clients])
    raw = [numbers_of(client, settings.response) for client in clients]
    if settings.response_bounds is None:
        return np.concatenate(raw)
    return clip_to_bounds(raw, settings.response_bounds, clients, settings.response, "response_bounds")


def owner_outputs(
    estimate: SlicingEstimate,
    data: SlicingData,
    train: np.ndarray,
    spec: MethodSpec[object, object, OwnSlicingSettings],
) -> OwnerReport:
    """Return the owner's report: projections of all records, of clients that took no part too, and directions."""
    used = int(np.sum(data.sizes[: estimate.clients]))
    with np.errstate(invalid="ignore"):
        projected = data.X @ estimate.basis
    predicted = {"observed": data.y.astype(float), **dict(zip(_names(estimate), projected.T, strict=True))}
    return OwnerReport(data.ids, np.arange(len(data.y)) >= used, predicted, model(estimate, spec))


def model(estimate: SlicingEstimate, spec: MethodSpec[object, object, OwnSlicingSettings]) -> dict[str, object]:
    """Directions by column names."""
    columns, basis = spec.settings.columns, estimate.basis
    scale = scale_of(columns, -1.0)
    with np.errstate(invalid="ignore"):
        coefficients, constants = scale.coefficients(basis)
    directions = []
    for k, name in enumerate(_names(estimate)):
        noise = None if estimate.noise_errors is None else scale.slope * estimate.noise_errors[:, k]
        rows = feature_rows(columns, coefficient=coefficients[:, k], noise_sd=noise, **_intervals(estimate, scale))
        directions.append({"name": name, "constant": constants[k], "coefficients": rows})
    fields: dict[str, object] = {"kind": "sliced inverse regression", "scale": SCALE, "directions": directions}
    if estimate.loss_bound is not None:
        fields["loss_bound"] = estimate.loss_bound
    if "size" in estimate.numbers:
        fields["size"] = estimate.numbers["size"]
    if spec.settings.levels:
        fields["levels"] = list(spec.settings.levels)
    return fields


def _intervals(estimate: SlicingEstimate, scale: FeatureScale) -> dict[str, np.ndarray]:
    """Return the intervals of one direction in units of the files, at the length of the coefficients."""
    bounds, centre = estimate.intervals.bounds(), estimate.intervals.centre
    if bounds is None or centre is None:
        return {}
    factor = scale.slope * np.linalg.norm(estimate.basis)
    return {"interval": bounds * factor[:, None], "centre": centre * factor}


def _names(estimate: SlicingEstimate) -> list[str]:
    return [f"direction {k + 1}" for k in range(estimate.basis.shape[1])]
