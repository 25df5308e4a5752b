"""Names that a package imports when they are first asked for: no job depends on what it does not use."""

import sys
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib import import_module

# Any: what one of the names stands for.
from typing import Any


def lazy_names(package: str, homes: Callable[[], Mapping[str, str]]) -> Callable[[str], Any]:
    """Return ``__getattr__`` of a package.

    homes : module below the package that defines each name; a name that is its own home is that module
    """
    call = package.replace("partywise", "pw", 1)

    def __getattr__(name: str) -> Any:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        names = homes()
        if name == "__all__":
            return sorted(names)
        if name not in names:
            near = get_close_matches(name.lower(), [known.lower() for known in names], 1)
            meant = "".join(f" did you mean {known}?" for known in names if near == [known.lower()])
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}:{meant} its names: {', '.join(sorted(names))}."
            )
        try:
            module = import_module(f"{package}.{names[name]}")
        except ModuleNotFoundError as error:
            raise ImportError(
                f"{call}.{name} needs the package {error.name}: pip install 'partywise[figures]'."
            ) from None
        value = module if names[name] == name else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__
