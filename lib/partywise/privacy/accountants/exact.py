"""Accountant that certifies: the privacy profile of the whole composition, as exact as floats allow."""

from ..accounting.compose import Composition
from .base import Accountant


class Exact(Accountant):
    """The least epsilon of the composition itself (`partywise.privacy.accounting.compose`)."""

    name = "exact"
    variable = "epsilon_certified"
    meaning = "epsilon that the ledger certifies for one fit, for the worst coalition; inf where nothing is proved"
    heading = "certified epsilon"

    def bound(self, composition: Composition, delta: float) -> float:
        """`Composition.epsilon`."""
        return composition.epsilon(delta)
