"""Settings of the source ``table``: a person's own tables, one CSV file a party, described by keys alone."""

from __future__ import annotations

from dataclasses import dataclass

from ...data.own.settings import LearnedTables
from ...models.criteria import CLASSES, NUMBERS


@dataclass(frozen=True, kw_only=True)
class LinearTableSettings(LearnedTables):
    """Own data: a file of each party, whose rows carry ids.

    response_bounds : public range of the response in regression, which becomes [-1, 1]
    """

    # The key holder.
    reserved_names = ("server",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if lacking := self.columns_without_bounds:
            raise ValueError(
                f"column {self.column_names[lacking[0]]!r} has no bounds: a linear model scales it by its public "
                "range; declare one, or levels."
            )
        if (self.response_bounds is None) != (self.loss_in_force == CLASSES):
            raise ValueError(
                f"response_bounds is {self.response_bounds!r}: give the public range of the response with loss "
                f"{NUMBERS!r}, and only there."
            )
