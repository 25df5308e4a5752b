"""Mechanisms: a bounded statistic goes in, a release and the event it cost come out. The only source of noise.

The names below serve interactive use and are imported when first asked for; library code imports from the modules, so
that editing one mechanism reruns what uses it and nothing else.
"""

from ...core.lazy import lazy_names

_HOME = {
    "AdjustedDistanceExponential": "distances.adjustment",
    "DiscreteGaussian": "discrete",
    "DistanceExponential": "distances.exponential",
    "Gaussian": "gaussian",
    "Geometric": "laplace",
    "Laplace": "laplace",
    "PrivateQuantile": "quantiles",
    "QuantileRadius": "quantiles",
    "RandomizedResponse": "randomized_response",
    "Release": "release",
    "ReportNoisyMax": "selection",
    "SymmetricGaussian": "gaussian",
    "Terms": "release",
}
__getattr__ = lazy_names(__name__, lambda: _HOME)
