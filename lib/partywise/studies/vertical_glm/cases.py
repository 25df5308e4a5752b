"""The cases of the vertical GLM study: one replicate each, generated or of a real table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

import numpy as np

from ...core.randomness import Rng
from ...data.division import fewer
from ...data.loaders.read import read_table
from ...methods.glm.options import COX, GlmFamily
from ...models.families import FAMILIES
from ...models.family_facts import FACTS, ByFamily
from ...models.kinds import Kind
from .data import Constants, GlmData
from .settings import GlmDatasetSettings, GlmGeneratedSettings, PartialOverlap

GENERATOR = "distribution of the generator, a setting"
# Shape of Gamma responses; of inverse Gaussian ones twice their mean.
SHAPE = 2.0
# Of follow-up times, whose hazard is exp(eta).
END = 1.0
# As a hospital numbers its patients: whoever knows the scheme can list it.
SCHEME, POPULATION = "PATIENT_{:05d}", 100_000


def draw_generated(settings: GlmGeneratedSettings, spec: object, rng_for: Rng, resources: Path) -> GlmData:
    """Normal columns and a response of the family, by coefficients that are the same in all replicates."""
    n, p = settings.n, settings.p
    X = correlated_columns(rng_for("columns"), n, p, settings.rho)
    slopes, intercept = coefficients(settings)
    y, status = responses(settings.family, X @ slopes + intercept, settings.mean, rng_for("responses")), None
    if settings.family == COX:
        y, status = np.minimum(y, END), (y < END).astype(float)
    sizes = np.logspace(-6, 6, p) if settings.scales == "uneven" else np.ones(p)
    return GlmData(
        y=y,
        status=status,
        X=X * sizes,
        order=rng_for("folds").permutation(n),
        names=np.array([f"x{j}" for j in range(p)]),
        family=settings.family,
        constants=None if settings.lacking_constants or status is not None else constants(settings),
        truth=None if status is not None else np.append(intercept, slopes / sizes),
        **arrival(settings, n, p, rng_for),
    )


def correlated_columns(rng: np.random.Generator, n: int, p: int, rho: float) -> np.ndarray:
    """(n, p) standard normal columns any two of which have the correlation rho."""
    shared = np.sqrt(rho) * rng.standard_normal((n, 1))
    return np.asarray(shared + np.sqrt(1 - rho) * rng.standard_normal((n, p)))


def coefficients(settings: GlmGeneratedSettings) -> tuple[np.ndarray, float]:
    """Slopes (p,) that give the linear predictor its standard deviation, and the intercept."""
    j, rho = np.arange(settings.p), settings.rho
    slopes = (-1.0) ** j * (1 + j % 3)
    logarithmic = settings.family != COX and FACTS[settings.family].link == "log"
    spread = 0.5 if logarithmic else 1.0
    slopes *= spread / np.sqrt((1 - rho) * slopes @ slopes + rho * slopes.sum() ** 2)
    # E exp(eta) is the mean where eta is normal with this intercept and spread.
    intercept = np.log(settings.mean) - spread**2 / 2 if logarithmic else float(settings.family == "gaussian")
    return slopes, float(intercept)


def responses(family: GlmFamily, eta: np.ndarray, mean: float, rng: np.random.Generator) -> np.ndarray:
    """(n,) responses at linear predictors."""
    mu = np.exp(-eta) if family == COX else FAMILIES[family].mean(eta)
    draws: ByFamily[Callable[[], np.ndarray]] = ByFamily(
        "draw of responses in the generator of the study vertical_glm",
        {
            "gaussian": lambda: mu + rng.standard_normal(len(mu)),
            "binomial": lambda: (rng.random(len(mu)) < mu).astype(float),
            "poisson": lambda: rng.poisson(mu).astype(float),
            "gamma": lambda: rng.gamma(SHAPE, mu / SHAPE),
            "inverse_gaussian": lambda: rng.wald(mu, 2 * mean),
            COX: lambda: rng.exponential(mu),
        },
    )
    return draws[family]()


def constants(settings: GlmGeneratedSettings) -> Constants:
    """Location 0 and scale 1 of columns, and a range of responses that the generator all but fills."""
    level = float(np.log(settings.mean))
    statistic, start = {
        "gaussian": ((-4.0, 6.0), 1.0),
        "binomial": ((0.0, 1.0), 0.0),
        "poisson": ((0.0, 5 * settings.mean), level),
    }.get(settings.family, ((level - 4, level + 3), level))
    kinds = (Kind(because=GENERATOR),) * settings.p
    return Constants(np.zeros(settings.p), np.ones(settings.p), statistic, start, GENERATOR, kinds=kinds)


def draw_dataset(settings: GlmDatasetSettings, spec: object, rng_for: Rng, resources: Path) -> GlmData:
    """A real table; a replicate deals the folds anew, all have the same records."""
    table, response = settings.table, settings.response_facts
    read = read_table(settings.dataset, response.name, Path(resources))
    rows = np.ones(len(read.y), dtype=bool)
    if settings.rows:
        rows = fewer(rows, settings.rows, rng_for("rows", shared=True))
    X, y, status = read.X[rows], read.y[rows], None if read.status is None else read.status[rows]
    known = None
    if status is None and not settings.lacking_constants:
        location, scale = map(np.array, zip(*(column.moments for column in table.columns), strict=True))
        radii = {holder.name: holder.radius for holder in table.holders if holder.radius is not None}
        because = table.because or "declared ranges of the columns, on which each counts as uniform"
        kinds = tuple(facts.distribution for facts in settings.column_facts)
        known = Constants(location, scale, response.statistic, response.eta_start, because, radii, kinds)
    return GlmData(
        y=y,
        status=status,
        X=X,
        order=rng_for("folds").permutation(len(y)),
        names=np.array(table.names),
        family=settings.model,
        constants=known,
        **arrival(settings, len(y), settings.n_columns, rng_for),
    )


class Arrival(TypedDict, total=False):
    """Fields of the data on how records arrive."""

    identifiers: np.ndarray
    draws: np.ndarray
    overlap: float
    scheme: str
    population: int


def arrival(settings: PartialOverlap, n: int, p: int, rng_for: Rng) -> Arrival:
    """Identifiers of the persons and who lacks whom, where records arrive unaligned; nothing otherwise."""
    if settings.aligned:
        return {}
    numbers = rng_for("identifiers").choice(max(POPULATION, n), n, replace=False)
    return {
        "identifiers": np.array([SCHEME.format(number) for number in numbers]),
        "draws": rng_for("arrival").random((n, 1 + p)),
        "overlap": settings.overlap,
        "scheme": SCHEME,
        "population": max(POPULATION, n),
    }
