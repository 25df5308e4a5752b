"""A value that only the holder of a key can open: what may be done with it while it is closed, and nothing else."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import CertificationError

__all__ = ["Cipher"]

# What a scheme computes on closed values: `Cipher` sums and scales shares, `exchanges.homomorphic` does the rest.
PAILLIER = ("sums", "add_plain", "times", "packed", "rerandomised")
SCHEMES = {
    "sealed": (),
    "additive shares": ("add", "scale"),
    "share": (),
    "blinded": (),
    "paillier": PAILLIER,
    "sized": PAILLIER,
}


@dataclass(frozen=True, eq=False)
class Cipher:
    """A value that only ``key_holder`` can open: free to everybody else, a disclosure to the key holder.

    Parameters
    ----------
    content : object
        What is closed: for the channel and its codec. A protocol calls `opened`.
    key_holder : str
        Who can open it: a party, or an assumed functionality (`partywise.federation.exchanges`).
    scheme : {"sealed", "additive shares", "share", "blinded", "paillier", "sized"}
        What can be done with it while it is closed: nothing, sums and multiples by public numbers, or what
        `partywise.federation.exchanges.homomorphic` does under a public key. "sized" holds its integers openly, for
        experiments, and is metered as what it stands for. With one share of several, which says nothing alone, its
        holder computes (`partywise.federation.exchanges.sharing`), and so it does with points behind exponents of
        others ("blinded", `partywise.federation.exchanges.psi`).
    size : int, optional
        Bytes on the wire, where they are not those of the content.
    """

    content: Any
    key_holder: str
    scheme: str = "sealed"
    size: int | None = None

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise ValueError(f"scheme={self.scheme!r} of a cipher is unknown; use one of {tuple(SCHEMES)}.")

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of an array on the wire; empty otherwise."""
        if not isinstance(self.content, np.ndarray):
            return ()
        if self.size is None or not len(self.content):
            return self.content.shape
        return len(self.content), self.size // len(self.content)

    @property
    def value(self) -> Any:
        """Refused: a cipher is closed."""
        raise CertificationError(f"a cipher is closed: only {self.key_holder!r} may open it, by cipher.opened(by).")

    def opened(self, by: str) -> Any:
        """The value, for its key holder; `CertificationError` for anybody else."""
        if by != self.key_holder:
            raise CertificationError(f"by={by!r}: only {self.key_holder!r} can open this cipher.")
        return self.content

    def __add__(self, other: "Cipher") -> "Cipher":
        """Sum of two ciphers of one scheme and one key holder."""
        self._require("add")
        if not isinstance(other, Cipher) or (other.key_holder, other.scheme) != (self.key_holder, self.scheme):
            raise TypeError(f"other={type(other).__name__}: a cipher is added to one of its scheme and key holder.")
        return replace(self, content=self.content + other.content)

    def scale(self, factor: float) -> "Cipher":
        """The cipher of a public multiple."""
        self._require("scale")
        return replace(self, content=factor * self.content)

    def _require(self, operation: str) -> None:
        if operation not in SCHEMES[self.scheme]:
            raise TypeError(f"scheme={self.scheme!r} of a cipher has no operation {operation!r}.")
