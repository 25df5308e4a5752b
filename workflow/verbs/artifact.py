"""The verb ``./run check --artifact``: tick the points asked of an artifact of PETS, or write the pages behind them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from artifact import appendix, codemeta, commands, default_run, pins, sources
from artifact.bibliography import of_configuration
from artifact.measured import TIMED, keep_images, measure, timed
from artifact.points import POINTS
from partywise.core.files import replacing
from partywise.core.project import exit_code
from partywise.core.verbs import new_parser

PAGES = {
    sources.PAGE: sources.page,
    sources.CITATION: sources.citation,
    codemeta.PAGE: codemeta.page,
    commands.PAGE: commands.page,
    **pins.PAGES,
    sources.PAPER: sources.bibtex,
    appendix.PAGE: appendix.page,
    appendix.PAPER: appendix.paper,
    default_run.PAGE: default_run.page,
    **{path: partial(timed, path) for path in TIMED},
}


def main(words: Sequence[str]) -> int:
    """Print every point with what it lacks; 0 when all hold, 1 when one falls, 2 when nothing can be measured."""
    parser = new_parser("check --artifact")
    parser.add_argument("--write", action="store_true", help="write the pages that are made of facts anew, then tick")
    parser.add_argument("--measure", type=Path, help="keep time, memory, disk and screen of a finished run, then write")
    parser.add_argument("--images", type=Path, help="keep the figures of a finished run that pages show, then write")
    parser.add_argument("--resources", type=Path, help="where its data sets are (default resources)")
    parser.add_argument("--name", help="name of that configuration, where its folder has another one")
    parser.add_argument("--root", type=Path, default=Path(), help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    if arguments.measure is not None:
        name = arguments.name or arguments.measure.name
        data = [
            (arguments.resources or arguments.root / "resources") / dataset
            for dataset in of_configuration(arguments.root, name)
        ]
        if name == "default":
            default_run.keep(arguments.root, arguments.measure)
        if trouble := measure(arguments.root, arguments.measure, name, data):
            print(trouble, file=sys.stderr)
            return 2
    drawn = arguments.images
    if drawn is not None and (trouble := keep_images(arguments.root, drawn, arguments.name or drawn.name)):
        print(trouble, file=sys.stderr)
        return 2
    if arguments.write or arguments.measure is not None or drawn is not None:
        write(arguments.root)
    return tick(arguments.root)


def write(root: Path) -> None:
    """All pages that are made of facts."""
    for name, page in PAGES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        with replacing(root / name) as temporary:
            temporary.write_text(page(root), encoding="utf-8")


def tick(root: Path) -> int:
    """The list, and 1 where a point falls."""
    fallen = 0
    for number, point in enumerate(POINTS, 1):
        missing = list(point.missing(root))
        fallen += bool(missing)
        print(f"{number:2d}. [{' ' if missing else 'x'}] {point.title}")
        print("".join(f"        {line}\n" for line in missing), end="")
    print(f"{len(POINTS) - fallen} of {len(POINTS)} points hold.")
    return 1 if fallen else 0


if __name__ == "__main__":
    sys.exit(exit_code(lambda: main(sys.argv[1:])))
