"""Quantiles of a histogram with noise: every party adds noise to its counts, and intervals end at cuts of the grid."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, cast

import numpy as np

from ...core.checks import CheckedFields, Range
from ...core.randomness import Rng, stream
from ...federation.estimators.precision import MadeUp, Precision, made_up_clients, mid_quantiles, require_because
from ...federation.parties import Party
from ...federation.run import Run
from ...privacy.accounted_values import Public, parents_of
from ...privacy.accounting.calibration import gdp_mu
from ...privacy.mechanisms.integer import IntegerGaussian
from ...privacy.mechanisms.quantiles import histogram_quantile
from ...privacy.mechanisms.release import Release
from ...privacy.statistics.whole import whole
from ...privacy.strata import cell_of
from ..study import Lazy, Protocol

SERVER, MEDIAN = "server", "median"
TARGET = re.compile(r"quantile (0?\.\d+)")
# Histograms whose median half-width is planned: ends of intervals are cuts, so that a single one says little.
DRAWS, ROUGH = 200, 40
# Counts are whole numbers of so fine steps that rounding of their noise shows in no digit.
BITS = 30
BOUND = "a replaced record moves two counts by 1 each"


@dataclass(frozen=True)
class HistogramOptions(CheckedFields):
    """Noise of every count at the party that has it; the cells are part of the model."""

    uses_epsilon = True


@dataclass(frozen=True)
class ValueModel(CheckedFields):
    """One number per record, counted in public cells of equal width.

    ends : public ends of the cells; numbers outside count in the first or the last one
    shares : pairs of a value and the expected share of records up to it; in between shares are proportional
    cells : number of them
    because : where the ends are public
    unit : of the values
    """

    ends: tuple[float, float]
    shares: tuple[tuple[float, float], ...]
    cells: Annotated[int, Range(2, 100_000)] = 64
    because: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_because(self.because, "the ends are public, such as the range of the instrument")
        if not self.ends[0] < self.ends[1]:
            raise ValueError(f"ends is {list(self.ends)}: give two numbers, the smaller one first.")
        before = (self.ends[0], 0.0)
        for pair in self.shares:
            if not (before[0] < pair[0] < self.ends[1] and before[1] < pair[1] < 1):
                raise ValueError(
                    f"shares has {list(pair)} after {list(before)}: give rising values inside the ends with rising "
                    "shares in (0, 1), such as [[50, 0.25], [62, 0.5]]."
                )
            before = pair

    def targets(self, wanted: Sequence[str]) -> tuple[str, ...]:
        """Names of the quantiles, those that are asked for first; ValueError for another name."""
        for name in wanted:
            if name != MEDIAN and (not (parts := TARGET.fullmatch(name)) or not 0 < float(parts[1]) < 1):
                raise ValueError(f"{name!r} is not a target: give '{MEDIAN}' or 'quantile Q' with Q in (0, 1).")
        return tuple(dict.fromkeys([*wanted, MEDIAN]))

    def made_up(self, n: int, parties: int, rng: Rng) -> MadeUp:
        """Return ``n`` records of the model, divided among the parties."""
        codes = rng("values").choice(self.cells, size=n, p=self._cell_shares)
        return MadeUp(made_up_clients({"cells": codes}, n, parties), Public(self.cells, because=self.because))

    def expected_precision(
        self, estimate: object, n: int, targets: Sequence[str], *, is_rough: bool = False
    ) -> Precision:
        """Return the median half-width over histograms of the model, with the noise of an estimate."""
        noisy = cast(NoisyHistogram, estimate)
        rng = stream(0, "histograms of a design")
        records = rng.multinomial(n, self._cell_shares, size=ROUGH if is_rough else DRAWS)
        noise = noisy.sd * rng.standard_normal(records.shape)
        half_widths, without_noise = (
            mid_quantiles(np.array([self._intervals(NoisyHistogram(row, sd, n), targets)[1] for row in rows]), [0.5])[0]
            for rows, sd in ((records + noise, noisy.sd), (records, 0.0))
        )
        cuts = [self.ends[0], *(value for value, _ in self.shares), self.ends[1]]
        expected = np.interp(_levels(targets), [0.0, *(share for _, share in self.shares), 1.0], cuts)
        return Precision(expected, half_widths, without_noise)

    def reported_precision(self, estimate: object, targets: Sequence[str]) -> Precision:
        """Return the middles and half-widths of the intervals of a released histogram."""
        middles, widths = self._intervals(cast(NoisyHistogram, estimate), targets)
        return Precision(middles, widths, np.full(len(widths), np.nan))

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions as clauses."""
        return ("records that are drawn independently", "values spread evenly between the stated shares")

    @property
    def release(self) -> str:
        """Sentence on what leaves the organisations."""
        return "One noisy histogram leaves each of them, and no record does"

    @property
    def measured_in(self) -> str:
        """Unit of the values."""
        return self.unit

    @property
    def _edges(self) -> np.ndarray:
        return np.linspace(*self.ends, self.cells + 1)

    @property
    def _cell_shares(self) -> np.ndarray:
        """Expected shares (J,) of the cells."""
        cuts = [self.ends[0], *(value for value, _ in self.shares), self.ends[1]]
        return np.diff(np.interp(self._edges, cuts, [0.0, *(share for _, share in self.shares), 1.0]))

    def _intervals(self, noisy: NoisyHistogram, targets: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Middles and half-widths (t,) of the intervals."""
        quantiles = [
            histogram_quantile(noisy.counts, self._edges, level, n=noisy.n, sd=noisy.sd) for level in _levels(targets)
        ]
        ends = np.array([(quantile.lower, quantile.upper) for quantile in quantiles])
        return ends.mean(axis=1), np.diff(ends)[:, 0] / 2


def _levels(targets: Sequence[str]) -> list[float]:
    """Shares of records up to the quantiles."""
    return [0.5 if name == MEDIAN else float(name.rpartition(" ")[2]) for name in targets]


@dataclass(frozen=True, eq=False)
class NoisyHistogram:
    """Counts (J,) of n records of all parties, each with noise of one deviation."""

    counts: np.ndarray
    sd: float
    n: int
    epsilon_claimed: float = float("nan")


def local_histogram(client: Party, size: Public, mu: float, rng: Rng) -> Release:
    """Counts of a client's records by cell, with noise."""
    numbers = np.bincount(client.block["cells"], minlength=size.value)
    cells = whole(numbers, 2, 1.0, BOUND, stratum=cell_of("clients", client.name), parents=parents_of(size)).finer(BITS)
    return IntegerGaussian(mu=mu)(
        cells, rng("histogram", client.name), owner=client.name, release_id=f"histogram of {client.name}"
    )


def server_histogram(released: Sequence[np.ndarray], mu: float, n: int, epsilon: float) -> NoisyHistogram:
    """Sums of the counts; a replaced record moves two of a client by one each."""
    return NoisyHistogram(np.sum(released, axis=0), float(np.sqrt(2 * len(released))) / mu, n, epsilon)


def fit(run: Run) -> NoisyHistogram:
    """One histogram per client, and their sum."""
    mu = float(gdp_mu(run.epsilon, run.spec.study.delta))
    released = run.gather(run.parties, SERVER, "histogram", local_histogram, run.spec.public, mu, run.rng_for)
    return run.at(SERVER, server_histogram, released, mu, len(run.fold.of), run.epsilon)


PROTOCOL = Protocol(
    HistogramOptions, fit=Lazy(f"{__name__}:fit"), extra=(SERVER,), precision=Lazy(f"{__name__}:ValueModel")
)
