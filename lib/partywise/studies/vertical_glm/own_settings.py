"""Settings of the source ``table``: a person's own tables, one CSV file a party, described by keys alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from ...alignment.options import IdentifierRules
from ...core.checks import Positive
from ...data.own.settings import OwnTables, TableFile
from ...methods.glm.options import COX, GlmFamily
from ...models.family_facts import FACTS
from .settings import GlmCaseSettings, Records

# What stands between names where a view of several parties is told.
MARKS = (": ", " + ")


@dataclass(frozen=True, kw_only=True)
class GlmFile(TableFile):
    """The file of one party.

    weights, offset : columns of the active party: prior weights, and what is added to the linear predictor
    status, strata : of the active party with family ``cox``, whose response are follow-up times: 1 where an event ended
        one, else 0; and numbers of groups with a baseline hazard each
    radius : to which private methods clip a scaled record of the party, by default what 0.3 % of normal records exceed
    """

    weights: str | None = None
    offset: str | None = None
    status: str | None = None
    strata: str | None = None
    radius: Positive | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if any(mark in self.party for mark in MARKS):
            raise ValueError(f"party is {self.party!r}: leave out ': ' and ' + ', which separate names.")

    @property
    def label_columns(self) -> dict[str, str]:
        """Columns of weights, of an offset, and of what comes with follow-up times."""
        names = ("weights", "offset", "status", "strata")
        return {key: getattr(self, key) for key in names if getattr(self, key) is not None}


@dataclass(frozen=True, kw_only=True)
class GlmTableSettings(GlmCaseSettings, OwnTables):
    """Own data: a file of each party, whose rows carry ids.

    records : ``unaligned``, the protocol finds the records that all parties have; or ``aligned``, which the files are
        before it starts, as in ``match``
    identifiers : how ids are written, where the protocol aligns
    response_bounds : public range of the response, for private methods; that of labels 0 and 1 is known
    eta_start : linear predictor at which private iterations start, by default at the middle of that range
    """

    tables: tuple[GlmFile, ...]
    family: GlmFamily
    records: Records = "unaligned"
    identifiers: IdentifierRules = field(default_factory=IdentifierRules)
    eta_start: float | None = None

    # Names of places without data.
    reserved_names = ("analyst", "dealer", "aggregator")
    reads_kinds = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_weights()
        self._check_follow_up()
        low = -inf if self.response_bounds is None else self.response_bounds[0]
        if self.family != COX and FACTS[self.family].is_positive and self.response_bounds is not None and low <= 0:
            raise ValueError(
                f"response_bounds is {list(self.response_bounds)}: responses of {self.family} are above 0."
            )
        if self.user is not None and not self.aligned:
            raise ValueError(
                f"user is {self.user!r}: records that arrive unaligned are found by a protocol, whose message nothing "
                "certifies, for rows or for persons; set records to aligned, or leave user and rows_per_user out."
            )
        if self.family == "binomial" and self.response_bounds is not None:
            raise ValueError(
                f"response_bounds is {list(self.response_bounds)}: labels of binomial are 0 and 1; leave it out."
            )
        if not self.aligned and self.match != "refuse":
            raise ValueError(f"match is {self.match!r}: it is read with records 'aligned' only; leave it out.")
        if self.aligned and self.identifiers != IdentifierRules():
            raise ValueError("identifiers are read with records 'unaligned' only; leave them out.")

    def _check_weights(self) -> None:
        """Raise a named error for weights or an offset that another party has, or that is another column."""
        for place, table in enumerate(self.tables):
            for key, name in table.label_columns.items():
                where = f"tables[{place}].{key} is {name!r}"
                if table.party != self.response_party:
                    raise ValueError(f"{where}: only the party with the response has some; leave it out.")
                if name in (self.response, *(column.name for column in table.columns)):
                    raise ValueError(f"{where}: that column is used already; give another one.")

    def _check_follow_up(self) -> None:
        """Raise a named error for columns that follow-up times need, or that only they have."""
        place = self.response_holder
        columns, where = self.tables[place].label_columns, f"tables[{place}]"
        wrong = {"status", "strata"} & set(columns) if self.family != COX else {"weights"} & set(columns)
        for key in sorted(wrong):
            raise ValueError(f"{where}.{key} is {columns[key]!r}: family {self.family!r} has none; leave it out.")
        if self.family != COX:
            return
        if "status" not in columns:
            raise ValueError(
                f"{where}.status is missing: family 'cox' needs the column that is 1 for an event, else 0."
            )
        if self.response_bounds is not None or self.eta_start is not None:
            raise ValueError("response_bounds and eta_start are for private methods, which family 'cox' has none of.")

    @property
    def lacking_constants(self) -> str:
        """Why private methods have no public constants to scale the data by, as a sentence; empty if they have."""
        if lacking := self.columns_without_bounds:
            return f"column {self.column_names[lacking[0]]!r} has no bounds; declare them, or levels"
        if self.response_bounds is None and not self.binary_labels:
            return "response_bounds is missing; declare the range of the response"
        columns = list(self.tables[self.response_holder].label_columns.values())
        return f"counts records alike, but there is the column {columns[0]!r}; leave it out" if columns else ""
