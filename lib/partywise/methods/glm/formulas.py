"""Formulas: columns that each party makes of its own, factors and interactions among them (package formulaic)."""

from __future__ import annotations

from collections.abc import Sequence

# Any: the user's data frame, and what another library makes of it.
from typing import Any

import numpy as np


class Design:
    """The columns of the right-hand side of a formula, each of which one party makes alone.

    formula : such as ``"age * smoker + C(region)"``: terms, and no response
    frame : a pandas frame with the columns of all parties; parties : columns of each, by name or number

    ImportError without formulaic; ValueError if a term needs columns of two parties, or the formula has a response.
    """

    def __init__(self, formula: str, frame: Any, parties: Sequence[Sequence[str | int]]) -> None:
        try:
            import formulaic
        except ImportError:
            raise ImportError("formula needs the package formulaic: pip install 'partywise[formula]'.") from None
        if isinstance(parties, int) or not hasattr(frame, "columns"):
            raise ValueError("formula needs a data frame, and the columns of each party: parties=[['age'], ['dose']].")
        if "~" in formula:
            raise ValueError(f"formula={formula!r} has a response: give its right-hand side, and y to fit.")
        matrix = formulaic.model_matrix(formula, frame, na_action="ignore")
        self.spec: Any = matrix.model_spec
        frame_columns = {str(name) for name in frame.columns}
        self.used = sorted(
            {str(name) for names in self.spec.factor_variables.values() for name in names} & frame_columns
        )
        # Levels of the columns of which factors are made, as they are in the frame.
        self.levels: dict[str, set[Any]] = {
            name: set(frame[name].dropna())
            for factor, names in self.spec.factor_variables.items()
            if str(self.spec.encoder_state.get(str(factor), ("", {}))[0]).endswith("CATEGORICAL")
            for name in sorted({str(column) for column in names} & frame_columns)
        }
        self._check(frame)
        names = list(self.spec.column_names)
        if names[:1] != ["Intercept"]:
            raise ValueError(f"formula={formula!r} has no intercept, which the model always has: leave '0 +' out.")
        known = [
            [column if isinstance(column, str) else str(frame.columns[column]) for column in group] for group in parties
        ]
        owner = {name: place for place, group in enumerate(known) for name in group}
        self.names, self.groups = names[1:], [list[int]() for _ in known]
        for term, places in self.spec.term_indices.items():
            used = sorted(str(column) for column in self.spec.term_variables[term] if str(column) in set(frame.columns))
            holders = {owner.get(name) for name in used}
            if len(holders) > 1 or None in holders:
                raise ValueError(
                    f"the term {str(term)!r} of the formula needs the columns {used}, which no party has together: an "
                    "interaction is made by the party that has both columns; no party shows records to make one."
                )
            for holder in holders:
                self.groups[holder].extend(place - 1 for place in places)  # type: ignore[index]

    def columns(self, frame: Any) -> np.ndarray:
        """The columns (n, p) of other records, with the levels and constants of the fit.

        ValueError for a value that is missing and for a level that the fit does not have.
        """
        self._check(frame)
        return np.asarray(self.spec.get_model_matrix(frame), dtype=float)[:, 1:]

    def _check(self, frame: Any) -> None:
        """Refuse records that would be dropped, or be taken for those of the base level."""
        for name in self.used:
            missing = np.flatnonzero(frame[name].isna())
            if len(missing):
                raise ValueError(
                    f"column {name!r} has no value in row {missing[0]} ({len(missing)} in all): fill or drop "
                    "incomplete records first."
                )
        for name, levels in self.levels.items():
            unknown = np.flatnonzero(~frame[name].isin(list(levels)))
            if len(unknown):
                raise ValueError(
                    f"column {name!r} has the level {frame[name].iloc[unknown[0]]!r} in row {unknown[0]}, which the "
                    f"fit does not have: its levels are {sorted(levels, key=str)}."
                )
