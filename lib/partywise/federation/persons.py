"""How many records are protected together, where the unit is a person and a public bound says how many one has."""

from __future__ import annotations

from typing import Any

__all__ = ["records_together"]


def records_together(spec: Any) -> int:
    """Records in all of which neighbours may differ: those of one person, at most, for the unit ``user``; else 1.

    spec : MethodSpec, whose ``study`` has the unit and whose ``settings`` may have ``rows_per_user``
    """
    group = getattr(getattr(spec, "settings", None), "rows_per_user", None)
    return group if group is not None and getattr(spec.study, "unit", None) == "user" else 1
