"""Series that figures draw from a cube: mean over replicates of per-replicate means, its standard error, and words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ...core.errors import CubeError
from ..plan import replicates_text
from ..results.attributes import meanings
from .select import place_of
from .style import Look, Marks

# Quantiles between which a bar reaches, and the replicates from which on they are more than the extremes.
MIDDLE, MANY = (0.05, 0.95), 20
# Replicates from which on a band or a bar of a standard error is drawn; of fewer each is a dot.
FEWEST = 5


@dataclass(frozen=True)
class Series:
    """x, mean and standard error (nan with one replicate), arrays of one length; ends of bars (2, x), by default it.

    missing_share : share of the replicates without a value there, which the mean leaves out; None for other values
    dots : (replicate, x), replicates where they are too few for a standard error, else None
    """

    x: np.ndarray
    mean: np.ndarray
    se: np.ndarray
    ends: np.ndarray | None = None
    missing_share: np.ndarray | None = None
    dots: np.ndarray | None = None

    def __bool__(self) -> bool:
        return len(self.x) > 0

    def where(self, mask: np.ndarray) -> Series:
        """Some of its places."""
        ends, missing_share, dots = (
            None if values is None else values[..., mask] for values in (self.ends, self.missing_share, self.dots)
        )
        return Series(self.x[mask], self.mean[mask], self.se[mask], ends, missing_share, dots)

    @property
    def band(self) -> np.ndarray:
        """Standard errors that are drawn: none of fewer than `FEWEST` replicates, which are dots."""
        return self.se if self.dots is None else np.full(len(self.x), np.nan)

    def draw_dots(self, ax: Axes, color: str, shift: float = 1.0) -> None:
        """Draw the replicates where they are too few for a band."""
        if self.dots is not None:
            places = np.broadcast_to(self.x * shift, self.dots.shape)
            ax.plot(places.ravel(), self.dots.ravel(), linestyle="none", marker=".", markersize=2.5, color=color)


def methods_of(cube: xr.Dataset, case: str) -> list[str]:
    """Methods with a computed cell in a case, in the order of the cube."""
    done = _any_done(cube.variables["status"].isel(case=place_of(cube, "case", case)), "method_label")
    return [str(m) for m in cube.variables["method_label"].values[done]]


def methods_with(cube: xr.Dataset, case: str, variable: str) -> list[str]:
    """Methods of a case with a number of a measure, or of an array of the example fits."""
    if "example_fit" in cube[variable].dims:
        fits = example_fits_of(cube, case)
        values = fits[variable].values
        known = set(fits["example_method"].values[np.isfinite(values.reshape(len(values), -1)).any(axis=1)])
    else:
        there = cube[variable].sel(case=case).notnull()
        known = set(there["method_label"].values[there.any([d for d in there.dims if d != "method_label"]).values])
    return [method for method in methods_of(cube, case) if method in known]


def _any_done(status: xr.Variable, *along: str) -> np.ndarray:
    """Whether there is a computed cell at each place along some dimensions."""
    others = tuple(axis for axis, dim in enumerate(status.dims) if dim not in along)
    return np.asarray((status.values > 0).any(axis=others))


def cases_of(cube: xr.Dataset, variable: str) -> list[str]:
    """Cases in which a variable is defined somewhere."""
    if variable not in cube:
        return []
    if "example_fit" in cube[variable].dims:
        return list(dict.fromkeys(map(str, cube["example_case"].values)))
    defined = cube[variable].notnull().any([d for d in cube[variable].dims if d != "case"])
    return [str(c) for c in cube["case"].values[defined.values]]


def replicate_means(cube: xr.Dataset, variable: str, case: str, method: str, along: str) -> xr.DataArray:
    """(replicate, along): means over folds and all else that is defined; folds of a replicate are dependent."""
    means = _replicate_means(cube, variable, case, method, along)
    return xr.DataArray(means, {dim: cube[dim].values for dim in ("replicate", along)}, ("replicate", along))


def _replicate_means(cube: xr.Dataset, variable: str, case: str, method: str, along: str) -> np.ndarray:
    """Array (replicate, along) of `replicate_means`; labels take most of the time if a figure has hundreds of lines."""
    place = {dim: place_of(cube, dim, label) for dim, label in (("case", case), ("method_label", method))}
    cells = cube.variables[variable].isel(place)
    rest = [dim for dim in cells.dims if dim not in ("replicate", along)]
    return _mean(cells.transpose("replicate", along, *rest).values, tuple(range(2, cells.ndim)))


def _mean(values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Mean of the finite values, nan where there is none."""
    known = np.isfinite(values)
    count = known.sum(axis=axes)
    return np.asarray(np.where(known, values, 0.0).sum(axis=axes) / np.where(count > 0, count, np.nan))


def series(cube: xr.Dataset, variable: str, case: str, method: str, along: str, middle: bool = False) -> Series:
    """Mean and standard error along an axis of the cube, where the variable is defined."""
    place = {dim: place_of(cube, dim, label) for dim, label in (("case", case), ("method_label", method))}
    status = cube.variables["status"].isel(place).transpose("replicate", along, ...)
    runs = _any_done(status, "replicate", along).sum(axis=0)
    return summarise(cube.variables[along].values, _replicate_means(cube, variable, case, method, along), middle, runs)


