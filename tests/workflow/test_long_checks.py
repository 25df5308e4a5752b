"""What the normal run does not collect is collected by the verbs that are for it, word by word."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from pipeline import ROOT
from verbs.test import LONG, SYSTEM


@pytest.mark.parametrize(
    ("verb", "folder"), [pytest.param("long", "statistical", marks=pytest.mark.runs), ("system", "system")]
)
def test_the_verb_collects_every_file_of_its_folder(verb, folder):
    """The words are those of the verb: a command made up here once passed while the verb itself ran nothing."""
    call = re.search(r'^"\$python" -m (pytest [^\n]*) "\$@"', (ROOT / SYSTEM).read_text(), re.MULTILINE)
    given = LONG[1:] if verb == "long" else shlex.split(call.group(1))
    words = [str(path) for word in given for path in (sorted(ROOT.glob(word)) if "/*" in word else [word])]
    # The other rooms take nine tenths of the time: that they can be collected is what every run of the tests shows.
    others = {path for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != folder}
    words = [word for word in words if ROOT / word not in others]
    command = [sys.executable, "-m", *words, *(f"--ignore={path}" for path in others), "-q", "--collect-only"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    collected = {line.split(":")[0] for line in done.stdout.splitlines() if line.startswith("tests/")}
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "tests" / folder).glob("*.py")} <= collected
