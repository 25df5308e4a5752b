"""Laplace noise on vectors, and geometric noise on integers: pure differential privacy for l1 sensitivities."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack

import numpy as np

from ...core.errors import CertificationError
from ..ledger.event import UNNAMED, EventProfile
from ..statistics.bounded import Bounded, SensitivityCertificate
from .random import RandomSource, SecureRandom
from .release import Release, Terms, certificate_of, charge_and_draw, generator, noise_scale, ratio

# Largest integer that floats hold exactly.
LIMIT = 2**53
# Smallest gamma: noise beyond 2^53 steps is rounded, and the parity of a rounded sum shows that of the value.
LEAST = Fraction(1, 2**40)


@dataclass(frozen=True)
class Laplace:
    """Laplace noise: f + b Laplace(1) on every entry (Dwork, McSherry, Nissim and Smith 2006).

    Parameters
    ----------
    epsilon : float, optional
        Wanted pure-DP parameter, positive: the noise is scaled to it.
    scale : float, optional
        Scale b of the noise, a public number; 0 adds none.

    Raises
    ------
    ValueError
        If not exactly one of both is given, or it is out of range.

    Notes
    -----
    Formal guarantee: pure epsilon-DP for the unit and relation of the certificate, epsilon = (l1 sensitivity) / b. Of a
    single number all norms are one. A simulation: floating-point noise shows the value in its low bits; publish
    integers by `Geometric`.

    Examples
    --------
    >>> import partywise as pw
    >>> ages = pw.stream(1, "ages").uniform(18, 90, size=500)
    >>> certificate = pw.SensitivityCertificate((90 - 18) / 500, "l1", "row", "replace_one", {"features"})
    >>> mean = pw.Bounded(ages.mean(), certificate)
    >>> release = pw.Laplace(epsilon=0.5)(mean, pw.stream(1, "noise"), owner="clinic", release_id="mean age")
    >>> print(f"{release.value:.1f}, true {mean.value:.1f}, epsilon {release.event.epsilon} with delta 0")
    53.7, true 53.9, epsilon 0.5 with delta 0
    """

    epsilon: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.scale is None):
            raise ValueError(f"epsilon={self.epsilon!r} and scale={self.scale!r} of Laplace: give exactly one.")
        if self.epsilon is not None and not self.epsilon > 0:
            raise ValueError(f"epsilon={self.epsilon!r} must be positive: no finite noise gives epsilon = 0.")
        if self.scale is not None and not 0 <= self.scale < math.inf:
            raise ValueError(f"scale={self.scale!r} must be non-negative and finite.")

    def __call__(
        self, bounded: Bounded, rng: np.random.Generator, *, owner: str = UNNAMED, **terms: Unpack[Terms]
    ) -> Release:
        """Release a bounded statistic.

        Parameters
        ----------
        bounded : Bounded
            Value of any shape with a certificate in the norm ``"l1"``, or one number in any norm of one.
        rng : numpy.random.Generator
            Consumed by one standard Laplace draw per entry, at any noise level.
        owner : str
            Party whose data it is; without a name every view is charged.
        **terms
            See `Terms`.

        Raises
        ------
        TypeError
            If ``rng`` is a secure source: use `Geometric`.
        CertificationError
            If ``bounded`` has no l1 certificate, or ``epsilon`` is wanted of an infinite sensitivity.
        """
        rng, sensitivity = generator(rng, "Laplace"), float(_l1(bounded).value)
        if self.epsilon is None:
            scale = float(self.scale or 0.0)
        else:
            _finite(sensitivity, self.epsilon)
            scale = noise_scale(sensitivity, self.epsilon, "epsilon")

        def draw() -> np.ndarray:
            return bounded.value + scale * rng.laplace(size=np.shape(bounded.value))

        profile = self.privacy_profile(bounded.certificate)
        return charge_and_draw(bounded, profile, "laplace", draw, owner, terms, rng, preset=self.epsilon is not None)

    def privacy_profile(self, certificate: SensitivityCertificate) -> EventProfile:
        """Fields of `Event`: all entries together lose the l1 distance over the scale.

        Parameters
        ----------
        certificate : SensitivityCertificate

        Returns
        -------
        dict of str to float

        Examples
        --------
        >>> import partywise as pw
        >>> certificate = pw.SensitivityCertificate(2.0, "l1", "row", "replace_one", {"label"})
        >>> pw.Laplace(scale=4.0).privacy_profile(certificate)
        {'epsilon': 0.5}
        """
        if certificate.value == 0:
            return {"epsilon": 0.0}
        stated = self.epsilon if self.epsilon is not None else ratio(float(certificate.value), float(self.scale or 0.0))
        return {"epsilon": float(stated)}


@dataclass(frozen=True)
class Geometric:
    """Two-sided geometric noise: f + g K, P(K = k) proportional to exp(-gamma |k|), on the grid g of the statistic.

    Parameters
    ----------
    epsilon : float
        Wanted pure-DP parameter, positive; infinity adds no noise.
    draws : int
        Independent draws that are added. Each is enough for epsilon, which thus holds against those who know all but
        one, such as the parties that drew them.

    Raises
    ------
    ValueError
        If ``epsilon`` is not positive, or ``draws`` is below 1.

    Notes
    -----
    Formal guarantee: pure epsilon-DP for the unit and relation of the certificate, gamma = epsilon g / (l1
    sensitivity), rounded down. Source: Ghosh, Roughgarden and Sundararajan (2012), section 2: no other mechanism serves
    a single count better, for any loss of its user by an error. With a `SecureRandom` the integers are drawn exactly
    (Canonne, Kamath and Steinke 2020, algorithm 2), so nothing is added to delta.

    Examples
    --------
    >>> import numpy as np
    >>> import partywise as pw
    >>> answers = np.repeat([0, 1, 2], [120, 40, 9])
    >>> asked = pw.counts(answers, pw.Public(3, because="three answers on the form"), norm="l1")
    >>> release = pw.Geometric(epsilon=1.0)(asked, pw.SecureRandom(), owner="hospital", release_id="answers")
    >>> release.event.epsilon, release.event.sampler, bool((release.value % 1 == 0).all())  # fit to be published
    (1.0, 'secure', True)
    """

    epsilon: float
    draws: int = 1

    def __post_init__(self) -> None:
        if not self.epsilon > 0:
            raise ValueError(f"epsilon={self.epsilon!r} must be positive: no finite noise gives epsilon = 0.")
        if self.draws < 1:
            raise ValueError(f"draws={self.draws!r} must be a whole number from 1: without a draw nothing is noised.")

    def __call__(self, bounded: Bounded, rng: RandomSource, *, owner: str = UNNAMED, **terms: Unpack[Terms]) -> Release:
        """Release a bounded statistic of whole multiples of a public grid.

        Parameters
        ----------
        bounded : Bounded
            Value of any shape; its certificate has a ``grid`` and the norm ``"l1"`` (`counts` with ``norm="l1"``), or
            is of one number.
        rng : SecureRandom or numpy.random.Generator
            The only source of the draw; the event's ``sampler`` states which.
        owner : str
            Party whose data it is; without a name every view is charged.
        **terms
            See `Terms`.

        Raises
        ------
        CertificationError
            If ``bounded`` has no l1 certificate or none with a grid, its value is not a multiple of the grid, its
            sensitivity is infinite, or gamma is below 2^-40: floats would round such noise, and show the value.
        OverflowError
            If an entry has more than 2^53 steps of the grid.
        """
        certificate = _l1(bounded)
        if certificate.grid is None:
            raise CertificationError(
                "the certificate has no grid: geometric noise is for statistics that are whole multiples of a public "
                "number, such as counts; state grid=1.0 there, or use Laplace or DiscreteGaussian."
            )
        _finite(certificate.value, self.epsilon)
        steps = np.asarray(bounded.value) / certificate.grid
        if np.max(np.abs(steps), initial=0.0) > LIMIT:
            raise OverflowError(f"an entry exceeds 2^53 steps of grid={certificate.grid!r}: choose a coarser one.")
        if np.any(np.fmod(np.asarray(bounded.value), certificate.grid)):
            raise CertificationError(
                f"the certificate states grid={certificate.grid!r}, but the value is not a multiple of it; form the "
                "statistic in integers."
            )

        grid, gamma = float(certificate.grid), _gamma(self.epsilon, certificate)

        def draw() -> np.ndarray:
            if gamma is None:
                return np.array(bounded.value)
            return (steps + sum(draw_geometric(rng, gamma, steps.shape) for _ in range(self.draws))) * grid

        profile = self.privacy_profile(certificate)
        return charge_and_draw(bounded, profile, "geometric", draw, owner, terms, rng, preset=True)

    def privacy_profile(self, certificate: SensitivityCertificate) -> EventProfile:
        """Fields of `Event`: the noise is made for the l1 distance of the certificate.

        Parameters
        ----------
        certificate : SensitivityCertificate

        Returns
        -------
        dict of str to float

        Examples
        --------
        >>> import partywise as pw
        >>> certificate = pw.SensitivityCertificate(2.0, "l1", "row", "replace_one", {"label"}, grid=1.0)
        >>> pw.Geometric(epsilon=1.0).privacy_profile(certificate)
        {'epsilon': 1.0}
        """
        return {"epsilon": float(self.epsilon) if certificate.value else 0.0}


def draw_geometric(rng: RandomSource, gamma: Fraction, shape: tuple[int, ...]) -> np.ndarray:
    """Integers of P(k) proportional to exp(-gamma |k|), float64 of whole numbers."""
    size = math.prod(shape)
    if isinstance(rng, SecureRandom):
        # A gamma of fewer digits is smaller: at least the noise that was asked for.
        below = Fraction(math.floor(gamma * 2**40), 2**40)
        return np.array([_exact(rng, below) for _ in range(size)], dtype=float).reshape(shape)
    success = -math.expm1(-float(gamma))
    first, second = rng.geometric(success, (2, size)).astype(float)
    return (first - second).reshape(shape)


def _exact(rng: SecureRandom, gamma: Fraction) -> int:
    """One draw by uniform integers alone: |k| = floor((u + t v) / s) with gamma = s / t (algorithm 2)."""
    s, t = gamma.numerator, gamma.denominator
    while True:
        u = _below(rng, t)
        if not _exp_minus(rng, u, t):
            continue
        v = 0
        while _exp_minus(rng, 1, 1):
            v += 1
        size, negative = (u + t * v) // s, _below(rng, 2)
        if size or not negative:
            return -size if negative else size


def _exp_minus(rng: SecureRandom, top: int, bottom: int) -> bool:
    """True with probability exp(-top / bottom), for a quotient in [0, 1] (algorithm 1)."""
    k = 1
    while _below(rng, bottom * k) < top:
        k += 1
    return k % 2 == 1


def _below(rng: SecureRandom, n: int) -> int:
    """A uniform integer 0..n-1, however large n is."""
    words = -(-n.bit_length() // 64)
    while True:
        value = int.from_bytes(rng.uint64(words).tobytes(), "little") >> (64 * words - n.bit_length())
        if value < n:
            return value


def _l1(bounded: Bounded) -> SensitivityCertificate:
    """The certificate of a statistic whose l1 sensitivity it bounds."""
    single = isinstance(bounded, Bounded) and np.size(bounded.value) == 1
    return certificate_of(bounded, ("l1", "l2", "linf") if single else ("l1",))


def _gamma(epsilon: float, certificate: SensitivityCertificate) -> Fraction | None:
    """Rate of the noise, of public numbers; None without noise, CertificationError where floats would round it."""
    if certificate.value == 0 or math.isinf(epsilon):
        return None
    gamma = Fraction(epsilon) * Fraction(float(certificate.grid or 0.0)) / Fraction(certificate.value)
    if gamma < LEAST:
        raise CertificationError(
            f"epsilon={epsilon!r} of a sensitivity of {certificate.value!r} on grid={certificate.grid!r} needs noise "
            "of more than 2^40 steps, which floats would round, so that its low digits show the value: ask for a "
            "larger epsilon, or a coarser grid."
        )
    return gamma


def _finite(sensitivity: float, epsilon: float) -> None:
    if math.isinf(sensitivity) and not math.isinf(epsilon):
        raise CertificationError(
            f"no noise reaches epsilon={epsilon!r}: the sensitivity is infinite; clip to a finite radius."
        )
