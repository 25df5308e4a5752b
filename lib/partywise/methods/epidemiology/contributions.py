"""Whole numbers that a record adds to a release, and how far one record can move their sum.

A record adds the weight of a table to one of its cells, and to the moments of a column z in [-1, 1] the pair
w (z / sqrt(2), z^2 - 1/2) of its group.  Weights are rounded to 2^-12 and z to 2^-11; every entry of a record is
rounded by itself, and only integers are added.  Replacing a record moves a table by 2 w^2 in square, and moments by at
most 2 w^2 as well: with d = |z - z'| at most d^2 (1/2 + (2 - d)^2) w^2, which rises in d, and 3/2 w^2 between groups.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from ...core.checks import check_numbers
from ...federation.exchanges.noisy_sums import GeometricNoise
from .layout import PARTY, Columns, Layout, Moments, Table, Variable
from .options import TablesOptions, WeightRule

WEIGHT_BITS = 12
# Steps of a numeric column to half of its range.
VALUE_STEPS = 2**11
MOMENTS_WEIGHT = 1.2
# Cells of a table of weight 1.
USUAL_CELLS = 8
Distribution = Literal["gaussian", "laplace"]


@dataclass(frozen=True)
class Contributions:
    """Whole contributions of a record to every item of a layout.

    weights : of each item, in steps; step : what a step is of a weight of 1
    """

    layout: Layout
    weights: tuple[int, ...]
    step: Fraction

    def sums(self, columns: Columns, party: int = 0) -> np.ndarray:
        """Sums (d,) of the contributions of all records of one party, int64.

        columns : by name (n,), those of `Layout.columns`; party : the number of this party, the level of `PARTY`
        """
        inside = subset_mask(self.layout, columns)
        codes = {
            name: np.broadcast_to(party, len(inside)) if name == PARTY else variable.codes(columns)
            for name, variable in self.layout.variables.items()
        }
        parts = [
            _table_sums(item, codes, inside) * weight
            if isinstance(item, Table)
            else _moment_sums(item, weight, columns, inside)
            for item, weight in zip(self.layout.items, self.weights, strict=True)
        ]
        return np.concatenate(parts)

    @cached_property
    def squares(self) -> Fraction:
        """D2: the largest squared move of all sums, in steps, when one record is replaced."""
        return Fraction(sum(map(largest_square, self.layout.items, self.weights)))

    def deviation(self, mu: float, noise_factor: float) -> float:
        """Deviation of Gaussian noise of an entry, in steps; ``noise_factor`` is its variance over one release's."""
        return math.sqrt(float(self.squares) * noise_factor) / mu

    @property
    def shift(self) -> int:
        """Largest absolute move of all sums, in steps, when one record is replaced; of tables alone."""
        if self.layout.moments:
            raise ValueError(
                f"distribution is 'laplace' and moments of {self.layout.moments[0].column!r} are released: its noise "
                "is for tables alone; take 'gaussian', or leave out means and person-time."
            )
        return self.absolute_move

    @cached_property
    def absolute_move(self) -> int:
        """Largest absolute move of all sums, in steps, when one record is replaced."""
        return sum(map(_largest_move, self.layout.items, self.weights))


