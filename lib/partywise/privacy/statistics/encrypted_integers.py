"""A statistic that its owner holds under encryption only: what is certified of it is known, its value is not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Any: ciphertexts and keys of whatever scheme the owner has.
from typing import Any

import numpy as np

from ..accounted_values import Clear, open_charges
from ..strata import check_stratum
from .bounded import Bounded, SensitivityCertificate


@dataclass(frozen=True, eq=False)
class EncryptedIntegers:
    """Integers under encryption, with the certificate of what they are.

    A mechanism gives noise for it without reading it (`DiscreteGaussian.under_encryption`); the owner of the data, who
    has no key, adds the noise to the ciphertexts.

    certificate : how far the statistic can move, in the norm ``"l2"`` of the integers times ``units``
    units : what one step of every integer is worth in that norm, positive, of the shape of the statistic
    content : the ciphertexts, without noise
    integers : ``(ciphertexts, keys)`` -> the integers in them, which only checks of a simulation call, with the private
        keys that were made in it, while a party has none
    stratum, parents : as in `Bounded`
    add : integers of the shape of ``units`` -> the ciphertexts with these added, stated by a mechanism
    """

    certificate: SensitivityCertificate
    units: np.ndarray
    content: object
    integers: Callable[[Any, Sequence[Any]], np.ndarray]
    stratum: str = "*"
    parents: tuple[str, ...] = ()
    add: Callable[[np.ndarray], Any] | None = None

    def __post_init__(self) -> None:
        units = np.array(self.units, dtype=float)
        if not np.all((units > 0) & np.isfinite(units)):
            raise ValueError("units of a closed statistic must be positive and finite.")
        if self.certificate.norm != "l2":
            raise ValueError(f"norm={self.certificate.norm!r} of a closed statistic: its integers are bounded in 'l2'.")
        check_stratum(self.stratum)
        units.flags.writeable = False
        object.__setattr__(self, "units", units)

    def foreign_parts(self, owner: str) -> tuple[Clear, ...]:
        """Return the data of others in the ciphertexts, which the certificate of ``owner`` does not cover.

        Ciphertexts that do not state their parts count as whole records of the party that can open them.
        """
        holder = getattr(self.content, "key_holder", owner)
        parts = getattr(self.content, "made_of", ()) or (Clear(None, ("row",), owner=holder),)
        units = dict[str, tuple[str, ...]]()
        for part in parts:
            for name, owner_units in open_charges(part, holder).items():
                units[name] = tuple(dict.fromkeys((*units.get(name, ()), *owner_units)))
        return tuple(Clear(None, owner_units, owner=name) for name, owner_units in units.items() if name != owner)

    def decrypt(self, content: object, keys: Sequence[object]) -> Bounded:
        """Decrypt ciphertexts, in the units of the certificate: for checks of a simulation."""
        value = np.asarray(self.integers(content, keys), dtype=float) * self.units
        return Bounded(value, self.certificate, self.stratum, parents=self.parents)
