"""One variable of a person's NetCDF file over the dimensions of records and time.

netCDF4 is imported when a file is read: the configuration may name one, and no fit ever does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

# Any: variables of a file that somebody else wrote.
from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.errors import DataMissing
from ....core.files import READ_POLICY
from ..csv import nearest

if TYPE_CHECKING:
    import netCDF4

# A few kB of compressed fill values can stand for any number of values.
MOST_VALUES = 100_000_000


def read_variable(
    content: bytes, file: str, variable: str, dims: tuple[str, str]
) -> tuple[list[str], np.ndarray, np.ndarray, str]:
    """Ids, times and values of a variable over (records, time) in either order."""
    with _open(content, file) as data:
        array = _variable(data, file, variable)
        for name in dims:
            READ_POLICY.get().check_column(file, name)
        if sorted(array.dimensions) != sorted(dims):
            raise DataMissing(
                f"{file}: variable {variable!r} has the dimensions {_names(array.dimensions)}: it must have "
                f"{dims[0]!r} (the key id) and {dims[1]!r} (the key time) and no others."
            )
        values = _floats(array, file)
        values = values if array.dimensions == dims else values.T
        for name in dims:
            if name not in data.variables or data.variables[name].dimensions[:1] != (name,):
                raise DataMissing(f"{file}: dimension {name!r} has no coordinate: add a variable {name}({name}).")
        unit = str(getattr(data.variables[dims[1]], "units", ""))
        times = _floats(data.variables[dims[1]], file)
        return _texts(data.variables[dims[0]], file), times, values, unit if " since " in unit else ""


def read_groups(content: bytes, file: str, variable: str, record: str) -> list[str]:
    """The groups of the records, a variable over the dimension of records, as text."""
    with _open(content, file) as data:
        groups = _variable(data, file, variable)
        if groups.dimensions[:1] != (record,):
            raise DataMissing(
                f"{file}: variable {variable!r} has the dimensions {_names(groups.dimensions)}: the groups of records "
                f"need {record!r} alone."
            )
        return _texts(groups, file)


@contextmanager
def _open(content: bytes, file: str) -> Iterator[netCDF4.Dataset]:
    """The open file; errors of the library, also of a chunk that cannot be read later, become ``DataMissing``."""
    import netCDF4

    try:
        with netCDF4.Dataset(file, memory=content) as data:
            yield data
    except DataMissing:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataMissing(
            f"{file} cannot be read as NetCDF ({why}): save it anew as NetCDF, or set format to long or wide."
        ) from None


def _variable(data: netCDF4.Dataset, file: str, name: str) -> Any:
    if name not in data.variables:
        raise DataMissing(f"{file} has no variable {name!r}: {nearest(name, data.variables, 'its variables are')}.")
    READ_POLICY.get().check_column(file, name)
    return data.variables[name]


def _floats(variable: Any, file: str) -> np.ndarray:
    """All values as float, NaN where masked; text raises ``DataMissing``."""
    if getattr(variable.dtype, "kind", "O") not in "iuf":
        raise DataMissing(f"{file}: variable {variable.name!r} holds text: it must hold numbers.")
    _check_size(variable, file)
    return np.ma.filled(np.ma.asarray(variable[:]).astype(float), np.nan)


def _check_size(variable: Any, file: str) -> None:
    """Raise before values are read that no memory holds."""
    if variable.size > MOST_VALUES:
        raise DataMissing(
            f"{file}: variable {variable.name!r} has {variable.size} values: give at most {MOST_VALUES}, records or "
            "times that the study needs."
        )


def _texts(variable: Any, file: str) -> list[str]:
    """Ids as text: strings and characters as they are, whole numbers without a point, dates in ISO form."""
    import netCDF4

    _check_size(variable, file)
    if " since " in getattr(variable, "units", ""):
        dates: Any = netCDF4.num2date(variable[:], variable.units, getattr(variable, "calendar", "standard"))
        whole = all((d.hour, d.minute, d.second) == (0, 0, 0) for d in dates)
        return [d.strftime("%Y-%m-%d" if whole else "%Y-%m-%dT%H:%M:%S") for d in dates]
    values = variable[:]
    if getattr(variable.dtype, "kind", "O") == "S" and np.ndim(values) == 2:
        values = netCDF4.chartostring(np.ma.filled(values, b""))
    return ["" if value is np.ma.masked else _plain(value) for value in values]


def _plain(value: object) -> str:
    if isinstance(value, np.floating | float) and float(value).is_integer():
        return str(int(value))
    return str(value).strip()


def _names(names: tuple[str, ...]) -> str:
    return f"({', '.join(names)})"
