"""Mechanisms: a bounded statistic goes in, a release and the event it cost come out. The only source of noise.

Every mechanism draws standard normals first and scales them afterwards, so that one generator at two noise levels
gives one draw rescaled. The sampler is a simulation: floating-point noise proves nothing about published bytes.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

import numpy as np

from partywise.errors import CertificationError
from partywise.privacy.calibration import mu_from_rho
from partywise.privacy.event import Event
from partywise.privacy.sensitivity import Ball, Bounded, count_at_most, mahalanobis

__all__ = ["Gaussian", "QuantileRadius", "Release", "SymmetricGaussian", "Terms"]


@dataclass(frozen=True, eq=False)
class Release:
    """A value that was paid for: it may be sent, post-processed and sent again at no further cost.

    Parameters
    ----------
    value : float or ndarray
        Stored read-only.
    event : Event
        What it cost.
    """

    value: Any
    event: Event

    def __post_init__(self) -> None:
        if not isinstance(self.event, Event):
            raise TypeError(f"event={self.event!r} must be an Event; a release comes from a mechanism.")
        if isinstance(self.value, np.ndarray):
            self.value.flags.writeable = False

    def post_process(self, function: Callable[[Any], Any]) -> "Release":
        """The same release seen through a function that reads no other private data; same event, no further cost."""
        return Release(function(self.value), self.event)


class Terms(TypedDict, total=False):
    """What is stated about a release besides its noise; keywords of every mechanism.

    release_id : str
        Its name; by default derived from the released value.
    audience : "*" or tuple of str
        Who may see it; by default everybody.
    data_dependent_parameters : tuple of str or Release
        The releases (or their ids) of parameters taken from private data. The ledger charges them, and counts the
        release as infinite if one of them has no proved row.
    epsilon_claimed : float
        By the source's formula.
    trust_model : str
        "local" by default.
    """

    release_id: str
    audience: str | tuple[str, ...]
    data_dependent_parameters: tuple["str | Release", ...]
    epsilon_claimed: float
    trust_model: str


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Gaussian noise: f + N(0, Sigma).

    Parameters
    ----------
    mu : float, optional
        Wanted Gaussian-DP parameter: the noise is scaled to it. ``covariance`` may give its shape.
    sigma : float, optional
        Standard deviation of independent noise on every entry.
    covariance : ndarray of shape (q, q), optional
        Covariance along the last axis, independent over the other axes; computed from public inputs only.

    Raises
    ------
    ValueError
        If not exactly one of ``sigma``, ``covariance``, ``mu`` or ``mu`` with ``covariance`` is given; if ``mu`` is
        not positive, ``sigma`` negative, or the covariance no covariance.

    Notes
    -----
    Formal guarantee: mu-Gaussian-DP for the unit and relation of the certificate, mu = sup ||Sigma^(-1/2) d|| over
    all differences the certificate allows (exact for a ball in any metric). ``sigma=0``, or a covariance that is
    singular along a difference, gives mu = inf. In an array of records, each record is its own unit and the
    certificate bounds the change of one record.
    """

    mu: float | None = None
    sigma: float | None = None
    covariance: np.ndarray | None = None

    def __post_init__(self) -> None:
        given = [name for name in ("mu", "sigma", "covariance") if getattr(self, name) is not None]
        if given not in (["mu"], ["sigma"], ["covariance"], ["mu", "covariance"]):
            raise ValueError(f"Gaussian got {given}: give mu, sigma, covariance, or mu with covariance.")
        if self.mu is not None and not self.mu > 0:
            raise ValueError(f"mu={self.mu!r} must be positive: no finite noise gives mu = 0.")
        if self.sigma is not None and not 0 <= self.sigma < math.inf:
            raise ValueError(f"sigma={self.sigma!r} must be non-negative and finite.")

    def __call__(self, bounded: Bounded, rng: np.random.Generator, *, owner: str, **terms: Unpack[Terms]) -> Release:
        """Release a bounded statistic.

        Parameters
        ----------
        bounded : Bounded
            Value of shape (..., q) with its certificate, norm ``"l2"`` or ``"mahalanobis"``.
        rng : numpy.random.Generator
            Consumed by exactly one standard normal an entry, whatever the noise level.
        owner : str
            Party whose data it is.
        **terms
            See `Terms`.

        Raises
        ------
        CertificationError
            If ``bounded`` carries no certificate in a norm this noise can be measured in.
        """
        certificate = _certificate(bounded, ("l2", "mahalanobis"))
        ball = Ball(certificate.value, certificate.metric)
        noise = rng.standard_normal(np.shape(bounded.value))
        if self.covariance is None:
            unscaled = mahalanobis(ball, np.eye(1 if ball.metric is None else len(ball.metric)))
        else:
            unscaled = mahalanobis(ball, self.covariance)
            noise = noise @ _root(self.covariance, noise.shape[-1:]).T
        scale = 1.0 if self.sigma is None else float(self.sigma)
        mu = _ratio(unscaled, scale)
        if self.mu is not None:
            if math.isinf(unscaled):
                raise CertificationError(
                    f"no noise of this shape reaches mu={self.mu!r}: the sensitivity is infinite along a direction; "
                    "clip to a finite radius, or give a covariance of full rank."
                )
            scale, mu = _ratio(unscaled, self.mu), self.mu
        value = bounded.value + scale * noise
        return _released(bounded, value, "gaussian", 0.0 if unscaled == 0 else mu, owner, terms)


