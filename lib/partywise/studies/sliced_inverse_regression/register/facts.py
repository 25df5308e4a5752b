"""Numbers that the source prints and no fit gives: constants of its formulas, and facts about its data sets."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import hypot, isnan, log, sqrt
from pathlib import Path

# Any: arguments of an estimator, which differ in type.
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ....core.randomness import stream
from ....data.carriers import zip_member
from ....data.fetch import fetch_folder, read_files
from ....data.loaders import flights as flights_loader
from ....data.loaders.read import read_table
from ....data.reading import read_columns, to_numbers
from ....methods.inverse_regression import models
from ....methods.inverse_regression.estimate import aggregate, sir
from ....methods.inverse_regression.estimator import SlicedInverseRegression
from ....methods.inverse_regression.moments import SliceMoments, centre, client_moments
from ....methods.inverse_regression.protocols.budgets import advanced_range
from ....methods.inverse_regression.published import prop2_sigma, vgm_covariance, vgm_floor, vgm_precision
from ....methods.inverse_regression.screening import contrasts, pick_release, sign_sums
from ....methods.inverse_regression.slices import case_clip, class_slices, equal_frequency
from ....methods.inverse_regression.subspace import angle
from ....models.links import LOGIT
from ....privacy.accounted_values import Public
from ..cases import draw_dataset
from ..settings import SlicingDatasetSettings
from .theorems import RADIUS, H, P, rng_of

if TYPE_CHECKING:
    from ....experiment.register.table import RegisterRow


def delta_share(n: int, releases: int) -> float:
    """n times the delta of several releases at n^(-1.1) each: from 1 on it is no longer informative."""
    return float(releases * n * float(n) ** -1.1)


def taylor_ratio(epsilon: float, delta_power: int) -> float:
    """Expansion of theorem 3's bound as the source uses it, in units of the bound, at delta = 10^(-delta_power)."""
    bounds = [vgm_precision(1, 1, 1.0, epsilon, 10.0**-delta_power, exact=exact) for exact in (False, True)]
    return bounds[0] / bounds[1]


def least_constant() -> float:
    """C of the norm C R^2 p log(2/delta) / (n epsilon)^2 of a covariance whose inverse has the norm of equation (4)."""
    delta, p = 1e-5, 10
    return vgm_floor(1, p, 1.0, 1.0, delta) / (p * log(2 / delta))


def body_fat(fact: Literal["share", "covariates"]) -> float:
    """Share of men above 18 % of body fat, or number of their measurements."""
    table = read_table("body_fat", None, fetch_folder("body_fat").parent)
    return float(table.y.mean()) if fact == "share" else float(table.X.shape[1])


def flights(fact: Literal["rows", "airlines"]) -> float:
    """Flights of the file, or airlines with 5 000 of them whose delay and seven variables are known."""
    contents, _, _ = read_files(flights_loader.RESOURCE, fetch_folder(flights_loader.RESOURCE))
    file = zip_member(contents["flights.csv.zip"], "flights.csv", "flights.csv.zip")
    names = (*flights_loader.TABLE.names, flights_loader.RESPONSE)
    columns = read_columns(file, (*names, "carrier"), "flights.csv")
    if fact == "rows":
        return float(len(columns["carrier"]))
    known = zip(*(to_numbers(columns[name], name) for name in names), strict=True)
    counts = Counter(
        carrier for carrier, row in zip(columns["carrier"], known, strict=True) if not any(map(isnan, row))
    )
    return float(sum(count >= 5000 for count in counts.values()))


def discriminant_angle(n: int = 2000) -> float:
    """Degrees between the directions of discriminant analysis, by the variance within classes, and of SIR."""
    X, y, _ = models.draw("I", n, P, rng_of("discriminant"))
    classes = [X[y == label] for label in (0, 1)]
    within = sum((len(rows) - 1) * np.cov(rows.T) for rows in classes)
    direction = np.linalg.solve(within, classes[1].mean(axis=0) - classes[0].mean(axis=0))
    return angle(direction, sir(X, y, 2, 1))


def client_means(model: str, n: int) -> tuple[SliceMoments, int]:
    """Truncated slice means of a client of n records, and the number of directions of the model."""
    X, y, beta = models.draw(model, n, P, rng_of("client", model, n))
    slices = equal_frequency(y, models.settings(model).n_slices)
    return client_moments(X, y, slices, clip=case_clip(RADIUS)), beta.shape[1]


def shaped_trace(model: str, n: int) -> float:
    """Trace of the covariance of algorithm 2's noise over that of proposition 2, epsilon 1, delta n^(-1.1)."""
    (moments, d), privacy = client_means(model, n), (n, P, RADIUS, 1.0, n**-1.1)
    return float(np.trace(vgm_covariance(moments.means, d, vgm_floor(*privacy)))) / (P * prop2_sigma(*privacy) ** 2)


def shaped_angle(model: str, n: int = 5000) -> float:
    """Degrees between the d leading eigenvectors of algorithm 2's noise and the left singular vectors of M."""
    moments, d = client_means(model, n)
    covariance = vgm_covariance(moments.means, d, vgm_floor(n, P, RADIUS, 1.0, n**-1.1))
    return angle(np.linalg.eigh(covariance)[1][:, -d:], np.linalg.svd(moments.means)[0][:, :d])


