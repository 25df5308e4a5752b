"""Claims of the sources about privacy, and what holds: one line per mechanism, drawn from the cube alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.plotting.select import having
from ....experiment.plotting.style import BLUE, GREEN, GREY, ORANGE, RED, Marks, empty, heading, legend_of_signs, panels
from ....experiment.results.attributes import meanings
from ....privacy.rounding import upward

ROW_HEIGHT = 0.21
WORST = 6
# Columns beside the axis, in powers of ten: claims of no cost, and what has no finite bound.
FREE, INFINITE = -2.9, 5.0
LOW, HIGH = -2.3, 4.4
# Width in inches, and points from the axis to the right ends of the columns of numbers.
WIDTH, COLUMNS = 12.0, (40.0, 82.0, 138.0, 200.0, 268.0)
HEADS = ("claimed", "δ", "certified", "audited ≥", "recovered")
# What the signs mean.
CLAIMED, CERTIFIED, AUDITED = "claimed", "certified by the ledger", "audited: at least"
LIMIT, CORRECTED = "limit of the sample", "certified when corrected"
ROOM = 1 - (COLUMNS[-1] + 6) / (72 * WIDTH)


@dataclass(frozen=True)
class MechanismRow:
    """One mechanism: numbers are nan where the cube holds none.

    delta : of the claim, and of all bounds next to it
    recovered_shares : shares of the secret entries that an attack finds, of the mechanism and of its repair
    """

    document: str
    label: str
    epsilon_claimed: float
    delta: float
    epsilon_certified: float
    epsilon_audited: float
    at_limit: bool
    refuted: bool
    control: bool
    epsilon_corrected: float
    recovered_shares: tuple[float, float] = (float("nan"), float("nan"))

    @property
    def color(self) -> str:
        """Grey for controls, red where the claim is refuted, orange where it is only unproved, blue where it holds."""
        if self.control:
            return GREY
        if self.refuted:
            return RED
        return BLUE if self.epsilon_certified <= self.epsilon_claimed * (1 + 1e-9) else ORANGE


def claims(cube: xr.Dataset) -> Figure:
    """Claimed, certified and audited epsilon of every mechanism as published, and certified after its repair.

    One line per mechanism, for the unit and at the delta of its claim, which is next to it. Ring: the claim; dot: what
    the ledger certifies; bar: what an attack proves at least, by formula or, where releases are sampled, at the
    confidence in the legend; diamond: certified when corrected. The dotted lines part what is claimed to be free and
    what has no finite bound from the axis. Red: an attack refutes the claim; orange: nothing proves it, or nothing is
    claimed; blue: it holds; grey: a control. Numbers are means over {replicates}; "recovered" is the share of the
    secrets that an attack reads, before and when corrected.
    """
    lines = published_lines(cube)
    if not lines:
        return empty("No published mechanism in this configuration.")
    documents = list(dict.fromkeys(line.document for line in lines))
    rows = len(lines) + 1.4 * len(documents)
    figure, (ax,) = panels(1, 1, WIDTH, ROW_HEIGHT * rows + 1.5)
    # The columns of numbers stand beside the axis, where the layout leaves no room by itself.
    figure.set_layout_engine("constrained", rect=(0, 0, ROOM, 1))
    place, ticks = 0.0, []
    for document in documents:
        place += 1.0
        ax.text(
            -0.01,
            place,
            document,
            transform=ax.get_yaxis_transform(),
            ha="right",
            va="center",
            weight="bold",
        )
        for line in (entry for entry in lines if entry.document == document):
            place += 1.0
            ticks.append((place, line))
            draw_line(ax, place, line)
            claimed, audited = _digits(line.epsilon_claimed), _digits(line.epsilon_audited)
            certified = _rounded_upward(line.epsilon_certified)
            _figures(ax, place, [claimed, _delta(line.delta), certified, audited, _shares(*line.recovered_shares)])
        place += 0.4
    _figures(ax, 0.9, HEADS)
    _axis(ax, ticks, place)
    _legend(figure, _confidence(cube))
    heading(figure, "What the sources claim, and what holds")
    return figure


def worst_claims(cube: xr.Dataset) -> Figure:
    """The six mechanisms whose claim of a finite epsilon an attack refutes by the largest factor.

    Ring: the claim of the source; bar: what an attack proves at least, an arrow where only the size of its sample
    limits it; dot: what the ledger certifies; diamond: certified after the correction. Every number is for the unit and
    at the delta of its claim, a mean over {replicates}.
    """
    finite = [
        line
        for line in published_lines(cube)
        if line.refuted and line.epsilon_claimed > 0 and line.epsilon_audited < np.inf
    ]
    worst: dict[str, MechanismRow] = {}
    for line in sorted(finite, key=lambda line: line.epsilon_audited / line.epsilon_claimed, reverse=True):
        worst.setdefault(line.label.partition(" - ")[0], line)
    lines = list(worst.values())[:WORST]
    if not lines:
        return empty("No refuted claim of a finite epsilon in this configuration.")
    figure, (ax,) = panels(1, 1, 9.0, 0.5 * len(lines) + 1.6)
    for place, line in enumerate(lines, 1):
        draw_line(ax, place, line)
        claimed, audited = _digits(line.epsilon_claimed), _digits(line.epsilon_audited)
        text = f"claimed {claimed}, attacked: at least {audited}, certified {_rounded_upward(line.epsilon_certified)}"
        ax.text(LOW - 0.2, place - 0.2, text, va="bottom", fontsize=9)
    _axis(ax, list(enumerate(lines, 1)), len(lines))
    ax.set_yticks(range(1, len(lines) + 1), [f"{line.label}\n{line.document}" for line in lines])
    _legend(figure, _confidence(cube), controls=False)
    heading(figure, "The six claims that are refuted by the largest factor")
    return figure


def published_lines(cube: xr.Dataset) -> list[MechanismRow]:
    """One line for each case, party count and epsilon of the published mechanisms; the descriptive attack has none."""
    corrected = having(cube, "method", variant="corrected")
    published = [method for method in map(str, cube["method_label"].values) if method not in corrected]
    if not published:
        return []
    forms, lines = (published[0], next(iter(corrected), "")), []
    # Thousands of numbers are looked up one by one: none takes the coordinates beside it along, nor opens the file.
    cube = cube.reset_coords().load()
    for case in map(str, cube["case"].values):
        here = cube.sel(case=case)
        done = (here["status"].sel(method_label=published[0]) > 0).any(["replicate", "fold"])
        cells = np.argwhere(done.transpose("parties", "epsilon").values)
        slots = [(int(cube["parties"].values[a]), float(cube["epsilon"].values[b])) for a, b in cells]
        for j, e in slots:
            line = _line(here, forms, j, e, slots)
            if line is not None:
                lines.append(line)
    return sorted(lines, key=lambda line: line.document)


def _line(
    here: xr.Dataset, forms: tuple[str, str], parties: int, epsilon: float, slots: list[tuple[int, float]]
) -> MechanismRow | None:
    """One line; ``forms`` are the published and the corrected method."""
    cell: dict[str, str | float] = {"method_label": forms[0], "parties": parties, "epsilon": epsilon}
    if np.isfinite(_number(here, "tracing_auc", cell)):
        return None
    mended = cell | {"method_label": forms[1]}
    audited = np.fmax(_number(here, "audited_lower", cell), _number(here, "epsilon_mu_lower", cell))
    certified, claimed = _number(here, "certified_for_claim", cell), _number(here, "epsilon_claimed", cell)
    return MechanismRow(
        document=_word(here, "source_document", cell),
        label=_label(here, cell, slots),
        epsilon_claimed=claimed,
        delta=_number(here, "claim_delta", cell),
        epsilon_certified=certified,
        epsilon_audited=float(audited),
        at_limit=_number(here, "at_sample_limit", cell) > 0,
        # What is not said cannot be refuted.
        refuted=not np.isnan(claimed)
        and (_number(here, "claim_refuted", cell) > 0 or (np.isinf(certified) and np.isinf(audited))),
        control=_number(here, "control", cell) > 0,
        epsilon_corrected=_number(here, "certified_for_claim", mended),
        recovered_shares=(_number(here, "recovered_share", cell), _number(here, "recovered_share", mended)),
    )


def _number(here: xr.Dataset, name: str, cell: dict[str, str | float]) -> float:
    """Mean over replicates of one number, nan where it is not defined."""
    if name not in here or cell["method_label"] not in here["method_label"].values:
        return float("nan")
    values = here[name].sel(cell).values.astype(float).ravel()
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


def _word(here: xr.Dataset, name: str, cell: dict[str, str | float]) -> str:
    return str(meanings(here[name].sel(cell)).values.ravel()[0]).replace("_", " ")


def _label(here: xr.Dataset, cell: dict[str, str | float], slots: list[tuple[int, float]]) -> str:
    """Title of the row, with the party count or the epsilon where a case has several."""
    label = _word(here, "title", cell).replace("s2M", "s²M")
    if len({j for j, _ in slots}) > 1:
        label += f", J = {cell['parties']}"
    if len({e for _, e in slots}) > 1:
        label += f", ε = {cell['epsilon']:g}"
    return label


def position(value: float) -> float:
    """Place of an epsilon on the axis: its logarithm, or one of the two columns next to it."""
    if np.isinf(value):
        return INFINITE
    return FREE if value <= 0 else float(np.clip(np.log10(value), LOW, HIGH))


def draw_line(ax: Axes, y: float, line: MechanismRow) -> None:
    """Bracket to the audited bound, open mark at the claim, filled mark at the certificate, diamond at the repair."""
    color = line.color
    if line.epsilon_audited > 0:
        end = position(line.epsilon_audited)
        ax.plot([LOW - 0.2, end], [y, y], color=color, linewidth=1.2, solid_capstyle="butt", zorder=2)
        sign: Marks = {"marker": 5, "label": LIMIT} if line.at_limit else {"marker": "|", "label": AUDITED}
        ax.plot(end, y, color=color, markersize=7, markeredgewidth=1.8, zorder=3, **sign)
    if not np.isnan(line.epsilon_corrected):
        mended = position(line.epsilon_corrected)
        ax.plot(mended, y, "D", label=CORRECTED, color=GREEN, markersize=3.6, zorder=6)
    if not np.isnan(line.epsilon_claimed):
        ax.plot(position(line.epsilon_claimed), y, label=CLAIMED, linestyle="none", zorder=4, **_hollow(color))
    ax.plot(position(line.epsilon_certified), y, "o", label=CERTIFIED, color=color, markersize=5, zorder=5)


def _hollow(color: str) -> Marks:
    """The mark of a claim."""
    return {"marker": "o", "markerfacecolor": "white", "markeredgecolor": color, "markersize": 7}


def _figures(ax: Axes, y: float, words: Sequence[str]) -> None:
    """Columns to the right of the axis."""
    for word, offset in zip(words, COLUMNS, strict=True):
        ax.annotate(
            word,
            (1, y),
            (offset, 0),
            ax.get_yaxis_transform(),
            "offset points",
            ha="right",
            va="center",
            fontsize=8,
            # The rectangle of the layout leaves them room.
            in_layout=False,
        )


def _rounded_upward(value: float) -> str:
    """The digits of a certified epsilon."""
    if not np.isfinite(value):
        return _digits(value)
    printed = upward(value)
    return f"{float(printed):,.0f}" if 1e3 <= value < 1e6 else printed.replace("e+0", "e")


def _digits(value: float) -> str:
    if np.isnan(value):
        return "–"
    if np.isinf(value):
        return "∞"
    if value >= 1e6:
        return f"{value:.2e}".replace("e+0", "e")
    return "free" if value == 0 else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _delta(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.2g}".replace("e-0", "e-")


def _confidence(cube: xr.Dataset) -> str:
    """Confidence of the bounds that come from counts, in words; nothing where none does."""
    if "audit_confidence" not in cube:
        return ""
    values = cube["audit_confidence"].values
    values = values[np.isfinite(values)]
    return f" (sampled: confidence {100 * values.min():.4g} %)" if len(values) else ""


def _shares(published: float, corrected: float) -> str:
    """Return the share of secret entries that an attack recovers, and the share when corrected, in words."""
    if np.isnan(published):
        return ""
    return f"{published:.0%}" + ("" if np.isnan(corrected) else f" → {corrected:.0%}")


def _axis(ax: Axes, ticks: list[tuple[float, MechanismRow]], last: float) -> None:
    ax.set_yticks([place for place, _ in ticks], [line.label for _, line in ticks])
    ax.tick_params(axis="y", length=0)
    powers = list(range(int(np.ceil(LOW)), int(HIGH) + 1))
    names = [f"{10.0**power:g}" if power < 4 else f"$10^{power}$" for power in powers]
    ax.set_xticks([FREE, *powers, INFINITE], ["free", *names, "∞"])
    ax.set_xlim(FREE - 0.3, INFINITE + 0.35)
    ax.set_ylim(last + 0.6, 0.2)
    ax.grid(axis="y", visible=False)
    for edge in ((FREE + LOW) / 2 - 0.05, (HIGH + INFINITE) / 2):
        ax.axvline(edge, color=GREY, linewidth=0.8, linestyle=":")
    ax.set_xlabel("privacy loss ε at the δ of the claim, for the unit of the claim (logarithmic)")


def _legend(figure: Figure, confidence: str, controls: bool = True) -> None:
    """The legend of signs and, where panels have ``controls``, of colours; ``confidence`` is that of the bars."""
    for line in (line for ax in figure.axes for line in ax.lines if line.get_label() == AUDITED):
        line.set_label(AUDITED + confidence)
    signs = (CLAIMED, CERTIFIED, AUDITED + confidence, LIMIT, CORRECTED)
    colors = {"claim refuted": RED, "claim not proved": ORANGE, "control: keeps its claim": GREY}
    legend_of_signs(figure, signs, 4 if controls else 3, colors if controls else {})
