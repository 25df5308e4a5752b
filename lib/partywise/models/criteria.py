"""Kinds of labels, by the names of document 003; standard library only, so that settings can name it."""

from __future__ import annotations

from typing import Literal

Criterion = Literal["CrossEntropyLoss", "RegressionMSELoss"]
CLASSES: Criterion = "CrossEntropyLoss"
NUMBERS: Criterion = "RegressionMSELoss"
