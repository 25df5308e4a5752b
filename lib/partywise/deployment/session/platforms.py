"""Platform of a process, which decides last bits: versions of Python and C library, architecture, kernels.

numpy and OpenBLAS look at the processor when they are loaded and take the kernels that it can run; another one adds
in another order.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module

import numpy as np

from ..wire.interface import printable

# Names of the function that says which kernels OpenBLAS took, as wheels and systems have it.
CORE_NAMES = ("scipy_openblas_get_corename64_", "scipy_openblas_get_corename", "openblas_get_corename")
UNKNOWN, LONGEST = "unknown", 80


@cache
def platform_of_process() -> dict[str, str]:
    """Versions of Python and the C library, architecture, kernels that numpy and OpenBLAS took beyond the baseline."""
    return {
        "Python": platform.python_version(),
        "architecture": platform.machine() or UNKNOWN,
        "C library": " ".join(platform.libc_ver()).strip() or UNKNOWN,
        "kernels of numpy": _dispatch(),
        "OpenBLAS of numpy": _core("numpy.linalg._umath_linalg"),
        "OpenBLAS of scipy": _core("scipy.linalg._fblas"),
    }


def differences(platforms: Mapping[str, object]) -> str:
    """Describe how the platforms of parties differ: ``Python 3.11.7 (north, river), ...``; empty if they do not."""
    lines = []
    for name in platform_of_process():
        parties: dict[str, list[str]] = {}
        for party, facts in sorted(platforms.items()):
            value = facts.get(name) if isinstance(facts, Mapping) else None
            parties.setdefault(printable(value, LONGEST) if isinstance(value, str) else UNKNOWN, []).append(party)
        if len(parties) > 1:
            values = (f"{value} ({', '.join(names)})" for value, names in sorted(parties.items()))
            lines.append(f"{name} {', '.join(values)}")
    return "; ".join(lines)


def _dispatch() -> str:
    """Return the kernels beyond the baseline that numpy found on this processor."""
    with suppress(AttributeError, KeyError, TypeError):
        config = np.show_config(mode="dicts")
        return " ".join(config["SIMD Extensions"].get("found", ())) or "baseline"
    return UNKNOWN


def _core(extension: str) -> str:
    """The kernels that the OpenBLAS of an extension module took; unknown with another library."""
    with suppress(ImportError, AttributeError, OSError):
        library = ctypes.CDLL(str(import_module(extension).__file__))
        for name in CORE_NAMES:
            if hasattr(library, name):
                function = getattr(library, name)
                function.restype = ctypes.c_char_p
                return str(function().decode())
    return UNKNOWN
