"""Federated sliced inverse regression (seed 001).

Names load when they are used.
"""

from importlib import import_module

# Any: what one of the names stands for.
from typing import Any

__all__ = ["models", "projection_loss", "sir"]

HOMES = {"sir": "estimate", "projection_loss": "subspace", "models": "models"}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{HOMES[name]}")
    return module if name == "models" else getattr(module, name)
