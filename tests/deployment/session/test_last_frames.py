"""A run that has ended at one party ends at all, also where another was killed before its last message was everywhere.

Thirty such kills: `tests/statistical/statistical_network.py`; six of them: `tests/system/last_messages.py`.
"""

from __future__ import annotations

from forked import preload
from last_frames_kills import NAMES, check_kills
from partywise.deployment.wire import authority


def test_a_kill_between_the_last_messages_ends_in_no_start_that_fails(tmp_path):
    """One party heard that this one is done and has ended, another did not hear it."""
    preload()
    authority.make(tmp_path / "certificates", NAMES, days=1)
    check_kills(tmp_path, tmp_path / "certificates", [(NAMES[1], 1, False)])
