"""Precision of one direction before data: released slices of a declared law of records, with the intervals of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, cast

import numpy as np
from scipy.special import ndtr

from ....core.checks import CheckedFields, Positive, Range
from ....core.randomness import Rng
from ....federation.estimators.precision import NORMAL_95, MadeUp, Precision, made_up_clients, require_because
from ....models.kinds import Kind
from ....models.simulation.planning import PlannedLaw
from ....models.simulation.slices import SliceMixture
from ....privacy.accounted_values import Public
from ..model import Settings, SlicingEstimate, SlicingFacts
from ..slices import public_slices
from .certified import released_law
from .intervals import Subspaces, subspace_question


@dataclass(frozen=True)
class DirectionModel(CheckedFields):
    """Columns that are normal in slices of a response, which are as those of a linear predictor with normal noise.

    coefficients : by column, of the predictor; targets are those of length 1 together
    edges : public, between the slices of the response
    because : where columns and edges are public
    dispersion : variance of the response given the columns, of deviation 1
    correlation : of neighbouring columns; of others that to the power of their distance
    radius : beyond which entries are clipped
    """

    coefficients: dict[str, float]
    edges: tuple[float, ...]
    because: str = ""
    dispersion: Positive = 1.0
    correlation: Annotated[float, Range(-0.9, 0.9)] = 0.0
    radius: Positive = 3.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_because(self.because, "the edges are public, such as limits of a guideline")
        if len(self.coefficients) < 2 or not any(self.coefficients.values()):
            raise ValueError(
                f"coefficients is {self.coefficients!r}: name two columns or more, one of them with a coefficient."
            )
        if not self.edges or np.any(np.diff(self.edges) <= 0):
            raise ValueError(f"edges is {list(self.edges)}: give rising numbers, such as [-1, 0, 1].")

    def targets(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Names of the columns, those that are asked for first; ValueError for one that is not declared."""
        for name in wanted:
            if name not in self.coefficients:
                raise ValueError(f"{name!r} is not a target: give one of the columns {', '.join(self.coefficients)}.")
        return tuple(dict.fromkeys([*wanted, *self.coefficients]))

    def made_up(self, n: int, parties: int, rng: Rng) -> MadeUp:
        """Return ``n`` records of the model, divided among the clients."""
        model, p = self._law, len(self._slopes)
        slices = rng("slices").choice(model.n_slices, size=n, p=model.shares(self._parameters))
        X = model.means(self._parameters)[slices]
        X = X + rng("columns").standard_normal((n, p)) @ model.root(self._parameters).T
        middles = np.convolve([self.edges[0] - 1, *self.edges, self.edges[-1] + 1], [0.5, 0.5], "valid")
        y = middles[slices]
        clients = made_up_clients({"X": X, "y": y}, n, parties)
        names, sizes = zip(*((client.name, len(client.block["y"])) for client in clients), strict=True)
        public = public_slices(Public(np.array(self.edges), because=self.because))
        kinds = dict.fromkeys(self.coefficients, Kind(because=self.because))
        facts = SlicingFacts(names, sizes, p, model.n_slices, 1, public, kinds_of_columns=kinds)
        return MadeUp(clients, facts, Settings(self.radius, 1e-5, None, None, False, None))

    def expected_precision(
        self, estimate: object, n: int, targets: Sequence[str], *, is_rough: bool = False
    ) -> Precision:
        """Return the precision of a fit of the law of slices, with the noise of an estimate on made-up records."""
        sds, p = cast(SlicingEstimate, estimate).sds, len(self._slopes)
        assert sds is not None
        model, theta = self._law, self._parameters
        law = released_law(self.radius, np.zeros((p + 1, model.n_slices)), np.zeros((p, p)), sds, n)
        direction = self._slopes / np.linalg.norm(self._slopes)
        question = subspace_question(law, Subspaces(model, 1, is_whitened=False), theta, direction)
        planned = self._planned_law.errors(question, theta, is_rough)
        places = self._places(targets)
        half_widths, without_noise = (
            NORMAL_95 * errors[places] for errors in (planned.standard_errors, planned.without_noise)
        )
        return Precision(direction[places], half_widths, without_noise, planned.excess)

    def reported_precision(self, estimate: object, targets: Sequence[str]) -> Precision:
        """Return the precision that an estimate reports of itself, with the sign of the declared direction."""
        intervals, places = cast(SlicingEstimate, estimate).intervals, self._places(targets)
        nothing = np.full(len(places), np.nan)
        if intervals.centre is None or intervals.standard_errors is None:
            return Precision(nothing, nothing, nothing, np.inf)
        center = intervals.centre * np.sign(intervals.centre @ self._slopes)
        return Precision(center[places], NORMAL_95 * intervals.standard_errors[places], nothing)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions as clauses."""
        return ("normal columns with one covariance in every slice", "a linear predictor", "independent records")

    @property
    def release(self) -> str:
        """Sentence on what leaves the organisations."""
        return "Noisy means by slice of the response, and noisy second moments, leave them, and no record does"

    @property
    def measured_in(self) -> str:
        """Entries of a direction of length 1 have no unit."""
        return ""

    def _places(self, targets: Sequence[str]) -> list[int]:
        return [list(self.coefficients).index(name) for name in targets]

    @cached_property
    def _slopes(self) -> np.ndarray:
        return np.array(list(self.coefficients.values()))

    @cached_property
    def _covariance(self) -> np.ndarray:
        """(p, p) covariance of the columns."""
        places = np.arange(len(self._slopes))
        return np.asarray(float(self.correlation) ** np.abs(np.subtract.outer(places, places)))

    @cached_property
    def _law(self) -> SliceMixture:
        return SliceMixture(len(self.edges) + 1, len(self._slopes))

    @cached_property
    def _parameters(self) -> np.ndarray:
        """Parameters of the law of slices: means of the columns, which follow that of the response in a slice."""
        along = self._covariance @ self._slopes
        deviation = float(np.sqrt(self._slopes @ along + self.dispersion))
        cuts = np.concatenate([[-np.inf], np.array(self.edges) / deviation, [np.inf]])
        sums = -np.diff(np.exp(-(cuts**2) / 2)) / np.sqrt(2 * np.pi) / deviation
        return self._law.start(np.diff(ndtr(cuts)), np.outer(along, sums), self._covariance)

    @cached_property
    def _planned_law(self) -> PlannedLaw:
        return PlannedLaw()
