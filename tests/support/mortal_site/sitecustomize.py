"""In the process of a job at a site of NVFlare: dies when it puts or gets the n-th frame, once.

``MORTAL`` names a file with that number, which whoever finds it takes away.
"""

import os
import signal
import sys
from pathlib import Path

FILE, JOB = os.environ.get("MORTAL", ""), "nvflare.private.fed.app.client.worker_process"

if JOB in sys.orig_argv and Path(FILE).is_file():
    left = [int(Path(FILE).read_text())]
    Path(FILE).unlink()
    from partywise.federation.transport.relay.relay import Relay

    def dying(action):
        def counted(*given):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return action(*given)

        return counted

    Relay.put, Relay.get = dying(Relay.put), dying(Relay.get)
