"""The job that gathers the corners of all fits: cube, ledger, wire table and summary of one study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from .assembly import assemble
from .corners import read_corners
from .cube import write_cube
from .pages import tables_page
from .plan import Plan
from .provenance import global_attributes
from .summary import summary_rows, summary_text
from .tables import ledger_rows, ledger_totals, wire_markdown, write_csv, write_text


def collect(
    plan: Plan, corners: Iterable[Path | str], outputs: Mapping[str, Path | str], *, code_sha256: str, root: Path
) -> None:
    """Gather the corners of a study and write everything that is kept of it.

    Parameters
    ----------
    plan : Plan
    corners : iterable of path
        One file of each fit job; their order does not matter.
    outputs : mapping
        Paths of ``cube``, ``ledger``, ``totals``, ``wire``, ``summary``, ``text`` and ``tables``.
    code_sha256 : str
        Fingerprint of the library files behind the cube.
    root : Path
        Project folder, for the revision and the lock.
    """
    read = chain.from_iterable(map(read_corners, corners))
    found = sorted(read, key=lambda c: (c.case, c.method, c.parties, c.replicates, c.folds))
    totals = ledger_totals(plan, found)
    cube = assemble(plan, found, totals)
    cube.attrs = dict(global_attributes(plan, code_sha256=code_sha256, root=root))
    write_cube(outputs["cube"], cube)
    summary, wire = summary_rows(plan, cube), wire_markdown(plan, found)
    write_csv(outputs["ledger"], ledger_rows(plan, found))
    write_csv(outputs["totals"], totals)
    write_text(outputs["wire"], wire)
    write_csv(outputs["summary"], summary)
    write_text(outputs["text"], summary_text(plan, cube))
    write_text(outputs["tables"], tables_page(plan, cube.attrs, summary, wire, totals))
