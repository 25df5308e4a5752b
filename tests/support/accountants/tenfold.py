"""An accountant of one's own: one class in one file, which nothing else names."""

from partywise.privacy.accountants.base import Accountant
from partywise.privacy.accounting.compose import Composition


class Tenfold(Accountant):
    """Ten times the Gaussian-DP parameter; it knows Gaussians only."""

    name = "tenfold"
    variable = "epsilon_tenfold"
    meaning = "ten times mu, for tests"
    heading = "tenfold epsilon"

    @classmethod
    def supports(cls, composition: Composition) -> bool:
        return not (composition.rho or composition.finite or composition.sampled_gaussians)

    def bound(self, composition: Composition, delta: float) -> float:
        return 10 * composition.mu
