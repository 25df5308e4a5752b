"""What the normal run does not collect can be collected: a move that breaks an import of a long check is seen."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pipeline import ROOT


@pytest.mark.parametrize(("marker", "folder"), [("statistical", "statistical"), ("system", "system")])
def test_every_module_of_the_long_checks_is_imported_and_has_tests(marker, folder):
    files = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "tests" / folder).glob("*.py"))
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", marker, *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert {line.split(":")[0] for line in done.stdout.splitlines() if line.startswith("tests/")} == set(files)
