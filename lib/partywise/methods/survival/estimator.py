"""The base of the estimators of survival: records with a duration and an event, divided among clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from ...core.checks import positive
from ...federation.estimators.estimator import Estimator
from ...federation.estimators.inputs import numbers, vector
from ...federation.secure_streams import Randomness
from .model import SurvivalEstimate, SurvivalFacts
from .records import as_written


class SurvivalEstimator(Estimator):
    """Common base of both estimators: records with a duration and an event, divided among clients."""

    unit = "row"
    _estimate = SurvivalEstimate
    estimate_: SurvivalEstimate
    horizon: float | None

    def __sklearn_tags__(self) -> NoReturn:
        """These are not estimators of scikit-learn: a fit takes durations and events."""
        raise AttributeError(f"{type(self).__name__} takes durations and events, which scikit-learn knows nothing of.")

    def _fit(
        self,
        durations: ArrayLike,
        event_observed: ArrayLike | None,
        covariates: np.ndarray,
        group: np.ndarray,
        parties: int | Sequence[Sequence[int]] | None,
        rng: Randomness | None,
        facts: SurvivalFacts,
        clips: Mapping[str, tuple[int, int, float]] | None = None,
        causes: Sequence[float] = (1,),
    ) -> None:
        times, events = checked_follow_up(durations, event_observed, causes)
        arrays = {"times": times, "events": events > 0, "covariates": covariates, "groups": group}
        if len(causes) > 1:
            arrays["causes"] = np.maximum(events - 1, 0)
        clients = self._clients(parties, arrays)
        for bound, counts in (clips or {}).items():
            clients[0].clips.add(bound, *counts)
        public = replace(
            facts, causes=len(causes), natural_sizes=tuple(len(client.block["times"]) for client in clients)
        )
        self._simulate(clients, len(times), rng, public=public, settings=SimpleNamespace(delta=self.delta))

    def _times_of_follow_up(self, times: ArrayLike) -> np.ndarray:
        """Times (m,) at which survival is asked for; ValueError outside of 0 to the horizon."""
        points, horizon = numbers("times", times, 1, "(m,)"), checked_horizon(self.horizon)
        outside = points[(points < 0) | (points > horizon)]
        if len(outside):
            raise ValueError(
                f"times holds {outside[0]:g}: follow-up is from 0 to the horizon, {horizon:g}; ask within it, "
                "or fit with a longer horizon."
            )
        return points

    def _end_of_follow_up(self, t: float | None) -> float:
        """End of a restricted mean, the horizon where none is given; ValueError beyond the horizon."""
        horizon = checked_horizon(self.horizon)
        if t is None:
            return horizon
        positive(t=t)
        if t > horizon:
            raise ValueError(
                f"t is {t:g}: no record is followed beyond the horizon, {horizon:g}; give at most that, or fit with a "
                "longer horizon."
            )
        return float(t)


def checked_follow_up(
    durations: ArrayLike, event_observed: ArrayLike | None, causes: Sequence[float] = (1,)
) -> tuple[np.ndarray, np.ndarray]:
    """Durations (n,) and the place (n,) of each event among the causes from 1, 0 if censored; ValueError for others."""
    times = numbers("durations", as_written(durations), 1, "(n,), one a record")
    if (times < 0).any():
        raise ValueError(
            f"durations holds negative values, such as {times.min():g}: count time from the start of follow-up."
        )
    events = np.ones(len(times)) if event_observed is None else vector("event_observed", event_observed, len(times))
    if not (known := np.isin(events, (0, *causes))).all():
        if len(causes) > 1:
            raise ValueError(
                f"event_observed holds {events[~known][0]!s}, which is not among causes={list(causes)}: declare every "
                "cause, and give 0 for a censored time."
            )
        raise ValueError(
            f"event_observed holds values other than 0 and 1 (or False and True), such as {events[~known][0]!s}: give "
            "1 for an event and 0 for a censored time."
        )
    places = sum(number * (events == cause) for number, cause in enumerate(causes, 1))
    return times, np.asarray(places, dtype=int)


def checked_horizon(horizon: float | None) -> float:
    """A public end of follow-up; ValueError where it is missing or no positive number."""
    if horizon is None:
        raise ValueError("horizon is missing: give a public end of follow-up; the largest duration is a record.")
    positive(horizon=horizon)
    return float(horizon)
