"""Plain names for a project whose own path holds spaces or signs, which Snakemake would hand to a shell unquoted.

For the time of a run the interpreter and the Snakefile are called through links in a temporary folder.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PLAIN = re.compile(r"[A-Za-z0-9_.,+=@/-]+")
# A backslash is an escape to Snakemake, a colon ends a folder on every search path, and a line ends with the others.
IMPOSSIBLE = re.compile(r"[:\\\x00-\x1f\x7f]")


class NoPlainName(ValueError):
    """Nothing can run at this path."""


@contextmanager
def plain_names(snakefile: Path, elsewhere: bool) -> Iterator[tuple[str, str]]:
    """The interpreter of this process and a Snakefile, by names without spaces and signs; NoPlainName with the remedy.

    elsewhere : whether jobs may run on other machines, which do not see a temporary folder of this one
    """
    python, project = Path(sys.executable), snakefile.parent
    path = next((str(path) for path in (python, project) if not PLAIN.fullmatch(str(path))), None)
    if path is None:
        yield str(python), str(snakefile)
        return
    move = "move the project to a path of letters, digits and _ . , + = @ -."
    if sign := IMPOSSIBLE.search(path):
        raise NoPlainName(f"The path {path!r} holds {sign[0]!r}, with which no job can run: {move}")
    if elsewhere:
        raise NoPlainName(f"The path {path!r} holds spaces or signs, with which no job runs on other machines: {move}")
    with tempfile.TemporaryDirectory(prefix="partywise-", dir=_place()) as links:
        for name, target in (("python", python.parent.parent), ("project", project)):
            (Path(links) / name).symlink_to(target, target_is_directory=True)
        yield f"{links}/python/{python.parent.name}/{python.name}", f"{links}/project/{snakefile.name}"


def _place() -> str:
    """A folder for temporary files that has a plain name itself."""
    folder = tempfile.gettempdir()
    return folder if PLAIN.fullmatch(folder) else "/tmp"
