"""A client of NVFlare that trains nothing: its update is the same in every round, and it says more than it should."""

from __future__ import annotations

import numpy as np
from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.executor import Executor
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable
from nvflare.apis.signal import Signal


class Trainer(Executor):
    """Moves every weight by 5."""

    def execute(self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal) -> Shareable:
        update = {name: np.full_like(array, 5.0) for name, array in from_shareable(shareable).data.items()}
        return DXO(DataKind.WEIGHT_DIFF, update, {"NUM_STEPS_CURRENT_ROUND": 1, "loss": 0.25}).to_shareable()
