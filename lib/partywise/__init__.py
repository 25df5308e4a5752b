"""Differentially private federated statistics, as reproducible experiments.

``import partywise as pw`` is enough for a notebook: the names of ``__init__.pyi`` are imported when first asked for.
Library code imports from the modules themselves: reruns follow import statements, and would miss what comes through
here.
"""

import sys

from .core.lazy import lazy_names

__version__ = "0.9.0"


class MovedModules:
    """The last finder that an import asks, when no module has a name: own code may import what has moved since."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:
        # Studies are asked for modules that they need not have, and none of them moved.
        if name.startswith("partywise.") and not name.startswith("partywise.studies."):
            # Not by an import statement: no job depends on that table.
            from importlib import import_module

            import_module(".core.addresses", __name__).require_known_address(name)


sys.meta_path.append(MovedModules)


def public_homes() -> dict[str, str]:
    """Module below the package that defines each public name, as the stub states it."""
    import ast
    from pathlib import Path

    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module or alias.name for node in imports for alias in node.names}


__getattr__ = lazy_names(__name__, public_homes)


def __dir__() -> list[str]:
    return ["__version__", *sorted(public_homes())]
