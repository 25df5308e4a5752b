"""The program behind ``./run``: a verb of the library in this folder, also if another version is installed."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[1] / "lib")

from partywise.__main__ import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
