"""Differentially private federated statistics, as reproducible experiments.

``import partywise as pw`` is enough for a notebook: the names of `partywise.face` are imported when first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .face import *  # noqa: F403
    from .face import __all__ as __all__

__version__ = "0.9.0"


def __getattr__(name: str) -> Any:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    face = import_module(".face", __name__)
    if name == "__all__":
        return face.__all__
    if name not in face.HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its names: {', '.join(face.__all__)}.")
    value = face.find(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module(".face", __name__).__all__})
