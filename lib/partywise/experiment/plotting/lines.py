"""Lines of methods over epsilon, parties, a setting that a sweep varies, or the path of one fit, as a declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import fill
from typing import Literal

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.checks import Scalar
from ...core.errors import CubeError
from .layout import Axis, PanelLayout, axes_of, down_to_zero, label_of, ticks_at
from .select import coordinate_of, number_of, plan_behind, title
from .series import (
    Series,
    draw,
    draw_bars,
    example_fit,
    example_fits_of,
    methods_of,
    over_with_bands,
    replicate_means,
    series,
    summarise,
)
from .style import GREY, PROTECTED, Look, Marks, compact, look, overlay_marks, run_ticks

# Factor between the places of two methods whose bars stand side by side; marks of a long line.
APART, MARKS = 1.04, 12
# Points of a line of the fewest and of the most parties; half way between, the usual width.
THIN, THICK = 0.9, 2.1
# Series of a panel that can be followed.
SERIES = 6
# Share of fits without a number from which on a mean over the others says nothing, and what is said of them.
MOST_MISSING, MISSING = 0.5, "fits without a number are left out, and points at which they are more than half"
# Below which a loss that should be zero is what floats leave of it.
ROUNDING = 1e-12
DIMS = {"epsilon": "", "parties": "number of parties"}


def no_words(cube: xr.Dataset, case: str, method: str) -> str:
    """The legend has the title of a method and no more."""
    return ""


def all_methods(cube: xr.Dataset, case: str) -> Mapping[str, Sequence[str]]:
    """One group of all methods of a case, without words."""
    return {"": methods_of(cube, case)}


def few_methods(
    choose: Callable[[xr.Dataset, str], Sequence[str]], most: int = SERIES
) -> Callable[[xr.Dataset, str], Mapping[str, Sequence[str]]]:
    """Return groups of one group: at most so many methods of a case, the first that are chosen."""

    def few(cube: xr.Dataset, case: str) -> Mapping[str, Sequence[str]]:
        chosen = choose(cube, case)[:most]
        return {"": [method for method in methods_of(cube, case) if method in chosen]}

    return few


@dataclass(frozen=True)
class MethodLine:
    """Line of one method, and its values without an epsilon, which are horizontal lines."""

    method: str
    line: Series
    flat: np.ndarray
    width: float

    def has(self, place: float) -> bool:
        """Whether most of the fits at a place have a number."""
        at, share = self.line.x == place, self.line.missing_share
        return bool(at.any()) and (share is None or bool(share[at][0] <= MOST_MISSING))


@dataclass(frozen=True)
class Lines(PanelLayout):
    """Measures of all methods over an axis, a panel for each case: means over replicates with bands of one error.

    A method without a target of epsilon is a grey horizontal line; what a method with targets gives without noise is a
    thin dotted one of its colour. Where the ledger does not certify a target, marks are hollow.

    title : what the figure shows
    x : ``epsilon``, ``parties``, a setting that a sweep varies (thicker lines for more parties), or the array of the
        example fits along which their paths run (first replicate and fold, fewest parties, largest target, no means)
    y : a measure, or a row of panels for each of several, see `Axis`
    xlabel : by default whom the target is of, with delta, or the meaning of x
    groups : (cube, case) -> words and methods of each group of methods, which has a row of panels of its own
    apart : whether each group of methods has a panel next to the others instead of a row of panels
    suffix : (cube, case, method) -> what the legend adds to its title
    ends, at : start of a title with ``{place}``, such as "Loss at ε = {place}", that goes on with the least and the
        largest mean of the first panel at the place nearest to ``at``, unless there is a finding
    by : another setting whose values have panels of their own
    least : places on the axis without which a case is not shown, by default one, and where some case has several, two,
        while with 0 a case whose methods have no target is shown too
    spread : ``bands`` or ``bars`` of one standard error, or bars over the ``middle`` of the replicates, where with bars
        methods are side by side at each place
    overlap : marks of lines that may lie on each other are nested
    logx : a logarithmic axis of x, which epsilon always has
    start : points of a path that are left out, at its start
    """

    x: str
    y: str | Axis | Mapping[str, str] | Sequence[str | Axis]
    xlabel: str = field(default="", kw_only=True)
    groups: Callable[[xr.Dataset, str], Mapping[str, Sequence[str]]] = field(default=all_methods, kw_only=True)
    apart: bool = field(default=False, kw_only=True)
    suffix: Callable[[xr.Dataset, str, str], str] = field(default=no_words, kw_only=True)
    ends: str = field(default="", kw_only=True)
    at: float = field(default=1.0, kw_only=True)
    by: str = field(default="", kw_only=True)
    least: int = field(default=1, kw_only=True)
    spread: Literal["bands", "bars", "middle"] = field(default="bands", kw_only=True)
    overlap: bool = field(default=False, kw_only=True)
    logx: bool = field(default=False, kw_only=True)
    start: int = field(default=0, kw_only=True)

    def __call__(self, cube: xr.Dataset) -> Figure:
        """Draw it from a cube."""
        axes = axes_of(self.y)
        members = self._members(cube, axes)
        if not members:
            return self.nothing()
        cases = [case for panel_cases in members.values() for case in panel_cases]
        words = "first replicate and fold, fewest parties"
        if not self._path(cube):
            words = over_with_bands(cube, cases, self.spread)
        finding = self.finding(cube, cases) or self._ends(cube, next(iter(members.values())), axes[0])
        if self.apart:
            places = [(case, group) for case in members for group in range(len(self.groups(cube, case)))]

            def draw_group(ax: Axes, place: str, row: int) -> list[str]:
                case, group = places[int(place)]
                of_case = f"\n{self.panel(cube, case)}" if len(members) > 1 else ""
                ax.set_title(f"{list(self.groups(cube, case))[group]}{of_case}")
                return [words, *self._panel(ax, cube, members[case], axes[row], group)]

            return self.grid(cube, list(map(str, range(len(places)))), len(axes), draw_group, finding=finding)
        groups = range(max(len(self.groups(cube, case)) for case in members))
        rows = [(axis, group) for axis in axes for group in groups]

        def draw_panel(ax: Axes, case: str, row: int) -> list[str]:
            axis, group = rows[row]
            notes = [words, *self._panel(ax, cube, members[case], axis, group)]
            of = dict(enumerate(self.groups(cube, case))).get(group, "")
            if of and len(members) == 1:
                ax.set_title(f"{self.panel(cube, case)}\n{of}")
            elif of:
                ax.set_ylabel(f"{fill(of, self.letters)}\n{ax.get_ylabel()}")
            return notes

        return self.grid(cube, list(members), len(axes), draw_panel, groups=len(groups), finding=finding)

    def _ends(self, cube: xr.Dataset, cases: Sequence[str], axis: Axis) -> str:
        """The least and the largest mean of a panel at one place, and the least without an epsilon; or nothing."""
        curves = list(self._curves(cube, cases, axis)) if self.ends else []
        places = sorted({float(x) for curve in curves for x in curve.line.x if x > 0})
        if not places:
            return ""
        place = min(places, key=lambda x: abs(np.log(x / min(self.at, places[-1]))))
        means = {curve.method: float(curve.line.mean[curve.line.x == place][0]) for curve in curves if curve.has(place)}
        flat = {curve.method: float(curve.flat[-1]) for curve in curves if not curve.line}
        order, free = sorted(means, key=means.__getitem__), min(flat, key=flat.__getitem__, default="")
        if len(order) + len(flat) < 2 or not order:
            return ""
        stated = [("least ", order[0], means), ("most ", order[-1], means)] if order[1:] else [("", order[0], means)]
        stated += [("without ε ", free, flat)] if free else []
        words = [f"{kind}{compact(values[m], 3)} ({title(cube, 'method', m)})" for kind, m, values in stated]
        panel = " ".join(self.panel(cube, cases[0]).split())
        return f"{self.ends.format(place=f'{place:g}')}, {panel}: {', '.join(words)}"

    def _path(self, cube: xr.Dataset) -> bool:
        return self.x in cube and "example_fit" in cube[self.x].dims

    def _members(self, cube: xr.Dataset, rows: Sequence[Axis]) -> dict[str, list[str]]:
        """Cases of each panel, by the first of them."""
        cases = self.candidates(cube, [name for axis in rows for name in axis.words])
        if self.x in DIMS or self._path(cube):
            counts = {case: self._places(cube, [case], rows) for case in cases}
            most = 2 if self.least and any(count > 1 for count in counts.values()) else self.least
            return {case: [case] for case in self.select(cube, [case for case in cases if counts[case] >= most])}
        panels: dict[tuple[Scalar, Scalar], list[str]] = {}
        chosen = self.select(cube, [c for c in cases if coordinate_of(cube, "case", c, self.x) is not None])
        sweeps = [coordinate_of(cube, "case", case, "group") for case in chosen]
        for case, sweep in zip(chosen, sweeps, strict=True):
            # Cases that are typed one by one belong together by what the figure asks for.
            group = sweep if not self.by or sweeps.count(sweep) > 1 else ""
            panels.setdefault((group, self.by and coordinate_of(cube, "case", case, self.by)), []).append(case)
        return {
            panel_cases[0]: panel_cases for panel_cases in panels.values() if self._places(cube, panel_cases, rows) > 1
        }

    def _places(self, cube: xr.Dataset, cases: Sequence[str], rows: Sequence[Axis]) -> int:
        """Count the places of the axis at which methods have a value; -1 if there are too few methods."""
        curves = [curve for axis in rows for curve in self._curves(cube, cases, axis)]
        enough = len({curve.method for curve in curves}) >= self.fewest
        return len({float(x) for curve in curves for x in curve.line.x}) if enough else -1

    def _curves(
        self, cube: xr.Dataset, cases: Sequence[str], axis: Axis, group: int | None = None
    ) -> Iterator[MethodLine]:
        """Yield the curves of the methods of a group (by default of all), over a setting at each number of parties."""
        name = axis.measure_of(cube, cases[0])
        groups = [list(self.groups(cube, case).values()) for case in cases]
        chosen = groups if group is None else [case_groups[group : group + 1] for case_groups in groups]
        labels = {method for methods in chosen for some in methods for method in some}
        counts = [] if self.x in DIMS or self._path(cube) else _party_counts(cube, cases)
        parts = {k / (len(counts) - 1): cube.sel(parties=[n]) for k, n in enumerate(counts) if len(counts) > 1}
        for method in (m for m in map(str, cube["method_label"].values) if m in labels and name is not None):
            for place, part in (parts or {0.5: cube}).items():
                line = self._series(part, str(name), cases, method)
                known = np.isfinite(line.x)
                if line:
                    yield MethodLine(method, line.where(known), line.mean[~known], THIN + (THICK - THIN) * place)

    def _series(self, cube: xr.Dataset, name: str, cases: Sequence[str], method: str) -> Series:
        """Values of a method along the axis."""
        if self.x in DIMS:
            return series(cube, name, cases[0], method, self.x, self.spread == "middle")
        if self._path(cube):
            return _path_of(cube, cases[0], method, (self.x, name), self.start)
        places = [number_of(cube, "case", case, self.x) for case in cases]
        columns = [replicate_means(cube, name, case, method, "epsilon").mean("epsilon").values for case in cases]
        order = np.argsort(places, kind="stable")
        return summarise(np.array(places)[order], np.stack(columns, axis=1)[:, order], self.spread == "middle")

    def _panel(self, ax: Axes, cube: xr.Dataset, cases: Sequence[str], axis: Axis, group: int) -> Iterator[str]:
        """Draw one measure of a case and a group of its methods, and return notes on it."""
        curves = list(self._curves(cube, cases, axis, group))
        methods = list(dict.fromkeys(curve.method for curve in curves))
        for curve in curves:
            style, words = look(cube, curve.method), self.suffix(cube, cases[0], curve.method)
            label = f"{style.label}{words}"
            for name in (name for name in axis.behind if name in cube):
                line = self._series(cube, name, cases, curve.method)
                ax.plot(line.x, line.mean, color=GREY, marker=".", linewidth=1.2, label=axis.behind[name])
            if curve.line:
                hollow = self.x == "epsilon" and not _certified(cube, cases[0], curve)
                line, share = curve.line, curve.line.missing_share
                if share is not None and share.any():
                    line = line.where(share <= MOST_MISSING)
                    yield MISSING
                within = replace(curve, line=line.where(line.mean <= axis.cut))
                self._line(ax, within, style, label, (methods.index(curve.method), len(methods)), hollow)
                beyond = line.x[~(line.mean <= axis.cut)]
                if len(beyond):
                    ax.plot(beyond, np.full(len(beyond), axis.cut), color=style.color, marker="$↑$", linestyle="none")
                    yield f"arrows: above {axis.cut:g}"
                for value in curve.flat:
                    ax.axhline(value, color=style.color, linestyle=":", linewidth=0.9)
                yield from ["hollow: not certified at the target"] * hollow
                yield from ["thin dotted: the same method without noise"] * bool(len(curve.flat))
            else:
                _horizontal(ax, float(curve.flat[-1]), style, label, axis.log and not axis.linear)
                yield "horizontal: no target of ε"
        if len({curve.width for curve in curves}) > 1:
            yield f"thin to thick lines: {', '.join(map(str, _party_counts(cube, cases)))} parties"
        axis.finish(ax, cube, axis.measure_of(cube, cases[0]) or next(iter(axis.words)), letters=self.letters)
        self._x_axis(ax, cube, cases[0], [float(x) for curve in curves for x in curve.line.x])

    def _line(self, ax: Axes, curve: MethodLine, style: Look, label: str, place: tuple[int, int], hollow: bool) -> None:
        """One line in the look of its method, at its place among so many."""
        (number, count), line = place, curve.line
        marks: Marks = {"label": label, "linewidth": curve.width}
        if self.overlap:
            marks |= overlay_marks(number)
        if len(line.x) > MARKS:
            step = -(-len(line.x) // 6)
            marks["markevery"] = (number % step, step)
        if hollow:
            marks["markerfacecolor"] = "white"
        if self.spread != "bands":
            small: Marks = {"markersize": 4}
            draw_bars(ax, line, style, APART ** (number - count / 2), **small | marks)
        else:
            draw(ax, line, style, **marks)

    def _x_axis(self, ax: Axes, cube: xr.Dataset, case: str, places: Sequence[float]) -> None:
        """Scale, ticks and label of the axis that is declared."""
        if self.x == "epsilon":
            plan = plan_behind(cube)
            unit = PROTECTED.get(plan.spec.unit, plan.spec.unit)
            label = self.xlabel or f"target ε of {unit}, δ = {compact(plan.delta(case), 3)}"
            if places:
                ticks_at(ax, places)
            else:
                ax.set_xticks([])
                label = "no method has a target ε"
        else:
            label = self.xlabel or DIMS.get(self.x) or (label_of(cube, self.x) if self.x in cube else self.x)
            if self.logx and min(places, default=1) <= 0:
                down_to_zero(ax, "x", 1.0)
            elif self.logx:
                ticks_at(ax, places)
            else:
                run_ticks(ax, places)
        ax.set_xlabel(label)


def _party_counts(cube: xr.Dataset, cases: Sequence[str]) -> list[int]:
    """Numbers of parties of some cases."""
    done = (cube["status"].sel(case=list(cases)) > 0).any([dim for dim in cube["status"].dims if dim != "parties"])
    return [int(count) for count in cube["parties"].values[done.values]]


def _horizontal(ax: Axes, value: float, style: Look, label: str, log: bool) -> None:
    """A value without an epsilon; one that a logarithmic axis cannot hold lies at its lower end, with a note."""
    look_of: Marks = {"color": GREY, "linestyle": style.line, "linewidth": 1.2}
    if log and value < ROUNDING:
        below = compact(0.0 if abs(value) < ROUNDING else value, 2)
        ax.plot([0, 1], [0, 0], transform=ax.transAxes, label=f"{label}: {below}, below the axis", **look_of)
    else:
        ax.axhline(value, label=label, **look_of)


def _certified(cube: xr.Dataset, case: str, curve: MethodLine) -> bool:
    """Whether the ledger certifies no more than the target at every target of a method."""
    certified = series(cube, plan_behind(cube).study.certified, case, curve.method, "epsilon")
    values = dict(zip(certified.x.tolist(), certified.mean.tolist(), strict=True))
    return all(values.get(float(target), np.inf) <= float(target) * (1 + 1e-6) for target in curve.line.x)


def _path_of(cube: xr.Dataset, case: str, method: str, names: tuple[str, str], start: int) -> Series:
    """Two arrays of the example fit of a method at its largest target from a place on, where both are known."""
    fits = example_fits_of(cube, case)
    targets = fits["example_epsilon"].values[fits["example_method"].values == method]
    finite = targets[np.isfinite(targets)]
    try:
        x, y = (example_fit(fits, name, method, float(max(finite, default=np.inf))) for name in names)
    except CubeError:
        return Series(*np.zeros((3, 0)))
    known = np.isfinite(x) & np.isfinite(y)
    x, y = x[known][start:], y[known][start:]
    return Series(x, y, np.full(len(x), np.nan))
