"""Figure of vertical linear models: the loss along the rounds, and whose rows the key holder sees."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.select import title
from ....experiment.plotting.series import methods_of


def _rows_seen(cube: xr.Dataset, cases: Sequence[str]) -> str:
    """Return how many rows of a batch the key holder sees with the worst and the best method, of all replicates."""
    seen: dict[tuple[float, float], str] = {}
    for case in cases if "rows_recovered" in cube else ():
        for method in methods_of(cube, case):
            cell = cube.sel(case=case, method_label=method)
            rows, attacked = (float(cell[name].max()) for name in ("rows_recovered", "rows_attacked"))
            if attacked > 0:
                seen.setdefault((rows, attacked), title(cube, "method", method))
    if not seen:
        return ""
    shares = sorted(seen, key=lambda pair: pair[0] / pair[1])
    words = [f"{rows:g} of {attacked:g} ({seen[rows, attacked]})" for rows, attacked in (shares[-1], shares[0])]
    return f"Rows of the first batch that the key holder reads: {', '.join(dict.fromkeys(words))}"


loss_by_round = Lines(
    "Do protected steps reach the same loss?",
    finding=_rows_seen,
    x="path_rounds",
    y=Axis({"path_loss_excess": "training loss above that\nof the exact fit"}, bottom=0),
    xlabel="rounds",
    overlap=True,
    size=(3.6, 3.4),
    none="No method that takes steps in this configuration.",
    caption="Training loss above that of the exact fit along the rounds. The title has the rows of the first batch "
    "whose direction the key holder's view holds: the worst of {replicates}, for the method that shows most and the "
    "first that shows least. Where lines lie on each other, later marks are smaller.",
)
