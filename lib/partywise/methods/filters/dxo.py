"""The certified filter as a component of NVFlare, which makes it at the site from its path and its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.filter import Filter
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply

from .certified import CertifiedFilter, require_account
from .updates import public_numbers, reasons


class CertifiedDXOFilter(Filter):
    """Filter of `partywise.methods.filters.adapters.dxo_filter`; arguments of `CertifiedFilter`, all plain values.

    ``arrays`` states type and shape of every array of the model by its name: ``{"weights": ["float32", 2, 2]}``.
    """

    def __init__(
        self,
        clip: float,
        mu: float,
        unit: str,
        epsilon: float,
        delta: float,
        owner: str,
        account: str,
        arrays: Mapping[str, Sequence[str | int]],
        public: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        # NVFlare writes a job by the names of the arguments.
        self.clip, self.mu, self.unit, self.epsilon, self.delta = clip, mu, unit, epsilon, delta
        self.owner, self.account, self.public = owner, account, dict(reasons(public))
        self.arrays = {name: list(terms) for name, terms in arrays.items()}
        self._model = {name: (np.dtype(str(kind)), tuple(shape)) for name, (kind, *shape) in self.arrays.items()}
        self._filter = require_account(
            CertifiedFilter(clip, mu=mu, unit=unit, budget=(epsilon, delta), owner=owner, account=account)
        )

    def process(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        """A new result, with nothing in it that was not released or named as public."""
        code = shareable.get_return_code()
        if code != ReturnCode.OK:
            known = {constant for name, constant in vars(ReturnCode).items() if name.isupper()}
            return make_reply(code if code in known else ReturnCode.EXECUTION_EXCEPTION)
        dxo = from_shareable(shareable)
        if dxo.data_kind != DataKind.WEIGHT_DIFF:
            raise ValueError(
                f"a DXO of kind {dxo.data_kind} is not released: send the difference to the weights that were "
                "received, kind WEIGHT_DIFF (params_type DIFF)."
            )
        # Refused before the release is paid.
        meta = public_numbers(dxo.meta, self.public)
        return DXO(DataKind.WEIGHT_DIFF, self._released_arrays(dxo.data), meta).to_shareable()

    def _released_arrays(self, data: Mapping[str, object]) -> dict[str, np.ndarray]:
        """Arrays with the names, order, types and shapes of the model: the release, and those that are public."""
        if set(data) != set(self._model):
            raise ValueError(f"arrays {sorted(data)} of a result are not {sorted(self._model)} of the model.")
        update = {name: np.asarray(data[name]) for name in self._model}
        for name, (kind, shape) in self._model.items():
            if update[name].shape != shape or (name in self.public and update[name].dtype != kind):
                raise ValueError(f"array {name!r} of a result must have type {kind} and shape {shape} of the model.")
        released = self._filter.arrays(update, public=self.public)
        return {name: np.asarray(released[name]).astype(kind) for name, (kind, _) in self._model.items()}
