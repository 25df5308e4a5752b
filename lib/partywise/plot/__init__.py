"""Plots that notebooks and figures of studies share (extra ``figures``).

The names are imported when first asked for; figures of studies import from the modules, so that editing one plot
redraws what uses it and nothing else.
"""

from typing import TYPE_CHECKING

from ..core.lazy import lazy_names

if TYPE_CHECKING:
    from .bands import incidence as incidence
    from .bands import roc as roc
    from .costs import epsilon_against_error as epsilon_against_error
    from .curves import privacy_curve as privacy_curve
    from .interval_rows import forest as forest
    from .intervals import CoefficientRows as CoefficientRows
    from .intervals import coefficients as coefficients

_HOME = {
    "CoefficientRows": "intervals",
    "coefficients": "intervals",
    "epsilon_against_error": "costs",
    "forest": "interval_rows",
    "incidence": "bands",
    "privacy_curve": "curves",
    "roc": "bands",
}
__getattr__ = lazy_names(__name__, lambda: _HOME)


def __dir__() -> list[str]:
    return sorted(_HOME)
