"""Claims of the sources about privacy, and what holds: one row per mechanism, from the cube alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import fill

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ....experiment.claims import Claim
from ....experiment.plotting.select import having, plan_behind
from ....experiment.plotting.style import BLACK, BLUE, GREEN, GREY, RED, empty, heading, legend_of_signs, panels
from ....experiment.results.attributes import meanings
from ....experiment.tables.templates import TypesetTable
from ....privacy.rounding import downward, upward

WORST = 6
# Factors between the outermost numbers and the ends of the axis, and from the largest to the column of infinity.
MARGIN, BEYOND = 3.0, 6.0
# Letters of a line of the labels.
LETTERS = 45
# What the signs mean.
CLAIMED, CERTIFIED, AUDITED = "claimed by the source", "certified, as published", "proved by an attack: at least"
LIMIT, CORRECTED = "at least; more draws would prove more", "certified, corrected"


@dataclass(frozen=True)
class MechanismRow:
    """One mechanism: numbers are nan where the cube holds none.

    words : the mechanism for readers who do not know the source
    delta : of the claim, and of all bounds next to it
    recovered_shares : shares of the secret entries that an attack finds, of the mechanism and of its repair
    """

    document: str
    label: str
    words: str
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
    def outcome(self) -> str:
        """Return the outcome in words."""
        if self.refuted:
            return "refuted"
        if np.isnan(self.epsilon_claimed):
            return "no claim"
        return "holds" if self.epsilon_certified <= self.epsilon_claimed * (1 + 1e-9) else "not proved"

    @property
    def factor(self) -> float:
        """Return how many times the claim an attack proves."""
        return self.epsilon_audited / self.epsilon_claimed


def claims(cube: xr.Dataset) -> TypesetTable:
    """Claimed, attacked and certified epsilon of every published mechanism, and certified when corrected.

    One row per mechanism, for the unit and at the delta of its claim; numbers are means over {replicates}.
    """
    lines = published_lines(cube)
    if not lines:
        return TypesetTable("Privacy claims of the sources", (), ("No published mechanism in this configuration.",))
    attacked = [line for line in lines if not np.isnan(line.epsilon_claimed) and not np.isnan(line.epsilon_audited)]
    notes = [
        "Every epsilon is for the unit and at the delta of the claim. free: the source counts the release as costing "
        "nothing; none: it states no epsilon. Not attacked is not a 0.",
        "Attacked at least: a lower bound of epsilon that an attack proves, exactly or by counts"
        f"{_confidence(cube)}; > marks bounds that more draws would raise.",
        "Records recovered: share of the secret entries that an attack finds exactly, as published and, after the "
        "arrow, when corrected.",
    ]
    return TypesetTable(
        f"{sum(line.refuted for line in attacked)} of {len(attacked)} attacked privacy claims are refuted",
        [_cells(line) for line in lines],
        notes,
    )


def _cells(line: MechanismRow) -> dict[str, object]:
    """The row of a mechanism; what is unknown is a word, never a number."""
    claimed: object = line.epsilon_claimed
    if np.isnan(line.epsilon_claimed):
        claimed = "none"
    elif line.epsilon_claimed == 0:
        claimed = "free"
    attacked = "not attacked" if np.isnan(line.epsilon_audited) else _least(line.epsilon_audited)
    return {
        "mechanism": line.label,
        "source": line.document,
        "claimed": claimed,
        "delta": line.delta,
        "attacked at least": attacked + ">" * line.at_limit,
        "certified": _most(line.epsilon_certified),
        "certified when corrected": "" if np.isnan(line.epsilon_corrected) else _most(line.epsilon_corrected),
        "records recovered": _shares(*line.recovered_shares),
        "outcome": f"{line.outcome}, a control" if line.control else line.outcome,
    }


def worst_claims(cube: xr.Dataset) -> Figure:
    """The mechanisms whose claim of a finite epsilon an attack refutes by the largest factors, at most six.

    Ring: the epsilon that the source claims; red bar: what an attack on the published mechanism proves at least, with
    an arrow where more draws would prove more; blue dot: what the ledger certifies for it; green diamond: what it
    certifies after the correction, where there is one. Of several forms of one mechanism the worst is shown. Every
    number is for the unit and at the delta of its claim, a mean over {replicates}.
    """
    finite = [
        line
        for line in published_lines(cube)
        if line.refuted and line.epsilon_claimed > 0 and line.epsilon_audited < np.inf
    ]
    worst: dict[str, MechanismRow] = {}
    for line in sorted(finite, key=lambda line: line.factor, reverse=True):
        worst.setdefault(line.label.partition(" - ")[0], line)
    lines = list(worst.values())[:WORST]
    if not lines:
        return empty("No refuted claim of a finite epsilon in this configuration.")
    figure, (ax,) = panels(1, 1, 7.0, 0.55 * max(len(lines), 2) + 1.7)
    numbers = [
        value
        for line in lines
        for value in (line.epsilon_claimed, line.epsilon_audited, line.epsilon_certified, line.epsilon_corrected)
        if 0 < value < np.inf
    ]
    least, most = min(numbers) / MARGIN, max(numbers)
    infinite = most * BEYOND
    for place, line in enumerate(lines):
        _draw_line(ax, place, line, least, infinite)
    ax.set_xscale("log")
    unbounded = any(np.isinf([line.epsilon_certified, line.epsilon_corrected]).any() for line in lines)
    ax.set(xlim=(least, (infinite if unbounded else most) * MARGIN), ylim=(len(lines) - 0.5, -0.7))
    powers = [10.0**power for power in range(int(np.ceil(np.log10(least))), int(np.log10(most)) + 1)]
    places, names = powers, [f"{power:,g}" if power < 1e6 else f"{power:g}" for power in powers]
    if unbounded:
        places, names = [*places, infinite], [*names, "∞"]
        ax.axvline(infinite / np.sqrt(BEYOND), color=GREY, linewidth=0.8, linestyle=":")
    ax.set_xticks(places, names)
    ax.xaxis.minorticks_off()
    ax.set_yticks(
        range(len(lines)), [fill(line.words, LETTERS) + f"\n{fill(_source(line.document), LETTERS)}" for line in lines]
    )
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("privacy loss ε, logarithmic")
    legend_of_signs(figure, (CLAIMED, AUDITED, LIMIT, CERTIFIED, CORRECTED), 3)
    heading(figure, f"Attacks prove up to {_factor(lines[0].factor)} times the ε that published methods claim")
    return figure


def _draw_line(ax: Axes, y: float, line: MechanismRow, least: float, infinite: float) -> None:
    """Bar up to the audited bound, ring at the claim, dot at the certificate, diamond at that of the correction."""
    end = line.epsilon_audited
    ax.plot([least, end], [y, y], color=RED, linewidth=1.4, solid_capstyle="butt", zorder=2)
    marker: str | int = 5 if line.at_limit else "|"
    label = LIMIT if line.at_limit else AUDITED
    ax.plot(end, y, color=RED, marker=marker, markersize=7, markeredgewidth=1.8, label=label, zorder=3)
    ring = {"marker": "o", "markerfacecolor": "white", "markeredgecolor": BLACK, "markersize": 8}
    ax.plot(line.epsilon_claimed, y, label=CLAIMED, linestyle="none", zorder=4, **ring)  # type: ignore[arg-type]
    certified = min(line.epsilon_certified, infinite)
    ax.plot(certified, y, "o", label=CERTIFIED, color=BLUE, markersize=5, zorder=5)
    if not np.isnan(line.epsilon_corrected):
        ax.plot(min(line.epsilon_corrected, infinite), y, "D", label=CORRECTED, color=GREEN, markersize=4, zorder=6)
    words = f"claimed {line.epsilon_claimed:.3g}, attacked: at least {line.epsilon_audited:.3g}"
    ax.text(line.epsilon_claimed, y - 0.2, words, va="bottom", ha="left", fontsize=7.5)


def _source(document: str) -> str:
    """Title of a source document; its number is named as such."""
    return re.sub(r"^(\d{3}) ", r"source \1: ", document)


def _factor(value: float) -> str:
    return f"{np.floor(value):,.0f}" if value >= 10 else f"{np.floor(10 * value) / 10:g}"


def published_lines(cube: xr.Dataset) -> list[MechanismRow]:
    """One line for each case, party count and epsilon of the published mechanisms; the descriptive attack has none."""
    corrected = having(cube, "method", variant="corrected")
    published = [method for method in map(str, cube["method_label"].values) if method not in corrected]
    if not published:
        return []
    forms, lines = (published[0], next(iter(corrected), "")), []
    plan = plan_behind(cube)
    # Thousands of numbers are looked up one by one: none takes the coordinates beside it along, nor opens the file.
    cube = cube.reset_coords().load()
    for case in map(str, cube["case"].values):
        here = cube.sel(case=case)
        done = (here["status"].sel(method_label=published[0]) > 0).any(["replicate", "fold"])
        cells = np.argwhere(done.transpose("parties", "epsilon").values)
        source, settings = plan.cases[case].source, plan.cases[case].settings
        words = source.words_for(settings) if isinstance(source, Claim) else ""
        slots = [(int(cube["parties"].values[a]), float(cube["epsilon"].values[b])) for a, b in cells]
        for j, e in slots:
            line = _line(here, forms, words, j, e, slots)
            if line is not None:
                lines.append(line)
    return sorted(lines, key=lambda line: line.document)


def _line(
    here: xr.Dataset, forms: tuple[str, str], words: str, parties: int, epsilon: float, slots: list[tuple[int, float]]
) -> MechanismRow | None:
    """One line; ``forms`` are the published and the corrected method, ``words`` its plain title."""
    cell: dict[str, str | float] = {"method_label": forms[0], "parties": parties, "epsilon": epsilon}
    if np.isfinite(_number(here, "tracing_auc", cell)):
        return None
    mended = cell | {"method_label": forms[1]}
    audited = np.fmax(_number(here, "audited_lower", cell), _number(here, "epsilon_mu_lower", cell))
    certified, claimed = _number(here, "certified_for_claim", cell), _number(here, "epsilon_claimed", cell)
    return MechanismRow(
        document=_word(here, "source_document", cell),
        label=_label(here, cell, slots),
        words=words,
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


def _most(value: float) -> str:
    """The digits of a certified epsilon, never below it."""
    return "∞" if np.isinf(value) else upward(value).replace("e+0", "e")


def _least(value: float) -> str:
    """The digits of a lower bound, never above it."""
    return downward(value) if np.isfinite(value) else "∞"


def _confidence(cube: xr.Dataset) -> str:
    """Confidence of the bounds that come from counts, in words; nothing where none does."""
    if "audit_confidence" not in cube:
        return ""
    values = cube["audit_confidence"].values
    values = values[np.isfinite(values)]
    return f" (confidence {100 * values.min():.4g} %)" if len(values) else ""


def _shares(published: float, corrected: float) -> str:
    """Return the share of secret entries that an attack recovers, and the share when corrected, in words."""
    if np.isnan(published):
        return ""
    return f"{published:.0%}" + ("" if np.isnan(corrected) else f" → {corrected:.0%}")
