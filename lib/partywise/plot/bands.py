"""Curves of a release with bands that count its noise: ROC curves of scores, and shares that have left over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from ..audits.attacks.membership import roc_curve
from ..experiment.plotting.style import COLORS, DASHES, GREY, Marks, one_panel
from .interval_rows import ReleasedNumber, rows_of_numbers

# Opacity of a band.
PALE = 0.18
# Of a curve: places, estimates, and lower and upper ends of its band.
Curve: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class ReleasedRoc(Protocol):
    """Rates at thresholds from the highest on, as ``FederatedEpidemiology.roc`` returns them."""

    @property
    def sensitivities(self) -> Sequence[ReleasedNumber]: ...
    @property
    def false_positives(self) -> Sequence[ReleasedNumber]: ...


class ReleasedCurves(Protocol):
    """Curves of one group, as ``FederatedEpidemiology.cumulative_incidence`` returns them."""

    @property
    def group(self) -> str: ...
    @property
    def edges(self) -> Sequence[float]: ...
    @property
    def survival(self) -> Sequence[ReleasedNumber]: ...
    @property
    def incidence(self) -> Mapping[str, Sequence[ReleasedNumber]]: ...


RocSource: TypeAlias = "ReleasedRoc | tuple[ArrayLike, ArrayLike]"


def roc(
    of: RocSource | Mapping[str, RocSource],
    *,
    marks: Mapping[str, Marks] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw ROC curves, those of a release with their band.

    Parameters
    ----------
    of : curve of `FederatedEpidemiology.roc`, pair of arrays, or mapping of str to these
        A pair is the labels (n,), 0 or 1, and the scores (n,) of a fit, whose curve has no band.
    marks : mapping, optional
        By name: how a curve is drawn, in matplotlib's words.
    ax : Axes, optional
        Where to draw; its title and legend are then yours. By default a figure of its own.

    Returns
    -------
    Axes
        ``ax.figure`` is the figure.

    Raises
    ------
    ValueError
        If the scores of a pair have other than two classes, or are not finite.

    Notes
    -----
    The band joins the corners of the intervals of both rates at each threshold. It holds the whole curve of the banded
    score where these hold together, which they do with ``together=True`` of the estimator. Thresholds at which the
    release determines no rate are left out.

    Examples
    --------
    >>> import partywise as pw
    >>> labels, scores = [0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9]
    >>> ax = pw.plot.roc({"trees": (labels, scores)})
    >>> [float(rate) for rate in ax.get_lines()[1].get_ydata()]
    [0.0, 0.5, 0.5, 1.0, 1.0]
    """
    sources: Mapping[str, RocSource] = of if isinstance(of, Mapping) else {"_curve": of}
    with one_panel(ax, 3.33, 3.4, "Sensitivity against false positives of a score") as panel:
        panel.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
        for number, (name, source) in enumerate(sources.items()):
            look: Marks = {
                "color": COLORS[number % len(COLORS)],
                "linestyle": DASHES[number % len(DASHES)],
                "label": name,
            }
            look |= (marks or {}).get(name, {})
            if isinstance(source, tuple):
                labels, scores = (np.asarray(values) for values in source)
                panel.plot(*roc_curve(scores[labels == 1], scores[labels != 1]), **look)
            else:
                draw_roc(panel, source, look)
        panel.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="false-positive rate", ylabel="sensitivity")
    return panel


def draw_roc(ax: Axes, curve: ReleasedRoc, look: Marks) -> None:
    """Draw a released ROC curve with the band of its intervals, from (0, 0) to (1, 1)."""
    across, up = rows_of_numbers(curve.false_positives), rows_of_numbers(curve.sensitivities)
    known = np.isfinite(across.values) & np.isfinite(up.values)
    ax.plot(*([0, *rates.values[known], 1] for rates in (across, up)), **look)
    # Both rates rise from threshold to threshold, so that each interval bounds the rates before and after it.
    left, low = (np.maximum.accumulate(rates.lower[known]) for rates in (across, up))
    right, high = (np.minimum.accumulate(rates.upper[known][::-1])[::-1] for rates in (across, up))
    if np.any(right > left):
        outline_x, outline_y = [0, *left, 1, *right[::-1]], [0, *high, 1, *low[::-1]]
        ax.fill(outline_x, outline_y, color=look["color"], alpha=PALE, linewidth=0)


