"""The profiles of noise that the accountant composes, and what each costs a group or in zero-concentrated DP."""

import math
from dataclasses import dataclass, replace
from typing import Protocol, TypedDict

from ..rounding import round_up

PROFILES = ("mu", "rho", "epsilon")
# More applications than this a float cannot count.
MOST = 2**53


class Alphabet(TypedDict, total=False):
    """Size of the alphabet of a randomised response, as a keyword."""

    k: int


class ProfileFields(Alphabet, total=False):
    """Fields of `PrivacyProfile`, as keywords."""

    mu: float
    rho: float
    epsilon: float
    range: float
    rate: float
    count: int


class ProfileStatement(Protocol):
    """Fields that a profile and an event both state."""

    @property
    def mu(self) -> float | None: ...
    @property
    def rho(self) -> float | None: ...
    @property
    def epsilon(self) -> float | None: ...
    @property
    def k(self) -> int | None: ...
    @property
    def range(self) -> float | None: ...
    @property
    def rate(self) -> float: ...
    @property
    def count(self) -> int: ...


@dataclass(frozen=True, slots=True)
class PrivacyProfile:
    """One profile, applied ``count`` times: exactly one of ``mu`` (Gaussian DP), ``rho`` (zCDP) and ``epsilon``.

    ``mu`` with ``rate`` below 1 is that of a Gaussian before Poisson sampling; ``epsilon`` is pure, with ``k`` that of
    k-ary randomised response, and with ``range``, which it equals, a pick of the exponential mechanism: all losses
    against one neighbour lie in an interval of that length.
    """

    mu: float | None = None
    rho: float | None = None
    epsilon: float | None = None
    k: int | None = None
    rate: float = 1.0
    count: int = 1
    range: float | None = None

    @property
    def free(self) -> bool:
        """Whether the profile costs nothing."""
        return not (self.mu or self.rho or self.epsilon)

    @property
    def mu_squared(self) -> float | None:
        """Composed mu squared of an unsampled Gaussian; None for any other profile."""
        return None if self.mu is None or self.rate < 1 else round_up(self.count * self.mu * self.mu, self.mu)

    @property
    def zcdp(self) -> float:
        """zCDP parameter of all applications: mu^2 / 2, rho, or epsilon^2 / 2 (Bun and Steinke 2016, proposition 1.4).

        That of a pick is epsilon^2 / 8: under the second world the loss has no variance above a quarter of its range
        squared, under any tilting (Cesar and Rogers 2021). Sampling is not credited: given its coins each
        application is a Gaussian of ``mu`` or nothing.
        """
        if self.rho is not None:
            return self.count * self.rho
        parameter = self.mu or self.epsilon or 0.0
        return round_up(self.count * parameter * parameter / (2 if self.range is None else 8), parameter)

    def for_group(self, size: int) -> "PrivacyProfile":
        """The profile for a group of units: m mu, m^2 rho, or m epsilon of a pure one; sampling is not credited."""
        return replace(
            self,
            mu=None if self.mu is None else size * self.mu,
            rho=None if self.rho is None else size * size * self.rho,
            epsilon=None if self.epsilon is None else size * self.epsilon,
            k=self.k if size == 1 else None,
            range=None if self.range is None else size * self.range,
            rate=1.0,
        )

    def __str__(self) -> str:
        name = next(name for name in PROFILES if getattr(self, name) is not None)
        text = f"{name} = {getattr(self, name):.6g}"
        text += f", k = {self.k}" if self.k is not None else ""
        text += " (pick)" if self.range is not None else ""
        text += f", rate = {self.rate:.6g}" if self.rate < 1 else ""
        return text + (f", x {self.count}" if self.count > 1 else "")


def check_profile(fields: ProfileStatement, whose: str) -> None:
    """Raise `ValueError` unless the fields of a profile, or of an event with its ``delta_numeric``, fit."""
    names = [name for name in PROFILES if getattr(fields, name) is not None]
    if len(names) > 1:
        raise ValueError(
            f"{' and '.join(names)} {whose} both state a profile; give exactly one of mu, rho and epsilon."
        )
    for name in (*names, *(["epsilon_distance"] if getattr(fields, "epsilon_distance", None) is not None else [])):
        if not getattr(fields, name) >= 0:
            raise ValueError(f"{name}={getattr(fields, name)!r} {whose} must be non-negative.")
    if fields.k is not None and (fields.epsilon is None or fields.k != _whole(fields.k) or fields.k < 2):
        raise ValueError(f"k={fields.k!r} {whose} must be a whole number from 2 and needs epsilon.")
    if fields.range is not None and (fields.range != fields.epsilon or fields.k is not None):
        raise ValueError(
            f"range={fields.range!r} {whose} is that of a pick, whose pure epsilon it is: state "
            f"epsilon={fields.range!r} and no k."
        )
    if fields.rate != 1 and (fields.mu is None or not 0 < fields.rate <= 1):
        raise ValueError(f"rate={fields.rate!r} {whose} must lie in (0, 1] and needs mu.")
    if not 1 <= fields.count <= MOST or fields.count != _whole(fields.count):
        raise ValueError(f"count={fields.count!r} {whose} must be a whole number from 1 to 2^53.")
    if not 0 <= (numeric := getattr(fields, "delta_numeric", 0.0)) < 1:
        raise ValueError(f"delta_numeric={numeric!r} {whose} must lie in [0, 1).")


def _whole(value: float) -> int | None:
    return int(value) if math.isfinite(value) else None
