"""Settings of the cases of federated epidemiology; checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from ...core.checks import CheckedFields, Range

Target = Literal["population", "cohort"]


@dataclass(frozen=True)
class EpidemiologyCaseSettings(CheckedFields):
    """Settings that all cases share: all are public and fixed before data are seen."""

    @property
    def target(self) -> Target:
        """Whether intervals are about a population, or about the records of the case."""
        raise NotImplementedError

    @property
    def natural_clients(self) -> tuple[str, ...]:
        """Natural clients; none where records are dealt among any number."""
        return ()


@dataclass(frozen=True)
class EpidemiologyGeneratedSettings(EpidemiologyCaseSettings):
    """A made-up cohort with an exposure, an outcome, a score and two competing causes, and the questions of a paper.

    n : records of all clients
    """

    n: Annotated[int, Range(2)] = 3000

    @property
    def target(self) -> Target:
        """The population, which is known."""
        return "population"
