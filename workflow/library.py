"""Where the library lies: on the path of this process, and of every script in whatever environment it runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[1] / "lib"


def share_library() -> None:
    """Put lib/ first on the module path, here and in the processes started from here; it need not be installed."""
    sys.path.insert(0, str(LIBRARY))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(LIBRARY), os.environ.get("PYTHONPATH")]))
