"""Exchange: one place draws a Paillier key, all parties that compute on what it closes get the public half."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ....core.randomness import Rng
from ....privacy.accounted_values import Public
from ...places import Place, name_of
from ...run import Run
from .paillier_keys import Kind, PrivateKey, PublicKey, generate_key


class KeyOptions(Protocol):
    """Options of a key: bits of the modulus, and whether random exponents are as long."""

    @property
    def key_size(self) -> int: ...

    @property
    def full_exponents(self) -> bool: ...


def drawn_key(address: Sequence[str | int], kind: Kind, options: KeyOptions, rng_for: Rng) -> PrivateKey:
    """The key of one address; it stays where it is drawn."""
    return generate_key(options.key_size, rng_for(*address), kind=kind, full_exponents=options.full_exponents)


def public_half(private: PrivateKey, because: str) -> Public:
    """Payload with the public key, with which everyone may compute."""
    return Public(private.public.message(), because=because)


def shared_key(
    run: Run,
    holder: Place,
    others: Sequence[Place],
    options: KeyOptions,
    *,
    kind: Kind,
    address: Sequence[str | int],
    because: str,
) -> tuple[PrivateKey, PublicKey]:
    """A key at its holder, and its public half at others."""
    # By name: a key is drawn, and read, without the data of a party.
    place, receivers = name_of(holder), [name_of(other) for other in others]
    private = run.at(place, drawn_key, address, kind, options, run.rng_for)
    message = run.broadcast(place, receivers, "public key", public_half, private, because)
    return private, run.each(receivers, PublicKey.of, message)
