"""Checks for contradictions in a case of columns at parties, before any job: parties, folds, rows, labels."""

from __future__ import annotations

# Any: settings of a source, which may be the user's.
from typing import Any, Protocol

from ...core.errors import ConfigError
from ...models.criteria import CLASSES, NUMBERS
from .settings import ColumnSettings, RowSettings


class Case(Protocol):
    """The parts of a case in a plan that the checks read."""

    @property
    def settings(self) -> Any:
        """Settings of its source."""

    @property
    def explicit_settings(self) -> tuple[str, ...]:
        """Those that are given or swept."""

    @property
    def parties(self) -> tuple[int, ...]:
        """Numbers of parties."""

    @property
    def folds(self) -> int:
        """Number of folds."""


def check_columns(case: Case, where: str) -> None:
    """Contradictions between the settings of columns at parties and the grid of a case."""
    settings: RowSettings = case.settings
    check_groups(case, where)
    _check_rows(case, settings, where)
    if settings.loss_in_force == CLASSES and settings.usual == NUMBERS:
        raise ConfigError(
            f"{where}.settings.loss is {CLASSES!r}: the labels of these data are numbers, use {NUMBERS!r}."
        )


def check_groups(case: Case, where: str) -> None:
    """Whether the columns allow the numbers of parties, and the records the number of folds."""
    settings: ColumnSettings = case.settings
    for count in case.parties:
        try:
            settings.groups(count)
            settings.check_folds(case.folds)
        except ValueError as error:
            raise ConfigError(f"{where}.grid.{error}") from None
    if settings.dims is not None and len(settings.dims) not in case.parties:
        raise ConfigError(
            f"{where}.settings.dims is {list(settings.dims)}: that makes {len(settings.dims)} parties where "
            f"grid.parties is {list(case.parties)}; give one end for each party."
        )


def _check_rows(case: Case, settings: RowSettings, where: str) -> None:
    """Options of the rows that the folds or the data leave unread."""
    if case.folds > 1:
        if settings.own_test_rows:
            raise ConfigError(f"{where}.grid.folds is {case.folds}: these data have their own test rows, so it is 1.")
        for name in ("test_share", "rows"):
            if name in case.explicit_settings:
                raise ConfigError(
                    f"{where}.settings.{name} is {getattr(settings, name)}: it is read with 1 fold, several folds test "
                    "every row; leave it out."
                )
    # Of generated data the number of rows is a setting.
    n = getattr(settings, "n", None)
    if n is not None and settings.rows > n:
        raise ConfigError(
            f"{where}.settings.rows is {settings.rows}: there are {n} rows; leave it out for all of them."
        )
