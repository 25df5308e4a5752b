"""Values whose cost is stated: free with an argument, or unprotected for named units.

A certificate may rest on such values only (a clipping radius, edges, a range): a bare number or array does not state
its origin, so it is refused. What a statistic was made with travels with it, and the mechanism that releases
it names it in its event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

# Any: values that a protocol sends, the user's included.
from typing import Any

UNITS = ("row", "label", "features", "user")
# Name of a parameter that no ledger row pays for, so that whatever depends on it is unproved.
UNPROVED = "a value in the clear"


class AccountedValue:
    """A value that states its cost: `Public`, `Clear`, or a `Release` of a mechanism."""

    value: Any
    made_of: Sequence[AccountedValue] = ()

    @property
    def parents(self) -> tuple[str, ...]:
        """Ids of the releases that this value was computed from; a name without a row where it is unprotected."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Public(AccountedValue):
    """A value that is free, with the argument why.

    Parameters
    ----------
    value : object
        What all readers know.
    because : str
        Where it comes from: a setting, a unit, a table that was published before the data were seen.
    made_of : sequence of AccountedValue
        The releases and public values that it is a function of, if it is one: it costs what they cost.

    Raises
    ------
    ValueError
        If the argument is missing.
    TypeError
        If ``made_of`` holds something unprotected, or something that does not state its cost.

    Examples
    --------
    >>> import partywise as pw
    >>> radius = pw.Public(1.0, because="upper limit of the assay")
    >>> radius.value, radius.parents  # it rests on no release
    (1.0, ())
    >>> pw.record_sum([[0.3, 0.4], [3.0, 4.0]], radius).value.round(1)  # the second record was clipped to length 1
    array([0.9, 1.2])
    >>> pw.record_sum([[0.3, 0.4]], 1.0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    TypeError: radius=1.0 of a certificate must state its origin...
    """

    value: Any
    because: str
    made_of: Sequence[AccountedValue] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.because, str) or not self.because.strip():
            raise ValueError(f"because={self.because!r} of a public value must state the argument why it is free.")
        object.__setattr__(self, "made_of", tuple(self.made_of))
        for part in self.made_of:
            if not isinstance(part, AccountedValue) or isinstance(part, Clear):
                raise TypeError(
                    f"made_of of a public value holds a {type(part).__name__}: a function of what was sent in clear "
                    "is Clear for the same units, and a bare value does not state its cost."
                )

    @property
    def parents(self) -> tuple[str, ...]:
        """Ids of the releases that the value is a function of."""
        return tuple(dict.fromkeys(name for part in self.made_of for name in part.parents))


@dataclass(frozen=True, eq=False)
class Clear(AccountedValue):
    """A value sent without protection.

    Parameters
    ----------
    value : object
        What is sent.
    units : tuple of {"row", "label", "features", "user"}
        The units it is computed from: each costs infinity.
    owner : str, optional
        Party whose data it is; by default the sender.
    made_of : sequence of AccountedValue
        What it is a function of, where that is known: each unprotected part is charged to its own owner, and what was
        released costs what it cost.
    audience : "*" or tuple of str, optional
        All places it will be sent to, which then share its rows; by default each receiver has its own.

    Raises
    ------
    TypeError
        If ``units`` is a bare string, or ``made_of`` holds something that does not state its cost.
    ValueError
        If a unit is unknown or there is none, or an unprotected part names no owner.

    Examples
    --------
    >>> import partywise as pw
    >>> means = pw.Clear([0.3, 0.4], units=("row",), owner="hospital")
    >>> means.parents  # what rests on it is unproved
    ('a value in the clear',)
    >>> channel = pw.Channel([], ("hospital", "server"))
    >>> channel.send("hospital", "server", "means", means)
    [0.3, 0.4]
    >>> channel.ledger.total("server", "row", delta=1e-5).epsilon_certified
    inf
    """

    value: Any
    units: tuple[str, ...]
    owner: str | None = None
    made_of: Sequence[AccountedValue] = ()
    audience: str | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.units, str):
            raise TypeError(f"units={self.units!r} must be a tuple; write units=({self.units!r},).")
        units = tuple(dict.fromkeys(self.units))
        if not units or not set(units) <= set(UNITS):
            raise ValueError(f"units={units} of a clear value must name some of {UNITS}.")
        object.__setattr__(self, "units", units)
        object.__setattr__(self, "made_of", tuple(self.made_of))
        for part in self.made_of:
            if not isinstance(part, AccountedValue):
                raise TypeError(f"made_of of a clear value holds a bare {type(part).__name__}: wrap what it cost.")
            if isinstance(part, Clear) and part.owner is None and not part.made_of:
                raise ValueError("owner=None of a value in the clear: a function of it must name the data's owner.")

    @property
    def parents(self) -> tuple[str, ...]:
        """A name without a row in any ledger."""
        return (UNPROVED,)

    def charges(self, sender: str) -> dict[str, tuple[str, ...]]:
        """Unprotected units by the party whose data they are.

        Parameters
        ----------
        sender : str
            Whose data it is where no owner is named.

        Returns
        -------
        dict of str to tuple of str

        Examples
        --------
        >>> import partywise as pw
        >>> labels = pw.Clear([0, 1], units=("label",), owner="registry")
        >>> mean = pw.Clear(0.5, units=("label",), made_of=[labels])
        >>> mean.charges("clinic")  # whoever sends it, it shows labels of the registry
        {'registry': ('label',)}
        """
        unprotected = [part for part in self.made_of if isinstance(part, Clear)]
        if not unprotected:
            return {self.owner or sender: self.units}
        units_by_owner: dict[str, tuple[str, ...]] = {}
        for part in unprotected:
            for owner, units in part.charges(sender).items():
                units_by_owner[owner] = tuple(dict.fromkeys((*units_by_owner.get(owner, ()), *units)))
        return units_by_owner


@lru_cache(maxsize=2)
def open_charges(value: AccountedValue, sender: str) -> Mapping[str, tuple[str, ...]]:
    """Return the unprotected units of everything a value is made of, by owner; ``sender`` owns the rest.

    The certificate of a release states its owner's cost; data of others inside of it are unprotected. A value that
    goes to many receivers is read once.
    """
    return MappingProxyType(_open_charges(value, sender))


def _open_charges(value: AccountedValue, sender: str) -> dict[str, tuple[str, ...]]:
    """Return the unprotected units of a value and its parts by their owner, as for `open_charges`."""
    charges = dict(value.charges(sender)) if isinstance(value, Clear) else {}
    for part in value.made_of:
        for owner, units in _open_charges(part, sender).items():
            charges[owner] = tuple(dict.fromkeys((*charges.get(owner, ()), *units)))
    return charges


def parameter(name: str, value: AccountedValue) -> Any:
    """The value of a parameter that a certificate rests on."""
    if not isinstance(value, AccountedValue):
        raise TypeError(
            f"{name}={value!r} of a certificate must state its origin: Public(value, because=...) if fixed "
            "before the data were seen, the Release it was drawn by, or Clear(value, units=...)."
        )
    return value.value


def parents_of(*values: AccountedValue | None) -> tuple[str, ...]:
    """Ids of the releases that some parameters came from, each once; None, for a parameter not given, has none."""
    return tuple(dict.fromkeys(name for value in values if value is not None for name in value.parents))
