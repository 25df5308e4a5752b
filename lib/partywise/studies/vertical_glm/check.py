"""Contradictions of a configuration of vertical GLM, before any job: parties, folds, families, constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.errors import ConfigError
from ...data.columns.check import check_groups
from ...methods.glm.options import NoisyPredictorOptions

if TYPE_CHECKING:
    from ...experiment.plan import CasePlan, MethodPlan, Plan

# Families whose linear predictor the architecture of the source can release.
RELEASED = ("gaussian", "binomial")


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    plan.require_persons()
    for name, case in plan.cases.items():
        where = f"studies.vertical_glm.cases.{name}"
        check_groups(case, where)
        if case.folds > 1 and not case.settings.aligned:
            raise ConfigError(
                f"{where}.grid.folds is {case.folds}: records that arrive unaligned are one fold, no party knows which "
                "of its records the others have; give folds 1, or records 'aligned'."
            )
        for label in case.methods:
            _check_method(case, plan.methods[label], where)


def _check_method(case: CasePlan, method: MethodPlan, where: str) -> None:
    """Check what a method asks of a case."""
    place, family = f"{where} with method {method.label}", case.settings.model
    if isinstance(method.options, NoisyPredictorOptions) and family not in RELEASED:
        raise ConfigError(
            f"{place}: it releases linear predictors of the families {', '.join(RELEASED)}, and the response is "
            f"{family}; choose another private method."
        )
    if method.uses_epsilon and case.settings.lacking_constants:
        raise ConfigError(
            f"{place}: a private method scales columns by public constants, never by data, "
            f"and {case.settings.lacking_constants}."
        )
