"""Gaussian noise on vectors and symmetric matrices.

Standard normals are drawn first and scaled afterwards, so that one generator at two noise levels gives one draw
rescaled. The sampler is a simulation: floating-point noise proves nothing about published bytes.
"""

import math
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from ...core.arrays import symmetric_root
from ...core.errors import CertificationError
from ..accounted_values import AccountedValue, parameter
from ..ledger.event import UNNAMED, EventProfile
from ..statistics.bounded import Bounded, SensitivityCertificate
from ..statistics.geometry import Ball, mahalanobis
from .release import Release, Terms, certificate_of, charge_and_draw, generator, noise_scale, ratio, resting_on


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Gaussian noise: f + N(0, Sigma).

    Parameters
    ----------
    mu : float, optional
        Wanted Gaussian-DP parameter: the noise is scaled to it. ``covariance`` may give its shape.
    sigma : float, optional
        Standard deviation of independent noise on every entry, a public number.
    covariance : AccountedValue of an ndarray of shape (q, q), optional
        Covariance along the last axis, independent over the other axes. It states its origin: a release that it
        was computed from becomes a parent of what is released, and one taken from the data in the clear leaves it
        unproved.

    Raises
    ------
    TypeError
        If the covariance is a bare array.
    ValueError
        If not exactly one of ``sigma``, ``covariance``, ``mu`` or ``mu`` with ``covariance`` is given; if ``mu`` is
        not positive, ``sigma`` negative, or the covariance no covariance.

    Notes
    -----
    Formal guarantee: mu-Gaussian-DP for the unit and relation of the certificate, mu = sup ||Sigma^(-1/2) d|| over all
    differences the certificate allows (exact for a ball in any metric; Dong, Roth and Su 2022, theorem 2.7).
    ``sigma=0``, or a covariance that is singular along a difference, gives mu = inf. In an array of records, each
    record is its own unit and the certificate bounds the change of one record.

    Examples
    --------
    >>> import partywise as pw
    >>> records = pw.stream(4, "records").normal(size=(100, 2))
    >>> total = pw.record_sum(records, pw.Public(1.0, because="upper limit of the assay"))
    >>> release = pw.Gaussian(mu=0.5)(total, pw.stream(4, "noise"), owner="hospital", release_id="sum")
    >>> release.value.round(1), release.event.mu
    (array([ 0.1, -0.8]), 0.5)
    >>> print(f"epsilon {pw.gaussian_epsilon(release.event.mu, 1e-5):.2f} at delta 1e-5")
    epsilon 1.99 at delta 1e-5
    """

    mu: float | None = None
    sigma: float | None = None
    covariance: AccountedValue | None = None

    def __post_init__(self) -> None:
        names = [name for name in ("mu", "sigma", "covariance") if getattr(self, name) is not None]
        if names not in (["mu"], ["sigma"], ["covariance"], ["mu", "covariance"]):
            raise ValueError(f"Gaussian got {names}: give mu, sigma, covariance, or mu with covariance.")
        if self.mu is not None and not self.mu > 0:
            raise ValueError(f"mu={self.mu!r} must be positive: no finite noise gives mu = 0.")
        if self.sigma is not None and not 0 <= self.sigma < math.inf:
            raise ValueError(f"sigma={self.sigma!r} must be non-negative and finite.")
        if self.covariance is not None:
            parameter("covariance", self.covariance)

    def __call__(
        self, bounded: Bounded, rng: np.random.Generator, *, owner: str = UNNAMED, **terms: Unpack[Terms]
    ) -> Release:
        """Release a bounded statistic.

        Parameters
        ----------
        bounded : Bounded
            Value of shape (..., q) with its certificate, norm ``"l2"`` or ``"mahalanobis"``.
        rng : numpy.random.Generator
            Consumed by exactly one standard normal per entry, at any noise level.
        owner : str
            Party whose data it is; without a name every view is charged.
        **terms
            See `Terms`.

        Raises
        ------
        TypeError
            If ``rng`` is a secure source: use `DiscreteGaussian`.
        CertificationError
            If ``bounded`` carries no certificate in a norm this noise can be measured in.
        """
        certificate = certificate_of(bounded, ("l2", "mahalanobis"))
        rng, shape = generator(rng, "Gaussian"), np.shape(bounded.value)
        unscaled, root = self._unit_sensitivity(certificate), None
        if self.covariance is not None:
            bounded = resting_on(bounded, self.covariance)
            root = _root(self.covariance.value, shape[-1:]).T
        scale = 1.0 if self.sigma is None else float(self.sigma)
        if self.mu is not None:
            if math.isinf(unscaled):
                raise CertificationError(
                    f"no noise of this shape reaches mu={self.mu!r}: the sensitivity is infinite along a direction; "
                    "clip to a finite radius, or give a covariance of full rank."
                )
            scale = noise_scale(unscaled, self.mu)

        def draw() -> np.ndarray:
            noise = rng.standard_normal(shape)
            released = scale * (noise if root is None else noise @ root)
            released += bounded.value
            return released

        profile = self._profile(unscaled)
        return charge_and_draw(bounded, profile, "gaussian", draw, owner, terms, rng, preset=self.mu is not None)

    def privacy_profile(self, certificate: SensitivityCertificate) -> EventProfile:
        """Fields of `Event`: the largest length in deviations of the noise that a unit can move all entries by.

        Parameters
        ----------
        certificate : SensitivityCertificate

        Returns
        -------
        dict of str to float

        Examples
        --------
        >>> import partywise as pw
        >>> certificate = pw.SensitivityCertificate(2.0, "l2", "row", "replace_one", {"features"})
        >>> pw.Gaussian(sigma=4.0).privacy_profile(certificate)  # what a record moves, over the noise
        {'mu': 0.5}
        """
        return self._profile(self._unit_sensitivity(certificate))

    def _unit_sensitivity(self, certificate: SensitivityCertificate) -> float:
        """Sensitivity for noise of the stated shape, before it is scaled to ``mu`` or ``sigma``."""
        ball = Ball(certificate.value, certificate.metric)
        if self.covariance is not None:
            return mahalanobis(ball, self.covariance.value)
        # Independent noise in the plain norm needs no spectrum.
        return ball.radius if ball.metric is None else mahalanobis(ball, np.eye(len(ball.metric)))

    def _profile(self, unscaled: float) -> EventProfile:
        scale = 1.0 if self.sigma is None else float(self.sigma)
        mu = ratio(unscaled, scale) if self.mu is None else self.mu
        return {"mu": 0.0 if unscaled == 0 else float(mu)}


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

    def __call__(
        self, bounded: Bounded, rng: np.random.Generator, *, owner: str = UNNAMED, **terms: Unpack[Terms]
    ) -> Release:
        """Release a symmetric matrix of shape (P, P); parameters and errors as in `Gaussian.__call__`."""
        certificate = certificate_of(bounded, ("l2",))
        rng, matrix = generator(rng, "SymmetricGaussian"), np.asarray(bounded.value)
        if matrix.ndim != 2 or not np.array_equal(matrix, matrix.T):
            raise ValueError(f"value of shape {matrix.shape} is not a symmetric matrix; use Gaussian for other shapes.")

        lower = np.tri(len(matrix), k=-1, dtype=bool)

        def draw() -> np.ndarray:
            noise = rng.standard_normal(matrix.shape)
            noise[lower] = noise.T[lower]
            return matrix + self.sigma * noise

        profile = self.privacy_profile(certificate)
        return charge_and_draw(bounded, profile, "symmetric_gaussian", draw, owner, terms, rng)

    def privacy_profile(self, certificate: SensitivityCertificate) -> EventProfile:
        """Fields of `Event`: the upper triangle is all that is drawn, and the certificate bounds its move."""
        return {"mu": ratio(certificate.value, self.sigma)}


def _root(covariance: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A fixed square root K, Sigma = K K': the Cholesky factor, or the symmetric root of a singular covariance."""
    sigma = np.asarray(covariance, dtype=float)
    if shape != sigma.shape[-1:]:
        raise ValueError(f"covariance has shape {sigma.shape}, the last axis of the value {shape}: they must agree.")
    try:
        return np.linalg.cholesky(sigma)
    except np.linalg.LinAlgError:
        return symmetric_root(sigma)
