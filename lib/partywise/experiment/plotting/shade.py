"""Looks of methods in figures where most claim no epsilon, which black and grey alone would not distinguish."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from .style import BLACK, BLUE, BROWN, GREEN, GREY, ORANGE, PURPLE, RED, SKY, Look, look

OPEN = (BLACK, PURPLE, GREEN, RED, ORANGE, BROWN, BLUE, SKY, GREY)


def shade(cube: xr.Dataset, method: str) -> Look:
    """The look of a method, in colour too where it claims no epsilon."""
    style, claims = look(cube, method), cube["method_claims"].values
    if claims[np.flatnonzero(cube["method_label"].values == method)[0]]:
        return style
    titles = list(dict.fromkeys(map(str, cube["method_title"].values[~claims.astype(bool)])))
    return replace(style, color=OPEN[titles.index(style.label) % len(OPEN)])