def contributions(layout: Layout, rule: WeightRule = "auto", distribution: Distribution = "gaussian") -> Contributions:
    """Contributions by a rule of weights.

    rule : ``auto`` weighs a table by (cells / 8)^(1/4), which is the least sum of variances over all cells ((1/3) under
        ``laplace``), and moments by 1.2; ``equal`` weighs all alike; or a mapping from names of items to weights
    """
    if distribution == "laplace" and len(layout.items) == 1:
        return Contributions(layout, (1,), Fraction(1))
    power = 1 / 3 if distribution == "laplace" else 1 / 4
    names = [item.name for item in layout.items]
    rows = rule if isinstance(rule, dict) else {}
    check_numbers(**{f"weights.{name}": weight for name, weight in rows.items()})
    for name, weight in rows.items():
        if name not in names:
            raise ValueError(f"weights.{name} is {weight!r}: no item has this name; take one of {', '.join(names)}.")
        if not 2**-8 <= weight <= 2**8:
            raise ValueError(f"weights.{name} is {weight!r}: it must lie in [1/256, 256].")
    usual = [
        (item.entries / USUAL_CELLS) ** power if isinstance(item, Table) else MOMENTS_WEIGHT for item in layout.items
    ]
    chosen = [1.0 if rule == "equal" else rows.get(name, w) for name, w in zip(names, usual, strict=True)]
    return Contributions(layout, tuple(round(w * 2**WEIGHT_BITS) for w in chosen), Fraction(1, 2**WEIGHT_BITS))


@dataclass(frozen=True)
class TableNoise:
    """Contributions, the noise on their sums, and its law: public.

    noise : mu of Gaussian noise, or geometric noise; sd : its standard deviation in steps; excess : its kurtosis
    """

    terms: Contributions
    distribution: Distribution
    noise: float | GeometricNoise
    sd: float
    excess: float

    @property
    def mean_log_sd(self) -> float:
        """Mean over all entries of the logarithm of the noise of a count."""
        rows = [
            (table.entries, weight) for table, weight in zip(self.terms.layout.tables, self.terms.weights, strict=False)
        ]
        return math.log(self.sd) - sum(cells * math.log(w) for cells, w in rows) / sum(cells for cells, _ in rows)


def table_noise(options: TablesOptions, layout: Layout, epsilon: float, mu: float, noise_factor: float) -> TableNoise:
    """Return the noise that the options ask for; ``auto`` is the narrower one of those that the release can have.

    epsilon : of geometric noise for one record; mu : of Gaussian noise; noise_factor : as of `Contributions.deviation`
    """
    terms = contributions(layout, options.weights)
    sd = terms.deviation(mu, noise_factor)
    gaussian = TableNoise(terms, "gaussian", mu, sd, 0.0)
    may_be_geometric = options.noise != "shared" and not layout.moments
    if options.distribution == "gaussian" or (options.distribution == "auto" and (not may_be_geometric or not sd)):
        return gaussian
    terms = contributions(layout, options.weights, "laplace")
    noise = GeometricNoise(epsilon, terms.shift)
    sd, excess = noise.standard_deviation * math.sqrt(noise_factor), noise.excess_kurtosis / noise_factor
    geometric = TableNoise(terms, "laplace", noise, sd, excess)
    if options.distribution == "laplace" or geometric.mean_log_sd < gaussian.mean_log_sd:
        return geometric
    return gaussian


def undeclared_values(layout: Layout, columns: Columns) -> dict[str, int]:
    """Number of records by variable of these columns whose value is not a level: for the screen of their owner only.

    Empty values count where the variable is declared complete, and such a record is in no cell; others are missing.
    """
    numbers = {}
    for variable in layout.read_variables:
        if not set(variable.columns) <= set(columns):
            continue
        outside = variable.declared_codes(columns) < 0
        if variable.missing:
            column = np.asarray(columns[variable.columns[0]])
            outside &= [value is not None and value == value and value != "" for value in column.tolist()]
        numbers[variable.name] = int(np.count_nonzero(outside))
    return {name: number for name, number in numbers.items() if number}


def value_grid(weight: int, squares: bool) -> np.ndarray:
    """Contributions (4097, 1 or 2) of all values of a column on its grid, in steps, from the lowest on."""
    z = np.arange(-VALUE_STEPS, VALUE_STEPS + 1) / VALUE_STEPS
    columns = [z / math.sqrt(2), z**2 - 0.5][: 1 + squares]
    return np.rint(weight * np.column_stack(columns)).astype(np.int64)


