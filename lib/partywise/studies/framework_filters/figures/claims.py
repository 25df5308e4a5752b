"""Figure of the epsilons that privacy layers state and those that hold: one line per layer with its parameters."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.select import having, title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of, series
from ....experiment.plotting.style import (
    BLACK,
    BLUE,
    GREY,
    ORANGE,
    RED,
    Marks,
    compact,
    empty,
    heading,
    legend_of_signs,
    panels,
)
from ..claims import all_lines
from ..judgements import Judgement, Status

# Outcomes, by colour and in words.
COLORS: dict[Status, str] = {
    "keeps": BLUE,
    "zero-out only": BLUE,
    "not proved": ORANGE,
    "not composed": ORANGE,
    "refuted": RED,
    "no claim": GREY,
}
# What the signs mean, in the order of the legend; of dots by their colour.
SAID, ZERO_OUT = "claimed", "if an update became zero"
OUTCOMES = {
    BLUE: "holds: as claimed",
    ORANGE: "holds: not proved, or per round",
    RED: "holds: more, refuted",
    GREY: "holds: no such claim",
}
# Powers of ten: where the axis ends, and the columns beside it.
LEAST, MOST, NOTHING, INFINITE = -1.2, 10.2, -2.4, 11.4


def claimed_and_held(cube: xr.Dataset) -> Figure:
    """Epsilon that each layer claims (ring) and that holds in exact arithmetic for the worst pair by replacement (dot).

    One line per layer with its parameters; a tick is where epsilon would be if an update became zero instead. At the
    left: nothing is claimed; at the right: nothing finite holds. The last lines: methods with the certified filter,
    at their least target. Colours of dots: the outcome. First replicate.
    """
    cases = [case for case in cases_of(cube, "secrecy_bits_held") if "line_epsilon" in cube]
    if not cases:
        return empty("No case of masks, with which the lines are judged, in this configuration.")
    fits = example_fits_of(cube, cases[0])
    method = str(fits["example_method"].values[0])
    epsilons = [example_fit(fits, f"line_{name}", method) for name in Judgement._fields]
    lines = list(all_lines())
    figure, (ax,) = panels(1, 1, 7.0, 0.24 * len(lines) + 2.0)
    names, outcomes = list[str](), list[Status]()
    for place, (claim, line) in enumerate(lines):
        judgement = Judgement(*(float(values[place]) for values in epsilons))
        status = judgement.status(claim)
        _draw_line(ax, place, judgement, status)
        outcomes += [status] * (status != "no claim")
        words = "" if line.epsilon is None else f", ε {line.epsilon:.3g}" + " per round" * (status == "not composed")
        names.append(f"{claim.title_for(claim.settings(**line.settings))}{words} - {claim.document.title}")
    certified = _certified(cube)
    for place, (words, (epsilon, ledger_epsilon)) in enumerate(certified.items(), len(lines)):
        ax.plot(_place(epsilon), place, "o", markerfacecolor="white", markeredgecolor=BLACK, markersize=9)
        ax.plot(_place(ledger_epsilon), place, "o", label=OUTCOMES[BLUE], color=BLUE, markersize=5)
        names.append(words)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set(ylim=(len(names) - 0.4, -0.7), xlim=(NOTHING - 0.5, INFINITE + 0.6), xlabel="ε at the delta of the study")
    powers = range(0, 11, 3)
    ax.set_xticks([NOTHING, *powers, INFINITE], ["none", *(compact(10.0**power) for power in powers), "∞"])
    for edge in ((NOTHING + LEAST) / 2, (MOST + INFINITE) / 2):
        ax.axvline(edge, color=GREY, linewidth=0.8, linestyle=":")
    legend_of_signs(figure, [SAID, *OUTCOMES.values(), ZERO_OUT], 3)
    heading(figure, f"{sum(map(_keeps, outcomes))} of {len(outcomes)} claims of privacy layers hold")
    return figure


def _keeps(status: Status) -> bool:
    return status in ("keeps", "zero-out only")


def _place(epsilon: float) -> float:
    """Place of an epsilon on the axis: nothing claimed at the left, infinity at the right."""
    if np.isnan(epsilon):
        return NOTHING
    return INFINITE if np.isinf(epsilon) else float(np.clip(np.log10(epsilon), LEAST, MOST))


def _draw_line(ax: Axes, place: int, line: Judgement, status: Status) -> None:
    color = COLORS[status]
    ax.plot([_place(line.claim), _place(line.epsilon)], [place, place], color=color, linewidth=1.0)
    ring: Marks = {"markerfacecolor": "white", "markeredgecolor": BLACK, "markersize": 7}
    ax.plot(_place(line.claim), place, "o", label=SAID, **ring)
    # A claim of zero-out is not one of replacement.
    shade = GREY if status == "zero-out only" else color
    ax.plot(_place(line.epsilon), place, "o", label=OUTCOMES[shade], color=shade, markersize=5)
    if np.isfinite(line.zero_out):
        ax.plot(_place(line.zero_out), place, "|", label=ZERO_OUT, color=color, markersize=11, markeredgewidth=2)


def _certified(cube: xr.Dataset) -> dict[str, tuple[float, float]]:
    """Return the least target of each certified method, and the ledger's epsilon there."""
    rows = {}
    methods = [*having(cube, "method", layer="certified"), *having(cube, "method", protocol="row_gradients")]
    for case in cases_of(cube, "certified_held"):
        for method in (label for label in methods_of(cube, case) if label in methods):
            epsilons = series(cube, "certified_held", case, method, "epsilon")
            words = f"{title(cube, 'method', method)}, {title(cube, 'case', case)}"
            rows[words] = float(epsilons.x[0]), float(epsilons.mean[0])
    return rows
