"""Privacy curves of ledgers, totals and fits: the certified epsilon at every delta, or the bound of every attack."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from ..experiment.plotting.layout import plain_ticks
from ..experiment.plotting.style import COLORS, DASHES, GREY, PROTECTED, Marks, compact, one_panel
from ..privacy.accounting.compose import Composition
from ..privacy.accounting.tradeoff import power
from ..privacy.ledger.event import QUESTIONS
from ..privacy.ledger.ledger import Ledger
from ..privacy.ledger.total import Total
from ..privacy.rounding import upward

# Delta at which the worst coalition of a ledger is looked for.
DELTA = 1e-5
# Deltas of a curve, and false-positive rates: dense where bounds of attacks are steep.
DELTAS = np.logspace(-12, -1, 56)
RATES = np.concatenate([np.logspace(-4, -1.5, 26), np.linspace(0.04, 0.98, 48), [0.99, 0.999]])
# Ratio of the largest and the least epsilon from which on their axis is logarithmic.
WIDE = 30
LABELS = {
    "epsilon": ("δ", "certified ε", "What is certified, at every δ"),
    "roc": (
        "false-positive rate",
        "largest true-positive rate of an attack",
        "What is certified, against every attack on {whom}",
    ),
}


class FittedEstimator(Protocol):
    """A fitted estimator."""

    privacy_: Total
    epsilon_claimed_: float


Source: TypeAlias = Ledger | Total | Composition | FittedEstimator


@dataclass(frozen=True)
class StatedCurve:
    """Privacy that one source states: its compositions and one point.

    compositions : one per choice of cells, of which the largest counts; none if nothing is proved
    unit : what the curve protects; empty if the source does not state it
    delta, epsilon_certified, epsilon_claimed : the point that the source states, and the claim at its delta; else nan
    """

    compositions: tuple[Composition, ...]
    unit: str = ""
    delta: float = math.nan
    epsilon_certified: float = math.nan
    epsilon_claimed: float = math.nan

    def largest(self, of: Callable[[Composition, float], float], places: np.ndarray) -> np.ndarray:
        """The largest number of any composition at each place; nan where nothing finite is proved."""
        maxima = np.array(
            [max((of(composition, x) for composition in self.compositions), default=np.nan) for x in places.tolist()]
        )
        return np.where(np.isfinite(maxima), maxima, np.nan)


def privacy_curve(
    of: Source | Mapping[str, Source],
    *,
    kind: Literal["epsilon", "roc"] = "epsilon",
    unit: str | None = None,
    parties: Sequence[str] | None = None,
    marks: Mapping[str, Marks] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what is certified at every delta, or the bound of every attack.

    Parameters
    ----------
    of : Ledger, Total, Composition, fitted estimator, or mapping of str to these
        What is drawn: the coalition of a ledger that is worst at delta 1e-5, ``privacy_`` or another total,
        ``pw.cost(...)``, or an estimator after its fit. Several by name share the axes.
    kind : {"epsilon", "roc"}
        Certified epsilon over delta from 1e-12 to 0.1; or the largest true-positive rate of any attack over its
        false-positive rate (at most 1), above the dotted line of guessing.
    unit : str, optional
        Of ledgers: what changes between neighbours. By default the unit of their rows, where all have one.
    parties : sequence of str, optional
        Of ledgers: all parties, of which coalitions are formed. By default all that its rows name.
    marks : mapping, optional
        By name: how a line is drawn, in matplotlib's words.
    ax : Axes, optional
        Where to draw; its title and legend are then yours. By default a figure of its own.

    Returns
    -------
    Axes
        ``ax.figure`` is the figure.

    Raises
    ------
    TypeError
        If something of another kind is given, or an estimator that is not fitted.
    ValueError
        If ``kind`` or the unit is unknown, the rows of a ledger have several units and none is named, or sources
        protect different units.

    Notes
    -----
    A filled mark is the epsilon at the delta that a total or a fit states. A hollow one is what the method of an
    estimator claims there, where that is another number: no guarantee. Where nothing is proved, a line of
    epsilons is missing, and the bound of attacks is 1.

    Examples
    --------
    >>> import partywise as pw
    >>> ax = pw.plot.privacy_curve({"one release": pw.cost(mu=0.5), "four releases": pw.cost(mu=0.5, count=4)})
    >>> delta, epsilon = ax.get_lines()[0].get_data()
    >>> bool(abs(epsilon[30] - pw.gaussian_epsilon(0.5, delta[30])) < 1e-12)
    True
    """
    if kind not in LABELS:
        raise ValueError(f"kind={kind!r} of a privacy curve is unknown; use one of {tuple(LABELS)}.")
    several = isinstance(of, Mapping)
    sources: Mapping[str, Source] = of if isinstance(of, Mapping) else {"certified": of}
    curves = {name: _curve_of(name, source, unit, parties) for name, source in sources.items()}
    units = sorted({curve.unit for curve in curves.values()} - {""})
    if len(units) > 1:
        raise ValueError(f"the curves protect different units, {', '.join(units)}: draw them in figures of their own.")
    whom = PROTECTED.get(units[0], units[0]) if units else ""
    across, up, title = LABELS[kind]
    with one_panel(ax, 5.0, 3.4, title.format(whom=whom or "one unit")) as panel:
        if kind == "roc":
            panel.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
        for place, (name, curve) in enumerate(curves.items()):
            line_marks: Marks = {
                "color": COLORS[place % len(COLORS)],
                "linestyle": DASHES[place % len(DASHES)],
                "label": name,
            }
            line_marks |= (marks or {}).get(name, {})
            if kind == "roc":
                _draw_bound(panel, curve, line_marks)
            else:
                _draw_epsilons(panel, curve, line_marks, f"{name}, " if several else "")
        if kind == "roc":
            panel.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
        else:
            _scale(panel)
        panel.set(xlabel=across, ylabel=f"{up} of {whom}" if whom and kind == "epsilon" else up)
    return panel


