"""The stated limits at their full size: 10,000 clients in 400 MB, and a ledger of a million rows totalled in 10 CPU s.

One run of ``tests/benchmarks/scaling.py``, about a minute of CPU time.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from pipeline import ROOT, environment

pytestmark = pytest.mark.statistical


def test_ten_thousand_clients_and_a_million_rows_keep_their_limits():
    command = [sys.executable, str(ROOT / "tests" / "benchmarks" / "scaling.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    clients = re.search(r"10,000 clients .*: ([\d.]+) CPU s, (\d+) MB, exponent ([\d.]+)", done.stdout)
    assert clients and int(clients[2]) <= 400 and float(clients[3]) <= 1.1
    totals = re.findall(r"1,000,000 rows: (?:total|worst)[a-z ]* ([\d.]+) CPU s", done.stdout)
    assert len(totals) == 4 and max(map(float, totals)) <= 10
