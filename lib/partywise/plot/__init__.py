"""Plots that notebooks and figures of studies share (extra ``figures``).

The names are imported when first asked for; figures of studies import from the modules, so that editing one plot
redraws what uses it and nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .costs import epsilon_against_error as epsilon_against_error
    from .curves import privacy_curve as privacy_curve
    from .intervals import CoefficientRows as CoefficientRows
    from .intervals import coefficients as coefficients

_HOME = {
    "CoefficientRows": "intervals",
    "coefficients": "intervals",
    "epsilon_against_error": "costs",
    "privacy_curve": "curves",
}
__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}.")
    try:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        raise ImportError(f"pw.plot.{name} needs the package {error.name}: pip install 'partywise[figures]'.") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
