"""The one screen at the end of a run: one table for all studies, what to be careful about, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap

from partywise.core.project import IN_CLONE, command
from partywise.experiment.tables.findings import NONE, USUAL, Findings, PrivateResult, weakest_guarantee

WIDTH = 100
# Lines of the whole screen, which fits on most of them.
LINES = 40
# Largest numbers of rows per study, of lines of the table and of warnings.
ROWS, TABLE, WARNINGS = 8, 26, 6
HEAD = (f"Certified methods at epsilon = {USUAL:g}", "protects", "measure", "private", "noise-free")
# Largest widths of the columns; between two of them are two blanks.
WIDEST = (30, 8, 26, 16, 10)
INDENT, GAP = "  ", "  "


def screen(folder: Path, top: str, names: Sequence[str], time: str = "") -> str:
    """Return the screen of a run.

    Parameters
    ----------
    folder : Path
        Of the run.
    top : str
        Folder of the results below it.
    names : sequence of str
        Of the studies, in order; one without its ``findings.json`` is left out.
    time : str, optional
        How long the run took.

    Returns
    -------
    str
        At most ``LINES`` lines of ``WIDTH`` characters.  Texts are wrapped, never cut; of many studies each has fewer
        rows, and further rows and warnings are counted.
    """
    paths = [folder / top / name / "findings.json" for name in names]
    studies = [Findings.of(path.read_text(encoding="utf-8")) for path in paths if path.exists()]
    blocks = [_head(top, studies, time), _claims(studies), _guarantee(studies)]
    warnings, end = _warnings(studies), next_steps(top)
    room = LINES - sum(len(block) + 1 for block in (*blocks, warnings, end) if block)
    table = _table(studies, min(room, TABLE))
    ordered = [blocks[0], blocks[1], [*table, *blocks[2]], warnings, end]
    return "\n".join("".join(f"{line}\n" for line in block) for block in ordered if block)


def _head(top: str, studies: Sequence[Findings], time: str) -> list[str]:
    """Count studies and fits."""
    fits = sum(study.fits for study in studies)
    count = f"{len(studies)} stud{'y' if len(studies) == 1 else 'ies'}, {fits:,} fit{'s' * (fits != 1)}"
    return wrap(f"Run {Path(top).name}: {count}{f' in {time}' if time else ''}", WIDTH)


def _claims(studies: Sequence[Findings]) -> list[str]:
    """Count claims that an attack refutes."""
    sentences = [claims for study in studies for claims in study.claims]
    return [line for sentence in sentences for line in wrap(f"{sentence[:1].upper()}{sentence[1:]}", WIDTH)]


def _guarantee(studies: Sequence[Findings]) -> list[str]:
    """Name the weakest guarantee, and what shows more of one that is none."""
    infinite = any(study.worst and study.worst.is_infinite for study in studies)
    return wrap(weakest_guarantee(studies) + (f"; see {command('summary')}" if infinite else ""), WIDTH)


def _table(studies: Sequence[Findings], room: int) -> list[str]:
    """Return the rows of all studies: the first of each, then, as long as there is room, further private results."""
    ranked = sorted(
        (place > 0 and result.private == NONE, place, number)
        for number, study in enumerate(studies)
        for place, result in enumerate(study.results[:ROWS])
    )
    firsts, lines, count = sum(place == 0 for _, place, _ in ranked), list[str](), 0
    for count in range(len(ranked), 0, -1):
        chosen = sorted((number, place) for _, place, number in ranked[:count])
        lines = _lines([studies[number].results[place] for number, place in chosen])
        if len(lines) + (count < firsts) <= room:
            break
    return lines if count >= firsts else [*lines, f"{INDENT}and {firsts - count} more studies: {command('summary')}"]


def _lines(results: Sequence[PrivateResult]) -> list[str]:
    """Lay results out as lines of a table with a head; empty without results."""
    if not results:
        return []
    cells = [HEAD, *map(_cells, results)]
    wrapped = [[wrap(text, width) for text, width in zip(row, WIDEST, strict=True)] for row in cells]
    wrapped[0] = [[text] for text in HEAD]
    widths = [max(len(line) for row in wrapped for line in row[i]) for i in range(len(HEAD))]
    # The head of the first column begins where its lines are indented.
    widths[0] = max(len(HEAD[0]) - len(INDENT), *(len(line) for row in wrapped[1:] for line in row[0]))
    lines = []
    for number, row in enumerate(wrapped):
        indent = INDENT if number else ""
        first = widths[0] + len(INDENT) - len(indent)
        for i in range(max(map(len, row))):
            texts = [cell[i] if i < len(cell) else "" for cell in row]
            padded = [text.ljust(width) for text, width in zip(texts, (first, *widths[1:]), strict=True)]
            lines.append(f"{indent}{GAP.join(padded)}".rstrip())
    return lines


def _cells(result: PrivateResult) -> tuple[str, ...]:
    """Return the texts of a row; an epsilon that is not the usual one follows the number."""
    private = f"{result.private} at epsilon {result.epsilon}" if result.epsilon else result.private
    return result.title, result.protects, result.measure, private, result.noise_free


def _warnings(studies: Sequence[Findings]) -> list[str]:
    """Return what to be careful about, a sentence per line or two."""
    sentences = [f"{study.study}: {text}" for study in studies for text in (*study.warnings, *study.verdicts)]
    if not sentences:
        return []
    lines = [line for text in sentences[:WARNINGS] for line in wrap(text, WIDTH, **_hanging())]
    if len(sentences) > WARNINGS:
        lines.append(f"{INDENT}and {len(sentences) - WARNINGS} more: {command('summary')}")
    return ["Warnings", *lines]


def _hanging() -> dict[str, str]:
    return {"initial_indent": INDENT, "subsequent_indent": INDENT * 2}


def next_steps(top: str) -> list[str]:
    """Return the last lines, which name what to look at next, two per line."""
    entries = [
        f"{command('report')}  all figures on one page",
        f"{command('summary STUDY')}  tables",
        f"{top}  files",
        f"{'docs/tutorial.md' if IN_CLONE else command('check-data')}  your own data",
    ]
    width = max(map(len, entries[::2])) + 6
    pairs = zip(entries[::2], entries[1::2], strict=True)
    return [
        f"{start}{first.ljust(width)}{second}"
        for start, (first, second) in zip(("Next:  ", " " * 7), pairs, strict=True)
    ]


def write_screen(folder: Path, top: str, names: Sequence[str], time: str = "") -> str:
    """Keep the screen as ``screen.txt`` of the results, the same for the same results; return it with the time."""
    path = folder / top / "screen.txt"
    part = path.with_name(".screen.txt.part")
    part.write_text(screen(folder, top, names), encoding="utf-8")
    part.replace(path)
    return screen(folder, top, names, time)
