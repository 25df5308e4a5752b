"""Figure of the epsilons that privacy layers state and those that hold: one line per layer with its parameters."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.select import having, title
from ....experiment.plotting.series import cases_of, example_fit, example_fits_of, methods_of, series
from ....experiment.plotting.style import BLACK, BLUE, GREY, ORANGE, RED, Marks, empty, heading, legend_of_signs, panels
from ..claims import ClaimLine, all_lines
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
SAID, CERTIFIED, ZERO_OUT = "said", "certified, by the ledger", "by zero-out"
OUTCOMES = {
    BLUE: "holds",
    ORANGE: "not proved, or not composed",
    RED: "refuted",
    GREY: "nothing is said of it",
}
# Powers of ten: where the axis ends, and the columns beside it.
LEAST, MOST, NOTHING, INFINITE = -1.2, 10.2, -2.4, 11.2
KEYS = (
    ("said:\nkey", "secrecy_bits_claimed"),
    ("held:\nat most", "secrecy_bits_held"),
    ("tried", "keys_tried"),
)


def claimed_and_held(cube: xr.Dataset) -> Figure:
    """Epsilon that each layer claims (ring) and that holds in exact arithmetic for the worst pair by replacement (dot).

    One line per layer with its parameters; a tick is where epsilon would be if an update became zero instead. At the
    left: nothing is claimed; at the right: nothing finite holds. "Identified" is the share of unknown patients that an
    attack names under the layer, in the first round and at trained coefficients, over all hospitals; of several targets
    at the largest. Diamonds: methods with the certified filter, at their least target. Right panel: bits of secrecy of
    the mask of a pair of clients, and the range that was searched for a planted seed. First replicate.
    """
    cases = [case for case in cases_of(cube, "secrecy_bits_held") if "line_epsilon" in cube]
    if not cases:
        return empty("No case of masks, with which the lines are judged, in this configuration.")
    fits = example_fits_of(cube, cases[0])
    method = str(fits["example_method"].values[0])
    epsilons = [example_fit(fits, f"line_{name}", method) for name in Judgement._fields]
    lines = list(all_lines())
    figure, (ax, beside) = panels(1, 2, 5.6, 0.3 * len(lines) + 2.2)
    grid = ax.get_gridspec()
    assert grid is not None
    grid.set_width_ratios([4.6, 1])
    names = []
    for place, (claim, line) in enumerate(lines):
        judgement = Judgement(*(float(values[place]) for values in epsilons))
        status = judgement.status(claim)
        _draw_line(ax, place, judgement, status)
        ax.text(INFINITE + 1.0, place, _line_shares(cube, line), va="center", fontsize=8)
        words = "" if line.epsilon is None else f", ε {line.epsilon:.3g}" + " a round" * (status == "not composed")
        names.append(f"{claim.title_for(claim.settings(**line.settings))}{words} - {claim.document.title}")
    ax.text(INFINITE + 1.0, -1.2, "identified", va="center", fontsize=8, weight="bold")
    certified = _certified(cube)
    for place, (words, (epsilon, ledger_epsilon, share)) in enumerate(certified.items(), len(lines)):
        ax.plot(_place(epsilon), place, "o", markerfacecolor="white", markeredgecolor=BLACK, markersize=9)
        ax.plot(_place(ledger_epsilon), place, "D", label=CERTIFIED, color=BLUE, markersize=4.5)
        ax.text(INFINITE + 1.0, place, share, va="center", fontsize=8)
        names.append(words)
    ax.set_yticks(range(len(names)), names, fontsize=8)
    ax.set(ylim=(len(names) - 0.4, -1.7), xlim=(NOTHING - 0.5, INFINITE + 4.0), xlabel="ε at the delta of the study")
    powers = range(-1, 11, 2)
    ax.set_xticks([NOTHING, *powers, INFINITE], ["none", *(f"$10^{{{power}}}$" for power in powers), "∞"])
    _bits(beside, cube, cases[0], method)
    legend_of_signs(figure, [SAID, *OUTCOMES.values(), CERTIFIED, ZERO_OUT], 3)
    heading(figure, "What privacy layers say, and what holds for one client")
    return figure


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


def _certified(cube: xr.Dataset) -> dict[str, tuple[float, float, str]]:
    """Return the least target of each certified method, the ledger's epsilon there, and shares of named patients."""
    rows = {}
    methods = [*having(cube, "method", layer="certified"), *having(cube, "method", protocol="row_gradients")]
    for case in cases_of(cube, "certified_held"):
        for method in (label for label in methods_of(cube, case) if label in methods):
            epsilons = series(cube, "certified_held", case, method, "epsilon")
            words = f"{title(cube, 'method', method)}, {title(cube, 'case', case)}"
            rows[words] = float(epsilons.x[0]), float(epsilons.mean[0]), _shares(cube, case, [method])
    return rows


def _line_shares(cube: xr.Dataset, line: ClaimLine) -> str:
    """Shares of the method of the experiment that is this line."""
    if not line.options:
        return ""
    shares = [
        _shares(cube, case, having(cube, "method", **line.options)) for case in cases_of(cube, "identified_share")
    ]
    return next(filter(None, shares), "")


def _shares(cube: xr.Dataset, case: str, methods: list[str]) -> str:
    """Shares of patients that are named in the first round and at trained coefficients."""
    if "identified_shares" not in cube:
        return ""
    examples = example_fits_of(cube, case)
    fits = examples["identified_shares"].values
    labels, epsilons = examples["example_method"].values, examples["example_epsilon"].values
    places = np.flatnonzero(np.isin(labels, methods) & np.isfinite(fits).all((1, 2)))
    if not len(places):
        return ""
    first, late = fits[places[np.argmax(epsilons[places])]].mean(axis=0)
    return f"{first:.2f} / {late:.2f}"


def _bits(ax: Axes, cube: xr.Dataset, case: str, method: str) -> None:
    """Bits of the mask: claimed, at most held, and of the range that was searched."""
    values = [float(cube[name].sel(case=case, method_label=method).max()) for _, name in KEYS]
    values[2] = float(np.log2(values[2]))
    for place, (value, color) in enumerate(zip(values, (GREY, RED, ORANGE), strict=True)):
        ax.bar(place, value, color=color, width=0.6)
        ax.text(place, value + 4, f"{value:g}", ha="center", fontsize=8)
    ax.set_xticks(range(3), [words for words, _ in KEYS], fontsize=8)
    ax.set(ylabel="bits of secrecy", ylim=(0, 285), title="mask of a pair,\nFlower 1.42.0")
