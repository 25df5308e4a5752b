"""Differentially private federated statistics, as reproducible experiments.

``import partywise as pw`` is enough for a notebook: the names of ``__init__.pyi`` are imported when first asked for.
Library code imports from the modules themselves: reruns follow import statements, and would miss what comes through
here.
"""

import sys

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


def __getattr__(name: str) -> object:
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    homes = public_homes()
    if name == "__all__":
        return sorted(homes)
    if name not in homes:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; its names: {', '.join(sorted(homes))}.")
    from importlib import import_module

    try:
        module = import_module(f".{homes[name]}", __name__)
    except ModuleNotFoundError as error:
        raise ImportError(f"pw.{name} needs the package {error.name}: pip install 'partywise[figures]'.") from None
    globals()[name] = value = module if homes[name] == name else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return ["__version__", *sorted(public_homes())]
