"""Screening by signs: public contrasts between slices of the signs of all columns, with noise at an exact level.

A client holds Z_jh = (1/n) sum_i sign(x_ij) 1(y_i in h) and releases F Z, where F (m, H) holds few public contrasts.
Where noise dominates, columns are found better by few contrasts than by H slices, each with 1/H of the records and
noise of its own: at H = 8 a trend over the slices stands out against its noise 8^(1/2) times as far.  Signs are
bounded at no cost: per unit of sensitivity they carry E|x| = .80 of a normal column, entries clipped to [-1, 1] .68.
"""

from __future__ import annotations

import math
from typing import Unpack

import numpy as np

from ..privacy.accounted import Accounted, parameter
from ..privacy.mechanisms.gaussian import Gaussian
from ..privacy.mechanisms.release import Release, Terms
from ..privacy.statistics.bounded import Bounded, SensitivityCertificate
from .bounded import ROW
from .slices import Slices

__all__ = ["bounded_contrasts", "contrasts", "contrasts_release", "contrasts_sensitivity", "score", "sign_sums"]


def contrasts(slices: Slices) -> np.ndarray:
    """Public contrasts F between the slices of a response.

    Parameters
    ----------
    slices : Slices
        Only their number, and whether they have an order, matter.

    Returns
    -------
    ndarray of shape (m, H)
        Rows sum to zero, so that equally filled slices hide the mean of a column; the longest column has length 1.
        Slices of a number: a trend (the upper half against the lower) and, from three slices on, a curvature (the
        outer quarters against the inner half). More than two classes, which have no order: all H - 1 contrasts.
    """
    H = slices.n_slices
    if slices.labels is not None and H > 2:
        steps = np.tri(H - 1, H)
        np.fill_diagonal(steps[:, 1:], -np.arange(1, H))
        rows = steps / np.linalg.norm(steps, axis=1, keepdims=True)
    else:
        place = np.arange(H) - (H - 1) / 2
        rows = np.sign(place)[None]
        outer = (H + 2) // 4
        if 2 * outer < H:
            inside = np.abs(place) < H / 2 - outer
            curvature = np.where(inside, -1 / inside.sum(), 1 / (2 * outer))
            rows = np.stack([rows[0], curvature / np.abs(curvature).max()])
    return rows / np.linalg.norm(rows, axis=0).max()


def sign_sums(X, codes, n_slices: int) -> np.ndarray:
    """Sums of the signs of all columns over every slice.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Finite records about a public centre; an entry of 0 has the sign 0.
    codes : ndarray of shape (n,)
        Slice of every record, 0 to H - 1.
    n_slices : int
        H.

    Returns
    -------
    ndarray of shape (H, p), whole numbers.
    """
    X = np.asarray(X)
    # Whole numbers up to 2^24 are exact in float32.
    kind = np.float32 if X.dtype == np.float32 and len(X) < 1 << 24 else np.float64
    member = (np.arange(n_slices)[:, None] == np.asarray(codes)).astype(kind)
    return member @ np.sign(X, dtype=kind)


def contrasts_sensitivity(code: np.ndarray, n: int, p: int) -> float:
    """l2 sensitivity of F Z: 2 sqrt(p) / n times the longest column of F.

    A record adds the outer product of its slice's column of F and of its p signs, over n; the opposite signs in the
    same slice reach the bound.
    """
    # Scaled by a power of two: no digit changes and no square vanishes.
    _, exponent = np.frexp(np.max(np.abs(code)))
    longest = math.ldexp(float(np.linalg.norm(np.ldexp(code, -exponent), axis=0).max()), int(exponent))
    return 2 * math.sqrt(p) / n * longest


def bounded_contrasts(sums, code: Accounted, n: int, *, stratum: str = "*") -> Bounded:
    """F Z of one client with its certificate (unit ``row``, replace one, n public).

    Parameters
    ----------
    sums : ndarray of shape (H, p)
        `sign_sums`.
    code : Accounted
        F of shape (m, H): `contrasts`, or the unit matrix for the slice means themselves.
    n : int
        Records: a shape, and public under replacement.
    stratum : str
        The client's name where membership is public.

    Returns
    -------
    Bounded
        Shape (m, p).

    Raises
    ------
    ValueError
        If shapes do not fit, or sums exceed what n signs can reach.
    """
    sums, rows = np.asarray(sums, dtype=float), np.asarray(parameter("code", code), dtype=float)
    if sums.ndim != 2 or rows.ndim != 2 or rows.shape[1] != len(sums):
        raise ValueError(f"code has shape {rows.shape} for sums of shape {sums.shape}; it needs one column a slice.")
    if not n >= 1 or not np.all(np.abs(sums).sum(axis=0) <= n):
        raise ValueError(f"n={n!r} records do not reach these sums of signs; give the number of records behind them.")
    certificate = SensitivityCertificate(
        value=contrasts_sensitivity(rows, n, sums.shape[1]),
        norm="l2",
        unit="row",
        relation="replace_one",
        depends_on=ROW,
        assumptions=("number of records public", "contrasts and slices public"),
        source="contrasts of signs: 2 sqrt(p) / n, public slices",
    )
    return Bounded(rows @ sums / n, certificate, stratum, parents=code.parents)


def contrasts_release(
    sums,
    code: Accounted,
    n: int,
    mu: float,
    rng: np.random.Generator,
    *,
    owner: str,
    stratum: str = "*",
    **terms: Unpack[Terms],
) -> Release:
    """Release F Z, mu-Gaussian-DP for replacing one record; ``mu = inf`` adds no noise.  Arguments as above.

    Returns
    -------
    Release
        Value of shape (m, p).
    """
    bounded = bounded_contrasts(sums, code, n, stratum=stratum)
    mechanism = Gaussian(sigma=0.0) if math.isinf(mu) else Gaussian(mu=mu)
    return mechanism(bounded, rng, owner=owner, **terms)


def score(merged) -> np.ndarray:
    """How far each column (p,) stands out in merged releases (m, p): the sum of its squared contrasts."""
    return np.sum(np.square(np.asarray(merged, dtype=float)), axis=0)
