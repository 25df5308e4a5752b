"""Settings of the source ``table``: a person's own tables, one CSV file a party, described by keys alone."""

from __future__ import annotations

from dataclasses import dataclass

from ...data.own.settings import LearnedTables
from ...models.criteria import CLASSES, NUMBERS


@dataclass(frozen=True, kw_only=True)
class TreeTableSettings(LearnedTables):
    """Own data: a file of each party, whose rows carry ids.

    classes : entries of the response, where it has more than two; which ones there are is public
    response_bounds : public range of the response in regression, in whose middle private methods start
    """

    classes: tuple[str, ...] | None = None

    reserved_names = ("dealer",)
    indicators = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.response_bounds is not None and self.loss_in_force == CLASSES:
            raise ValueError(
                f"response_bounds is {self.response_bounds!r}: classes have no range; leave it out, or give loss "
                f"{NUMBERS!r}."
            )
        if self.classes is None:
            return
        if not self.binary_labels or self.positive is not None:
            other = "loss" if self.positive is None else "positive"
            raise ValueError(
                f"classes and {other} are {list(self.classes)} and {getattr(self, other)!r}: leave one of them out."
            )
        if len(set(self.classes)) < max(3, len(self.classes)):
            raise ValueError(
                f"classes is {list(self.classes)}: give at least three and none twice; of two, positive names one."
            )

    @property
    def class_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Entries of the response in the order of its classes, where there are more than two."""
        return self.classes or ()

    def levels_of(self, number: int) -> tuple[str, ...]:
        """Names of the levels of a column that is a category."""
        return tuple(self.columns[number].levels or ())
