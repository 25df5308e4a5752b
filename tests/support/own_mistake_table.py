"""Every mistake against every source of own data as a Markdown table: `own_mistake_table.py [STUDY ...]`.

A mistake is (name, change, expected words): the change is done to valid files and settings, and the words must be in
the sentence that follows.  One that passes without a word is a defect: the exit code counts those that do, and those
whose words are others.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from own_columns import STUDIES, Columns
from own_contradictory import CONTRADICTORY
from own_malformed import MALFORMED
from own_mistakes import Own
from own_mistakes_columns import EVERYWHERE
from own_mistakes_studies import ONLY

Make = Callable[[Path], Any]
Mistakes = Sequence[tuple[str, Callable[[Any], object], str]]

CURVES = [(name, *told) for name, told in (CONTRADICTORY | MALFORMED).items()]
SOURCES: Mapping[str, tuple[Make, Mistakes]] = {"functional_boosting": (Own, CURVES)} | {
    study: (lambda folder, study=study: Columns(folder, study), [*EVERYWHERE, *ONLY[study]]) for study in STUDIES
}


def made(make: Make, change: Callable[[Any], object]) -> tuple[str, float]:
    """The sentence that a mistake ends in, empty if there is none, and the seconds that it took."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)
        try:
            own = make(Path(folder))
            change(own)
            begun = time.perf_counter()
            try:
                own.load()
            except Exception as error:
                return f"{'' if type(error).__name__ in NAMED else type(error).__name__ + ': '}{error}", since(begun)
            return "", since(begun)
        finally:
            os.chdir(before)


NAMED = ("DataMissing", "ConfigError", "UncertifiedError")


def since(begun: float) -> float:
    return time.perf_counter() - begun


def main(words: Sequence[str]) -> int:
    """Print the table of the named sources, or of all."""
    wrong = 0
    print("| source | mistake | message | s |\n|---|---|---|---|")
    for source in words or SOURCES:
        make, mistakes = SOURCES[source]
        for name, change, expected in mistakes:
            told, seconds = made(make, change)
            right = expected in told and "\n" not in told
            wrong += not right
            mark = "" if right else " **(other words)**" if told else " **silent**"
            shown = told.replace("|", "\\|").replace("\n", " ")
            print(f"| {source} | {name}{mark} | {shown} | {seconds:.2f} |")
    return wrong


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 100))
