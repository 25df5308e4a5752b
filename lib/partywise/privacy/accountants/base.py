"""Interface of an accountant: a name, what its epsilon is called and means, and the epsilon of a composition."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, final

from ...core.errors import CertificationError
from ..accounting.compose import Composition, check_delta, epsilon_with_tv


class Accountant(ABC):
    """One way to bound what a composition costs: ``RDP(composition).epsilon(delta)``.

    A subclass in a file of this folder is an accountant: nothing else names it. The composition is walked as a whole
    before anything is computed, and `CertificationError` raised for a profile that the accountant has no rule for.

    name : its key in `partywise.privacy.ledger.total.Total.epsilons`
    variable : name of its epsilon in cubes and tables, without which it enters no total and is computed on request
    meaning : what the variable means, for the worst coalition
    heading : over its column of the printed summary, without which it has no column there
    """

    name: ClassVar[str]
    variable: ClassVar[str] = ""
    meaning: ClassVar[str] = ""
    heading: ClassVar[str] = ""

    @final
    def __init__(self, composition: Composition) -> None:
        if not isinstance(composition, Composition):
            raise TypeError(f"composition is a {type(composition).__name__}: give a Composition, as cost() makes it.")
        if not self.supports(composition):
            raise CertificationError(
                f"the accountant {self.name!r} has no rule for {composition}; ask another, such as 'exact'."
            )
        self.composition = composition

    @classmethod
    def supports(cls, composition: Composition) -> bool:
        """Whether there is a rule for every profile."""
        return True

    def epsilon(self, delta: float) -> float:
        """Epsilon at ``delta`` in [0, 1), rounded up.

        Infinite where a profile has no noise, and where what is added to delta in addition to the profiles leaves
        nothing of it.
        """
        left = check_delta(delta) - self.composition.delta_numeric
        if self.composition.infinite:
            return math.inf
        return epsilon_with_tv(lambda rest: self.bound(self.composition.profiles, rest), left, self.composition.tv)

    @abstractmethod
    def bound(self, composition: Composition, delta: float) -> float:
        """Epsilon of finite profiles, with nothing in addition to them."""
