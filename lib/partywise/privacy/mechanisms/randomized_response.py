"""Randomised response: a row-stochastic matrix, whose `pair_loss` is the largest log ratio of two rows."""

import math
from dataclasses import dataclass, field
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from ..accounted_values import AccountedValue, parameter
from ..accounting.calibration import randomized_response_probability
from ..ledger.event import UNNAMED, EventProfile
from ..secure.finite_draws import rare
from ..statistics.bounded import Bounded, SensitivityCertificate
from .random import SecureRandom, sampler_of
from .release import Release, Terms, certificate_of, charge_and_draw, generator, product_profile, resting_on

# The smallest positive float.
LEAST = 5e-324
# Recomputing epsilon from integer thresholds costs a few roundings; the charge is moved up by more than that.
ROUNDED_UP = 1 + 1e-14


@dataclass(frozen=True, eq=False)
class RandomizedResponse:
    """k-ary randomised response: an index is kept with probability e^eps / (e^eps + k - 1), else any other one.

    Parameters
    ----------
    epsilon : float
        Pure-DP parameter of one index; 0 gives uniform draws, infinity keeps every index.
    k : int
        Number of indices, at least 2: the values are 0..k-1. A plain number, as epsilon is: it is the alphabet of what
        is released, and an index outside it is refused.
    edges : AccountedValue, optional
        Increasing bin edges of shape (k-1,): the mechanism then takes raw values and cuts them itself, bin h
        being ``(edges[h-1], edges[h]]``. Quantiles of the data belong to `bin_index`, which counts what they move.

    Raises
    ------
    ValueError
        If ``epsilon`` is negative or NaN, ``k`` is not a whole number from 2, or ``edges`` do not fit ``k``.

    Notes
    -----
    Formal guarantee: pure epsilon-DP of one index, exactly. One unit that can move c indices (the value of a
    certificate in the norm ``"hamming"``) is charged c applications. Source: Warner (1965); Kairouz, Oh and
    Viswanath (2014) for k > 2.

    Examples
    --------
    >>> import numpy as np
    >>> import partywise as pw
    >>> certificate = pw.SensitivityCertificate(1, "hamming", "label", "label_flip", {"label"}, records=1)
    >>> labels = pw.Bounded(np.repeat([0, 1], [700, 300]), certificate)
    >>> respond = pw.RandomizedResponse(epsilon=2.0, k=2)
    >>> told = respond(labels, pw.stream(4, "answers"), owner="registry", release_id="labels").value
    >>> print(f"{respond.debias(told).mean():.2f} with standard error {(respond.variance / 1000) ** 0.5:.2f}")
    0.31 with standard error 0.01
    >>> print(f"{pw.RandomizedResponse(60.0, 2).secure_epsilon:.1f}")  # the most that a threshold of 64 bits allows
    44.4
    """

    epsilon: float
    k: int
    edges: AccountedValue | None = None
    _cuts: np.ndarray | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        randomized_response_probability(self.epsilon, self.k)
        if self.edges is None:
            return
        cuts = np.array(parameter("edges", self.edges), dtype=float)
        if cuts.shape != (self.k - 1,) or not np.all(np.diff(cuts) > 0) or not np.all(np.isfinite(cuts)):
            raise ValueError(f"edges={cuts!r} must be k - 1 = {self.k - 1} finite, increasing cuts.")
        cuts.flags.writeable = False
        object.__setattr__(self, "_cuts", cuts)

    def __call__(
        self, bounded: Bounded, rng: np.random.Generator | SecureRandom, *, owner: str = UNNAMED, **terms: Unpack[Terms]
    ) -> Release:
        """Release every entry of an array of indices.

        Parameters
        ----------
        bounded : Bounded
            Indices of any shape (raw values if the mechanism has ``edges``), norm ``"hamming"``.
        rng : numpy.random.Generator or SecureRandom
            The secure source compares 64-bit integers with a threshold; the event then charges the epsilon of that
            threshold, which differs from ``epsilon`` by rounding up to about 40 and is less above. The other one
            draws ``epsilon`` itself, with more than 53 bits where they do not decide.
        owner, **terms
            As in `Gaussian.__call__`.

        Returns
        -------
        Release
            Indices (int64) of the same shape.

        Raises
        ------
        CertificationError
            If the certificate is not in the norm ``"hamming"``, or the number of records is private.
        ValueError
            If an entry is not one of 0..k-1.
        """
        profile = self.privacy_profile(certificate_of(bounded, ("hamming",)), sampler_of(rng))
        bounded, indices = resting_on(bounded, self.edges), self._indices(np.asarray(bounded.value))
        if isinstance(rng, SecureRandom):
            return charge_and_draw(
                bounded,
                profile,
                "randomized_response",
                lambda: self.secure(indices, rng),
                owner,
                terms,
                rng,
                preset=True,
            )
        numbers = generator(rng, "RandomizedResponse")

        def simulate() -> np.ndarray:
            # Both draws are always made, so that one generator at two levels of epsilon flips nested sets.
            uniform = numbers.random(indices.shape)
            offsets = numbers.integers(0, self.k - 1, indices.size)
            return self._move(indices, rare(numbers, uniform, *self.flip()), offsets)

        return charge_and_draw(bounded, profile, "randomized_response", simulate, owner, terms, rng, preset=True)

    def privacy_profile(self, certificate: SensitivityCertificate, sampler: str = "simulation") -> EventProfile:
        """Fields of `Event`: a unit of c entries moves c independent draws.

        Parameters
        ----------
        certificate : SensitivityCertificate
            In the norm ``"hamming"``.
        sampler : {"simulation", "secure"}
            Of integer thresholds the secure source pays its own epsilon.

        Returns
        -------
        dict of str to number

        Examples
        --------
        >>> import partywise as pw
        >>> certificate = pw.SensitivityCertificate(3, "hamming", "user", "replace_one", {"label"})
        >>> pw.RandomizedResponse(epsilon=2.0, k=4).privacy_profile(certificate)  # of a person with three answers
        {'epsilon': 2.0, 'count': 3, 'k': 4}
        """
        epsilon = self.secure_epsilon if sampler == "secure" else self.epsilon
        return product_profile(epsilon, certificate, k=self.k)

    def matrix(self) -> np.ndarray:
        """The distribution: row x holds the probabilities of all outputs for input x.

        Returns
        -------
        ndarray of shape (k, k)

        Examples
        --------
        >>> import partywise as pw
        >>> pw.RandomizedResponse(epsilon=1.0, k=3).matrix().round(2)
        array([[0.58, 0.21, 0.21],
               [0.21, 0.58, 0.21],
               [0.21, 0.21, 0.58]])
        """
        keep = randomized_response_probability(self.epsilon, self.k)
        other = math.exp(-self.epsilon) / (1 + (self.k - 1) * math.exp(-self.epsilon))
        return np.where(np.eye(self.k, dtype=bool), keep, other)

    def pair_loss(self, x: int, x2: int) -> float:
        """Largest log ratio of the distributions of two indices: ``epsilon``, or 0 for an index and itself.

        Parameters
        ----------
        x, x2 : int
            Of 0..k-1.

        Raises
        ------
        ValueError
            For another number.

        Examples
        --------
        >>> import partywise as pw
        >>> respond = pw.RandomizedResponse(epsilon=1.0, k=3)
        >>> respond.pair_loss(0, 2), respond.pair_loss(1, 1)
        (1.0, 0.0)
        """
        for index in (x, x2):
            if not 0 <= index < self.k:
                raise ValueError(f"x={index!r} is not an index of 0..{self.k - 1}.")
        return 0.0 if x == x2 else float(self.epsilon)

    def debias(self, indices: ArrayLike) -> np.ndarray:
        """Unbiased values ``(y - q) / (1 - 2q)``, q = 1 / (1 + e^eps), of released bits.

        Parameters
        ----------
        indices : array_like of 0 and 1

        Returns
        -------
        ndarray of the same shape

        Raises
        ------
        ValueError
            Unless k = 2 and epsilon is positive.

        Examples
        --------
        >>> import partywise as pw
        >>> respond = pw.RandomizedResponse(epsilon=2.0, k=2)
        >>> respond.debias([0, 1]).round(2)  # their mean over records is that of the bits behind them
        array([-0.16,  1.16])
        """
        self._require_bits()
        q = 1 / (1 + math.exp(self.epsilon)) if self.epsilon < 700 else 0.0
        # 1 - 2 q = tanh(epsilon / 2), which keeps its digits where q is nearly 1/2.
        gap = 1 - 2 * q if self.epsilon > 1e-6 else math.tanh(self.epsilon / 2)
        with np.errstate(over="ignore"):
            return (np.asarray(indices, dtype=float) - q) / (gap or LEAST)

    @property
    def variance(self) -> float:
        """Variance ``e^eps / (e^eps - 1)^2`` of one debiased bit (k = 2)."""
        self._require_bits()
        square = math.expm1(-self.epsilon) ** 2
        return math.exp(-self.epsilon) / square if square > 0 else math.inf

    def frequencies(self, indices: ArrayLike) -> np.ndarray:
        """Unbiased shares of the k indices among the true entries, from released indices.

        Parameters
        ----------
        indices : array_like of int
            Of any shape.

        Returns
        -------
        ndarray of shape (k,)

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> certificate = pw.SensitivityCertificate(1, "hamming", "row", "replace_one", {"label"}, records=1)
        >>> answers = pw.Bounded(np.repeat([0, 1, 2], [5000, 3000, 2000]), certificate)
        >>> respond = pw.RandomizedResponse(epsilon=1.0, k=3)
        >>> told = respond(answers, pw.stream(4, "answers"), owner="registry", release_id="answers").value
        >>> (np.bincount(told) / 10_000).round(2), respond.frequencies(told).round(2)  # .5, .3 and .2 are true
        (array([0.39, 0.32, 0.29]), array([0.48, 0.31, 0.21]))
        """
        counts = np.bincount(np.asarray(indices, dtype=np.int64).ravel(), minlength=self.k)
        return self.debias_sums(counts / counts.sum())

    def frequency_intervals(self, indices: ArrayLike, *, level: float = 0.95, together: bool = False) -> np.ndarray:
        """Intervals of the shares of the k indices among the population of the entries, from released indices.

        Wilson's interval of the share of each released index, mapped as `frequencies` maps the share, and cut to
        [0, 1]. It counts sampling and response; entries must be independent.

        Parameters
        ----------
        indices : array_like of int
            Of any shape, at least one.
        level : float
            In (0, 1).
        together : bool
            Whether ``level`` is of all k intervals at once: each then has the level ``1 - (1 - level) / k``.

        Returns
        -------
        ndarray of shape (k, 2)

        Raises
        ------
        ValueError
            If ``epsilon`` is 0, nothing was released, or the level lies outside (0, 1).

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> released = np.repeat([0, 1, 2], [4800, 3100, 2100])
        >>> pw.RandomizedResponse(epsilon=1.0, k=3).frequency_intervals(released).round(3)
        array([[0.709, 0.763],
               [0.245, 0.294],
               [0.   , 0.017]])
        """
        if not 0 < level < 1:
            raise ValueError(f"level={level!r} of an interval must lie in (0, 1).")
        counts = np.bincount(np.asarray(indices, dtype=np.int64).ravel(), minlength=self.k)
        n = counts.sum()
        if n == 0:
            raise ValueError("indices=[]: an interval needs at least one released index.")
        z = float(ndtri(1 - (1 - level) / (2 * self.k if together else 2)))
        share = counts / n
        middle, reach = share + z**2 / (2 * n), z * np.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
        ends = np.column_stack([middle - reach, middle + reach]) / (1 + z**2 / n)
        return np.clip(self._true_sums(ends, 1.0), 0.0, 1.0)

    def debias_sums(self, sums: np.ndarray, axis: int = -1) -> np.ndarray:
        """Sums over true indices, without bias, from sums over released ones: the inverse of the distribution.

        Parameters
        ----------
        sums : ndarray
            Sums of any weights (counts, gradients) that the noise does not depend on, by released index along ``axis``
            of length k. Of several indices of a record, each with its own noise, the inverse goes along each axis.
        axis : int

        Returns
        -------
        ndarray
            ``(S - q sum S) / (p - q)``, p and q being the probabilities of the true and of another index; the sum of
            all is unchanged.

        Raises
        ------
        ValueError
            If ``epsilon`` is 0, or the length of the axis is not k.

        Examples
        --------
        >>> import partywise as pw
        >>> respond = pw.RandomizedResponse(epsilon=1.0, k=2)
        >>> respond.debias_sums([350.0, 650.0]).round(1)  # sums of incomes by released answer, whose total stays
        array([175.4, 824.6])
        """
        sums = np.asarray(sums, dtype=float)
        if sums.shape[axis] != self.k:
            raise ValueError(f"sums has length {sums.shape[axis]} along axis {axis}: it must be k={self.k}.")
        return self._true_sums(sums, sums.sum(axis, keepdims=True))

    def _true_sums(self, released: np.ndarray, total: np.ndarray | float) -> np.ndarray:
        """Sums over one true index each from those over released ones, given the sum over all indices."""
        if self.epsilon == 0:
            raise ValueError("epsilon=0 releases uniform draws: nothing can be estimated from them.")
        away = math.exp(-self.epsilon)
        whole = 1 + (self.k - 1) * away
        # p - q by expm1, which keeps its digits where epsilon is small.
        return (released * whole - away * total) / -math.expm1(-self.epsilon)

    def _require_bits(self) -> None:
        if self.k != 2 or self.epsilon == 0:
            raise ValueError(
                f"k={self.k}, epsilon={self.epsilon!r}: only bits (k=2) of a positive epsilon are debiased."
            )

    def _indices(self, value: np.ndarray) -> np.ndarray:
        if self._cuts is not None:
            return np.searchsorted(self._cuts, value, side="left")
        indices = value.astype(np.int64)
        if np.any(indices != value) or np.any((indices < 0) | (indices >= self.k)):
            raise ValueError(f"value has entries outside the indices 0..{self.k - 1}; cut it with bin_index first.")
        return indices

    def _move(self, indices: np.ndarray, flip: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        other = (indices + 1 + np.asarray(offsets, dtype=np.int64).reshape(indices.shape)) % self.k
        return np.where(flip, other, indices)

    def secure(self, indices: np.ndarray, rng: SecureRandom) -> np.ndarray:
        """Indices moved with the probability of an integer threshold; `secure_epsilon` is what they cost.

        Parameters
        ----------
        indices : ndarray of int
            Of 0..k-1.
        rng : SecureRandom

        Returns
        -------
        ndarray of int64 of the same shape

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> respond = pw.RandomizedResponse(epsilon=1.0, k=2)
        >>> told = respond.secure(np.zeros(10_000, dtype=np.int64), pw.SecureRandom())
        >>> bool(0.22 < told.mean() < 0.32)  # 1 / (1 + e) = .27 of all answers are lies
        True
        """
        flip = (rng.uint64(indices.size) < np.uint64(self._flip_threshold())).reshape(indices.shape)
        return self._move(indices, flip, rng.integers_below(self.k - 1, indices.size))

    @property
    def secure_epsilon(self) -> float:
        """Loss of the distribution that the secure source draws."""
        return self._threshold_epsilon(self._flip_threshold())

    def flip(self) -> tuple[float, int]:
        """Probability with which an index is moved: it may be too small for a float.

        Returns
        -------
        tuple of float and int
            A number and a power of two.

        Examples
        --------
        >>> import partywise as pw
        >>> number, power = pw.RandomizedResponse(epsilon=1.0, k=2).flip()
        >>> print(f"{number * 2**power:.3f}")
        0.269
        >>> pw.RandomizedResponse(epsilon=2000.0, k=2).flip()[1]  # below the least float, 2^-1074
        -2886
        """
        if self.epsilon < 600:
            weight = (self.k - 1) * math.exp(-self.epsilon)
            return math.frexp(weight / (1 + weight))
        if math.isinf(self.epsilon):
            return 0.0, 0
        # From 2^62 on the power is as good as none.
        binary = max((math.log(self.k - 1) - self.epsilon) / math.log(2), -(2.0**62))
        return 2.0 ** (binary - math.floor(binary)), math.floor(binary)

    def _flip_threshold(self) -> int:
        """Number of the 2^64 integers that move an index; rounded up, and at least one for a finite epsilon."""
        if math.isinf(self.epsilon):
            return 0
        weight = (self.k - 1) * math.exp(-self.epsilon)
        return min(max(math.ceil(weight / (1 + weight) * 2.0**64), 1), 2**64 - 1)

    def _threshold_epsilon(self, flips: int) -> float:
        """Loss of the distribution that moves an index with probability flips / 2^64, rounded up."""
        if flips == 0:
            return math.inf
        stays = (2**64 - flips) * (self.k - 1)
        return abs(math.log1p((stays - flips) / flips)) * ROUNDED_UP
