"""Figure of vertical trees: the loss along the trees of one fit of each method."""

from __future__ import annotations

import xarray as xr

from ....experiment.plotting.lines import Lines
from ....experiment.plotting.select import title
from .utility import LOSSES, loss_of


def _with_loss(cube: xr.Dataset, case: str) -> str:
    """Title of a case and what its loss is."""
    return f"{title(cube, 'case', case)}\n{LOSSES[loss_of(cube, case) or 'log_loss']}"


loss_along_trees = Lines(
    "Loss along the trees, at the largest ε that a method is given",
    x="path_trees",
    y={"path_test_loss": "loss on the test rows"},
    xlabel="number of trees",
    panel=_with_loss,
    # Before the first tree all losses are one that nobody asks for.
    start=1,
    overlap=True,
    none="No case with test rows in this configuration.",
    caption="Test loss after so many trees.",
)
