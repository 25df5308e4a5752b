"""Kills of parties around the last messages of a run, each with a pause beyond the patience of the others.

Six of the thirty moments, from puts and looks of every party; all of them: `tests/statistical/statistical_network.py`.
"""

from __future__ import annotations

import pytest

from forked import preload
from last_frames_kills import NAMES, PARTS, check_kills, moments
from partywise.deployment.wire import authority

pytestmark = pytest.mark.system


def test_no_kill_around_the_last_messages_loses_a_run_or_pays_twice(tmp_path):
    preload()
    authority.make(tmp_path / "certificates", NAMES, days=1)
    check_kills(tmp_path, tmp_path / "certificates", moments()[::PARTS])
