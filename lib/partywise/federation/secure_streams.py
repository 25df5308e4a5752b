"""Randomness of a run that is not an experiment: secrets from the operating system, what is public from a seed."""

from __future__ import annotations

import copy
import hashlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ..privacy.mechanisms.random import RunRandom, SecureRandom, charge_to
from ..privacy.payer import Payer
from ..randomness import Seed, streams_of
from .identity import join_parts

# What everyone may know of a run's randomness: which rows and columns were drawn, without data.
PUBLIC_DRAWS = ("batches", "drawn columns", "drawn rows", "mini-batches", "probes", "released features")


class SecureStreams:
    """Generators by address as `Streams`, but for everything secret: keys, exponents, masks, shares and noise.

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
    draws in floating point raises, since that is no noise to publish.
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
        told = join_parts(self._key, address, self._asked[address])
        return RunRandom(hashlib.sha256(told).digest(), self._payer)

    def charge_to(self, payer: Payer) -> SecureStreams:
        """The same streams, whose secret sources carry who pays."""
        made = copy.copy(self)
        made._payer = payer
        return made

    def of_run(self, key: bytes) -> SecureStreams:
        """The same streams, of one run with a key of its own."""
        return SecureStreams(self._public, self._payer, key)


def charge_streams_to(rng_for: Callable[..., Any], payer: Payer) -> Callable[..., Any]:
    """The same generators by address, each of which carries who pays for what is released by it."""
    if isinstance(rng_for, SecureStreams):
        return rng_for.charge_to(payer)
    return lambda *names: charge_to(rng_for(*names), payer)


# What an estimator is given: secure streams draw what is published.
Randomness = Seed | SecureStreams


def addresses_of(rng: Randomness) -> Callable[..., Any]:
    """Generators by address, from what an estimator is given: `SecureStreams` stay as they are."""
    return rng if isinstance(rng, SecureStreams) else streams_of(rng, "estimator")
