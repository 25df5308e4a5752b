"""Gaussian noise on a public grid: what a release mode needs, because floating-point noise shows the value.

A value is rounded to a grid that is a power of two, and an integer times the grid is added: every step is exact in
binary arithmetic, so the set of possible outputs is the same for all values. Sums for such a release are formed in
integers, where no order of summation can add to their sensitivity.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Unpack

import numpy as np

from ...core.errors import CertificationError
from ..accounted_values import AccountedValue, parameter
from ..ledger.event import UNNAMED, EventProfile
from ..rounding import round_up
from ..secure.fixed_point import LIMIT, default_grid, require_power_of_two
from ..secure.table import DISTRIBUTIONS, require_sigma
from ..statistics.bounded import Bounded, SensitivityCertificate
from ..statistics.encrypted_integers import EncryptedIntegers
from ..statistics.geometry import factor
from .random import RandomSource, integer_noise, words_of
from .release import Release, Terms, certificate_of, charge_and_draw, digest_of, resting_on

# Largest whitened entry: the rounding errors of the whitening then stay below q / 512 grid units.
WHITENED_LIMIT = 2.0**44
# A sensitivity computed through factors of matrices may be too small by their rounding errors.
SLACK = 1 + 2.0**-30


@dataclass(frozen=True, eq=False)
class DiscreteGaussian:
    """Round to a grid and add integer Gaussian noise.

    Parameters
    ----------
    sigma : float, optional
        Standard deviation (of the Gaussian that is rounded, for ``distribution="rounded"``) on every entry.
    mu : float, optional
        Wanted Gaussian-DP parameter: the noise is scaled to it, rounding included. ``covariance`` may give its shape.
    grid : float, optional
        A power of two, public; default the one in [sigma / 2^10, sigma / 2^9). With ``covariance`` it is the grid of
        the whitened value.
    covariance : AccountedValue of an ndarray of shape (q, q), optional
        Positive definite covariance along the last axis, which states its origin, as in `Gaussian`. The value
        is whitened, rounded, noised and un-whitened.
    distribution : {"rounded", "discrete"}
        See `partywise.privacy.secure.table.draw_integers`.

    Raises
    ------
    ValueError
        If not exactly one of ``sigma``, ``covariance``, ``mu`` or ``mu`` with ``covariance`` is given, or one of
        them is out of range.

    Notes
    -----
    Formal guarantee: rounding moves each of d entries by at most half a grid in either world, so the rounded values
    differ by at most ``Delta' = Delta + sqrt(d) grid``; d counts the entries that one unit can move: those of its
    ``records`` where the certificate counts them, all entries otherwise. A statistic whose certificate states a
    ``grid`` that is a multiple of this one is not moved, and ``Delta' = Delta``. ``distribution="rounded"``: the output
    is a Gaussian release of the rounded value, rounded once more, so mu = Delta' / sigma. ``distribution="discrete"``:
    rho = Delta'^2 / (2 sigma^2) (Canonne, Kamath, Steinke 2020, Theorem 14). Integers are drawn exactly, hence
    ``delta_numeric`` is 0. Whitening in floating point is charged as further rounding. Whether the value itself was
    computed within its certificate is up to its constructor: `fixed_point_sum` is.

    Examples
    --------
    >>> import numpy as np
    >>> import partywise as pw
    >>> answers = np.repeat([0, 1, 2], [120, 40, 9])
    >>> asked = pw.counts(answers, pw.Public(3, because="three answers on the form"))
    >>> release = pw.DiscreteGaussian(mu=0.5)(asked, pw.SecureRandom(), owner="hospital", release_id="answers")
    >>> release.event.mu, release.event.delta_numeric, release.event.sampler  # exact: fit to be published
    (0.5, 0.0, 'secure')
    """

    sigma: float | None = None
    mu: float | None = None
    grid: float | None = None
    covariance: AccountedValue | None = None
    distribution: str = "rounded"

    def __post_init__(self) -> None:
        names = [name for name in ("mu", "sigma", "covariance") if getattr(self, name) is not None]
        if names not in (["mu"], ["sigma"], ["covariance"], ["mu", "covariance"]):
            raise ValueError(f"DiscreteGaussian got {names}: give mu, sigma, covariance, or mu with covariance.")
        if self.mu is not None and not 0 < self.mu < math.inf:
            raise ValueError(f"mu={self.mu!r} must be positive and finite.")
        if self.sigma is not None and not 0 < self.sigma < math.inf:
            raise ValueError(f"sigma={self.sigma!r} must be positive and finite.")
        if self.distribution not in DISTRIBUTIONS:
            raise ValueError(
                f"distribution={self.distribution!r} of integer noise is unknown; use one of {DISTRIBUTIONS}."
            )
        if self.grid is not None:
            require_power_of_two(self.grid)
        if self.covariance is not None:
            parameter("covariance", self.covariance)

    def __call__(self, bounded: Bounded, rng: RandomSource, *, owner: str = UNNAMED, **terms: Unpack[Terms]) -> Release:
        """Release a bounded statistic.

        Parameters
        ----------
        bounded : Bounded
            Value of shape (..., q) with its certificate, norm ``"l2"`` or ``"mahalanobis"``.
        rng : SecureRandom or numpy.random.Generator
            The only source of the draw: the event's ``sampler`` is ``"secure"`` or ``"simulation"``. Consumed by one
            64-bit word an entry, once in about 10^15 entries by more.
        owner : str
            Party whose data it is; without a name every view is charged.
        **terms
            See `Terms`.

        Raises
        ------
        TypeError
            If ``rng`` is neither.
        CertificationError
            If ``bounded`` carries no certificate in a norm this noise can be measured in, or ``mu`` is wanted of an
            infinite sensitivity.
        OverflowError
            If an entry is too large for the grid; nothing was drawn. The message stays with the owner.
        """
        certificate = certificate_of(bounded, ("l2", "mahalanobis"))
        bounded = resting_on(bounded, self.covariance)
        covariance = None if self.covariance is None else self.covariance.value
        lengths = _Lengths.of(certificate, covariance, np.shape(bounded.value))
        sigma, grid, sensitivity = self._scale(lengths)
        profile, name = self._profile(sensitivity, sigma), f"{self.distribution}_gaussian"
        if sigma == 0:
            # Nothing can change, so there is nothing to hide: mu was wanted of a constant.
            return charge_and_draw(bounded, profile, name, lambda: bounded.value, owner, terms, rng, preset=True)
        steps = require_sigma(sigma / grid, self.distribution)
        rounded = lengths.round_to_grid(np.asarray(bounded.value), grid)

        def draw() -> np.ndarray:
            noisy = rounded + integer_noise(rng, steps, rounded.shape, self.distribution)
            value = noisy.astype(float) * grid
            return value if lengths.root is None else value @ lengths.root.T

        return charge_and_draw(bounded, profile, name, draw, owner, terms, rng, preset=self.mu is not None)

    def under_encryption(
        self,
        closed: EncryptedIntegers,
        add: Callable[[np.ndarray], object],
        rng: RandomSource,
        *,
        owner: str = UNNAMED,
        delta_numeric: float = 0.0,
        **terms: Unpack[Terms],
    ) -> Release:
        """Release a statistic that its owner cannot read: integers are drawn, and the owner adds them to ciphertexts.

        Parameters
        ----------
        closed : Closed
            Its integers are exact, so nothing is rounded.
        add : callable
            Integers of the shape of the statistic -> what leaves the owner: the ciphertexts of the sums,
            re-randomised.
        rng : SecureRandom or numpy.random.Generator
        owner : str
            Party whose data it is; without a name every view is charged.
        delta_numeric : float
            What else is in the ciphertexts, such as masks, separates neighbours with at most this probability.
        **terms
            See `Terms`; ``audience`` should name the holder of the key.

        Returns
        -------
        Release
            Of what ``add`` returned. Data of others in the ciphertexts are among its parts, in the clear: the
            certificate is about the data of ``owner``, and others have its word for nothing.

        Raises
        ------
        ValueError
            If the mechanism has a covariance or a grid, or another distribution than ``"rounded"``; the integers state
            their grid.

        Notes
        -----
        Formal guarantee: an integer k of unit u has noise of deviation at least sigma / u steps, rounded to whole
        ones. So (k + noise) u is a Gaussian release of k u, rounded, and mu = Delta / sigma as for an open value. It
        holds against the key holder as far as re-randomised ciphertexts show their plaintexts only.

        The digest is that of a salt, drawn after the noise from the same generator. A digest of the ciphertexts would
        depend on the scheme and its random numbers; one of the noise would let a reader who guesses the noise check the
        guess. The salt is independent of both, reveals nothing, and a second draw of the noise has another.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> from partywise.privacy.statistics.encrypted_integers import EncryptedIntegers
        >>> ciphers = np.array([120, 40, 9])  # stands for ciphertexts, which the owner of the data cannot read
        >>> certificate = pw.SensitivityCertificate(2**0.5, "l2", "row", "replace_one", {"label"}, grid=1.0)
        >>> closed = EncryptedIntegers(certificate, np.ones(3), ciphers, lambda found, keys: found)
        >>> noisy, rng = pw.DiscreteGaussian(mu=0.5), pw.stream(4, "noise")
        >>> release = noisy.under_encryption(closed, lambda noise: ciphers + noise, rng, owner="hospital")
        >>> release.value.tolist(), release.event.mechanism, release.event.mu
        ([121, 38, 11], 'encrypted_rounded_gaussian', 0.5)
        """
        if self.covariance is not None or self.grid is not None or self.distribution != "rounded":
            raise ValueError(
                f"covariance, grid={self.grid!r} and distribution={self.distribution!r} of noise under encryption: "
                "give sigma or mu "
                "alone, the integers of the statistic state their grid and the distribution is 'rounded'."
            )
        salt = list[np.ndarray]()
        sensitivity = float(closed.certificate.value)
        if self.mu is not None and math.isinf(sensitivity):
            raise CertificationError(
                f"no noise reaches mu={self.mu!r}: the sensitivity is infinite; clip to a finite radius."
            )
        sigma = float(self.sigma) if self.sigma is not None else quotient_up(sensitivity, float(self.mu or 0.0))

        def draw() -> object:
            noise = np.zeros(closed.units.shape, dtype=np.int64)
            for unit in dict.fromkeys(closed.units.ravel().tolist()) if sigma else ():
                chosen = closed.units == unit
                noise[chosen] = integer_noise(rng, quotient_up(sigma, unit), int(chosen.sum()), self.distribution)
            salt.append(words_of(rng)(2))
            return add(noise)

        profile = self._profile(sensitivity, sigma) | {"delta_numeric": float(delta_numeric)}
        name = f"encrypted_{self.distribution}_gaussian"
        preset = self.mu is not None
        closed = replace(closed, add=add)
        release = charge_and_draw(
            closed, profile, name, draw, owner, terms, rng, preset=preset, digest=lambda _: digest_of(salt)
        )
        return replace(release, made_of=closed.foreign_parts(owner))

    def _scale(self, lengths: "_Lengths") -> tuple[float, float, float]:
        """Deviation of the noise, grid and sensitivity after rounding, all in whitened units."""
        wanted, sensitivity = self.mu, lengths.sensitivity
        if wanted is None:
            sigma = 1.0 if self.sigma is None else float(self.sigma)
            grid = default_grid(sigma) if self.grid is None else float(self.grid)
            return sigma, grid, lengths.after_rounding(grid)
        if math.isinf(sensitivity):
            raise CertificationError(
                f"no noise reaches mu={wanted!r}: the sensitivity is infinite; clip to a finite radius."
            )
        if sensitivity == 0:
            return 0.0, 1.0, 0.0
        grid = default_grid(sensitivity / wanted) if self.grid is None else float(self.grid)
        sensitivity = lengths.after_rounding(grid)
        return quotient_up(sensitivity, wanted), grid, sensitivity

    def privacy_profile(self, certificate: SensitivityCertificate, shape: tuple[int, ...]) -> EventProfile:
        """Fields of `Event`: what a value of that shape costs a unit, the rounding of its entries included.

        Parameters
        ----------
        certificate : SensitivityCertificate
        shape : tuple of int
            Of the value.

        Returns
        -------
        dict of str to float

        Examples
        --------
        >>> import partywise as pw
        >>> certificate = pw.SensitivityCertificate(2.0, "l2", "row", "replace_one", {"features"})
        >>> for grid in (2**-9, 1.0):  # a coarse grid moves values more than the record does
        ...     print(f"{pw.DiscreteGaussian(sigma=4.0, grid=grid).privacy_profile(certificate, (9,))['mu']:.3f}")
        0.501
        1.250
        """
        covariance = None if self.covariance is None else self.covariance.value
        sigma, _, sensitivity = self._scale(_Lengths.of(certificate, covariance, shape))
        return self._profile(sensitivity, sigma)

    def _profile(self, sensitivity: float, sigma: float) -> EventProfile:
        """Fields of the event of integer noise of that deviation; of none where nothing can move."""
        if sigma == 0:
            return {"mu": 0.0}
        mu = quotient_up(sensitivity, sigma) if self.mu is None else float(self.mu)
        if self.distribution == "rounded":
            return {"mu": mu, "delta_numeric": 0.0}
        return {"rho": math.nextafter(mu * mu / 2, math.inf) if mu else 0.0, "delta_numeric": 0.0}


@dataclass(frozen=True, eq=False)
class _Lengths:
    """Lengths by which a value can move, and how it is rounded: in units in which the noise has one deviation."""

    sensitivity: float
    entries: int
    grid: float | None = None
    root: np.ndarray | None = None
    white: np.ndarray | None = None

    @classmethod
    def of(
        cls, certificate: SensitivityCertificate, covariance: np.ndarray | None, shape: tuple[int, ...]
    ) -> "_Lengths":
        entries = _moved_entries(certificate.records, shape)
        if covariance is None and certificate.metric is None:
            return cls(float(certificate.value), entries, certificate.grid)
        q = shape[-1] if shape else 1
        # What is whitened is the last axis: that of a single axis mixes all entries.
        entries = entries if len(shape) > 1 else math.prod(shape)
        root = None if covariance is None else factor("covariance", covariance, q)
        white = np.eye(q) if root is None else np.linalg.inv(root)
        directions = white
        if certificate.metric is not None:
            # d' M d <= r^2, M = L L', is the image of a ball under L'^-1.
            directions = white @ np.linalg.inv(factor("metric", certificate.metric, q)).T
        longest = float(np.linalg.norm(directions, 2)) * SLACK
        sensitivity = round_up(certificate.value * longest, certificate.value) if certificate.value else 0.0
        if root is None:
            return cls(sensitivity, entries, certificate.grid)
        return cls(sensitivity, entries, None, root, white)

    def _lies_on(self, grid: float) -> bool:
        return self.grid is not None and (self.grid / grid).is_integer()

    def after_rounding(self, grid: float) -> float:
        """Sensitivity of the rounded value, rounded up."""
        if self.sensitivity == 0 or self._lies_on(grid):
            return self.sensitivity
        moved = 1.0 if self.white is None else 1.0 + (len(self.white) + 1) / 256
        return (self.sensitivity + math.sqrt(self.entries) * moved * grid) * (1 + 2.0**-50)

    def round_to_grid(self, value: np.ndarray, grid: float) -> np.ndarray:
        """The whitened value in whole grid units, int64."""
        with np.errstate(over="ignore", invalid="ignore"):
            if self.white is None:
                units, largest, limit = value / grid, np.abs(value) / grid, LIMIT
            else:
                units = value @ self.white.T / grid
                largest, limit = np.abs(value) @ np.abs(self.white).T / grid, WHITENED_LIMIT
        if not np.max(largest, initial=0.0) <= limit:
            raise OverflowError(
                f"an entry exceeds {limit:g} steps of grid={grid!r}, more than exact integers can hold with the noise; "
                "choose a coarser grid (a larger power of two), or clip the records to a smaller radius."
            )
        if self._lies_on(grid) and np.any(np.fmod(value, float(self.grid or grid))):
            raise CertificationError(
                f"the certificate states grid={self.grid!r}, but the value is not a multiple of it; state a grid only "
                "where the constructor forms the statistic in integers."
            )
        return np.rint(units).astype(np.int64)


def _moved_entries(records: int | None, shape: tuple[int, ...]) -> int:
    """Number of entries that one unit can move, of records along the first axis."""
    if records is None or not shape:
        return math.prod(shape)
    return min(records, shape[0]) * math.prod(shape[1:])


def quotient_up(top: float, bottom: float) -> float:
    """The least float that is not below ``top / bottom``, or its neighbour above."""
    quotient = top / bottom
    if not math.isfinite(quotient) or top == 0:
        return quotient
    (a, b), (c, d), (e, f) = (number.as_integer_ratio() for number in (quotient, bottom, top))
    return quotient if a * c * f >= e * b * d else math.nextafter(quotient, math.inf)
