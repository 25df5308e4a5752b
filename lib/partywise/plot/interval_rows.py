"""Numbers with their intervals, a row for each: what all such plots draw, and forest plots of released numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from matplotlib.axes import Axes

from ..experiment.plotting.layout import plain_ticks
from ..experiment.plotting.style import COLORS, GREY, MARKERS, Marks, one_panel

# Inches: of a panel without its rows, and of a row.
REST, ROW = 1.5, 0.27
# Share of a row over which its sources lie, and the factor from an estimate beyond which a bar of a ratio is an arrow.
SPAN, CUT = 0.66, 10.0


@dataclass(frozen=True, eq=False)
class IntervalRows:
    """Numbers (p,) with the ends of their intervals: nan where unknown, infinite where an interval has no end."""

    names: list[str]
    values: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def only(self, names: Iterable[str]) -> IntervalRows:
        """The rows of some names."""
        chosen = set(names)
        places = [place for place, name in enumerate(self.names) if name in chosen]
        ends = (self.lower[places], self.upper[places])
        return IntervalRows([self.names[place] for place in places], self.values[places], *ends)


def draw_rows(
    ax: Axes,
    rows: Mapping[str, IntervalRows],
    marks: Mapping[str, Marks] | None = None,
    *,
    ratios: bool = False,
    reference: float | None = None,
) -> None:
    """Draw sources by name, side by side in the row of each number, from the top, and a line at a reference.

    The reference is by default no effect, at 0, of ratios at 1.
    A bar that leaves the axis is an arrow: one without an end, and of ratios one that is far from all estimates.
    """
    names = list(dict.fromkeys(name for source in rows.values() for name in source.names))
    low, high = _ends_of_bars(list(rows.values()), ratios)
    for number, (label, source) in enumerate(rows.items()):
        look: Marks = {
            "color": COLORS[number % len(COLORS)],
            "marker": MARKERS[number % len(MARKERS)],
            "markersize": 3.5,
            "label": label,
        }
        look |= (marks or {}).get(label, {})
        places = np.array([names.index(name) for name in source.names])
        places = places + SPAN * ((number + 0.5) / len(rows) - 0.5)
        known = np.isfinite(source.values) & ~np.isnan(source.lower) & ~np.isnan(source.upper)
        reach = [
            np.where(known, source.values - np.maximum(source.lower, low), 0),
            np.where(known, np.minimum(source.upper, high) - source.values, 0),
        ]
        # A source without intervals has no bars in the legend either.
        bars = np.maximum(reach, 0) if known.any() else None
        ax.errorbar(source.values, places, xerr=bars, linestyle="none", **look)
        for ends, edge, arrow in ((source.lower < low, low, "<"), (source.upper > high, high, ">")):
            beyond = known & ends
            if beyond.any():
                arrows: Marks = {"color": look["color"], "marker": arrow, "markersize": 3.5, "linestyle": "none"}
                ax.plot(np.full(int(beyond.sum()), edge), places[beyond], **arrows)
    ax.axvline(float(ratios) if reference is None else reference, color=GREY, linewidth=0.9)
    if ratios:
        plain_ticks(ax)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)


def _ends_of_bars(rows: list[IntervalRows], ratios: bool) -> tuple[float, float]:
    """Ends beyond which bars are arrows: the outermost finite numbers, of ratios none far from all estimates."""
    values = np.concatenate([source.values for source in rows])
    numbers = np.concatenate([values, *(ends for source in rows for ends in (source.lower, source.upper))])
    values, numbers = values[np.isfinite(values)], numbers[np.isfinite(numbers)]
    if not ratios or not (values > 0).any():
        return float(np.min(numbers, initial=np.inf)), float(np.max(numbers, initial=-np.inf))
    least, most = values[values > 0].min() / CUT, values.max() * CUT
    return float(max(least, numbers.min())), float(min(most, numbers.max()))


class ReleasedNumber(Protocol):
    """A number with its interval, as estimators of tables have it; None where it is not determined."""

    @property
    def name(self) -> str: ...
    @property
    def estimate(self) -> float | None: ...
    @property
    def lower(self) -> float | None: ...
    @property
    def upper(self) -> float | None: ...


Numbers: TypeAlias = "Iterable[ReleasedNumber] | Mapping[str, ReleasedNumber]"


def forest(
    of: Numbers | Mapping[str, Numbers],
    *,
    ratios: bool | None = None,
    marks: Mapping[str, Marks] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw released numbers with their intervals, a row for each.

    Parameters
    ----------
    of : numbers of `FederatedEpidemiology`, or mapping of str to these
        What ``two_by_two``, ``mantel_haenszel``, ``standardise``, ``answers`` and others return. Several by name, such
        as releases at several epsilons, are side by side in each row.
    ratios : bool, optional
        Whether the ratios among the numbers are drawn, on a logarithmic axis, or all others. By default the others, or
        the ratios where all numbers are.
    marks : mapping, optional
        By name: how a source is drawn, in matplotlib's words.
    ax : Axes, optional
        Where to draw; its title and legend are then yours. By default a figure of its own.

    Returns
    -------
    Axes
        ``ax.figure`` is the figure.

    Raises
    ------
    ValueError
        If no number is of the kind that ``ratios`` asks for.

    Notes
    -----
    A row without a mark is a number that the release does not determine. An arrow is an interval that goes on beyond
    the axis, or has no end.

    Examples
    --------
    >>> import partywise as pw
    >>> frame = {"arm": [0, 1] * 1000, "died": [0, 1, 1, 1] * 500}
    >>> levels = {"arm": [0, 1], "died": [0, 1]}
    >>> questions = pw.Questions(levels=levels, cross=[("arm", "died")], complete=["arm", "died"])
    >>> model = pw.FederatedEpidemiology(questions, epsilon=4.0, parties=2, random_state=7).fit(frame)
    >>> ax = pw.plot.forest(model.two_by_two("arm", "died"), ratios=True)
    >>> [tick.get_text() for tick in ax.get_yticklabels()]
    ['risk ratio', 'odds ratio']
    """
    several = isinstance(of, Mapping) and not any(hasattr(value, "estimate") for value in of.values())
    sources: Mapping[str, Numbers] = of if several else {"_numbers": of}  # type: ignore[assignment, dict-item]
    rows = {name: rows_of_numbers(numbers) for name, numbers in sources.items()}
    names = list(dict.fromkeys(name for source in rows.values() for name in source.names))
    by_kind = {kind: [name for name in names if is_ratio(name) == kind] for kind in (False, True)}
    kind = not by_kind[False] if ratios is None else ratios
    if not by_kind[kind]:
        what = "is not a ratio" if kind is False else "is a ratio"
        raise ValueError(f"ratios={ratios}: no number {what}; there are {', '.join(names) or 'none'}.")
    rows = {name: source.only(by_kind[kind]) for name, source in rows.items()}
    words = "Released numbers with their intervals"
    with one_panel(ax, 5.0, max(2.4, REST + ROW * len(by_kind[kind])), words) as panel:
        draw_rows(panel, rows, marks, ratios=kind)
        panel.set_xlabel("ratio" if kind else "share, difference or mean")
    return panel


def is_ratio(name: str) -> bool:
    """Whether a number is a ratio, by its name."""
    return "ratio" in name.split()


def rows_of_numbers(numbers: Numbers) -> IntervalRows:
    """Rows of released numbers; nan where one is not determined."""
    answers = list(numbers.values()) if isinstance(numbers, Mapping) else list(numbers)
    table = [[answer.estimate, answer.lower, answer.upper] for answer in answers]
    values, lower, upper = np.array(table, dtype=float).reshape(-1, 3).T
    return IntervalRows([answer.name for answer in answers], values, lower, upper)
