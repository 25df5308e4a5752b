"""Directions of rows in what was seen: multiples are found, sums and other vectors are not."""

from __future__ import annotations

import numpy as np

from partywise.audits.attacks.messages import directions_seen
from partywise.core.randomness import stream

ROWS = stream(1, "rows").uniform(-1, 1, size=(20, 3))


def test_multiples_of_rows_give_them_away():
    factors = np.array([-3.0, 1e-200, 1e300, 2.0**120])
    found = directions_seen(factors[:, None] * ROWS[:4], ROWS)
    assert found.tolist() == [True] * 4 + [False] * 16


def test_sums_and_nearby_directions_do_not():
    assert not directions_seen(ROWS.sum(axis=0)[None], ROWS).any()
    turned = ROWS + 1e-3 * np.roll(ROWS, 1, axis=1)
    assert not directions_seen(turned, ROWS).any()


def test_what_has_no_direction_is_not_found():
    assert not directions_seen(np.ones((1, 1)), np.ones((5, 1))).any()
    assert not directions_seen(np.zeros((2, 3)), np.zeros((5, 3))).any()
    assert not directions_seen(np.empty((0, 3)), ROWS).any()