def subset_mask(layout: Layout, columns: Columns) -> np.ndarray:
    """Mask (n,) of the records that are in the subset of the layout, by those of its variables that are in columns."""
    size = len(np.asarray(next(columns[name] for name in layout.columns if name in columns)))
    inside = np.ones(size, dtype=bool)
    for variable, codes in layout.subset:
        if variable.columns[0] in columns:
            inside &= np.isin(variable.codes(columns), codes)
    return inside


def cells_of(
    variables: Sequence[Variable], codes: Mapping[str, np.ndarray], inside: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Number (n,) of each record's cell in a table of the variables, and mask (n,) of the records that are in one.

    inside : mask (n,) of the records that count; one without a level of a complete variable is in no cell
    """
    cells, counted = np.zeros(len(inside), dtype=np.int16), inside
    for variable in variables:
        numbers = codes[variable.name]
        if numbers.min(initial=0) < 0:
            counted = counted & (numbers >= 0)
        cells = cells * np.int16(len(variable.levels)) + numbers
    return cells, counted


def grid_places(moments: Moments, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Place (n,) of each record's value in `value_grid`, and mask (n,) of the records that have a value."""
    column = np.asarray(columns[moments.column], dtype=float)
    known = ~np.isnan(column)
    z = np.clip((np.where(known, column, moments.low) - moments.centre) / moments.half, -1, 1)
    places = np.rint(z * VALUE_STEPS).astype(np.int64) + VALUE_STEPS
    return places, known if moments.may_be_missing else np.ones_like(known)


def _table_sums(table: Table, codes: Mapping[str, np.ndarray], inside: np.ndarray) -> np.ndarray:
    """Counts (cells,) of records."""
    cells, counted = cells_of(table.variables, codes, inside)
    return np.bincount(cells if counted.all() else cells[counted], minlength=table.entries).astype(np.int64)


def _moment_sums(moments: Moments, weight: int, columns: Columns, inside: np.ndarray) -> np.ndarray:
    """Sums of contributions by group, then of those of squares."""
    places, known = grid_places(moments, columns)
    groups = np.zeros(len(places), dtype=np.int64) if moments.group is None else moments.group.codes(columns)
    counted = inside & known & (groups >= 0)
    # Numbers of grid values by group: products with the grid are exact in integers.
    width = 2 * VALUE_STEPS + 1
    numbers = np.bincount(groups[counted] * width + places[counted], minlength=moments.groups * width)
    return (numbers.reshape(-1, width).astype(np.int64) @ value_grid(weight, moments.squares)).T.ravel()


def largest_square(item: Table | Moments, weight: int) -> int:
    """Largest squared move of one item, in steps."""
    if isinstance(item, Table):
        return 2 * weight * weight
    same, longest = _farthest_values(weight, item.squares)
    return max(same, 2 * longest) if item.groups > 1 else same


def _largest_move(item: Table | Moments, weight: int) -> int:
    """Largest absolute move of one item, in steps: of moments over all pairs of values and groups."""
    if isinstance(item, Table):
        return 2 * weight
    grid = value_grid(weight, item.squares)
    if item.groups > 1:
        return 2 * int(np.abs(grid).sum(axis=1).max())
    return max(int(np.abs(grid - value).sum(axis=1).max()) for value in grid)


@lru_cache(maxsize=64)
def _farthest_values(weight: int, squares: bool) -> tuple[int, int]:
    """Largest squared distance of the contributions of two values, and largest squared length of one: exact integers.

    Both are over all values of the grid and the missing value, which adds nothing. Contributions of z and -z differ in
    the sign of the first entry alone, so that of two absolute values opposite signs are farthest apart.
    """
    half = value_grid(weight, squares)[VALUE_STEPS:]
    first = half[:, 0]
    second = half[:, 1] if squares else np.zeros_like(first)
    longest = int((first**2 + second**2).max())
    pairs = ((first[i] + first[: i + 1]) ** 2 + (second[i] - second[: i + 1]) ** 2 for i in range(len(half)))
    return max(longest, *(int(squared.max()) for squared in pairs)), longest
