"""The job that gathers the blocks of all fits: cube, ledger, wire table and summary of one study.

Parts are read one after the other.  Of each cell only its numbers stay in memory, 8 bytes each; releases go to the
disk as they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import chain
from pathlib import Path

import xarray as xr

from ..core.files import replacing
from .blocks import Part, PartLabels, read_entries
from .plan import Plan
from .results.assemble import header_of
from .results.columns import CubeColumns
from .results.cube import write_cube
from .results.provenance import global_attributes
from .tables.dictionary import dictionary_rows, tidy_rows
from .tables.ledger import LedgerTables
from .tables.page import shown_names, tables_page
from .tables.rows import write_csv, write_text
from .tables.run_totals import RunTotals
from .tables.screen import findings
from .tables.summary import summary_rows
from .tables.summary_text import summary_text
from .tables.take_home import Homes
from .tables.templates import render
from .tables.wire import WIRE, Wire


def collect(
    plan: Plan, blocks: Iterable[Path | str], outputs: Mapping[str, Path | str], *, code_sha256: str, root: Path
) -> None:
    """Gather the blocks of a study, one file of each fit job, and write everything that is kept of it.

    ``outputs`` are the paths of the rule ``collect`` by name; ``root`` is the project folder, for the revision and the
    lock.
    """
    entries = sorted(chain.from_iterable(map(read_entries, blocks)))
    with (
        replacing(outputs["ledger"]) as ledger,
        replacing(outputs["totals"]) as totals,
        ledger.open("wb") as releases,
        totals.open("wb") as sums,
        closing(LedgerTables(plan, releases, sums, ledger.parent)) as tables,
    ):
        columns, header, wire, homes = gather(plan, entries, tables)
    header.attrs = dict(global_attributes(plan, code_sha256=code_sha256, root=root))
    write_cube(outputs["cube"], header, columns.layers)
    write_text(
        outputs["wire"],
        render("tables/wire.md.jinja", title=plan.study.title, columns=WIRE, wire=wire.template_fields()),
    )
    write_csv(outputs["tidy"], tidy_rows(plan, columns))
    write_csv(outputs["predictions"], homes.rows(), homes.names(), join_columns=["id"])
    write_text(outputs["models"], homes.text())
    write_csv(outputs["dictionary"], dictionary_rows(columns, homes.names()))
    write_csv(outputs["summary"], summary_rows(plan, columns))
    write_text(outputs["text"], summary_text(plan, columns, homes.notes()))
    study_findings = findings(plan, columns, homes.notes())
    write_text(outputs["findings"], study_findings.text())
    page_rows = summary_rows(plan, columns, shown_names(plan))
    dictionary = dictionary_rows(columns, homes.names())
    page = tables_page(
        plan, header.attrs, page_rows, wire.template_fields(), outputs["totals"], dictionary, study_findings
    )
    write_text(outputs["tables"], page)


def gather(
    plan: Plan, entries: Iterable[PartLabels], tables: LedgerTables
) -> tuple[CubeColumns, xr.Dataset, Wire, Homes]:
    """Read every part once: its numbers, example fits, messages and homes; its releases go to the tables."""
    columns, wire, homes = CubeColumns(plan), Wire(plan), Homes(plan)
    totals, example_fits = RunTotals(plan, columns), list[Part]()
    for group in together(entries):
        parts = [entry.read() for entry in group]
        for part in parts:
            columns.add(part)
            wire.add(part)
            homes.add(part)
            if part.example_fits:
                example_fits.append(replace(part, numbers={}, releases={}, wire={}, owner_reports={}))
        totals.add(tables.add(parts))
    columns.check()
    totals.close()
    return columns, header_of(plan, columns, example_fits), wire, homes


def together(entries: Iterable[PartLabels]) -> Iterator[list[PartLabels]]:
    """Parts that may hold folds of the same replicate: same case, method and parties, replicates that overlap."""
    group: list[PartLabels] = []
    for entry in entries:
        same = group and (entry.case, entry.method, entry.parties) == (group[0].case, group[0].method, group[0].parties)
        if group and not (same and min(entry.replicates) <= max(max(earlier.replicates) for earlier in group)):
            yield group
            group = []
        group.append(entry)
    if group:
        yield group