def summarise(x: np.ndarray, values: np.ndarray, middle: bool = False, runs: np.ndarray | None = None) -> Series:
    """Mean and standard error of values (replicate, place) at the places that have any, of so many replicates there.

    The ends of bars over the ``middle`` are the 5 % and 95 % quantiles, of few replicates the extremes.
    """
    known = np.isfinite(values)
    places = known.any(axis=0)
    values, count = values[:, places], known[:, places].sum(axis=0)
    mean = _mean(values, (0,))
    squares = np.where(np.isfinite(values), (values - mean) ** 2, 0.0).sum(axis=0)
    deviation = np.sqrt(squares / np.where(count > 1, count - 1, np.nan))
    dots = values if not middle and 1 < count.max(initial=0) < FEWEST else None
    ends = None
    if middle:
        columns = [column[np.isfinite(column)] for column in values.T]
        ends = (
            np.array([np.quantile(sample, MIDDLE if len(sample) >= MANY else (0, 1)) for sample in columns])
            .reshape(-1, 2)
            .T
        )
    missing_share = None if runs is None else 1 - count / runs[places]
    return Series(x[places].astype(float), mean, deviation / np.sqrt(count), ends, missing_share, dots)


def draw(ax: Axes, line: Series, style: Look, **options: Unpack[Marks]) -> None:
    """A line with its band, or the dots of few replicates, in the look of a method."""
    settings = style.marks | options
    ax.plot(line.x, line.mean, **settings)
    line.draw_dots(ax, settings["color"])
    if np.isfinite(line.band).any():
        ends = line.mean - line.band, line.mean + line.band
        ax.fill_between(line.x, *ends, color=settings["color"], alpha=0.2, linewidth=0)


def draw_bars(ax: Axes, line: Series, style: Look, shift: float = 1.0, **options: Unpack[Marks]) -> None:
    """A line with a bar of one standard error at each point, moved by a factor so that bars of lines do not overlap."""
    settings = style.marks | options
    ax.plot(line.x * shift, line.mean, **settings)
    line.draw_dots(ax, settings["color"], shift)
    low, high = (line.mean - line.band, line.mean + line.band) if line.ends is None else line.ends
    if np.isfinite(low).any():
        ax.vlines(line.x * shift, low, high, color=settings["color"], linewidth=1.0)


def replicates_of(cube: xr.Dataset, cases: Iterable[str]) -> str:
    """Number of replicates of some cases in words: "3 replicates", or "2 to 5 replicates" where they differ."""
    done = (cube["status"].sel(case=list(cases)) > 0).any(
        [dim for dim in cube["status"].dims if dim not in ("case", "replicate")]
    )
    return replicates_text(done.sum("replicate").values.tolist())


def example_fits_of(cube: xr.Dataset, case: str) -> xr.Dataset:
    """The example fits of a case: variables over (example_fit, own dims)."""
    names = [name for name in cube.data_vars if "example_fit" in cube.variables[name].dims]
    return cube[names].isel(example_fit=np.flatnonzero(cube["example_case"].values == case))


def example_fit(fits: xr.Dataset, name: str, method: str, epsilon: float = np.inf) -> np.ndarray:
    """One array of the example fit of a method at its fewest parties; CubeError when the cube shows no such fit."""
    mask = (fits["example_method"].values == method) & (fits["example_epsilon"].values == epsilon)
    places = np.flatnonzero(mask)
    if not len(places):
        raise CubeError(f"method {method} at epsilon {epsilon:g} is not among the example fits: add it to the case.")
    fewest = places[np.argmin(fits["example_parties"].values[places])]
    return np.asarray(fits[name].values[fewest])


def fit_word(cube: xr.Dataset, variable: str, case: str, method: str, epsilon: float) -> str:
    """Word of a flag of an example fit, which is that of the first replicate and fold and the fewest parties."""
    fit = cube[[variable, "status"]].sel(case=case, method_label=method, epsilon=epsilon).isel(replicate=0, fold=0)
    return str(meanings(fit[variable])[np.flatnonzero(fit["status"].values > 0)[0]].item()).replace("_", " ")


def replicates(cube: xr.Dataset, cases: Sequence[str]) -> tuple[int, int]:
    """Least and largest number of replicates that were computed of some cases."""
    status = cube["status"].sel(case=list(cases))
    done = (status > 0).any([dim for dim in status.dims if dim not in ("case", "replicate")])
    counts = done.sum("replicate").values
    return int(counts.min()), int(counts.max())


def over_with_bands(cube: xr.Dataset, cases: Sequence[str], spread: str = "bands") -> str:
    """Words such as "mean over 2 to 10 replicates", and what bands or bars are if some case has any.

    One replicate is not a mean; ``middle`` is as in `summarise`.
    """
    least, most = replicates(cube, cases)
    over = "one replicate"
    if most > 1:
        over = f"mean over {most if least == most else f'{least} to {most}'} replicates"
    if spread == "middle":
        reach = "5 % to 95 % of them" if least >= MANY else "from the least to the largest"
        return f"{over}, bars: {reach}"
    if most < FEWEST:
        return over + (", dots: replicates" if most > 1 else "")
    few = f", dots: fewer than {FEWEST} replicates" if least < FEWEST else ""
    return f"{over}, {spread}: ± 1 standard error{few}"