@dataclass(frozen=True)
class SymmetricGaussian:
    """Gaussian noise on the upper triangle of a symmetric matrix, mirrored.

    Parameters
    ----------
    sigma : float
        Standard deviation of every entry, the diagonal included.

    Notes
    -----
    Formal guarantee: mu-Gaussian-DP with mu = (l2 sensitivity of the upper triangle) / sigma. A projection to the
    positive semi-definite matrices is post-processing.
    """

    sigma: float

    def __post_init__(self) -> None:
        if not 0 <= self.sigma < math.inf:
            raise ValueError(f"sigma={self.sigma!r} must be non-negative and finite.")

    def __call__(self, bounded: Bounded, rng: np.random.Generator, *, owner: str, **terms: Unpack[Terms]) -> Release:
        """Release a symmetric matrix of shape (P, P); parameters and errors as in `Gaussian.__call__`."""
        certificate = _certificate(bounded, ("l2",))
        matrix = np.asarray(bounded.value)
        if matrix.ndim != 2 or not np.array_equal(matrix, matrix.T):
            raise ValueError(f"value of shape {matrix.shape} is not a symmetric matrix; use Gaussian for other shapes.")
        noise = np.triu(rng.standard_normal(matrix.shape))
        noise += np.triu(noise, 1).T
        mu = _ratio(certificate.value, self.sigma)
        return _released(bounded, matrix + self.sigma * noise, "symmetric_gaussian", mu, owner, terms)


