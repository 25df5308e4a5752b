"""Claims of published protections of counts about privacy, and what these release without a claim."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

from ...core.checks import Count, Range, Share
from ...experiment.claims import Claim, ClaimSettings, Document, Mechanism
from ...experiment.study import Lazy

DATASHIELD = Document("datashield", "DataSHIELD - disclosure settings")
# Not one system's rules: rounding, hidden counts, and noise of the question in place of a stored answer.
ROUNDING = Document("rounding", "Rules for counts")
DSVERT = Document("dsvert", "dsVert 1.1.0 - noisy tables")


@dataclass(frozen=True)
class CountSettings(ClaimSettings):
    """Records with values in [0, 1] and cases among them.

    prevalence : share of the cases
    """

    n: Annotated[int, Range(20)] = 1000
    prevalence: Share = 0.15

    @property
    def columns(self) -> int:
        """Number of values per record."""
        return 1


@dataclass(frozen=True)
class ThresholdSettings(CountSettings):
    """Tables with a count of 1 to threshold - 1 are refused, or such counts hidden.

    targets : records whose birthday an analyst knows
    """

    threshold: Annotated[int, Range(2)] = 3
    targets: Count = 200


@dataclass(frozen=True)
class NestedSettings(CountSettings):
    """Rounded counts of the cases up to a value, in several orders of the records.

    base, how : of the rounding; orders : columns by which an analyst may ask
    """

    base: Annotated[int, Range(2)] = 5
    how: Literal["nearest", "midpoint"] = "nearest"
    orders: Count = 5

    @property
    def columns(self) -> int:
        """Number of values per record: one for each order."""
        return self.orders


@dataclass(frozen=True)
class MidpointSettings(NestedSettings):
    """Likewise, with midpoints."""

    base: Annotated[int, Range(2)] = 6
    how: Literal["nearest", "midpoint"] = "midpoint"


@dataclass(frozen=True)
class AnswerSettings(CountSettings):
    """Counts of the cases that are rounded at random, anew for every answer.

    base : of the rounding; answers : to one question
    """

    base: Annotated[int, Range(2)] = 5
    answers: Count = 50


@dataclass(frozen=True)
class SplitSettings(CountSettings):
    """Counts of the cases whose random rounding stays with each cell.

    base : of the rounding; splits : columns by which each cell is split in two
    """

    base: Annotated[int, Range(2)] = 5
    splits: Count = 100

    @property
    def columns(self) -> int:
        """Number of values per record: that of its cell, and one for each split."""
        return 1 + self.splits


@dataclass(frozen=True)
class ArtifactSettings(CountSettings):
    """Artifacts with a table of exposure by case, each with geometric noise of both peers, of which one is known.

    artifacts : number of them, each with the epsilon of the claim
    """

    artifacts: Count = 1

    @property
    def releases(self) -> int:
        """Number of messages that are sent."""
        return self.artifacts


@dataclass(frozen=True)
class ArtifactsSettings(ArtifactSettings):
    """Likewise, 10 of them."""

    artifacts: Count = 10


_LEAKS = "partywise.studies.federated_epidemiology.leaks:"
_form = partial(Mechanism.of, _LEAKS)
_REMEDY = "one noisy release of all tables"
_THRESHOLD = Claim(
    name="threshold",
    document=DATASHIELD,
    title="tables without counts below {threshold}",
    remedy=_REMEDY,
    states="none",
    settings=ThresholdSettings,
    generate=Lazy("partywise.studies.federated_epidemiology.leaks:another_case"),
    published=_form("tables", "allowed_tables"),
    correction=_form("tables", "noisy_birthdays"),
)
_NEAREST = replace(
    _THRESHOLD,
    name="nearest_rounding",
    document=ROUNDING,
    title="counts to the nearest {base} - {orders} orders",
    settings=NestedSettings,
    published=_form("counts", "rounded_counts"),
    correction=_form("tables", "noisy_orders"),
)
_RANDOM = replace(
    _NEAREST,
    name="random_rounding",
    title="random rounding to {base} - {answers} answers",
    remedy="one noisy release that is stored",
    settings=AnswerSettings,
    published=_form("counts", "rounded_answers"),
    correction=_form("tables", "noisy_cells"),
)
_ARTIFACT = replace(
    _THRESHOLD,
    name="dsvert_epsilon",
    document=DSVERT,
    title="geometric noise on one table",
    remedy=_REMEDY,
    states="epsilon",
    settings=ArtifactSettings,
    published=_form("artifact", "artifacts"),
    correction=_form("tables", "noisy_exposure"),
    control=True,
)

CLAIMS = (
    _THRESHOLD,
    replace(
        _THRESHOLD,
        name="suppressed_margin",
        document=ROUNDING,
        title="counts below {threshold} hidden next to margins",
        published=_form("table", "hidden_counts"),
        correction=_form("table", "noisy_regions"),
    ),
    _NEAREST,
    replace(
        _NEAREST,
        name="midpoint_rounding",
        title="midpoints of {base} counts - {orders} orders",
        settings=MidpointSettings,
    ),
    _RANDOM,
    replace(
        _RANDOM,
        name="sticky_rounding",
        title="random rounding that stays - base {base} - {splits} splits",
        remedy=_REMEDY,
        settings=SplitSettings,
    ),
    _ARTIFACT,
    replace(
        _ARTIFACT,
        name="dsvert_artifacts",
        title="geometric noise on {artifacts} artifacts with one table",
        remedy="a ledger of all releases",
        states="none",
        settings=ArtifactsSettings,
        control=False,
    ),
    replace(
        _THRESHOLD,
        name="seeded_noise",
        document=ROUNDING,
        title="noise of the question alone",
        remedy="answers that are stored",
        states="epsilon",
        settings=CountSettings,
        published=_form("answers", "seeded_answers"),
        correction=_form("tables", "noisy_cells"),
    ),
)
