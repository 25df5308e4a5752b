"""Privacy layers that federated-learning frameworks ship: what they claim, what holds, and what an attack gets.

Sources: Flower, NVFlare, Fed-BioMed, FLIP and pfl, in the versions that docs/framework_filters.md names.  Data, split,
metrics and figures are named here and live with their numerics; the pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...core.checks import CheckedFields, Count, Delta
from ...core.errors import ConfigError
from ...experiment.study import NO_NOISE, Figure, Lazy, Protocol, Source, Study
from ...methods.filters.options import FedavgOptions, MasksOptions, RowGradientsOptions, StatisticsOptions
from .measures import FilterExamples, FilterMeasures
from .settings import (
    FilterGeneratedSettings,
    HeartSettings,
    ManyClientsSettings,
    MasksSettings,
    StatisticsSettings,
)

if TYPE_CHECKING:
    from ...experiment.plan import Plan


@dataclass(frozen=True)
class FilterConstants(CheckedFields):
    """Constants of the study.

    delta : of every epsilon; unit : ``user`` is everything that one client holds
    targets : unknown patients of each hospital that are looked for in the first round, in every replicate
    example_targets : likewise in the first round and after the last, in the first replicate
    """

    delta: Delta = 1e-5
    example_targets: Count = 10
    targets: Count = 1
    unit: Literal["user", "row"] = "user"


# What a fit of a source can be: of its own protocol alone.
STATISTICS, MASKS = (StatisticsSettings, StatisticsOptions), (MasksSettings, MasksOptions)


def _check_count(where: str, options: object, settings: object) -> None:
    """The multiplier of an adaptive clip is that of updates and count together: the count needs noise enough."""
    if not isinstance(options, FedavgOptions) or options.layer != "adaptive_clipping":
        return
    clients = getattr(settings, "clients", len(settings.natural_clients))  # type: ignore[attr-defined]
    count_sd = clients / 20 if options.count_sd is None else options.count_sd
    if options.multiplier >= 2 * count_sd:
        raise ConfigError(
            f"{where}: its multiplier is {options.multiplier:g}, and the count of {clients} clients has noise of "
            f"{count_sd:g}, of which twice must be more; give a larger count_sd."
        )


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    for name, case in plan.cases.items():
        where, settings = f"studies.framework_filters.cases.{name}.grid", case.settings
        if case.folds != 1:
            raise ConfigError(f"{where}.folds is {case.folds}: every replicate has its own split, so it must be 1.")
        for count in case.parties:
            natural = settings.natural_clients
            if natural and count != len(natural):
                raise ConfigError(
                    f"{where}.parties is {count}: the case has the clients {', '.join(natural)}; give {len(natural)}."
                )
            if not natural and settings.clients % count:
                raise ConfigError(
                    f"{where}.parties is {count}: sites share {settings.clients} clients evenly; give a divisor."
                )
        for label in case.methods:
            options = plan.methods[label].options
            _check_count(f"{where}.methods lists {label}", options, settings)
            for source, options_class in (STATISTICS, MASKS):
                if type(settings) is source and not isinstance(options, options_class):
                    raise ConfigError(f"{where}.methods lists {label}: the case is not one of training; leave it out.")
                if isinstance(options, options_class) and not isinstance(settings, source | FilterGeneratedSettings):
                    raise ConfigError(f"{where}.methods lists {label}: it needs another source; leave it out.")


# Why layers never release.
FLOATS = "layers are restated as they are shipped, with noise in floating point"

STUDY = Study(
    __name__,
    title="Privacy layers of federated-learning frameworks",
    question='A framework states "differential privacy" and a layer is switched on: what holds, what does an attack '
    "obtain, and what would a corrected layer cost?",
    references="Flower 1.42.0 (flower), NVFlare 2.9.0 (nvflare_filters), Fed-BioMed 6.4.1 (fed_biomed), FLIP (flip) "
    "and pfl 0.6.0 (pfl)",
    spec=FilterConstants,
    sources={
        "generated": Source(FilterGeneratedSettings),
        "heart": Source(HeartSettings),
        "many_clients": Source(ManyClientsSettings),
        "statistics": Source(StatisticsSettings),
        "masks": Source(MasksSettings),
    },
    methods={
        "fedavg": Protocol(FedavgOptions, extra=("server",), release=FLOATS),
        "row_gradients": Protocol(RowGradientsOptions, extra=("server",)),
        "statistics": Protocol(StatisticsOptions, extra=("server",), release=NO_NOISE),
        "masks": Protocol(MasksOptions, extra=("server",), release=NO_NOISE),
    },
    units={"user": "client"},
    measures=FilterMeasures,
    examples=FilterExamples,
    data_class="FilterData",
    ledger=Lazy("partywise.studies.framework_filters.metrics:ledger_measures"),
    # Claims name their functions, which the page's lines ask, by their places.
    reads=("partywise.studies.framework_filters.leaks",),
    figures={
        "claimed_and_held": Figure("claims"),
        "accuracy_by_epsilon": Figure("training"),
        "clip_path": Figure("training"),
        "one_record": Figure("attacks", output="table"),
        "keys": Figure("attacks"),
    },
    check=check,
)
