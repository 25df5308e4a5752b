"""A sequence diagram as SVG: who is there, a line for each, and arrows in the order of the transcript."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .steps import Step
from .wording import Line, lines, split_number, totals

# Width in pixels, and what one line for each takes at least.
WIDTH, NARROWEST = 680, 88
# Parties of one name that share a line if all of them do the same.
FOLDED = 5
# Of a kind: colour, dashes and width of its line; "clear" is a double line.
KINDS = {
    "release": ("#23428B", "", 1.8),
    "cipher": ("#5A5A5A", "7 4", 1.6),
    "public": ("#00753F", "1.6 4", 2.2),
    "clear": ("#AB2509", "", 4.6),
}
TEXT, FADED, BOX = "#1A1A1A", "#8A8A8A", "#F2F4F8"
# Texts that stand on lines.
HALO = f'<g text-anchor="middle" fill="{TEXT}" stroke="#FFFFFF" stroke-width="3.5" paint-order="stroke">'
# Pixels: of a character at size 11.5, plain and bold; above a line of text; below an arrow; of the head of a loop.
CHARACTER, BOLD, LEADING, BELOW, HEAD = 6.4, 7.2, 14, 11, 24


@dataclass(frozen=True)
class Lifeline:
    """One line of a diagram: its label, everyone whom it stands for, and whether they hold data."""

    label: str
    names: tuple[str, ...]
    holds: bool


def lifelines(names: Sequence[str], holders: Sequence[str], diagram_lines: Sequence[Line]) -> list[Lifeline]:
    """A line for each, or for many of one name that do the same: "client 1 ... client 40"."""
    groups: dict[tuple[str, bool], list[str]] = {}
    for name in names:
        stem, count = split_number(name)
        groups.setdefault((stem, count is not None), []).append(name)
    columns, sides = list[Lifeline](), [set(side) for line in diagram_lines for side in (line.senders, line.receivers)]
    for name in names:
        stem, count = split_number(name)
        group = groups[stem, count is not None]
        alike = all(not side & set(group) or side >= set(group) for side in sides)
        if len(group) < FOLDED or count is None or not alike:
            columns.append(Lifeline(name, (name,), name in holders))
        elif name == group[0]:
            columns.append(Lifeline(f"{name} ... {group[-1]}", tuple(group), name in holders))
    return columns


def draw(steps: Sequence[Step], names: Sequence[str], holders: Sequence[str], title: str) -> str:
    """The diagram."""
    diagram_lines = list(lines(steps))
    columns = lifelines(names, holders, diagram_lines)
    width = max(WIDTH, NARROWEST * len(columns) + 20)
    at = {
        name: round(10 + (width - 20) * (k + 0.5) / len(columns), 1)
        for k, column in enumerate(columns)
        for name in column.names
    }
    body, bottom = _steps(diagram_lines, at, width)
    kinds = [kind for kind in KINDS if any(line.kind == kind for line in diagram_lines)]
    height = bottom + 16 + (26 if kinds else 0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' role="img" font-family="Helvetica, Arial, Liberation Sans, sans-serif" font-size="11.5">',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(f'Sequence diagram of {totals(steps)}.')}</desc>",
        f'<rect width="{width}" height="{height}" fill="#FFFFFF"/>',
        *_heads(columns, at, width, bottom),
        *body,
        *_legend(kinds, bottom + 26),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _heads(columns: Sequence[Lifeline], at: dict[str, float], width: int, bottom: float) -> list[str]:
    """Who is there: in a box, with broken edges who holds no data."""
    parts, wide = [], min(150.0, (width - 20) / len(columns) - 10)
    for column in columns:
        x = at[column.names[0]]
        edge = "" if column.holds else ' stroke-dasharray="4 3"'
        if len(column.names) > 1:
            parts.append(_box(x - wide / 2 + 3, 7, wide, 34, edge))
        parts += [_box(x - wide / 2, 10, wide, 34, edge), f'<path d="M{x:g} 44V{bottom:g}" stroke="#C4C4C4"/>']
        second = "" if column.holds else "no data"
        first, second = column.label.split(" ... ") if len(column.names) > 1 else (column.label, second)
        second = f"... {second}" if len(column.names) > 1 else second
        parts.append(_text(x, 24 if second else 31, first, "middle", TEXT, 12))
        if second:
            size, colour = (12, TEXT) if len(column.names) > 1 else (10, FADED)
            parts.append(_text(x, 38, second, "middle", colour, size))
    return parts


def _box(x: float, y: float, width: float, height: float, more: str = "") -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4" fill="{BOX}" stroke="#6B7280"{more}/>'
    )


def _text(x: float, y: float, words: str, anchor: str, colour: str, size: float) -> str:
    place = f'x="{x:.0f}" y="{y:g}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}" font-size="{size:g}">{escape(words)}</text>'


def _steps(diagram_lines: Sequence[Line], at: dict[str, float], width: int) -> tuple[list[str], float]:
    """All steps and where they end; the frames of loops lie below the arrows."""
    frames, parts, open_frames, y = list[str](), list[str](), list[tuple[int, float, str]](), 52.0

    def close_frames(depth: int) -> None:
        nonlocal y
        while open_frames and open_frames[-1][0] >= depth:
            level, top, title = open_frames.pop()
            y += 6
            frames.extend(_frame(level, top, y, width, title))
            y += 4

    for line in diagram_lines:
        close_frames(line.depth)
        if line.kind:
            arrow, y = _arrow(line, at, y, width)
            parts += arrow
        else:
            open_frames.append((line.depth, y + 4, f"{line.number}\u00a0 {line.title}"))
            y += HEAD
    close_frames(0)
    # The outer frames were closed last and lie below the inner ones.
    texts = [part for part in parts if part.startswith("<text")]
    strokes = [part for part in parts if not part.startswith("<text")]
    return [*reversed(frames), HALO, *texts, "</g>", *strokes], y + 6


def _frame(level: int, top: float, bottom: float, width: int, title: str) -> list[str]:
    """The frame of a loop; the text comes first, since what is drawn later lies below."""
    x, wide = 5 + 7 * level, width - 10 - 14 * level
    tab = len(title) * CHARACTER + 16
    head = f'<path d="M{x} {top:g}h{tab:g}v12l-6 6H{x}z" fill="#E3E7EF" stroke="#9AA3B2"/>'
    label = _text(x + 7, top + 13, title, "start", TEXT, 11)
    body = f'<rect x="{x}" y="{top:g}" width="{wide}" height="{bottom - top:g}" fill="none" stroke="#9AA3B2"/>'
    return [label, head, body]


def _arrow(line: Line, at: dict[str, float], y: float, width: int) -> tuple[list[str], float]:
    """One arrow with its words above it, and where the next step begins."""
    colour = KINDS[line.kind][0]
    senders, receivers = ([*dict.fromkeys(at[name] for name in side)] for side in (line.senders, line.receivers))
    name, details = f"{line.number}\u00a0 {line.title}", f"{line.kind} {line.details}"
    long = len(name) * BOLD, (len(details) + 2) * CHARACTER
    bold = f'<tspan font-weight="bold">{escape(name)}</tspan>'
    rest = f'<tspan fill="{colour}" font-weight="bold">{line.kind}</tspan> {escape(line.details)}'
    texts = [(f"{bold}&#160; {rest}", sum(long))]
    if sum(long) > width - 24 - 14 * line.depth:
        texts = [(bold, long[0]), (rest, long[1])]
    middle, parts = (min(senders + receivers) + max(senders + receivers)) / 2, []
    for text, size in texts:
        y += LEADING
        x = min(max(middle, size / 2 + 14 + 7 * line.depth), width - size / 2 - 12 - 7 * line.depth)
        parts.append(f'<text x="{x:.0f}" y="{y:g}">{text}</text>')
    y += 9
    return parts + _line(line.kind, senders, receivers, y), y + BELOW


def _line(kind: str, senders: Sequence[float], receivers: Sequence[float], y: float) -> list[str]:
    """From every sender, a dot, to every receiver, a head."""
    colour, dashes, thick = KINDS[kind]
    parts, tips = [], {(x, 1 if any(s < x for s in senders) else -1) for x in receivers}
    tips |= {(x, -1) for x in receivers if len(senders) > 1 and any(s > x for s in senders)}
    low, high = min([*senders, *receivers]), max([*senders, *receivers])
    # A line ends below its heads.
    low += 5 if (low, -1) in tips else 0
    high -= 5 if (high, 1) in tips else 0
    path, dash = f'd="M{low:g} {y:g}H{high:g}"', f' stroke-dasharray="{dashes}"' if dashes else ""
    parts.append(f'<path {path} stroke="{colour}" stroke-width="{thick:g}"{dash}/>')
    if kind == "clear":
        parts.append(f'<path {path} stroke="#FFFFFF" stroke-width="1.8"/>')
    parts += [f'<circle cx="{x:g}" cy="{y:g}" r="3.2" fill="{colour}"/>' for x in senders]
    for x, side in sorted(tips):
        parts.append(f'<path d="M{x:g} {y:g}l{-9 * side} -4.6v9.2z" fill="{colour}"/>')
    return parts


def _legend(kinds: Sequence[str], y: float) -> list[str]:
    """What the lines mean."""
    parts, x = [], 14.0
    for kind in kinds:
        parts += _line(kind, [x], [x + 44], y - 4)
        parts.append(_text(x + 52, y, kind, "start", TEXT, 11))
        x += 130
    return parts