def incidence(
    of: ReleasedCurves | Sequence[ReleasedCurves],
    cause: str | None = None,
    *,
    marks: Mapping[str, Marks] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share that has left by a cause over time, with its band, a curve for each group.

    Parameters
    ----------
    of : curves of `FederatedEpidemiology.cumulative_incidence`, or those of one group
    cause : str, optional
        One of the causes; by default the share that has not left by any is drawn.
    marks : mapping, optional
        By group: how its curve is drawn, in matplotlib's words.
    ax : Axes, optional
        Where to draw; its title and legend are then yours. By default a figure of its own.

    Returns
    -------
    Axes
        ``ax.figure`` is the figure.

    Raises
    ------
    KeyError
        If the cause is not one of the curves.

    Notes
    -----
    Estimates at the edges of the bins are joined. The band between two edges reaches from the end of the interval at
    one to that at the other: a share that only rises or falls stays inside at all times where it does at the edges.
    Curves end where noise hides the number at risk.

    Examples
    --------
    >>> import partywise as pw
    >>> years = pw.stream(1, "years").exponential(5, size=3000)
    >>> questions = pw.Questions(incidence=[pw.Incidence("years", "cause", causes=["death"], horizon=10, bins=10)])
    >>> model = pw.FederatedEpidemiology(questions, epsilon=4.0, together=True, random_state=7)
    >>> curves = model.fit({"years": years, "cause": ["death"] * 3000}, parties=2).cumulative_incidence("cause")
    >>> ax = pw.plot.incidence(curves, "death")
    >>> print(f"{ax.get_lines()[0].get_ydata()[-1]:.1f}")  # 1 - exp(-2)
    0.9
    """
    groups = list(of) if isinstance(of, Sequence) else [of]
    for curves in groups:
        if cause is not None and cause not in curves.incidence:
            raise KeyError(f"cause={cause!r} is not among the causes {', '.join(curves.incidence)}.")
    words = "Share that has not left" if cause is None else f"Share that has left by {cause}"
    with one_panel(ax, 5.0, 3.4, words) as panel:
        for number, curves in enumerate(groups):
            look: Marks = {
                "color": COLORS[number % len(COLORS)],
                "linestyle": DASHES[number % len(DASHES)],
                "label": curves.group or "_all",
            }
            draw_band(panel, curve_of(curves, cause), look | (marks or {}).get(curves.group, {}))
        panel.set(xlim=(0, groups[0].edges[-1]), xlabel="time", ylabel=words[0].lower() + words[1:])
        panel.set_ylim(bottom=0)
    return panel


def curve_of(curves: ReleasedCurves, cause: str | None) -> Curve:
    """Times from 0 on, and the share that has left by a cause, or not by any; nan beyond what is determined."""
    rows = rows_of_numbers(curves.survival if cause is None else curves.incidence[cause])
    start = float(cause is None)
    values, lower, upper = (np.concatenate([[start], part]) for part in (rows.values, rows.lower, rows.upper))
    return np.array([0.0, *curves.edges]), values, lower, upper


def draw_band(ax: Axes, curve: Curve, look: Marks) -> None:
    """Draw a curve that only rises or falls, and the band that holds it between its places too."""
    x, values, lower, upper = curve
    ax.plot(x, values, **look)
    known = np.isfinite(values)
    if known.sum() < 2 or not np.any(upper[known] > lower[known]):
        return
    x, lower, upper = x[known], lower[known], upper[known]
    rises = values[known][-1] >= values[0]
    before, after = slice(None, -1), slice(1, None)
    low, high = (lower[before], upper[after]) if rises else (lower[after], upper[before])
    ax.fill_between(
        np.repeat(x, 2)[1:-1], np.repeat(low, 2), np.repeat(high, 2), color=look["color"], alpha=PALE, linewidth=0
    )
