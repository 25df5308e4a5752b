"""docs/python.md: every example prints what stands under it."""

from __future__ import annotations

import re
import subprocess
import sys

import documented
from pipeline import ROOT, environment

PAGE = ROOT / "docs" / "python.md"


def test_every_example_prints_what_stands_under_it(tmp_path):
    command = [sys.executable, "-W", "error", str(ROOT / "tests" / "support" / "documented.py"), str(PAGE), "--extras"]
    path = {"PYTHONPATH": str(ROOT / "lib")}
    done = subprocess.run(command, env=environment() | path, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_block_of_code_has_its_output():
    found = list(documented.examples(PAGE))
    assert len(found) >= 8 and all(expected for _, expected in found)
    assert len(found) == len(re.findall(r"^```python$", PAGE.read_text(encoding="utf-8"), re.M))


def test_a_page_that_is_wrong_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n", encoding="utf-8")
    (difference,) = documented.run(page, extras=True)
    assert "expected:\n3" in difference and "printed:\n2" in difference
