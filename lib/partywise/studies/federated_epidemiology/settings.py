"""Settings of the cases of federated epidemiology; checked before any job starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, Self

from ...core.checks import CheckedFields, Count, Range
from .tables import TABLES, CohortTable, Name

if TYPE_CHECKING:
    from ...methods.epidemiology.questions import Questions

Target = Literal["population", "cohort"]
# Columns of the made-up cohort where two organisations have them: no table of its questions crosses more.
COHORT_ORGANISATIONS = {
    "hospital": (
        "exposure",
        "sex",
        "smoking",
        "education",
        "stage",
        "diabetes",
        "hypertension",
        "rare",
        "age",
        "body mass",
        "confounder",
    ),
    "registry": ("outcome", "score", "years", "cause"),
}


@dataclass(frozen=True)
class EpidemiologyCaseSettings(CheckedFields):
    """Settings that all cases share: all are public and fixed before data are seen."""

    @property
    def target(self) -> Target:
        """Whether intervals are about a population, or about the records of the case."""
        raise NotImplementedError

    @property
    def question_set(self) -> Questions:
        """The question set."""
        raise NotImplementedError

    @property
    def natural_clients(self) -> tuple[str, ...]:
        """Natural clients; none where records are dealt among any number."""
        return tuple(self.organisations)

    @property
    def organisations(self) -> Mapping[str, tuple[str, ...]]:
        """Columns of each organisation, of the same records; none where clients hold different records."""
        return {}

    def of_all(self, clients: int) -> Self:
        """Settings for releases about the records of all clients together: the same."""
        return self


@dataclass(frozen=True)
class EpidemiologyGeneratedSettings(EpidemiologyCaseSettings):
    """A made-up cohort with an exposure, an outcome, a score and two competing causes, and the questions of a paper.

    n : records of all clients
    rows_per_user : records of each person, which follow each other; None: one
    partition : ``rows`` among any number of clients; or ``columns``, outcome, score and causes of the same records at a
        registry, and all others at a hospital
    """

    n: Annotated[int, Range(2)] = 3000
    rows_per_user: Annotated[int, Range(2)] | None = None
    partition: Literal["rows", "columns"] = "rows"

    @property
    def question_set(self) -> Questions:
        """The questions of a paper on the cohort."""
        # A plan is made without estimates.
        from ...methods.epidemiology.cohort import cohort_questions

        return cohort_questions()

    @property
    def target(self) -> Target:
        """The population, which is known; these records where a person has several, for these are not independent."""
        return "population" if self.rows_per_user is None else "cohort"

    @property
    def organisations(self) -> Mapping[str, tuple[str, ...]]:
        """Columns of hospital and registry."""
        return COHORT_ORGANISATIONS if self.partition == "columns" else {}


@dataclass(frozen=True, kw_only=True)
class EpidemiologyDatasetSettings(EpidemiologyCaseSettings):
    """A shipped table, dealt among clients anew for each replicate.

    dataset : its name; n : records that are drawn; by default all
    """

    dataset: Name
    n: Count | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n is not None and self.n > self.table.rows:
            raise ValueError(f"n is {self.n}: dataset {self.dataset!r} has {self.table.rows} records; give no more.")

    @cached_property
    def table(self) -> CohortTable:
        """Entry of the catalogue."""
        return TABLES[self.dataset]

    @property
    def question_set(self) -> Questions:
        """The question set of the catalogue."""
        return self.table.questions

    @property
    def resources(self) -> tuple[str, ...]:
        """Data sets that are fetched."""
        return self.table.resources

    @property
    def target(self) -> Target:
        """Its records, whose exact numbers are known."""
        return "cohort"
