"""``./run demo`` as a person says it: both cases, equal to the simulation, and how long each takes."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from pipeline import ROOT, environment

pytestmark = pytest.mark.system
SECONDS, TURNS = 5.0, 3


def test_real_data_of_two_studies_by_four_processes_each(tmp_path):
    words = ["workflow/verbs/demo.py", "--folder", str(tmp_path), "--resources", "resources"]
    least = [float("inf")] * 2
    for _ in range(TURNS):
        done = subprocess.run(
            [sys.executable, *words], cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("simulation of all files: equal: transcript, ledger, and what each party holds") == 2
        seconds = [float(found) for found in re.findall(r"from start to end ([\d.]+) s", done.stdout)]
        least = [min(pair) for pair in zip(least, seconds, strict=True)]
    print(f"four processes of each case: {least} s from the first start to the last end, at most {SECONDS:g}")
    assert max(least) <= SECONDS
