"""The look of the figures in the gallery, for scripts that name no colour: that of all figures of the project."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from cycler import cycler

from partywise.experiment.plotting.style import COLORS, SETTINGS


def set_look(*_: Any) -> None:
    """Set the look before each script, in place of what the script before has set."""
    plt.rcParams.update({**SETTINGS, "axes.prop_cycle": cycler(color=COLORS)})
