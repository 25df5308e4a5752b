"""Contradictions of a configuration of vertical trees, before any job: dims, labels, edges, bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.errors import CertificationError, ConfigError
from ...data.columns.settings import RowSettings, check_columns
from ...methods.trees.options import (
    DeployedOptions,
    GatheringOptions,
    ScatteringOptions,
    TablesOptions,
    TreeOptions,
    TreeTableOptions,
    require_classes,
    require_start,
)
from ...models.criteria import NUMBERS

if TYPE_CHECKING:
    from ...experiment.plan import CasePlan, MethodPlan, Plan


class UncertifiedError(ConfigError, CertificationError):
    """A configuration asks for a privacy statement that nothing it declares can prove."""


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see; CertificationError where nothing is certified."""
    plan.require_persons()
    for name, case in plan.cases.items():
        where = f"studies.vertical_trees.cases.{name}"
        if not isinstance(case.settings, RowSettings):
            continue
        check_columns(case, where)
        for label in case.methods:
            _check_method(case, plan.methods[label], where)


def _check_method(case: CasePlan, method: MethodPlan, where: str) -> None:
    options, at = method.options, f"{where} with method {method.label}"
    if not _tests(case):
        if (select_by := getattr(options, "select_by", "none")) != "none":
            raise ConfigError(f"{at}: select_by is {select_by!r}, and test_share 0 leaves no test rows.")
        if isinstance(options, DeployedOptions) and options.inference != "none":
            raise ConfigError(f"{at}: inference is {options.inference!r}, and test_share 0 leaves no rows to score.")
    if case.settings.loss_in_force == NUMBERS and getattr(options, "residual_bound", 0) is None:
        _check_bound(options, at)
    if isinstance(options, TreeOptions):
        try:
            classes = len(getattr(case.settings, "class_names", ()))
            require_classes(options, method.protocol_name, classes)
            require_start(options, case.settings.loss_in_force, classes)
        except ValueError as error:
            raise ConfigError(f"{at}: {error}") from None
    _check_declared(case.settings, case.parties, options, at)


def _tests(case: CasePlan) -> bool:
    return case.folds > 1 or case.settings.own_test_rows or case.settings.test_share > 0


def _check_bound(options: object, at: str) -> None:
    """Regression has no residual bound: tables cannot be certified, slots of a cipher have no public size."""
    if isinstance(options, TablesOptions):
        raise UncertifiedError(
            f"{at}: residual_bound is None, and residuals of regression have no bound of their own; give a public one."
        )
    if isinstance(options, ScatteringOptions) and options.cipher != "identity":
        raise ConfigError(f"{at}: residual_bound is None, and the slots of {options.cipher!r} need one in regression.")


def _check_declared(settings: RowSettings, counts: tuple[int, ...], options: object, at: str) -> None:
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


def _requirement(options: object) -> tuple[str, str, bool]:
    """Return what the passive columns must declare, why, and whether a certificate rests on it."""
    if isinstance(options, TreeTableOptions):
        return "edges", "the tables are made of", True
    certified = isinstance(options, GatheringOptions)
    if isinstance(options, GatheringOptions):
        if options.protect == "op_boost" and options.extremes == "declared":
            return "bounds", "extremes 'declared' needs", True
        if options.protect != "dp":
            return "edges", "", False
    elif not isinstance(options, ScatteringOptions):
        return "edges", "", False
    if options.edges != "public":
        return "edges", "", False
    if options.n_bins is None:
        return "edges", "edges 'public' needs", certified
    return "bounds", f"n_bins {options.n_bins} with edges 'public' cuts", certified
