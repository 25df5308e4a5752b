"""Randomness of a run that is not an experiment: secrets from the operating system, what is public from a seed."""

from __future__ import annotations

import copy
import hashlib
import secrets
from collections import Counter
from collections.abc import Callable

# Any: a secret source stands for a generator.
from typing import Any

import numpy as np

from ..core.randomness import Seed, streams_of
from ..privacy.mechanisms.random import RunRandom, SecureRandom, charge_to
from ..privacy.payer import Payer
from .identity import join_parts

# What everyone may know of a run's randomness: which rows and columns were drawn, without data.
PUBLIC_DRAWS = ("batches", "drawn columns", "drawn rows", "mini-batches", "probes", "released features")


class SecureStreams:
    """Generators by address as `Streams`, except everything secret: keys, exponents, masks, shares and noise.

    Parameters
    ----------
    rng : int, numpy.random.Generator or Streams
        Source of the draws that everyone may know: those whose address begins with one of `PUBLIC_DRAWS`.
    payer : Payer, optional
        Whom all secret sources carry.
    key : bytes, optional
        Secret, of one run: a process that takes the place of one that was killed draws the same at the same addresses.

    Notes
    -----
    All other addresses give a `SecureRandom`: two runs of one seed send other ciphertexts and other noise, and what
    draws in floating point raises, since that noise is not safe to publish.

    Examples
    --------
    >>> import partywise as pw
    >>> streams = pw.SecureStreams(7)
    >>> type(streams("noise", "hospital")).__name__  # from the operating system: no seed gives it again
    'SecureRandom'
    >>> rows = [pw.SecureStreams(7)("drawn rows").permutation(100).tolist() for _ in range(2)]
    >>> rows[0] == rows[1]  # what everyone may know comes from the seed
    True
    """

    def __init__(self, rng: Seed, payer: Payer | None = None, key: bytes = b"") -> None:
        self._public, self._payer, self._key = streams_of(rng, "estimator"), payer, key
        self._asked = Counter[bytes]()

    def __call__(self, *names: str | int) -> np.random.Generator | SecureRandom:
        """The source at an address."""
        if names and names[0] in PUBLIC_DRAWS:
            return self._public(*names)
        if not self._key:
            return SecureRandom(payer=self._payer)
        address = join_parts(*names)
        self._asked[address] += 1
        preimage = join_parts(self._key, address, self._asked[address])
        return RunRandom(hashlib.sha256(preimage).digest(), self._payer)

    def charge_to(self, payer: Payer) -> SecureStreams:
        """Return the streams with secret sources that carry who pays.

        Parameters
        ----------
        payer : Payer
            Asked before noise is drawn from them and released.

        Returns
        -------
        SecureStreams

        Examples
        --------
        >>> import partywise as pw
        >>> budget = pw.Budget(epsilon=1.0, delta=1e-5)
        >>> total = pw.record_sum([[0.3, 0.4]], pw.Public(1.0, because="upper limit of the assay"), unit="row")
        >>> with budget.fit("row") as payer:
        ...     rng = pw.SecureStreams(7).charge_to(payer)("noise", "hospital")
        ...     release = pw.DiscreteGaussian(mu=0.2)(total, rng, owner="hospital", release_id="sum")
        >>> print(budget)
        epsilon 0.7256 of 1 at delta 1e-05 spent by 1 fit, for one row
        """
        streams = copy.copy(self)
        streams._payer = payer
        return streams

    def of_run(self, key: bytes) -> SecureStreams:
        """Return the streams of one run, with a key of its own.

        Parameters
        ----------
        key : bytes
            At least 32, secret: with it a process that was killed goes on with the very words that it had drawn.

        Returns
        -------
        SecureStreams

        Examples
        --------
        >>> import os
        >>> import partywise as pw
        >>> key = os.urandom(32)
        >>> first, again = (pw.SecureStreams(7).of_run(key)("noise").uint64(1)[0] for _ in range(2))
        >>> bool(first == again), bool(first == pw.SecureStreams(7).of_run(os.urandom(32))("noise").uint64(1)[0])
        (True, False)
        """
        return SecureStreams(self._public, self._payer, key)


def charge_streams_to(rng_for: Callable[..., Any], payer: Payer) -> Callable[..., Any]:
    """Return the generators by address, each of which carries who pays for what is released by it."""
    if isinstance(rng_for, SecureStreams):
        return rng_for.charge_to(payer)
    return lambda *names: charge_to(rng_for(*names), payer)


# What an estimator is given: secure streams draw what is published.
Randomness = Seed | SecureStreams


def addresses_of(rng: Randomness, argument: str = "rng") -> Callable[..., Any]:
    """Generators by address, from what an estimator is given: `SecureStreams` stay as they are."""
    return rng if isinstance(rng, SecureStreams) else streams_of(rng, "estimator", argument=argument)


def fresh_streams() -> SecureStreams:
    """Return generators by address on fresh entropy of the operating system: no draw can be repeated."""
    return SecureStreams(secrets.randbits(63))


def floating_point(error: BaseException) -> str | None:
    """Describe a draw without a secret source from its error, in the middle of a sentence; None for another error."""
    if isinstance(error, AttributeError) and isinstance(error.obj, SecureRandom):
        return f"draws by {error.name!r}, which has no secret source"
    if isinstance(error, TypeError) and SecureRandom.__name__ in str(error):
        return f"draws in floating point ({str(error).partition(':')[0]})"
    return None
