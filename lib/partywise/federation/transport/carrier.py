"""Classes of `tno.mpc.communication`, the package that carries frames over a network."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["HttpCommunicator", "HttpConnection", "Packer", "Pool"]


@contextmanager
def _without(*names: str) -> Iterator[None]:
    """Packages look absent inside, unless somebody has imported them before."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


# Its serialisers of data frames and tensors are optional and not used here: importing their packages would take longer
# than all the rest.
with _without("pandas", "torch"):
    from tno.mpc.communication import HttpCommunicator, HttpConnection, Packer, Pool
