"""Settings of the source ``table``: a person's own curves in CSV or NetCDF files, described by keys alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...core.checks import Range
from ...data.own.curves.settings import OwnCurves


@dataclass(frozen=True, kw_only=True)
class CurveTableSettings(OwnCurves):
    """Own data: files of curves whose records carry ids, smoothed into a basis.

    smoothing : weight w of the roughness penalty, a public constant: minimised is the mean squared distance to the
        measured values plus w times the integral of the squared second derivative, with time rescaled to [0, 1]; a
        sine of k periods over the domain keeps 1 / (1 + w (2 pi k)^4) of its height
    """

    smoothing: Annotated[float, Range(0, 1, advice="where 1 leaves straight lines")] = 1e-6

    n_active = None
    fold_rule = "balanced"

    @property
    def response_axis(self) -> tuple[tuple[float, float], str, None]:
        """Start and end of a response, and its name with the unit; ticks are chosen by the figure."""
        response, transform = self.response, self.response.transform
        label = f"{response.value or 'response'}{f' ({response.unit})' if response.unit else ''}"
        return self.domain_of(response), label if transform == "none" else f"{transform} of {label}", None

    @property
    def response_time(self) -> str:
        """Name of the time of the response."""
        response = self.response
        if response.format == "long" and (self.text_of(response).time_format or self.id_of(response) == response.time):
            return {"hour": "minute of the hour", "day": "hour of the day"}.get(
                response.period, f"day of the {response.period}"
            )
        return response.time or "time"

    @property
    def n_blocks(self) -> int:
        """Number of units that folds can count on before the files are read."""
        return self.min_records if self.fold_block is None else self.min_blocks
