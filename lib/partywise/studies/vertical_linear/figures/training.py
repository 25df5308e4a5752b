"""Figure of vertical linear models: the loss along the rounds, and whose rows the key holder sees."""

from __future__ import annotations

import xarray as xr

from ....experiment.plotting.bars import Bars
from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.style import shade


def _rows(cube: xr.Dataset, case: str, method: str, value: float) -> str:
    """Return the number of rows that are seen, of all, in words."""
    rows = float(cube["rows_attacked"].sel(case=case, method_label=method).max())
    return f"{value * rows:g} of {rows:g}"


loss_by_round = Lines(
    "Training along the rounds, and rows that the key holder sees",
    x="path_rounds",
    y=Axis({"path_loss_excess": "training loss above that\nof the exact fit"}, bottom=0),
    xlabel="rounds",
    style=shade,
    overlap=True,
    columns=4,
    size=(3.6, 3.4),
    note="right: the worst of all replicates",
    beside=Bars(
        "Rows that the key holder sees",
        Axis({"rows_recovered": "rows of the first batch that are seen"}, percent=True, bottom=0, top=1.02),
        of="rows_attacked",
        words=_rows,
    ),
    none="No method that takes steps in this configuration.",
    caption="Training loss above that of the exact fit along the rounds; rows that the key holder sees, the worst of "
    "{replicates}. Where lines lie on each other, later marks are smaller.",
)
