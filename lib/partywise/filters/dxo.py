"""The certified filter as a component of NVFlare, which makes it at the site from its path and its arguments."""

from __future__ import annotations

from collections.abc import Mapping

from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.filter import Filter
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply

from .certified import CertifiedFilter, reasons, require_account


class CertifiedDXOFilter(Filter):
    """As `partywise.filters.adapters.dxo_filter` says; arguments as of `CertifiedFilter`, all of them plain values."""

    def __init__(
        self,
        clip: float,
        mu: float,
        unit: str,
        epsilon: float,
        delta: float,
        owner: str,
        account: str,
        public: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        # NVFlare writes a job by the names of the arguments.
        self.clip, self.mu, self.unit, self.epsilon, self.delta = clip, mu, unit, epsilon, delta
        self.owner, self.account, self.public = owner, account, dict(reasons(public))
        self._filter = require_account(
            CertifiedFilter(clip, mu=mu, unit=unit, budget=(epsilon, delta), owner=owner, account=account)
        )

    def process(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        """A new result, with nothing in it that was not released or named as public."""
        code = shareable.get_return_code()
        if code != ReturnCode.OK:
            return make_reply(code)
        dxo = from_shareable(shareable)
        if dxo.data_kind != DataKind.WEIGHT_DIFF:
            raise ValueError(
                f"a DXO of kind {dxo.data_kind} is not released: send the difference to the weights that were "
                "received, kind WEIGHT_DIFF (params_type DIFF)."
            )
        meta = {name: value for name, value in dxo.meta.items() if name in self.public}
        return DXO(DataKind.WEIGHT_DIFF, self._filter.arrays(dxo.data, public=self.public), meta).to_shareable()
