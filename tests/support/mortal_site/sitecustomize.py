"""In the process of a job at a site of NVFlare: dies when it puts or gets the n-th frame, or puts that of a tag, once.

``MORTAL`` names a file with that number or tag, which whoever finds it takes away.
"""

import os
import signal
import sys
from pathlib import Path

FILE, JOB = os.environ.get("MORTAL", ""), "nvflare.private.fed.app.client.worker_process"

if JOB in sys.orig_argv and Path(FILE).is_file():
    when = Path(FILE).read_text()
    left = [int(when) if when.isdecimal() else 0]
    Path(FILE).unlink()
    from partywise.deployment.wire.relay import Relay

    def dying(action):
        def counted(end, peer, tag, what):
            left[0] -= 1
            if left[0] == 0 or (tag == when and isinstance(what, bytes)):
                os.kill(os.getpid(), signal.SIGKILL)
            return action(end, peer, tag, what)

        return counted

    Relay.put, Relay.get = dying(Relay.put), dying(Relay.get)
