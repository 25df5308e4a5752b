"""The one screen at the end of a run: every study in a few lines, and where tables and figures are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from partywise.core.project import command

WIDTH = 100
# Of forty lines the last one tells how long the run took.
LINES = 39
# Lines that every study has, and those of its headline rows that one screen shows at most.
FIXED, ROWS = 2, 3


def screen(folder: Path, top: str, names: Sequence[str]) -> str:
    """The screen of a run.

    Parameters
    ----------
    folder : Path
        Of the run.
    top : str
        Folder of the results below it.
    names : sequence of str
        Of the studies, in order; one without its ``screen.txt`` is left out.

    Returns
    -------
    str
        At most ``LINES`` lines of ``WIDTH`` characters: the first lines of every study, as many of its rows as there is
        room for, and of too many studies their number.
    """
    paths = {name: folder / top / name / "screen.txt" for name in names}
    blocks = [path.read_text(encoding="utf-8").splitlines() for path in paths.values() if path.exists()]
    end = [
        f"Tables: {top}/<study>/summary.txt, or {command('summary')} [study]; cube.nc beside them",
        f"Figures: {top}/figures/<study>/; all on one page: {command('report')}",
    ]
    lines = [*_studies(blocks, LINES - len(end)), *end]
    return "".join(f"{line if len(line) <= WIDTH else line[: WIDTH - 1] + '…'}\n" for line in lines)


def _studies(blocks: Sequence[Sequence[str]], room: int) -> list[str]:
    """The lines of all studies, with an empty line between two where that fits."""
    for most in range(FIXED + ROWS, 0, -1):
        for between in ([""], []):
            lines = [line for block in blocks for line in (*block[:most], *between)]
            if len(lines) <= room:
                return lines
    return [*(block[0] for block in blocks[: room - 1]), f"and {len(blocks) - room + 1} more studies"]


def write_screen(folder: Path, top: str, names: Sequence[str]) -> str:
    """Keep the screen as ``screen.txt`` of the results: the same for the same results, without times."""
    text = screen(folder, top, names)
    path = folder / top / "screen.txt"
    part = path.with_name(".screen.txt.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
    return text
