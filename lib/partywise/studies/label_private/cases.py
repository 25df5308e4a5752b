"""The cases of the label-private study: one replicate each, generated or dealt from a real table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.special import ndtr

from ...core.randomness import Rng, draw_root, stream
from ...data.descriptions import TABLES, Name
from ...data.loaders.read import read_table
from ...models.links import LOGIT
from ...privacy.accounting.roots import bisect
from .data import LabelData, pack
from .settings import LabelDatasetSettings, LabelGeneratedSettings

# The truth of the generator is a constant: it is found on these rows, which no replicate ever uses.
REFERENCE_ROOT, REFERENCE_ROWS = 20240601, 20000
COMMON_PREVALENCE = 0.5


def draw_features(n: int, k: int, dependence: float, rarest: float, rng: np.random.Generator) -> np.ndarray:
    """Features (n, k): an intercept of ones, then uniform columns and indicators in turn.

    The columns are driven by Gaussian variables that share one factor, with correlation ``dependence``.  The
    indicators have prevalences that fall geometrically from one half to ``rarest``: like the levels of a categorical
    variable, the rare ones make the moment matrix ill-conditioned and the released dot-product small.
    """
    latent = np.sqrt(1 - dependence) * rng.standard_normal((n, k - 1))
    latent += np.sqrt(dependence) * rng.standard_normal((n, 1))
    X = np.empty((n, k))
    X[:, 0] = 1.0
    X[:, 1:] = ndtr(latent)
    indicators = np.arange(2, k, 2)
    prevalence = np.geomspace(COMMON_PREVALENCE, rarest, len(indicators)) if len(indicators) > 1 else COMMON_PREVALENCE
    X[:, indicators] = X[:, indicators] > 1 - prevalence
    return X


@lru_cache(maxsize=16)
def truth(k: int, dependence: float, rarest: float, signal: float, positive: float) -> tuple[float, ...]:
    """Coefficients (k,) of the model: alternating signs, equal standard deviation of every term.

    The terms are scaled to a standard deviation ``signal`` of the logit; the intercept gives the share ``positive``
    of positive labels.  Found on a fixed reference sample, so that every replicate has the same truth.
    """
    rng = stream(REFERENCE_ROOT, "label_private", "truth", k)
    X = draw_features(REFERENCE_ROWS, k, dependence, rarest, rng)
    theta = np.zeros(k)
    theta[1:] = np.where(np.arange(k - 1) // 2 % 2, -1.0, 1.0) / X[:, 1:].std(0)
    theta *= signal / (X @ theta).std()
    logits = X @ theta
    theta[0] = (
        sum(bisect(lambda intercept: LOGIT.mean(logits + intercept).mean() < positive, -60.0, 60.0, rounds=60)) / 2
    )
    return tuple(float(value) for value in theta)


def draw_logistic(
    settings: LabelGeneratedSettings, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One data set of the generator: X (n, k) in [0, 1], first column ones; y in {0, 1}; theta that made the labels."""
    theta = np.array(truth(settings.k, settings.dependence, settings.rarest, settings.signal, settings.positive))
    X = draw_features(settings.n, settings.k, settings.dependence, settings.rarest, rng)
    y = (rng.random(settings.n) < LOGIT.mean(X @ theta)).astype(float)
    return X, y, theta


def draw_generated(settings: LabelGeneratedSettings, spec: object, rng_for: Rng, resources: Path) -> LabelData:
    """One replicate of the generator; the coefficients are those of every replicate."""
    X, y, theta = draw_logistic(settings, rng_for("rows"))
    names = np.array(["intercept", *(f"x{j}" for j in range(1, settings.k))])
    train, key = _share(len(y), settings.test_share, rng_for), draw_root(rng_for("evaluation"))
    # Numbers and indicators in turn.
    variables = [-1 if j % 2 else j for j in range(1, settings.k)]
    return replicate(X, y, train, names, key, variables=variables, theta=theta)


def draw_dataset(settings: LabelDatasetSettings, spec: object, rng_for: Rng, resources: Path) -> LabelData:
    """A shipped table: some of its rows or all, an intercept, and a split."""
    table = read_table(settings.dataset, settings.response, Path(resources))
    n = len(table.y)
    if settings.rows is not None and settings.rows > n:
        raise ValueError(f"rows is {settings.rows}: the table has {n}; leave it out for all of them.")
    rows = np.arange(n)
    if settings.rows is not None:
        rows = np.sort(rng_for("sample").choice(n, settings.rows, replace=False))
    if table.train is not None and settings.split == "own":
        train = table.train[rows]
    else:
        train = _share(len(rows), settings.test_share, rng_for)
    features, from_the_data = table.unit_interval()
    X = np.concatenate([np.ones((len(rows), 1)), features[rows]], axis=1)
    names = np.array(["intercept", *table.names])
    key, variables = draw_root(rng_for("evaluation")), shipped_variables(settings.dataset, table.names.tolist())
    return replicate(X, table.y[rows], train, names, key, variables=variables, from_the_data=len(from_the_data))


def shipped_variables(dataset: Name, names: Sequence[str]) -> list[int]:
    """Number of the variable of each column of a shipped table, as its catalogue declares it; -1 of a number."""
    declared, sources = {column.name: column for column in TABLES[dataset].columns}, list[str]()
    variables = []
    for name in names:
        column = declared.get(name)
        if column is None or not column.binary:
            variables.append(-1)
            continue
        source = column.source if column.positive and column.source else name
        sources += [] if source in sources else [source]
        variables.append(sources.index(source))
    return variables


def _share(n: int, test_share: float, rng_for: Rng) -> np.ndarray:
    """(n,) bool: a random share of the rows trains; 398 of 569 and 31 655 of 45 222 at 30 %."""
    train = np.zeros(n, dtype=bool)
    train[rng_for("split").permutation(n)[: n - int(np.ceil(test_share * n))]] = True
    return train


def replicate(
    X: np.ndarray,
    y: np.ndarray,
    train: np.ndarray,
    names: np.ndarray,
    key: int,
    *,
    variables: Sequence[int],
    theta: np.ndarray | None = None,
    from_the_data: int = 0,
) -> LabelData:
    """A replicate of these records."""
    blocks = pack(X)
    return LabelData(
        y=y.astype(np.uint8),
        numeric=blocks["numeric"],
        indicators=blocks["indicators"],
        order=blocks["order"],
        train=train,
        theta=np.zeros(0) if theta is None else theta,
        feature_names=names,
        from_the_data=from_the_data,
        evaluation_key=key,
        variables=np.array(variables, dtype=int),
    )
