"""What a configuration of vertical trees contradicts by itself, before any job: dims, labels, edges, bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...datasets.columns.settings import ColumnSettings
from ...errors import CertificationError, ConfigError
from ...models.criteria import CLASSES, NUMBERS
from ...trees.options import (
    DeployedOptions,
    GatheringOptions,
    ScatteringOptions,
    TableOptions,
    TablesOptions,
)
from .own_settings import TableSettings
from .settings import GeneratedSettings

if TYPE_CHECKING:
    from ...experiment.plan import CasePlan, MethodPlan, Plan


class UncertifiedError(ConfigError, CertificationError):
    """A configuration asks for a privacy statement that nothing it declares can prove."""


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see; CertificationError where nothing is certified."""
    plan.require_persons()
    for name, case in plan.cases.items():
        where = f"studies.vertical_trees.cases.{name}"
        if not isinstance(case.settings, ColumnSettings):
            continue
        _check_parties(case, where)
        _check_rows(case, where)
        if case.settings.loss_in_force == CLASSES and case.settings.usual == NUMBERS:
            raise ConfigError(
                f"{where}.settings.loss is {CLASSES!r}: the labels of these data are numbers, use {NUMBERS!r}."
            )
        for label in case.methods:
            _check_method(case, plan.methods[label], where)


def _check_parties(case: CasePlan, where: str) -> None:
    settings = case.settings
    for count in case.parties:
        try:
            settings.groups(count)
            if isinstance(settings, TableSettings):
                settings.check_folds(case.folds)
        except ValueError as error:
            raise ConfigError(f"{where}.grid.{error}") from None
        if settings.party_counts is not None and count not in settings.party_counts:
            allowed = " or ".join(map(str, settings.party_counts))
            raise ConfigError(f"{where}.grid.parties is {count}: the settings name {allowed} parties.")
    if settings.dims is not None and len(settings.dims) not in case.parties:
        raise ConfigError(
            f"{where}.settings.dims is {list(settings.dims)}: that makes {len(settings.dims)} parties where "
            f"grid.parties is {list(case.parties)}; give one end for each party."
        )


def _check_rows(case: CasePlan, where: str) -> None:
    """Options of the rows that the folds or the data leave unread."""
    settings, given = case.settings, case.explicit_settings
    if case.folds > 1:
        if settings.own_test_rows:
            raise ConfigError(f"{where}.grid.folds is {case.folds}: these data have their own test rows, so it is 1.")
        for name in ("test_share", "data_size_for_debug"):
            if name in given:
                raise ConfigError(
                    f"{where}.settings.{name} is {getattr(settings, name)}: it is read with 1 fold, several folds test "
                    "every row; leave it out."
                )
    if isinstance(settings, GeneratedSettings) and settings.data_size_for_debug > settings.n:
        raise ConfigError(
            f"{where}.settings.data_size_for_debug is {settings.data_size_for_debug}: there are {settings.n} rows; "
            "leave it out for all of them."
        )


def _check_method(case: CasePlan, method: MethodPlan, where: str) -> None:
    options, at = method.options, f"{where} with method {method.label}"
    if not _tests(case):
        if getattr(options, "select_by", "none") != "none":
            raise ConfigError(f"{at}: select_by is {options.select_by!r}, and test_share 0 leaves no test rows.")
        if isinstance(options, DeployedOptions) and options.inference != "none":
            raise ConfigError(f"{at}: inference is {options.inference!r}, and test_share 0 leaves no rows to score.")
    if case.settings.loss_in_force == NUMBERS and getattr(options, "residual_bound", 0) is None:
        _check_bound(options, at)
    _check_declared(case.settings, case.parties, options, at)


def _tests(case: CasePlan) -> bool:
    return case.folds > 1 or case.settings.own_test_rows or case.settings.test_share > 0


def _check_bound(options: Any, at: str) -> None:
    """Regression has no residual bound: tables cannot be certified, lanes of a cipher have no public size."""
    if isinstance(options, TablesOptions):
        raise UncertifiedError(
            f"{at}: residual_bound is None, and residuals of regression have no bound of their own; give a public one."
        )
    if isinstance(options, ScatteringOptions) and options.cipher != "identity":
        raise ConfigError(f"{at}: residual_bound is None, and the lanes of {options.cipher!r} need one in regression.")


def _check_declared(settings: ColumnSettings, counts: tuple[int, ...], options: Any, at: str) -> None:
    """Passive columns without the public edges or ranges that a method rests on."""
    what, wanted, certified = _requirement(options)
    lacking = set(getattr(settings, f"columns_without_{what}")) if wanted else set()
    for count in counts if lacking else ():
        active = settings.active_index(count)
        for number, columns in enumerate(settings.groups(count)):
            missing = sorted(lacking & set(columns))
            if number != active and missing:
                error = UncertifiedError if certified else ConfigError
                raise error(
                    f"{at}: column {missing[0]} (from 0) of a passive party has no declared {what}, which {wanted}; "
                    f"declare them, or deal the column to the active party ({count} parties)."
                )


def _requirement(options: Any) -> tuple[str, str, bool]:
    """What the passive columns must declare, why, and whether a certificate rests on it."""
    if isinstance(options, TableOptions):
        return "edges", "the tables are made of", True
    certified = isinstance(options, GatheringOptions)
    if certified and options.protect == "op_boost" and options.extremes == "declared":
        return "bounds", "extremes 'declared' needs", True
    cuts = (certified and options.protect == "dp") or isinstance(options, ScatteringOptions)
    if not cuts or options.edges != "public":
        return "edges", "", False
    if options.n_bins is None:
        return "edges", "edges 'public' needs", certified
    return "bounds", f"n_bins {options.n_bins} with edges 'public' cuts", certified
