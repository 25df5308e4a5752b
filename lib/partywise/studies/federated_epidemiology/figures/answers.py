"""Numbers of one release next to those of the pooled records: measures of association, and Table 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ....experiment.plotting.select import plan_behind, title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of
from ....experiment.plotting.style import BLACK, MARKERS, Marks, empty, heading, legend_below, look, panels
from ....experiment.tables.templates import TypesetTable
from ....methods.epidemiology.consistency import ReleasedTables, consistent_tables
from ....methods.epidemiology.contributions import contributions
from ....methods.epidemiology.estimates.inference import Answer, Inference
from ....methods.epidemiology.estimates.report import association_blocks
from ....methods.epidemiology.model import EpidemiologyEstimate
from ....methods.epidemiology.options import ProductsOptions, TablesOptions
from ....methods.epidemiology.questions import Questions
from ....methods.epidemiology.render import table_one as render_table_one
from ....plot.interval_rows import draw_rows, is_ratio, rows_of_numbers

POOLED = "pooled records, no privacy"
# Protocols that are certified.
CERTIFIED = (TablesOptions, ProductsOptions)
# Target of a figure of one release; cases of a figure; targets of a panel.
WANTED, MOST, TARGETS = 2.0, 2, 4
# Inches of a row of numbers, and of all else of a panel.
ROW, REST = 0.27, 0.75


@dataclass(frozen=True, eq=False)
class ShownCase:
    """Releases of the example fits of a case: of its first certified method, and of the pooled records."""

    cube: xr.Dataset
    name: str
    method: str

    @cached_property
    def fits(self) -> xr.Dataset:
        """Example fits of the case."""
        return example_fits_of(self.cube, self.name)

    @property
    def questions(self) -> Questions:
        """Question set of the case."""
        questions: Questions = plan_behind(self.cube).cases[self.name].settings.question_set
        return questions

    @property
    def title(self) -> str:
        """Title of the case on one line."""
        return " ".join(title(self.cube, "case", self.name).split())

    @property
    def targets(self) -> list[float]:
        """Targets of epsilon of the method, from the least."""
        of_method = self.fits["example_method"].values == self.method
        return sorted(np.unique(self.fits["example_epsilon"].values[of_method]).tolist())

    @property
    def target(self) -> float:
        """The target nearest to the one that figures of one release show."""
        return min(self.targets, key=lambda epsilon: abs(np.log(epsilon / WANTED)))

    def release(self, epsilon: float) -> ReleasedTables:
        """Tables of the release at a target."""
        return self.estimate(epsilon).tables(self.questions)

    def estimate(self, epsilon: float) -> EpidemiologyEstimate:
        """Estimate of the release at a target."""
        sizes, sums, deviations, law = (
            self._array(name, epsilon) for name in ("client_records", "released_sums", "noise_sd_of_items", "noise_law")
        )
        options = plan_behind(self.cube).methods[self.method].options
        clients = plan_behind(self.cube).cases[self.name].settings.natural_clients
        names = clients or tuple(f"client {number + 1}" for number in range(len(sizes)))
        return EpidemiologyEstimate(
            names=names,
            sizes=tuple(map(int, sizes)),
            sums=sums,
            noise_sd=float(deviations[0]) if len(deviations) == 1 else tuple(deviations.tolist()),
            excess=float(law[0]),
            radius=float(law[1]),
            # Items of a box weigh alike.
            weights=getattr(options, "weights", "equal" if law[1] else "auto"),
            distribution="laplace" if law[2] else "gaussian",
        )

    def pooled(self) -> ReleasedTables | None:
        """Exact tables of all records; None where no party has them."""
        if "pooled_sums" not in self.fits:
            return None
        target = self.targets[0]
        sums, records = self._array("pooled_sums", target), int(self._array("client_records", target).sum())
        terms = contributions(self.questions.layout(("all",)))
        return consistent_tables(terms, sums, 0.0, records, [records]) if len(sums) else None

    def _array(self, name: str, epsilon: float) -> np.ndarray:
        """An array of the example fit without the places that only other cases have."""
        values = example_fit(self.fits, name, self.method, epsilon)
        return np.asarray(values[np.isfinite(values)])


def shown_cases(
    cube: xr.Dataset, has: Callable[[ReleasedTables], object], protocols: tuple[type, ...] = CERTIFIED
) -> list[ShownCase]:
    """Cases with a method of some protocols whose release has what a figure shows, each with the first such method."""
    chosen = list[ShownCase]()
    for name in cases_of(cube, "released_sums"):
        fits, methods = example_fits_of(cube, name), plan_behind(cube).methods
        for method in methods_of(cube, name):
            targets = fits["example_epsilon"].values[fits["example_method"].values == method]
            if isinstance(methods[method].options, protocols) and len(targets) and np.isfinite(targets).all():
                case = ShownCase(cube, name, method)
                if has(case.release(case.targets[-1])):
                    chosen.append(case)
                break
    return chosen


def _sources(case: ShownCase, of: Callable[[ReleasedTables], list[Answer]]) -> dict[str, list[Answer]]:
    """Numbers of the pooled records and of the releases at every target, by the words of a legend."""
    pooled, releases = case.pooled(), {f"ε = {e:g}": of(case.release(e)) for e in case.targets[-TARGETS:]}
    return ({} if pooled is None else {POOLED: of(pooled)}) | releases


def _marks(case: ShownCase, sources: Mapping[str, object]) -> dict[str, Marks]:
    """Black for the pooled records, and the colour of the method with a marker for each target."""
    color, markers = look(case.cube, case.method).color, iter(MARKERS)
    return {
        name: {"color": BLACK, "marker": "o"} if name == POOLED else {"color": color, "marker": next(markers)}
        for name in sources
    }


def _associations(released: ReleasedTables) -> list[Answer]:
    return next(iter(association_blocks(released, Inference()).values()), [])


def forest(cube: xr.Dataset) -> Figure:
    """Measures of association with 95 % intervals, first replicate: pooled, and released at every target.

    A row of panels for each of the first two cases with other tables of two binary variables, the first of each:
    shares and differences, and ratios on a logarithmic axis. Intervals are for a population, and those of releases
    count the noise of privacy. From the top of each row of numbers, black: the pooled records, which no party sees;
    then the certified method from the least to the largest ε. A row without a mark is a number that the release does
    not determine; an arrow is an interval that goes on beyond the axis. Grey line: no effect.
    """
    by_names = dict[tuple[str, ...], ShownCase]()
    for case in shown_cases(cube, _associations):
        by_names.setdefault(tuple(answer.name for answer in _associations(case.release(case.target))), case)
    cases = list(by_names.values())[:MOST]
    if not cases:
        return empty("No case with a certified table of two binary variables in this configuration.")
    tables = [_sources(case, _associations) for case in cases]
    counts = [
        max(sum(is_ratio(a.name) == kind for a in table[name]) for kind in (False, True) for name in table)
        for table in tables
    ]
    heights = [REST + ROW * count for count in counts]
    figure, axes = panels(len(cases), 2, 3.5, sum(heights) / len(cases), heights=heights)
    for place, (case, table) in enumerate(zip(cases, tables, strict=True)):
        for ax, ratios in zip(axes[2 * place : 2 * place + 2], (False, True), strict=True):
            rows = {name: rows_of_numbers(answers) for name, answers in table.items()}
            rows = {
                name: source.only(n for n in source.names if is_ratio(n) == ratios) for name, source in rows.items()
            }
            draw_rows(ax, rows, _marks(case, table), ratios=ratios)
            ax.set_xlabel("ratio" if ratios else "share or difference of shares")
        axes[2 * place].set_title(case.title, loc="left")
    legend_below(figure, axes, 5)
    heading(figure, "How close are released measures of association to those of the pooled records?")
    return figure


def table_one(cube: xr.Dataset) -> TypesetTable:
    """Table 1 of the first case that has one, from its first replicate."""
    question = "Who was in the study? Table 1 from a noisy release"
    cases = shown_cases(cube, lambda released: released.layout.table_one or released.layout.moments)
    if not cases:
        return TypesetTable(question, (), ("No case with a certified Table 1 in this configuration.",))
    case, inference = cases[0], Inference()
    table = render_table_one(case.release(case.target), inference, ())
    by = case.questions.by
    heads = [f"{by} = {group}" if by else group for group in table.groups]
    rows, variable = list[dict[str, object]](), ""
    for name, *texts in table.rows:
        # Rows that are sorted by another column keep their variable.
        variable = name or variable
        rows.append(dict(zip(("variable", "level", *heads, "p"), (variable, *texts), strict=True)))
    notes = (
        f"{case.title}, first replicate, {title(cube, 'method', case.method)} at ε = {case.target:g}: shown counts are "
        "whole, not negative and add up; percentages and 95 % intervals for a population are of the estimates, and "
        "count the noise of privacy.",
        "Small counts are shown: the guarantee is the same for each, and its interval counts the noise.",
    )
    return TypesetTable(question, rows, notes)