def _curve_of(name: str, source: Source, unit: str | None, parties: Sequence[str] | None) -> StatedCurve:
    """Return the curve of a source; errors name the source."""
    if isinstance(source, Composition):
        return StatedCurve((source,), unit or "")
    if isinstance(source, Ledger):
        whose, asked = parties or _names(source), unit or _unit_of(source)
        return StatedCurve(_proof_of(source.worst_total(whose, asked, DELTA)), asked)
    claimed = math.nan
    total = source if isinstance(source, Total) else getattr(source, "privacy_", None)
    if not isinstance(total, Total):
        raise TypeError(
            f"{name!r} is of type {type(source).__name__}, without privacy_: give a ledger, a total, pw.cost(...) or "
            "an estimator after its fit."
        )
    if total is not source:
        claimed = float(getattr(source, "epsilon_claimed_", math.nan))
    return StatedCurve(_proof_of(total), total.unit, total.delta, total.epsilon_certified, claimed)


def _proof_of(total: Total) -> tuple[Composition, ...]:
    """Return the compositions of a total; none if a release is not proved."""
    return total.compositions if total.certified else ()


def _names(ledger: Ledger) -> list[str]:
    """All parties that the rows of a ledger name."""
    named = {
        name for row in ledger.rows for name in (*row.held_by, *row.audience, *row.knows, *row.key_holders) if name
    }
    return sorted(named - {"*"})


def _unit_of(ledger: Ledger) -> str:
    """The unit of all rows."""
    units = sorted({part for row in ledger.rows for part in row.unit.split(";")})
    if len(units) != 1:
        raise ValueError(
            f"unit is missing: the rows of the ledger have {', '.join(units) or 'none'}; name one of {QUESTIONS}."
        )
    return units[0]


def _draw_epsilons(ax: Axes, curve: StatedCurve, marks: Marks, name: str) -> None:
    """The line of certified epsilons, and what is certified and claimed at the stated delta."""
    epsilons = curve.largest(Composition.epsilon, DELTAS)
    if not np.isfinite(epsilons).any():
        marks |= {"label": f"{marks['label']}: nothing is certified"}
    ax.plot(DELTAS, epsilons, **marks)
    if not math.isfinite(curve.delta):
        return
    point: Marks = {"color": marks["color"], "marker": "o", "linestyle": "none"}
    if math.isfinite(curve.epsilon_certified):
        words = f"{name}ε = {upward(curve.epsilon_certified)} at δ = {compact(curve.delta)}"
        ax.plot(curve.delta, curve.epsilon_certified, label=words, **point)
    if math.isfinite(curve.epsilon_claimed) and not math.isclose(
        curve.epsilon_claimed, curve.epsilon_certified, rel_tol=1e-6
    ):
        hollow: Marks = {"markerfacecolor": "white", "markersize": 7, "label": f"{name}claimed: no guarantee"}
        ax.plot(curve.delta, curve.epsilon_claimed, **point | hollow)


def _draw_bound(ax: Axes, curve: StatedCurve, marks: Marks) -> None:
    """The bound of every attack, 1 where nothing is proved."""
    bound = curve.largest(power, RATES) if curve.compositions else np.ones(len(RATES))
    # An attack that never accuses finds nobody, and no bound is above 1.
    ax.plot([0, *RATES, 1], [0 if curve.compositions else 1, *bound, 1], **marks)


def _scale(ax: Axes) -> None:
    """Logarithmic deltas; epsilons from 0, logarithmic where they lie far apart."""
    plain_ticks(ax)
    ax.xaxis.set_major_locator(LogLocator(numticks=5))
    heights = np.concatenate([np.asarray(line.get_ydata(), float) for line in ax.get_lines()])
    positive = heights[np.isfinite(heights) & (heights > 0)]
    if len(positive) and positive.max() > WIDE * positive.min():
        plain_ticks(ax, "y")
    else:
        ax.set_ylim(bottom=0)