@dataclass(frozen=True)
class QuantileRadius:
    """Clipping radius at a quantile of norms, by binary search with noisy counts on a public grid.

    The grid is ``smallest 2^(k/8)``, k = 0..63: with the default ``smallest=1`` radii from 1 to 234. Each of the six
    steps counts the records up to the middle of what is left and keeps the half that the noisy count points to.

    Parameters
    ----------
    rho : float
        Total charge; each count has noise sd ``sqrt(6 / (2 rho))``.
    share : float
        Wanted share of records up to the radius, in (0, 1).
    smallest : float
        Smallest radius of the grid, positive and public.

    Notes
    -----
    Formal guarantee: six adaptively chosen counts of sensitivity 1 compose to one Gaussian release of
    mu = sqrt(2 rho). With few records or little ``rho`` the radius is often too large, rarely too small.
    """

    rho: float
    share: float = 0.95
    smallest: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.rho < math.inf:
            raise ValueError(f"rho={self.rho!r} of a private radius must be positive and finite.")
        if not 0 < self.share < 1:
            raise ValueError(f"share={self.share!r} of a private radius must lie strictly between 0 and 1.")
        if not 0 < self.smallest < math.inf:
            raise ValueError(f"smallest={self.smallest!r} radius of the grid must be positive and finite.")

    @property
    def grid(self) -> np.ndarray:
        """The 64 public radii."""
        return self.smallest * 2.0 ** (np.arange(64) / 8)

    def __call__(self, norms, rng: np.random.Generator, *, owner: str, **terms: Unpack[Terms]) -> Release:
        """Release a radius (float, one of `grid`) for norms of shape (n,); unit ``features``, ``replace_one``."""
        norms, grid = np.asarray(norms, dtype=float), self.grid
        steps = (len(grid) - 1).bit_length()
        count = Gaussian(sigma=math.sqrt(steps / (2 * self.rho)))
        low, high, events = 0, len(grid) - 1, []
        for _ in range(steps):
            middle = (low + high) // 2
            noisy = count(count_at_most(norms, grid[middle]), rng, owner=owner)
            events.append(noisy.event)
            if noisy.value >= self.share * len(norms):
                high = middle
            else:
                low = middle + 1
        radius, last = float(grid[high]), count_at_most(norms, grid[high])
        digest = _digest(np.array([event.noise_digest for event in events]))
        release = _released(last, radius, "quantile_radius", mu_from_rho(self.rho), owner, terms)
        given = terms.get("release_id", f"quantile_radius-{digest}")
        return Release(radius, replace(release.event, noise_digest=digest, release_id=given))


def _certificate(bounded: Bounded, norms: tuple[str, ...]):
    if not isinstance(bounded, Bounded):
        raise CertificationError(
            f"a mechanism takes a Bounded statistic, got {type(bounded).__name__}: without a sensitivity certificate "
            "no noise level means anything."
        )
    if bounded.certificate.norm not in norms:
        raise CertificationError(
            f"the certificate bounds the norm {bounded.certificate.norm!r}; this mechanism needs one of {norms}."
        )
    return bounded.certificate


def _root(covariance: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A fixed square root K, Sigma = K K': the Cholesky factor, or the symmetric root of a singular covariance."""
    sigma = np.asarray(covariance, dtype=float)
    if shape != sigma.shape[-1:]:
        raise ValueError(f"covariance has shape {sigma.shape}, the last axis of the value {shape}: they must agree.")
    try:
        return np.linalg.cholesky(sigma)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(sigma)
        return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _ratio(top: float, bottom: float) -> float:
    if top == 0:
        return 0.0
    return math.inf if bottom == 0 else top / bottom


def _digest(value) -> str:
    array = np.ascontiguousarray(value)
    return hashlib.sha256(repr(array.shape).encode() + array.tobytes()).hexdigest()[:16]


def _released(bounded: Bounded, value, mechanism: str, mu: float, owner: str, terms: Terms) -> Release:
    certificate, digest = bounded.certificate, _digest(value)
    parents = terms.get("data_dependent_parameters", ())
    if isinstance(parents, str):
        raise TypeError(f"data_dependent_parameters={parents!r} must be a tuple of releases or release ids.")
    event = Event(
        release_id=terms.get("release_id", f"{mechanism}-{digest}"),
        owner=owner,
        mechanism=mechanism,
        unit=certificate.unit,
        depends_on=certificate.depends_on,
        mu=float(mu),
        sensitivity=certificate.value,
        norm=certificate.norm,
        certificate=certificate.source,
        noise_digest=digest,
        relation=certificate.relation,
        audience=_audience(terms.get("audience", "*")),
        stratum=bounded.stratum,
        trust_model=terms.get("trust_model", "local"),
        data_dependent_parameters=tuple(p.event.release_id if isinstance(p, Release) else p for p in parents),
        epsilon_claimed=terms.get("epsilon_claimed"),
    )
    return Release(float(value) if np.ndim(value) == 0 else value, event)


def _audience(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return ("*",) if value == "*" else value if isinstance(value, tuple) else (value,)
