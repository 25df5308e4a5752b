"""Whether a method can run with secret randomness: tried on made-up records, before anybody connects."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ...errors import ConfigError
from ...federation.run import simulate
from ...privacy.mechanisms.random import SecureRandom
from .part import whole
from .settings import KEY, Shared

__all__ = ["floating_point", "rehearse"]

# Seconds after which a rehearsal counts as passed: what is not known then is seen at the first draw.
ENOUGH = 2.0
NOBODY = ""


class _Enough(BaseException):
    """The rehearsal has taken long enough."""


def rehearse(shared: Shared, n: int) -> None:
    """Run the method in one process on records that are made of the public settings, with secret randomness.

    n : records of every party, where the configuration does not say

    Raises
    ------
    ConfigError
        If it draws noise in floating point. Any other error tells of the made-up records and is none.
    """
    method = shared.network.method
    try:
        with _at_most(ENOUGH), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = shared.rows or dict.fromkeys(shared.holders, n)
            run, _, _ = whole(replace(shared, rows=rows), NOBODY, Path())
            simulate(shared.plan.methods[method].protocol.fit, run)
    except _Enough:
        return
    except Exception as error:
        if (why := floating_point(error)) is not None:
            raise ConfigError(
                f"{KEY}.mode is 'release': method {method} {why}: it is for experiments; take mode experiment, or a "
                "method whose noise is discrete (docs/release_mode.md lists them)."
            ) from None


def floating_point(error: BaseException) -> str | None:
    """What an error says of a draw that has no secret source, as the middle of a sentence; None for any other error."""
    if isinstance(error, AttributeError) and isinstance(error.obj, SecureRandom):
        return f"draws by {error.name!r}, which has no secret source"
    if isinstance(error, TypeError) and SecureRandom.__name__ in str(error):
        return f"draws in floating point ({str(error).partition(':')[0]})"
    return None


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Raise `_Enough` after so long; without a limit outside of the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def enough(*_: object) -> None:
        raise _Enough

    before = signal.signal(signal.SIGALRM, enough)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
