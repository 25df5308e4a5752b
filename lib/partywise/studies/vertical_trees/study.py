"""Study 003: trees whose columns are split over parties.

Document: seed 003 (vertical federated learning of trees with protected orders or encrypted gradients; formulas,
configurations and one example, no result).  Data, split, metrics and figures are named here and live with their
numerics; the pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...checks import Checked, Delta, UserUnit
from ...experiment.study import Figure, Heading, Lazy, Protocol, Source, Study
from ...trees.options import (
    ActiveOnlyOptions,
    GatheringOptions,
    LocalTablesOptions,
    PooledOptions,
    ScatteringOptions,
    TablesOptions,
)
from .check import check
from .own_settings import TableSettings
from .settings import AbaloneSettings, AdultSettings, AdultSplitSettings, CreditSettings, GeneratedSettings


@dataclass(frozen=True)
class Spec(Checked):
    """Constants of the study: delta of every epsilon, and the unit that is protected."""

    delta: Delta = 1e-5
    unit: UserUnit = "features"


VARIABLES: dict[str, tuple[str, str]] = {
    "log_loss": ("logarithmic loss on the test rows, nats", "1"),
    "auc": ("area under the ROC curve on the test rows", "1"),
    "accuracy": ("share of test rows whose label is predicted right", "1"),
    "mse": ("mean squared error on the test rows, in the units of the source", "1"),
    "worse_than_mean": ("1 if the held-out loss exceeds that of the training mean for everybody", "1"),
    "residual_clip_share": ("share of training residuals of the returned fit that the public bound clips", "1"),
    "published_loss": ("mean of -y ln p on the test rows, the source's key of selection", "1"),
    "epsilon_label": ("epsilon that the ledger certifies for a label, for the worst view", "1"),
    "n_trees": ("trees that are kept", "1"),
    "best_trees": ("trees up to the least loss on the test rows, where they were chosen so", "1"),
    "selected_on_test": ("1 if the number of trees was chosen by the loss on the test rows", "1"),
    "diverged": ("1 if the fit is not finite", "1"),
    "scored_rows": ("held-out rows that the parties scored together", "1"),
    "scored_log_loss": ("logarithmic loss on the rows that the parties scored, nats", "1"),
    "scored_auc": ("area under the ROC curve on the rows that the parties scored", "1"),
    "scored_accuracy": ("share of right classes on the rows that the parties scored", "1"),
    "scored_mse": ("mean squared error on the rows that the parties scored", "1"),
    "score_difference": ("largest difference of a score to the evaluator's", "1"),
    "rows_rerouted": ("share of training rows that thresholds route to another leaf than codes did", "1"),
    "epsilon_per_index": ("pure epsilon of one released index or value", "1"),
    "features_released": ("columns of passive parties that were released, of each record", "1"),
    "bytes_formula": ("bytes by the formula of the protocol", "byte"),
    "encryptions": ("numbers that were encrypted in training", "1"),
    "additions": ("additions of ciphertexts in training", "1"),
    "labels_recovered": ("share of training labels that a passive party reads off the first gradients", "1"),
    "decryptions": ("ciphertexts that were decrypted in training", "1"),
    "sigma": ("standard deviation of the noise on sums of gradients", "1"),
    "stumps": ("stumps that tables were made of", "1"),
    "least_eigenvalue": ("least eigenvalue of the hessians before it is raised to 0", "1"),
    "max_prediction_difference": ("largest difference to the pooled fit of the same codes", "1"),
    "path_trees": ("trees", "1"),
    "path_train_loss": ("loss on the training rows along the trees", "1"),
    "path_test_loss": ("loss on the test rows along the trees", "1"),
    "table_column": ("number of the column of a table", "1"),
    "table_edges": ("right end of a bucket, in the unit of its column", "1"),
    "table_values": ("what the bucket adds to the score", "1"),
    "table_noise": ("standard deviation that noise gives to one Newton step of the bucket", "1"),
}

_PROTOCOLS = "partywise.trees.protocols."
_CASES = "partywise.studies.vertical_trees.cases:"
_PARTS = "partywise.studies.vertical_trees."

STUDY = Study(
    name="vertical_trees",
    title="Vertical trees: orders, gradients and Newton tables that cross between parties",
    references="Seed 003: vertical federated learning of linear and tree-based models (documentation)",
    spec=Spec,
    sources={
        "generated": Source(GeneratedSettings, Lazy(_CASES + "generated")),
        "abalone": Source(AbaloneSettings, Lazy(_CASES + "abalone"), resources=("abalone",)),
        "adult": Source(AdultSettings, Lazy(_CASES + "adult"), resources=("adult",)),
        "adult_split": Source(AdultSplitSettings, Lazy(_CASES + "adult_split"), resources=("adult_split",)),
        "table": Source(
            TableSettings,
            Lazy(_PARTS + "own_cases:draw"),
            complete=Lazy(_PARTS + "own_cases:table"),
            home=Lazy(_PARTS + "owner_outputs:owner_outputs"),
            apart=Lazy("partywise.datasets.own.remote.columns:placeholders"),
        ),
        "credit_default": Source(CreditSettings, Lazy(_CASES + "credit_default"), resources=("credit_default",)),
    },
    methods={
        "pooled": Protocol(PooledOptions, Lazy(_PROTOCOLS + "pooled:fit")),
        "active_only": Protocol(ActiveOnlyOptions, Lazy(_PROTOCOLS + "active_only:fit")),
        "feature_gathering": Protocol(GatheringOptions, Lazy(_PROTOCOLS + "feature_gathering:fit"), extra=("dealer",)),
        "label_scattering": Protocol(ScatteringOptions, Lazy(_PROTOCOLS + "label_scattering:fit"), extra=("dealer",)),
        "local_tables": Protocol(LocalTablesOptions, Lazy(_PROTOCOLS + "local_tables:fit"), extra=("dealer",)),
        "tables": Protocol(TablesOptions, Lazy(_PROTOCOLS + "tables:fit"), extra=("dealer",)),
    },
    data=Lazy(_PARTS + "data:TreeData"),
    split=Lazy(_PARTS + "data:split"),
    folds=Lazy(_PARTS + "data:folds"),
    metrics=Lazy(_PARTS + "metrics:metrics"),
    ledger=Lazy(_PARTS + "metrics:ledger"),
    example_fits=Lazy(_PARTS + "metrics:example_fits"),
    variables=VARIABLES,
    figures={
        "loss_by_epsilon": Figure(_PARTS + "figures.utility:loss_by_epsilon"),
        "bytes_and_operations": Figure(_PARTS + "figures.wire:bytes_and_operations"),
        "epsilon_by_method": Figure(_PARTS + "figures.privacy:epsilon_by_method"),
        "rows_rerouted": Figure(_PARTS + "figures.lossless:rows_rerouted"),
        "lossless_by_parties": Figure(_PARTS + "figures.lossless:lossless_by_parties"),
        "tables_by_epsilon": Figure(_PARTS + "figures.tables:tables_by_epsilon"),
        "loss_along_trees": Figure(_PARTS + "figures.training:loss_along_trees"),
    },
    check=check,
    summary=("log_loss", "auc", "mse", "worse_than_mean", "residual_clip_share"),
    headings={
        "log_loss": Heading("test log-loss", "lower"),
        "auc": Heading("test AUC", "higher"),
        "mse": Heading("test MSE", "lower"),
        "worse_than_mean": Heading("worse than mean", "lower"),
        "residual_clip_share": Heading("clipped share", "neither"),
    },
    headline=("log_loss", "mse"),
    trials=Lazy(_PARTS + "trials:TRIALS"),
)
