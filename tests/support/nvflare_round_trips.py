"""What a site of NVFlare does to measure messages: frames go around all sites, over sealed frames as those of a run."""

from __future__ import annotations

import json
from pathlib import Path

from network import NAMES, around
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.shareable import make_reply

from partywise.deployment.nvflare.site import JobCarrier, certificates_of
from partywise.deployment.wire.credential import Credential
from partywise.deployment.wire.relay import Relay
from partywise.federation.identity import Identity

FILE = "round_trips.json"


class RoundTrips(Executor):
    """One party of the row of NVFlare in `tests/benchmarks/network.py`; the first one writes what it measured."""

    def execute(self, task_name, shareable, fl_ctx, abort_signal):
        workspace, me = fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT), fl_ctx.get_identity_name()
        carrier = JobCarrier(fl_ctx.get_engine(), dict(zip(NAMES, NAMES, strict=True)), abort_signal)
        with certificates_of(Path(workspace.get_startup_kit_dir()), me) as folder:
            identity = Identity(fl_ctx.get_job_id(), "", {}, Credential(folder, me))
        end = Relay(me, [name for name in NAMES if name != me], carrier, identity)
        file = Path(workspace.get_root_dir()) / FILE
        around(me, end, lambda found: file.write_text(json.dumps(found)))
        return make_reply(ReturnCode.OK)
