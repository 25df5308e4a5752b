"""Randomness for noise that is really published: the operating system's generator and exact integer noise.

Nothing here shares a class with `partywise.core.randomness`: code that holds a source knows which of the two it holds.
`SecureRandom` keeps no state in the process (every word is asked of the kernel's cryptographic generator), so neither
a fork nor a copied memory image can repeat a draw, and there is nothing to seed. `RunRandom` is the one exception: what
a party draws in a run that it may have to go on with. Samplers are not constant-time: how
long a draw takes, and which memory it reads, depends on its outcome.
"""

import copy
import hashlib
import itertools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from ...core.errors import CertificationError
from ..ledger.event import Event
from ..payer import PAID, Payer, require_payer
from ..secure.table import SIGMA_RANGE, draw_integers
from ..secure.wide import draw_wide_integers

# Bytes of the key of a run.
KEY_BYTES = 32


class SecureRandom:
    """Uniform words, integers and Gaussian integers from the operating system's generator.

    Parameters
    ----------
    *seeds, **named
        Refused.
    payer : Payer, optional
        Who is asked before noise is drawn from it and released.

    Raises
    ------
    CertificationError
        Without a payer, while an account is open in this process.
    TypeError
        If any other argument is given: it takes no seed. Repeatable draws are those of
        `partywise.core.randomness.SimulationRandom`.

    Examples
    --------
    >>> import partywise as pw
    >>> pw.SecureRandom(7)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    TypeError: SecureRandom refuses a seed...
    """

    __slots__ = ("payer",)

    def __init__(self, *seeds: object, payer: Payer | None = None, **named: object) -> None:
        if seeds or named:
            raise TypeError(
                "SecureRandom refuses a seed, or any other argument: noise that can be repeated can be subtracted. "
                "Use SimulationRandom for repeatable experiments."
            )
        self.payer = payer
        require_payer(self)

    def _words(self, n: int) -> np.ndarray:
        """The only place that randomness comes from: n words of 64 bits."""
        return np.frombuffer(bytearray(os.urandom(8 * n)), dtype=np.uint64)

    def salt(self) -> bytes:
        """Bytes for `salt_of`, which keep a digest from being guessed.

        Returns
        -------
        bytes

        Examples
        --------
        >>> import partywise as pw
        >>> len(pw.SecureRandom().salt()), pw.SecureRandom().salt() == pw.SecureRandom().salt()
        (32, False)
        """
        return os.urandom(KEY_BYTES)

    def uint64(self, n: int) -> np.ndarray:
        """Independent uniform words.

        Parameters
        ----------
        n : int
            How many.

        Returns
        -------
        ndarray of uint64 of shape (n,)

        Examples
        --------
        >>> import partywise as pw
        >>> words = pw.SecureRandom().uint64(1000)
        >>> words.dtype, len(set(words.tolist()))  # two equal ones of so few come once in 10^13 calls
        (dtype('uint64'), 1000)
        """
        return self._words(n)

    def integers_below(self, n: int, size: int | tuple[int, ...]) -> np.ndarray:
        """Return independent uniform integers 0..n-1, exactly uniform by rejection.

        Parameters
        ----------
        n : int
            From 1 to 2^63.
        size : int or tuple of int

        Returns
        -------
        ndarray of int64

        Raises
        ------
        ValueError
            If ``n`` is out of range.

        Examples
        --------
        >>> import partywise as pw
        >>> draws = pw.SecureRandom().integers_below(6, size=1000)
        >>> sorted(set(draws.tolist()))  # one of the six is missing once in 10^78 calls
        [0, 1, 2, 3, 4, 5]
        """
        if not 1 <= n <= 1 << 63:
            raise ValueError(f"n={n!r} of integers_below must lie between 1 and 2^63.")
        drawn = np.empty(size, dtype=np.int64)
        flat, filled = drawn.reshape(-1), 0
        # Words from the last incomplete multiple of n upwards are drawn again; at most every second one.
        last = np.uint64((1 << 64) // n * n - 1)
        while filled < flat.size:
            words = self._words(flat.size - filled)
            accepted = words[words <= last] % np.uint64(n)
            flat[filled : filled + accepted.size] = accepted
            filled += accepted.size
        return drawn

    def discrete_gaussian(self, sigma: float, size: int | tuple[int, ...], distribution: str = "rounded") -> np.ndarray:
        """Independent Gaussian integers.

        Parameters
        ----------
        sigma : float
            Deviation in grid units.
        size : int or tuple of int
        distribution : {"rounded", "discrete"}
            See `draw_integers`.

        Returns
        -------
        ndarray of int64

        Notes
        -----
        The distribution is exact: its distance in total variation from the stated distribution is 0, so nothing is
        added to delta.

        Examples
        --------
        >>> import partywise as pw
        >>> noise = pw.SecureRandom().discrete_gaussian(8.0, size=10_000)
        >>> bool(abs(noise.mean()) < 0.8), bool(7.4 < noise.std() < 8.6)  # within ten standard errors
        (True, True)
        """
        return draw_integers(self.uint64, sigma, distribution, size)


class RunRandom(SecureRandom):
    """The secret words of one run, expanded from a key of the operating system's that its party alone keeps.

    A party that was killed goes on with the very words that it had drawn, so that nothing is drawn, or paid, twice. The
    holder of the key (at least 32 bytes) can subtract the noise: it lies next to the data until the run has ended, and
    no longer. A process other than the one that made the source is refused, since a forked child would draw what its
    parent draws.

    The words of call number i are SHAKE-256 of the key and i (FIPS 202): without the key they look like uniform ones.
    """

    __slots__ = ("_calls", "_key", "_process")

    def __init__(self, key: bytes, payer: Payer | None = None) -> None:
        super().__init__(payer=payer)
        if len(key) < KEY_BYTES:
            raise ValueError(f"a key of {len(key)} bytes is too short: take {KEY_BYTES} of the operating system.")
        # Copies that carry another payer go on where this one is.
        self._key, self._calls, self._process = key, itertools.count(), os.getpid()

    def _words(self, n: int) -> np.ndarray:
        if os.getpid() != self._process:
            raise CertificationError("a forked process draws what its parent draws: give it a source of its own.")
        return np.frombuffer(bytearray(self._expand(8 * n)), dtype=np.uint64)

    def salt(self) -> bytes:
        """Bytes for `salt_of`: the next ones of the run."""
        return self._expand(KEY_BYTES)

    def _expand(self, size: int) -> bytes:
        seed = self._key + next(self._calls).to_bytes(8, "big")
        return hashlib.shake_256(seed).digest(size)


class PayingGenerator(np.random.Generator):
    """A numpy generator that carries who pays; it draws from the state of the one that it was made of."""

    payer: Payer | None = None


@dataclass(frozen=True)
class SpentGenerator:
    """Substitute for the generator of noise that was drawn elsewhere, where it was paid for."""

    sampler: str
    payer: Payer = PAID


RandomSource = np.random.Generator | SecureRandom


def charge_to(source: RandomSource, payer: Payer) -> RandomSource:
    """Return a source of draws that goes on where ``source`` is, with releases that are charged to a payer."""
    if isinstance(source, np.random.Generator):
        paying_source: PayingGenerator | SecureRandom = PayingGenerator(source.bit_generator)
    else:
        sampler_of(source)
        paying_source = copy.copy(source)
    paying_source.payer = payer
    return paying_source


def sampler_of(rng: RandomSource | SpentGenerator) -> str:
    """Name of a random source as events write it."""
    if isinstance(rng, SecureRandom):
        return "secure"
    if isinstance(rng, np.random.Generator):
        return "simulation"
    if isinstance(rng, SpentGenerator):
        return rng.sampler
    raise TypeError(
        f"rng={rng!r} is not a random source: give a SecureRandom for a release, or a SimulationRandom for "
        "an experiment."
    )


def integer_noise(rng: RandomSource, sigma: float, size: int | tuple[int, ...], distribution: str) -> np.ndarray:
    """Gaussian integers from either source, by the same table: only the origin of the words differs."""
    if distribution == "rounded" and sigma > SIGMA_RANGE[1]:
        return draw_wide_integers(words_of(rng), sigma, size)
    return draw_integers(words_of(rng), sigma, distribution, size)


def bernoulli(rng: RandomSource, rate: float, size: int) -> np.ndarray:
    """Independent coins, shape (size,), bool: True with probability ``rate``, exactly, from either source.

    A uniform number is revealed by words of 64 bits until it is surely below the rate or not; one is enough but where
    its bits are those of the rate.
    """
    words, threshold = words_of(rng), Fraction(rate)
    coins, pending = np.zeros(size, dtype=bool), np.arange(size)
    while len(pending):
        threshold *= 1 << 64
        whole = min(math.floor(threshold), (1 << 64) - 1)
        drawn, sure = words(len(pending)), np.uint64(whole)
        coins[pending[drawn < sure]] = True
        threshold -= whole
        # Of the last word nothing is undecided where the rate has no further bits.
        pending = pending[drawn == sure] if threshold else pending[:0]
        if threshold >= 1:
            coins[pending], pending = True, pending[:0]
    return coins


def words_of(rng: RandomSource) -> Callable[[int], np.ndarray]:
    """Uniform words of 64 bits from either source, by their number."""
    if isinstance(rng, SecureRandom):
        return rng.uint64
    sampler_of(rng)
    if isinstance(rng.bit_generator, np.random.MT19937):
        return lambda n: rng.integers(0, 1 << 64, n, dtype=np.uint64)
    # The same words, without the checks of bounds, which take longer than the words of a small statistic.
    return rng.bit_generator.random_raw


def salt_of(rng: RandomSource | SpentGenerator) -> bytes:
    """Bytes that a reader without the source cannot guess; a simulation draws on as if it had not been asked.

    For a secure source they are the operating system's, or words of the run. A generator gives its state, so that one
    seed gives one salt: a reader who knows the seed of a simulation knows its noise as well.
    """
    if isinstance(rng, SecureRandom):
        return rng.salt()
    return repr(rng.bit_generator.state).encode() if isinstance(rng, np.random.Generator) else b""


class HasEvent(Protocol):
    """Object that states by an event what it cost."""

    @property
    def event(self) -> Event: ...


def require_secure(release: HasEvent) -> None:
    """Refuse to let a release leave the laboratory whose noise the simulation source drew, or that floats computed.

    The event of a simulation's draw states what the release would cost if it were drawn securely, and nothing about the
    bytes at hand; a sum in floating point may move by more than its certificate states.
    """
    event = release.event
    if event.sampler != "secure":
        raise CertificationError(
            f"release {event.release_id!r} has sampler={event.sampler!r}: its noise can be repeated by a reader "
            "who knows the seed, and floating-point noise shows the value in its low bits. Publish only what a "
            "mechanism such as DiscreteGaussian drew from a SecureRandom."
        )
    if not event.exact:
        raise CertificationError(
            f"release {event.release_id!r} is of a statistic without a grid: rounding in floating point may move it by "
            "more than its certificate states. Form it in integers (fixed_point_sum, counts), so that its certificate "
            "states a grid."
        )
