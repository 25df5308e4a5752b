"""Mechanisms: a bounded statistic goes in, a release and the event it cost come out. The only source of noise.

The names below serve interactive use and are imported when first asked for; library code imports from the modules, so
that editing one mechanism reruns what uses it and nothing else.
"""

from importlib import import_module

# Any: whatever stands under a name of the face.
from typing import Any

_HOME = {
    "AdjustedDistanceExponential": ".distances.adjustment",
    "DiscreteGaussian": ".discrete",
    "DistanceExponential": ".distances.exponential",
    "Gaussian": ".gaussian",
    "Geometric": ".laplace",
    "Laplace": ".laplace",
    "PrivateQuantile": ".quantiles",
    "QuantileRadius": ".quantiles",
    "RandomizedResponse": ".randomized_response",
    "Release": ".release",
    "ReportNoisyMax": ".selection",
    "SymmetricGaussian": ".gaussian",
    "Terms": ".release",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name], __name__), name)
