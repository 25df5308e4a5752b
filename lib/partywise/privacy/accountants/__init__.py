"""Accountants: each turns a composition into an epsilon; one file in this folder is all that another one needs.

Totals, cubes, tables and the dictionary take what they need from the class.
"""

from importlib import import_module
from pkgutil import iter_modules

from .base import Accountant

__all__ = ["Accountant", "accountants"]


def accountants() -> dict[str, type[Accountant]]:
    """The accountants of this folder by name, in the order of their files; no two share a name or a variable."""
    kinds = dict[str, type[Accountant]]()
    for file in sorted(file.name for file in iter_modules(__path__)):
        module = import_module(f"{__name__}.{file}")
        for kind in vars(module).values():
            defined_here = (
                isinstance(kind, type) and issubclass(kind, Accountant) and kind.__module__ == module.__name__
            )
            if defined_here and kind is not Accountant:
                if kind.name in kinds or kind.variable in {other.variable for other in kinds.values()} - {""}:
                    raise ValueError(f"{kind} has the name or the variable of another accountant: rename it.")
                kinds[kind.name] = kind
    return kinds
