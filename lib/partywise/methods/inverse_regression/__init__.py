"""Federated sliced inverse regression (document 001).

Names load when they are used.
"""

from ...core.lazy import lazy_names

_HOME = {"sir": "estimate", "projection_loss": "subspace", "models": "models"}
__getattr__ = lazy_names(__name__, lambda: _HOME)
