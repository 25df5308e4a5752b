"""The page: one file of HTML that needs no network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

from .content import FIRST, Figure, Run, Study
from .shorten import room_for_each, shortened

HERE = Path(__file__).resolve().parent
HEAD = re.compile(r"<thead><tr>(.*?)</tr></thead>", re.DOTALL)
ROW = re.compile(r"<tbody>\n<tr>(.*?)</tr>\n</tbody>", re.DOTALL)
# Lines of the table that opens the page, and bytes of all tables together.
MOST_LINES, ROOM = 10, 2_800_000
UNFOLDED = "summary"


def page(run: Run) -> str:
    """The page of a run."""
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    sizes = {
        f"{study.name} {key}": len(part.body.encode()) for study in run.studies for key, part in study.parts.items()
    }
    room = room_for_each(sizes, ROOM)
    studies = "\n".join(study_section(study, room) for study in run.studies)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>partywise: {escape(run.name)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f'<a class="skip" href="#main">Skip to the results</a>\n{top(run)}\n{navigation(run)}\n<main id="main">\n'
        f"{lead(run)}{overview(run)}\n{studies}\n</main>\n<script>\n{script}</script>\n</body>\n</html>\n"
    )


def top(run: Run) -> str:
    """Title, configuration, and what this is."""
    counts = f"{counted(len(run.studies), 'study', 'studies')}, {counted(len(run.figures), 'figure', 'figures')}"
    told = f"Configuration <code>{escape(run.configuration)}</code>: {counts}."
    return f"<header>\n<h1>Results of <em>{escape(run.name)}</em></h1>\n<p>{told}</p>\n{run.about}\n</header>"


def counted(number: int, one: str, more: str) -> str:
    """A number and its noun."""
    return f"{number} {one if number == 1 else more}"


def navigation(run: Run) -> str:
    """Links to all parts, and the filter over figures."""
    links = {"claims": "claims"} if run.lead else {}
    links |= {"studies": "all studies"} | {study.name: study.words for study in run.studies}
    return (
        f'<nav aria-label="parts of the report"><div class="links">{linked(links)}</div>\n'
        '<label>Figures with the words <input id="figures" type="search" placeholder="such as: epsilon"></label>'
        '<span id="shown" role="status"></span></nav>'
    )


def linked(links: Mapping[str, str]) -> str:
    """Links to anchors of the page."""
    return " ".join(f'<a href="#{anchor}">{escape(words)}</a>' for anchor, words in links.items())


def lead(run: Run) -> str:
    """The figure that opens the report."""
    if run.lead is None:
        return ""
    title = "<h2>What is claimed, and what holds</h2>"
    return f'<section id="claims">\n{title}\n{figure_block(run.lead)}\n</section>\n'


def figure_block(figure: Figure) -> str:
    """A figure with its caption in view; a table is folded and as wide as the page."""
    if figure.is_table:
        return (
            f'<figure class="table" id="{anchor_of(figure)}">\n<h3>{escape(figure.words)}</h3>\n'
            f"<figcaption>{figure.caption}</figcaption>\n"
            f"<section><details>\n<summary>All rows</summary>\n{figure.table()}\n</details></section>\n</figure>"
        )
    return (
        f'<figure id="{anchor_of(figure)}">\n<h3>{escape(figure.words)}</h3>\n'
        f'<div class="drawing"><img alt="{escape(figure.alt)}" src="{figure.source()}"></div>\n'
        f"<figcaption>{figure.caption}</figcaption>\n</figure>"
    )


def anchor_of(figure: Figure) -> str:
    """Where a link finds a figure."""
    return f"{figure.study}-{figure.name}"


def overview(run: Run) -> str:
    """A line a study, at most ``MOST_LINES``."""
    shown = run.studies if len(run.studies) <= MOST_LINES else run.studies[: MOST_LINES - 1]
    head = HEAD.search(run.studies[0].parts["overview"].body)
    lines = [f'<tr><th scope="col">study</th>{head.group(1) if head else ""}</tr>']
    for study in shown:
        row = ROW.search(study.parts["overview"].body)
        link = f'<th scope="row"><a href="#{study.name}">{escape(study.words)}</a></th>'
        lines.append(f"<tr>{link}{row.group(1) if row else ''}</tr>")
    if len(shown) < len(run.studies):
        lines.append(f'<tr><th scope="row">and {len(run.studies) - len(shown)} more studies below</th></tr>')
    body = "\n".join(lines[1:])
    return (
        '<section id="studies">\n<h2>All studies</h2>\n<div class="wide" tabindex="0"><table class="overview">'
        f"<thead>{lines[0]}</thead><tbody>\n{body}\n</tbody></table></div>\n</section>"
    )


def study_section(study: Study, room: int) -> str:
    """Figures of a study with captions, its summary, and what else there is, folded."""
    links = {anchor_of(figure): figure.words for figure in study.figures}
    tables = {f"{study.name}-{key}": part.title for key, part in study.parts.items() if key != "overview"}
    figures = "\n".join(figure_block(figure) for figure in study.figures if figure.order != FIRST)
    parts = "\n".join(part_block(study, key, room) for key in study.parts if key != "overview")
    return (
        f'<section class="study" id="{study.name}">\n<h2>{study.title}</h2>\n'
        f'<p class="links">Figures: {linked(links) or "none"}<br>Tables: {linked(tables)}</p>\n{left_out(study)}'
        f'<div class="figures">\n{figures}\n</div>\n{parts}\n</section>'
    )


def left_out(study: Study) -> str:
    """Which figures of own records are not on this page, and how to have them."""
    if not study.withheld:
        return ""
    names = ", ".join(name.replace("_", " ") for name in study.withheld)
    return f"<p>Left out, since they show single records: {escape(names)}; <code>./run report --records</code>.</p>\n"


def part_block(study: Study, key: str, room: int) -> str:
    """One section of the tables; all but the summary are folded."""
    part = study.parts[key]
    body = shortened(part.body, key, room)
    if key == UNFOLDED:
        inner = f"<h3>{part.title}</h3>\n{body}"
    else:
        inner = f"<details>\n<summary>{part.title}</summary>\n{body}\n</details>"
    return f'<section id="{study.name}-{key}">\n{inner}\n</section>'
