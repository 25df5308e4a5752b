"""Figures as files whose bytes depend on nothing but the figure."""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from ..files import replacing

METADATA: dict[str, dict[str, str | None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def save_figure(figure: Figure, svg: Path | str, pdf: Path | str, png: Path | str) -> None:
    """Write a figure as SVG, PDF and PNG (200 dots an inch), byte for byte the same on every call."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    with mpl.rc_context({"svg.hashsalt": "partywise", "svg.fonttype": "path", "pdf.fonttype": 42}):
        for kind, path in (("svg", svg), ("pdf", pdf), ("png", png)):
            with replacing(path) as temporary:
                figure.savefig(temporary, format=kind, dpi=200, metadata=METADATA[kind])
