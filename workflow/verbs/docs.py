"""The verb ``./run docs``: the site of all pages."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

from partywise.core.verbs import new_parser

# Every warning is an error; a page is built anew only where it or the code behind it changed.
BUILD = ["--quiet", "--fail-on-warning", "--keep-going", "-b", "html", "-d", "docs/_build/doctrees"]


def main(words: Sequence[str]) -> int:
    """Build the site; the exit code of sphinx."""
    new_parser("docs").parse_args(words)
    code = subprocess.run([sys.executable, "-m", "sphinx", *BUILD, "docs", "docs/_build/html"]).returncode
    if code == 0:
        print("The site: docs/_build/html/index.html")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
