"""Arguments that a certificate takes for public, in tests."""

from __future__ import annotations

from typing import Any

from partywise.privacy.accounted_values import Public


def fixed(value: Any) -> Public:
    """A value that the test fixes before any data."""
    return Public(value, because="fixed for the test")
