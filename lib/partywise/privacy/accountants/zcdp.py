"""Accountants that sum zero-concentrated DP: rho of every profile, and one conversion at the end."""

import functools

from ..accounting.calibration import rho_from_mu, simple_zcdp_epsilon, zcdp_epsilon
from ..accounting.compose import Composition, check_delta
from .base import Accountant


def rho_of(composition: Composition) -> float:
    """zCDP parameter of all profiles; of Gaussians alone that of their mu."""
    return (
        composition.zcdp
        if composition.rho or composition.finite or composition.picks or composition.sampled_gaussians
        else float(rho_from_mu(composition.mu))
    )


class ZCDP(Accountant):
    """Summed zCDP with the conversion of Canonne, Kamath and Steinke (2020, proposition 12)."""

    name = "zcdp"

    def bound(self, composition: Composition, delta: float) -> float:
        """`zcdp_epsilon`."""
        return float(zcdp_epsilon(rho_of(composition), delta))


class SimpleZCDP(Accountant):
    """The formula of many papers, for comparison: of the profiles alone, without what is added to delta."""

    name = "simple_zcdp"
    variable = "eps_simple"
    meaning = "rho + 2 sqrt(rho log(1/delta)) of the worst coalition"

    def epsilon(self, delta: float) -> float:
        """The formula at ``delta`` in [0, 1); it takes nothing off delta."""
        return self.bound(self.composition, check_delta(delta))

    def bound(self, composition: Composition, delta: float) -> float:
        """`simple_zcdp_epsilon` (Bun and Steinke 2016)."""
        return _simple(rho_of(composition), delta)


@functools.lru_cache(maxsize=65536)
def _simple(rho: float, delta: float) -> float:
    return float(simple_zcdp_epsilon(rho, delta))
