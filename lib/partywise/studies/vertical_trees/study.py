"""Study 003: trees whose columns are split over parties.

Document: 003 (vertical federated learning of trees with protected ranks or encrypted gradients; formulas,
configurations and one example, no result).  Data, split, metrics and figures are named here and live with their
numerics; the pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ...core.checks import CheckedFields, Delta, NotNegative, Range, UserUnit
from ...data.columns.settings import ColumnDatasetSettings, RowSettings
from ...experiment.study import NO_NOISE, PUBLIC_TABLE, Figure, FirstRun, Lazy, Protocol, Source, Study
from ...methods.trees.options import (
    ActiveOnlyOptions,
    GatheringOptions,
    LocalTablesOptions,
    ScatteringOptions,
    TablesOptions,
    TreePooledOptions,
)
from .check import check
from .measures import TreeExamples, TreeMeasures
from .own_settings import TreeTableSettings


@dataclass(frozen=True, kw_only=True)
class TreeGeneratedSettings(RowSettings):
    """A score of uniform columns and columns of ten whole numbers, informative in both halves of the columns.

    n : rows, training and test together; d : columns
    signal : standard deviation of the score, which is the log odds of a label 1, or is added to noise of variance 1
    """

    n: Annotated[int, Range(4)] = 2000
    d: Annotated[int, Range(2)] = 14
    signal: NotNegative = 2.0

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return self.d


@dataclass(frozen=True)
class TreeConstants(CheckedFields):
    """Constants of the study: delta of every epsilon, and the unit that is protected."""

    delta: Delta = 1e-5
    unit: UserUnit = "features"


FIRST = FirstRun(
    methods={
        "pooled_trees": {"protocol": "pooled", "title": "boosted trees, pooled"},
        "own_columns_only": {"protocol": "active_only", "title": "active party alone"},
        "randomised_bins": {"protocol": "feature_gathering", "protect": "dp", "title": "randomised bin indices"},
    },
    spec={"delta": 1e-5, "unit": "features"},
    figures=("loss_by_epsilon",),
    edges=True,
    for_numbers={"loss": "RegressionMSELoss"},
)
STUDY = Study(
    __name__,
    title="Vertical trees: ranks, gradients and noisy histograms that cross between parties",
    question="Which protection of features lets boosted trees on columns of several parties still learn?",
    references="Seed 003: vertical federated learning of linear and tree-based models (documentation)",
    spec=TreeConstants,
    sources={
        "generated": Source(TreeGeneratedSettings),
        "dataset": Source(ColumnDatasetSettings, apart=PUBLIC_TABLE),
        "table": Source.of_files(
            TreeTableSettings, "columns", first=FIRST, rows="own_rows", predicts=True, examples="metrics"
        ),
    },
    methods={
        "pooled": Protocol(TreePooledOptions, release=NO_NOISE),
        "active_only": Protocol(ActiveOnlyOptions, release=NO_NOISE),
        "feature_gathering": Protocol(GatheringOptions, extra=("dealer",), reads_training_records=True),
        "label_scattering": Protocol(ScatteringOptions, extra=("dealer",), release=NO_NOISE),
        "local_tables": Protocol(LocalTablesOptions, extra=("dealer",), reads_training_records=True),
        "tables": Protocol(TablesOptions, extra=("dealer",), reads_training_records=True),
    },
    measures=TreeMeasures,
    examples=TreeExamples,
    data_class="TreeData",
    ledger=Lazy("partywise.studies.vertical_trees.metrics:ledger"),
    figures={
        "loss_by_epsilon": Figure("utility"),
        "bytes_and_operations": Figure("wire"),
        "epsilon_by_method": Figure("privacy"),
        "rows_rerouted": Figure("utility"),
        "lossless_by_parties": Figure("utility"),
        "tables_by_epsilon": Figure("tables"),
        "loss_along_trees": Figure("utility"),
    },
    check=check,
)