def kernel_noise(n: int = 8000) -> float:
    """Noise over signal of M, sums over slices divided by n, in units of that of the means of equal slices.

    Noise is the sensitivity: 2 R sqrt(p) / n, and 2 R sqrt(p) / n_h where a record of slice h is replaced.
    """
    moments, _ = client_means("III", n)
    averages = moments.means * n / moments.counts
    return float(np.linalg.norm(averages) / np.linalg.norm(moments.means) * moments.counts.min() / n)


def decomposition_share(n: int, p: int = P, n_slices: int = H) -> float:
    """Operations of the singular value decomposition of M, 6 p H^2 + 20 H^3, over all of a client.

    The others: n p of the slice sums, n p (p + 1) of the second moment.
    """
    decomposition = 6 * p * n_slices**2 + 20 * n_slices**3
    return decomposition / (decomposition + n * p + n * p * (p + 1))


def rounds(p: int, active: int = 0, n: int = 100) -> float:
    """Times that clients send to the server, with an answer in between: FSIR-VGM, screened where columns are active."""
    X, y, _ = models.draw("III", 2 * n, p, rng_of("rounds", p))
    options: dict[str, Any] = {"mechanism": "vgm", "screened": active > 0, "active": active or None, "radius": 10.0}
    model = SlicedInverseRegression("published", epsilon=1.0, edges=(-1, 0, 1), parties=2, random_state=1, **options)
    receivers = [row["receiver"] == "server" for row in model.fit(X, y).transcript_]
    return float(sum(up and not before for before, up in pairwise([False, *receivers])))


def printed_label_values() -> float:
    """Values of the response of model I as printed, the indicator of a number in (0, 1): of its being other than 0."""
    X, _, beta = models.draw("I", 1000, P, rng_of("label"))
    return float(len(np.unique((LOGIT.mean(-X @ beta[:, 0]) != 0).astype(int))))


def better_share(rows: Sequence[RegisterRow], side: Literal["printed", "ours"], replicates: int = 400) -> float:
    """Share of cells in which FSIR-VGM is below FSIR-IID by two standard errors, without those where both saturate.

    A printed bracket is a standard deviation over ``replicates``.
    """
    losses = {row.id: float(row.printed if side == "printed" else row.reproduction) for row in rows}
    errors = {row.id: float(row.spread) / sqrt(replicates) if side == "printed" else float(row.se) for row in rows}
    saturated = {row.id for row in rows if row.saturated}
    pairs = [(name, name.replace("VGM", "IID")) for name in losses if "VGM" in name]
    better = [
        losses[iid] - losses[vgm] > 2 * hypot(errors[iid], errors[vgm])
        for vgm, iid in pairs
        if not {vgm, iid} <= saturated
    ]
    return sum(better) / len(better)


def flights_pattern(draws: int = 30) -> np.ndarray:
    """Correlation, up to its sign, of flights on the direction of FSIR-VGM at epsilon 1 and on that without noise.

    One for each draw of the noise; eleven clients of 5 000 flights each, columns in public ranges.
    """
    settings = SlicingDatasetSettings(dataset="flights", n=5000)
    data = draw_dataset(settings, None, rng_of, Path("resources"))
    clients = np.split(np.arange(len(data.y)), np.cumsum(data.sizes)[:-1])
    moments = [
        centre(client_moments(data.X[rows], data.y[rows], equal_frequency(data.y[rows], settings.slices)))
        for rows in clients
    ]
    means, seconds = ([getattr(part, name) for part in moments] for name in ("means", "second"))
    exact = data.X @ aggregate(np.stack(means), data.sizes, np.stack(seconds), 1).basis[:, 0]
    options: dict[str, Any] = {"delta": settings.delta, "edges": settings.cuts, "centre": True, "clipped": "allow"}
    options |= {"parties": [rows.tolist() for rows in clients]}
    correlations = []
    for draw in range(draws):
        model = SlicedInverseRegression("published", epsilon=1.0, random_state=draw, **options)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the fit is clipped")
            projected = model.fit(data.X, data.y).transform(data.X)[:, 0]
        correlations.append(abs(np.corrcoef(projected, exact)[0, 1]))
    return np.array(correlations)


def peeling_share(model: str, draws: int = 24) -> float:
    """Share of the support among the 2 s columns that published peeling picks at one client: p = 500, n = 1000, s = 5.

    Laplace noise at the pure epsilon that advanced composition allows each of ten picks, at epsilon 1 and n^(-1.1).
    """
    n, p, s = 1000, 500, 5
    shares, reach = list[float](), advanced_range(1.0, n**-1.1, 2 * s)
    for number in range(draws):
        rng = stream(1, "printed", "peeling", model, number)
        basis = models.directions(model, p, rng, active=s)
        X, y, _ = models.draw(model, n, p, rng, beta=basis)
        classes = class_slices(Public(np.array([0.0, 1.0]), because="classes of the model"))
        code = Public(contrasts(classes), because="a function of the number of the public slices")
        sums = sign_sums(X, classes.codes(y), classes.n_slices)
        picks = pick_release(sums, code, 2 * s, reach, rng, distribution="laplace", owner="client").value
        shares.append(float(np.count_nonzero(picks < s)) / s)
    return float(np.mean(shares))
