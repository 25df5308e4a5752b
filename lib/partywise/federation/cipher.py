"""A value that only the holder of a key can open: what may be done with it while it is closed, and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

# Any: contents of messages, whatever a protocol sends.
from typing import Any, NoReturn

import numpy as np

from ..core.checks import registered_cipher
from ..core.errors import CertificationError
from ..privacy.accounted_values import AccountedValue, Clear, Public
from ..privacy.mechanisms.release import Release

# What a scheme computes on closed values: `Cipher` sums and scales shares, `exchanges.homomorphic` does the rest.
PAILLIER = ("sums", "add_plain", "times", "packed", "rerandomised")
SCHEMES = {
    "sealed": (),
    "additive shares": ("add", "scale"),
    "share": (),
    "masked": (),
    "blinded": (),
    "paillier": PAILLIER,
    "sized": PAILLIER,
}
# What is closed by nothing but the simulation's word, or stands for what an assumed functionality is given.
OPEN_SCHEMES = ("sealed", "additive shares", "sized")
# What seeds, masks and shares of random numbers are made of.
RANDOM = (Public(None, because="random numbers, drawn without a look at the data"),)


@dataclass(frozen=True, eq=False)
class Cipher:
    """A value that only ``key_holder`` can open: free to all others, a disclosure to the key holder.

    Parameters
    ----------
    content : object
        What is closed: for the channel and its codec. A protocol calls `opened`.
    key_holder : str
        Who can open it: a party, or an assumed functionality (`partywise.federation.exchanges`).
    scheme : {"sealed", "additive shares", "share", "masked", "blinded", "paillier", "sized"}
        What can be done with it while it is closed: nothing, sums and multiples by public numbers, or what
        `partywise.federation.exchanges.homomorphic` does under a public key. "sized" holds its integers openly, for
        experiments, and is metered as what it stands for. A scheme that another package registers is named by its
        entry point. With one share of several, uninformative alone, its
        holder computes (`partywise.federation.exchanges.sharing`), and so it does with points behind exponents of
        others ("blinded", `partywise.federation.exchanges.psi`). What is "masked" the key holder's mask closes.
    size : int, optional
        Bytes on the wire, where they are not those of the content.
    made_of : sequence of AccountedValue
        What the closed value is computed from: the place that opens it knows the unprotected parts. By default whole
        records of the sender.
    holders : tuple of str
        Of one of several shares: who has the others. With all of them, it is open; by default the key holder opens.
    knows : tuple of str
        Assumed places that could open it by themselves (a dealer that drew the mask, a functionality).

    Raises
    ------
    ValueError
        If the scheme is unknown.
    TypeError
        If ``made_of`` holds something that does not state what it cost.

    Examples
    --------
    >>> import numpy as np
    >>> import partywise as pw
    >>> closed = pw.Cipher(np.array([3, 5]), key_holder="analyst", scheme="additive shares")
    >>> closed.closes, closed.keys, closed.shape  # by the word of a simulation alone
    (False, ('analyst',), (2,))
    >>> closed.value
    Traceback (most recent call last):
        ...
    partywise.core.errors.CertificationError: a cipher is closed: only 'analyst' may decrypt it, by cipher.decrypt(by).
    """

    content: Any
    key_holder: str
    scheme: str = "sealed"
    size: int | None = None
    made_of: Sequence[AccountedValue] = ()
    holders: tuple[str, ...] = ()
    knows: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES and registered_cipher(self.scheme) is None:
            raise ValueError(f"scheme={self.scheme!r} of a cipher is unknown; use one of {tuple(SCHEMES)}.")
        for name in ("made_of", "holders", "knows"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for part in self.made_of:
            if not isinstance(part, AccountedValue):
                raise TypeError(f"made_of of a cipher holds a bare {type(part).__name__}: wrap what it cost.")

    @property
    def closes(self) -> bool:
        """Whether the content is closed to its receivers, and not by the word of a simulation alone."""
        return self.scheme not in OPEN_SCHEMES

    @property
    def keys(self) -> tuple[str, ...]:
        """Holders that must all be in a view that opens it, in addition to a receiver."""
        return self.holders or (self.key_holder,)

    def charges(self, sender: str) -> dict[str, tuple[str, ...]]:
        """Units that are closed, by the party whose data they are; none of random numbers.

        Parameters
        ----------
        sender : str
            Whose data it is where the cipher does not state what it is made of.

        Returns
        -------
        dict of str to tuple of str

        Examples
        --------
        >>> import partywise as pw
        >>> labels = pw.Clear([0, 1], units=("label",), owner="registry")
        >>> pw.Cipher(1, key_holder="analyst", made_of=[labels]).charges("clinic")
        {'registry': ('label',)}
        >>> pw.Cipher(1, key_holder="analyst").charges("clinic")  # silence is read as whole records
        {'clinic': ('row',)}
        """
        if not self.made_of:
            return {sender: ("row",)}
        units_by_owner: dict[str, tuple[str, ...]] = {}
        for part in self.made_of:
            if isinstance(part, Clear):
                units = part.charges(sender)
            else:
                units = {part.event.owner: (part.event.unit,)} if isinstance(part, Release) else {}
            for owner, owner_units in units.items():
                units_by_owner[owner] = tuple(dict.fromkeys((*units_by_owner.get(owner, ()), *owner_units)))
        return units_by_owner

    def with_parts(self, parts: Sequence[AccountedValue]) -> "Cipher":
        """Return the cipher, computed from some parts more.

        Parameters
        ----------
        parts : sequence of AccountedValue

        Returns
        -------
        Cipher

        Examples
        --------
        >>> import partywise as pw
        >>> own = pw.Clear([0, 1], units=("label",), owner="registry")
        >>> other = pw.Clear([0.2, 0.4], units=("features",), owner="clinic")
        >>> pw.Cipher(0.4, key_holder="analyst", made_of=[own]).with_parts([other]).charges("registry")
        {'registry': ('label',), 'clinic': ('features',)}
        """
        return replace(self, made_of=(*self.made_of, *parts))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of an array on the wire; empty otherwise."""
        if not isinstance(self.content, np.ndarray):
            return ()
        if self.size is None or not len(self.content):
            return self.content.shape
        return len(self.content), self.size // len(self.content)

    @property
    def value(self) -> NoReturn:
        """Refused: a cipher is closed.

        Raises
        ------
        CertificationError
            Always.
        """
        raise CertificationError(f"a cipher is closed: only {self.key_holder!r} may decrypt it, by cipher.decrypt(by).")

    def decrypt(self, by: str) -> Any:
        """The value, for its key holder.

        Parameters
        ----------
        by : str
            Who asks.

        Raises
        ------
        CertificationError
            For all but the key holder.
        ValueError
            If it is one that `Run.received` lists, which has no content.

        Examples
        --------
        >>> import partywise as pw
        >>> closed = pw.Cipher(42, key_holder="analyst")
        >>> closed.decrypt("analyst")
        42
        >>> closed.decrypt("server")
        Traceback (most recent call last):
            ...
        partywise.core.errors.CertificationError: by='server': only 'analyst' can decrypt this cipher.
        """
        if by != self.key_holder:
            raise CertificationError(f"by={by!r}: only {self.key_holder!r} can decrypt this cipher.")
        self._require_content("decrypt")
        return self.content

    def __add__(self, other: "Cipher") -> "Cipher":
        """Sum of two ciphers of one scheme and one key holder."""
        self._require("add")
        if not isinstance(other, Cipher) or (other.key_holder, other.scheme) != (self.key_holder, self.scheme):
            raise TypeError(f"other={type(other).__name__}: a cipher is added to one of its scheme and key holder.")
        return replace(self, content=self.content + other.content)

    def scale(self, factor: float) -> "Cipher":
        """The cipher of a public multiple.

        Parameters
        ----------
        factor : float

        Returns
        -------
        Cipher

        Raises
        ------
        TypeError
            If the scheme has no such operation.

        Examples
        --------
        >>> import partywise as pw
        >>> one, other = (pw.Cipher(value, key_holder="analyst", scheme="additive shares") for value in (42.0, 18.0))
        >>> (one + other).scale(0.5).decrypt("analyst")  # the mean, of numbers that were not opened
        30.0
        """
        self._require("scale")
        return replace(self, content=factor * self.content)

    def _require(self, operation: str) -> None:
        if operation not in SCHEMES.get(self.scheme, ()):
            raise TypeError(f"scheme={self.scheme!r} of a cipher has no operation {operation!r}.")
        self._require_content(operation)

    def _require_content(self, operation: str) -> None:
        if self.content is None:
            raise ValueError(
                f"{operation} of a cipher for {self.key_holder!r}: its content is not here, since run.received lists "
                "payloads without their values; use the cipher that the message brought."
            )
