"""The verb ``design``: compute every design of a file and write its folder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .plan import PrecisionPlan

# Fits that a median and its standard error need.
LEAST_REPLICATES = 20


def design(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Write ``results/design/NAME`` for every design of a file and print the answers; 1 where a check refutes one."""
    parser.add_argument(
        "file", type=Path, help="configuration with a block `design`, such as config/design/survival.yaml"
    )
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of results (default results)")
    parser.add_argument(
        "--check", action="store_true", help="fit made-up records of every design as well, and compare half-widths"
    )
    parser.add_argument("--replicates", type=int, default=100, metavar="N", help="fits of a check (default 100)")
    options = parser.parse_args(words)
    if options.replicates < LEAST_REPLICATES:
        parser.error(f"--replicates is {options.replicates}: give at least {LEAST_REPLICATES}, for a median.")
    from .block import KEY, designs
    from .plan import plan_of
    from .text import headline

    refuted = False
    for name, block in designs(options.file).items():
        plan, folder = plan_of(block, f"{KEY}.{name}"), options.results / KEY / name
        write(plan, folder)
        print(f"{name}: {headline(plan)}")
        for row in plan.table:
            print(
                f"    {row['target']:<24} {row['value']:>9.4g} ±{row['half_width']:<8.3g} "
                f"(±{row['half_width_without_noise']:.3g} without noise)"
            )
        print(f"{folder}: design.html, paragraph.md, figure.png, design.csv, design.json")
        if options.check:
            refuted |= print_check(plan, options.replicates)
    return int(refuted)


def print_check(plan: PrecisionPlan, replicates: int) -> bool:
    """Print planned next to found half-widths; whether one of those that are asked for is refuted."""
    from .check import refutes

    rows = plan.check(replicates)
    wanted = {row["target"] for row in plan.table if row["wanted"] is not None} or {row["target"] for row in rows}
    print(f"check by {replicates} fits of made-up records")
    for row in rows:
        verdict = "differs from the plan" if refutes(row) else "as planned"
        print(
            f"    {row['target']:<24} planned ±{row['planned']:.3g}, median ±{row['median']:.3g} "
            f"(ratio {row['ratio']:.3f}, standard error {row['ratio_error']:.3f}): {verdict}; coverage "
            f"{row['covered']:.3f} (standard error {row['standard_error']:.3f}), "
            f"without interval {row['without_interval']:.2f}"
        )
    return any(refutes(row) for row in rows if row["target"] in wanted)


def write(plan: PrecisionPlan, folder: Path) -> None:
    """Write the five files of a plan."""
    from ...core.files import replacing
    from ..tables.rows import write_csv, write_text
    from .text import page

    write_text(folder / "design.json", plan.to_json())
    write_csv(folder / "design.csv", plan.table)
    write_text(folder / "paragraph.md", f"{plan.paragraph()}\n")
    write_text(folder / "design.html", page(plan))
    figure = plan.figure()
    with replacing(folder / "figure.png") as temporary:
        figure.savefig(temporary, format="png")
