"""Settings of the cases of privacy layers; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from ...core.checks import CheckedFields, Count, Range

# Hospitals by their names in the file, in the order of their records here.
HOSPITALS = ("Cleveland", "Hungary", "Switzerland", "VA Long Beach")
ADULT_ROWS, TEST_ROWS = 45222, 10000


@dataclass(frozen=True)
class FilterGeneratedSettings(CheckedFields):
    """Records of a logistic model at clients of equal size, and a column of whole numbers.

    clients : in all; rows : of each; features : with the intercept; test_rows : that test
    """

    clients: Count = 3
    rows: Count = 40
    features: Annotated[int, Range(2)] = 5
    test_rows: Count = 200

    resources = ()
    natural_clients = ()


@dataclass(frozen=True)
class HeartSettings(CheckedFields):
    """Patients of four hospitals, of which two thirds train, drawn anew within hospital and class."""

    resources = ("heart",)
    natural_clients: ClassVar[tuple[str, ...]] = HOSPITALS


@dataclass(frozen=True)
class StatisticsSettings(HeartSettings):
    """All patients of four hospitals, with five columns as they are."""


@dataclass(frozen=True)
class MasksSettings(HeartSettings):
    """Patients of two of the hospitals."""

    natural_clients: ClassVar[tuple[str, ...]] = HOSPITALS[:2]


@dataclass(frozen=True)
class ManyClientsSettings(CheckedFields):
    """Records of Adult, dealt at random.

    clients : in all, of equal size, which sites share evenly; rows : of each client
    """

    clients: Count = 200
    rows: Count = 150

    resources = ("adult",)
    natural_clients = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.clients * self.rows + TEST_ROWS > ADULT_ROWS:
            raise ValueError(
                f"clients={self.clients} of rows={self.rows} and {TEST_ROWS} test rows: the table has {ADULT_ROWS}; "
                "give fewer."
            )
