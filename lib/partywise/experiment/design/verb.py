"""The verb ``design``: compute every design of a file and write its folder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .plan import PrecisionPlan


def design(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Write ``results/design/NAME`` for every design of a file and print the answers."""
    parser.add_argument(
        "file", type=Path, help="configuration with a block `design`, such as config/design/survival.yaml"
    )
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of results (default results)")
    options = parser.parse_args(words)
    from .block import KEY, designs
    from .plan import plan_of
    from .text import headline

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
    return 0


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
