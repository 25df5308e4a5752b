"""Coverage of intervals of vertical GLM from noisy sums, through the protocols, where radii clip many records."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit

import partywise as pw
from partywise.core.randomness import stream
from partywise.models.intervals import Intervals
from partywise.models.kinds import Kind
from partywise.models.simulation.columns import column_of

pytestmark = pytest.mark.statistical


@dataclass(frozen=True)
class Cell:
    """Generated records of one truth, and the fits of them through the protocol.

    sizes : columns of each party; dependence : r of correlations r^|i - j| of the latent normal numbers
    kind : of the first column, others are normal; radius : c of radii c sqrt(p_k); bound : of scores, None by default
    half_width : median over coefficients of their median half-widths, by the specification; None where it has none
    """

    draws: int
    family: str
    n: int
    epsilon: float
    half_width: float | None = None
    protocol: str = "moments"
    sizes: tuple[int, ...] = (1, 1)
    slopes: tuple[float, ...] = (0.5, -0.3)
    dependence: float = 0.0
    kind: object = "normal"
    radius: float = 1.4
    bound: float | None = None

    @property
    def truth(self) -> np.ndarray:
        """(1 + p,) coefficients."""
        return np.array([0.3, *self.slopes])

    def records(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Columns (n, p) and responses (n,)."""
        rng, p = stream(seed, "coverage"), sum(self.sizes)
        root = np.linalg.cholesky(self.dependence ** np.abs(np.subtract.outer(np.arange(p), np.arange(p))))
        X = rng.standard_normal((self.n, p)) @ root.T
        if self.kind != "normal":
            X[:, 0] = column_of(Kind.of_text("x0", self.kind, "by meaning"), X[:, 0])
        eta = self.truth[0] + X @ self.truth[1:]
        draw = {
            "gaussian": lambda: eta + rng.standard_normal(self.n),
            "binomial": lambda: (rng.random(self.n) < expit(eta)).astype(float),
            "poisson": lambda: rng.poisson(np.exp(eta)).astype(float),
            "gamma": lambda: rng.gamma(2.0, np.exp(eta) / 2),
        }
        return X, draw[self.family]()

    def fit(self, seed: int) -> Intervals:
        """Intervals of one fit."""
        X, y = self.records(seed)
        settings = {"statistic": RANGES[self.family], "location": 0.0, "scale": 1.0, "clipped": "allow"}
        if self.protocol == "moments":
            settings["cipher"] = "sized"
        else:
            settings |= {"eta_start": 0.0, "bound": self.bound}
        settings["kinds"] = {f"x{j}": self.kind if j == 0 else "normal" for j in range(X.shape[1])}
        radii = [self.radius * size**0.5 for size in self.sizes]
        model = pw.VerticalGLM(self.family, self.protocol, epsilon=self.epsilon, radii=radii, **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(
                X, y, parties=np.split(np.arange(X.shape[1]), np.cumsum(self.sizes)[:-1]), rng=seed
            ).intervals_

    def coverage(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Share of draws (1 + p,) whose intervals hold each coefficient, median half-widths, Q over its degrees."""
        fits = [intervals for seed in range(self.draws) if (intervals := self.fit(seed)).centre is not None]
        # The few fits that are not identified have none.
        assert len(fits) >= 0.95 * self.draws
        bounds = np.array([intervals.bounds() for intervals in fits])
        held = np.mean((bounds[:, :, 0] <= self.truth) & (self.truth <= bounds[:, :, 1]), axis=0)
        widths = np.median(bounds[:, :, 1] - bounds[:, :, 0], axis=0) / 2
        excess = np.array([intervals.diagnostics["distance"] / intervals.diagnostics["degrees"] for intervals in fits])
        print(
            f"{self}: {len(fits)} intervals, coverage {held.mean():.3f} {held.round(3)}, half-widths "
            f"{widths.round(4)}, median {np.median(widths):.4f}, Q over its degrees {excess.mean():.3f} +- "
            f"{excess.std() / len(fits) ** 0.5:.3f}"
        )
        return held, widths, excess


RANGES = {"gaussian": (-6.0, 6.0), "binomial": (0.0, 1.0), "poisson": (0.0, 10.0), "gamma": (-4.0, 4.0)}


@pytest.mark.parametrize(
    ("cell", "least"),
    [
        # 0.934 of 1,378 other fits, made before counts were released: sums of 500 records are not quite normal.
        (Cell(1_000, "gaussian", 500, 8.0), 0.934),
        (Cell(200, "gaussian", 2_000, 2.0), 0.95),
        (Cell(200, "gaussian", 20_000, 8.0, 0.015), 0.95),
        (Cell(100, "binomial", 2_000, 2.0), 0.95),
        (Cell(100, "gaussian", 20_000, 4.0, kind=("lognormal", 0.0)), 0.95),
        (Cell(100, "gaussian", 20_000, 4.0, kind=("uniform", -2.0, 2.0)), 0.95),
        (Cell(100, "gaussian", 20_000, 4.0, kind=("binary", 0.0, 1.0)), 0.95),
    ],
)
def test_intervals_hold_the_coefficients_of_records_before_the_clip(cell, least):
    """A radius of 1.4 clips 16 % of either block; slopes among clipped records are 0 % of these intervals at 20,000.

    Coverage is that of the least coefficient, within three standard errors.
    """
    held, widths, _ = cell.coverage()
    assert held.min() >= least - 3 * np.sqrt(least * (1 - least) / cell.draws)
    assert cell.half_width is None or widths == pytest.approx(cell.half_width, rel=0.25)


FIVE = {"sizes": (2, 2, 1), "slopes": (0.5, -0.3, 0.2, 0.4, -0.1)}
NEWTON = {"protocol": "noisy_newton", "sizes": (2, 2), "dependence": 0.5}
ROWS = [
    Cell(200, "gaussian", 3_000, 2.0, 0.100, sizes=(1, 1, 1), slopes=(0.5, -0.3, 0.2), dependence=0.2),
    Cell(200, "gaussian", 2_000, 2.0, 0.226, dependence=0.5, radius=0.8, **FIVE),
    Cell(100, "gamma", 2_000, 2.0, 0.148, dependence=0.3, **FIVE),
    Cell(100, "poisson", 2_000, 2.0, 0.105, dependence=0.5),
    Cell(80, "binomial", 20_000, 1.0, 0.039, dependence=0.5),
    Cell(200, "binomial", 2_000, 2.0, 0.128, slopes=(0.5, -0.3, 0.2, 0.4), **NEWTON),
    Cell(140, "poisson", 2_000, 4.0, 0.049, slopes=(0.5, -0.3, 0.2, 0.1), radius=1.0, **NEWTON),
]


@pytest.mark.parametrize("cell", ROWS, ids=lambda cell: f"{cell.protocol}-{cell.family}-{cell.n}-{len(cell.slopes)}")
def test_coverage_and_half_widths_are_those_of_the_specification(cell):
    """Mean coverage in [0.92, 0.98], each coefficient in [0.89, 0.995] or three standard errors of fewer draws.

    Its slopes and ranges of responses are open; those here give half-widths within 10 % of its table. Of noisy Newton,
    whose scores are stacked at the coefficients that earlier ones gave, Q has its degrees of freedom within 10 %.
    """
    held, widths, excess = cell.coverage()
    assert 0.92 <= held.mean() <= 0.98
    reach = 3 * np.sqrt(0.95 * 0.05 / cell.draws)
    assert min(0.89, 0.95 - reach) <= held.min() and held.max() <= max(0.995, 0.95 + reach)
    assert np.median(widths) == pytest.approx(cell.half_width, rel=0.1)
    assert cell.protocol != "noisy_newton" or excess.mean() == pytest.approx(1, abs=0.1)


BLOCKS = {"protocol": "noisy_newton", "sizes": (1, 2), "slopes": (0.5, -0.3, 0.2), "radius": 2.4}
FEW = [Cell(200, "gaussian", 4_000, 8.0, bound=5.0, **BLOCKS), Cell(100, "gamma", 4_000, 8.0, bound=2.0, **BLOCKS)]


@pytest.mark.parametrize("cell", FEW, ids=lambda cell: cell.family)
def test_a_dispersion_that_few_clipped_scores_show_gives_intervals_that_hold(cell):
    """Its logarithm has a deviation of 0.18 (Gaussian) and 0.07 (Gamma); more than 0.35 is refused.

    Coverage is that of the least coefficient, within three standard errors.
    """
    assert cell.coverage()[0].min() >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / cell.draws)


SHAPES = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "lognormal": lambda rng, n: (np.exp(rng.standard_normal(n) / 2) - np.exp(1 / 8)) / 0.604,
    "uniform": lambda rng, n: rng.uniform(-(3**0.5), 3**0.5, n),
    "t": lambda rng, n: rng.standard_t(5, n) / (5 / 3) ** 0.5,
    "binary": lambda rng, n: rng.choice([-1.0, 1.0], n),
}


@pytest.mark.parametrize("shape", [*SHAPES, "outliers"])
def test_columns_of_another_shape_than_declared_have_no_intervals(shape):
    """One of two columns that are declared normal is another, or 2 % of records are four times as long without signal.

    At n = 20,000, epsilon 4 and a radius of 1.4; every shape has mean 0 and variance 1.
    """
    n, fits, refused = 20_000, 30, 0
    for seed in range(fits):
        rng = stream(seed, "shapes", shape)
        X = rng.standard_normal((n, 2))
        X[:, 0] = SHAPES.get(shape, SHAPES["normal"])(rng, n)
        y = 0.3 + X @ [0.5, -0.3] + rng.standard_normal(n)
        if shape == "outliers":
            outlying = rng.random(n) < 0.02
            X[outlying], y[outlying] = 4 * X[outlying], 0.3 + 4 * rng.standard_normal(np.count_nonzero(outlying))
        settings = {"location": 0.0, "scale": 1.0, "statistic": (-6.0, 6.0), "cipher": "sized", "clipped": "allow"}
        kinds = {"x0": "normal", "x1": "normal"}
        model = pw.VerticalGLM("gaussian", "moments", kinds=kinds, epsilon=4.0, radii=(1.4, 1.4), **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refused += model.fit(X, y, rng=seed).intervals_.bounds() is None
    print(f"{shape}: {refused} of {fits} fits without intervals")
    assert refused >= 29 if shape != "normal" else refused <= 2
