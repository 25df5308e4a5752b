"""Options of the protocols of vertical trees; standard library only, checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from types import MappingProxyType
from typing import Annotated, ClassVar, Literal, final

from ...core.checks import (
    Count,
    KeySize,
    Natural,
    NotNegative,
    OneOfCiphers,
    Positive,
    Probability,
    Range,
    check_fields,
    check_key_size,
    check_unread_options,
)
from ...models.criteria import CLASSES, Criterion

Bins = Annotated[int, Range(2, 10_000)]
# Sums of multiples of 2^-32 up to this are exact in floating point.
LARGEST_SUM = 2**20


@dataclass(frozen=True)
class TreeOptions:
    """Options of growing trees.

    algo : ``xgb`` (gradients and hessians), ``gbdt`` (gradients and counts) or ``rf`` (forest of means)
    num_of_trees : T; max_tree_depth : split levels L, at most 2^L leaves
    eta : shrinkage; lambda_ : L2 on leaves; gamma : least gain of a split
    feature_subsample_ratio : share of each party's features that is drawn for a tree, at least one
    batch_size : rows drawn with replacement for a tree of ``rf``; None for as many as train, drawn so too
    as_published : ``gbdt`` without parent term and gamma, ``rf`` with votes 0 and 1 in the leaves of classification,
        half the loss as key of selection
    eval_freq : the loss along the trees is kept every so many trees
    select_by : ``test_loss`` keeps the trees up to the least loss on held-out rows, whose values it discloses
        without noise: no epsilon is left
    own_n_bins : quantile bins of the active party's columns, never sent; None for all their values
    ties : ``kept`` (equal values never separate) or ``position`` (as the source's program: orders and bins of equal
        counts cut ties by the order of rows, and rows whose value is the threshold go right)
    base_score : prediction before any tree, a number or the probability of label 1; ``mean`` is that of the responses.
        None for the mean of numbers, in protocols with noise the middle of their public bounds or else 0; for the
        source's program 0; for labels a probability of 0.5
    """

    algo: Literal["xgb", "gbdt", "rf"] = "xgb"
    num_of_trees: Annotated[int, Range(1, 10_000)] = 10
    max_tree_depth: Annotated[int, Range(0, 30)] = 2
    eta: Positive = 0.5
    lambda_: NotNegative = 0.1
    gamma: NotNegative = 0.0
    feature_subsample_ratio: Probability = 1.0
    batch_size: Count | None = None
    as_published: bool = False
    eval_freq: Count = 3
    select_by: Literal["none", "test_loss"] = "none"
    own_n_bins: Bins | None = 50
    ties: Literal["kept", "position"] = "kept"
    base_score: float | Literal["mean"] | None = None

    # Whether labels may be of more than two classes.
    many_classes = True
    # Whether boosting starts at a public number, as a certificate asks; else it may start at the mean of the responses.
    public_start: ClassVar[bool] = True
    # Read by an evaluator that has held-out rows of all parties, and the value without one.
    read_by_evaluator = MappingProxyType({"select_by": "none"})

    def __post_init__(self) -> None:
        check_fields(self)
        if self.algo != "rf":
            check_unread_options(self, ("batch_size",), "algo 'rf'")
        else:
            check_unread_options(self, ("eta", "lambda_", "gamma"), "algo 'xgb' or 'gbdt'")
        if self.algo == "gbdt" and self.as_published:
            check_unread_options(self, ("gamma",), "as_published false, the published gains of 'gbdt' have none")
        if self.algo == "rf":
            check_unread_options(self, ("base_score",), "algo 'xgb' or 'gbdt'")
        if self.base_score == "mean" and self.public_start:
            raise ValueError(
                "base_score is 'mean': the start of this protocol is public, and the mean of the responses is not; "
                "give a number from public things."
            )


def require_classes(options: TreeOptions, protocol: str, classes: int) -> None:
    """ValueError where a protocol with these options does not learn so many classes."""
    if classes <= 2:
        return
    refused = None
    if not options.many_classes:
        refused = f"protocol {protocol!r} has one gradient a record; use 'tables', 'local_tables' or 'pooled'"
    elif options.algo == "rf" or options.as_published:
        refused = "forests and the source's program know two; use algo 'xgb' without as_published"
    elif isinstance(options, TablesOptions) and options.algo == "gbdt":
        refused = "its noise is calibrated for hessians of the classes; use algo 'xgb'"
    elif isinstance(options, DeployedOptions) and options.inference != "none":
        refused = f"inference {options.inference!r} sums one score a record; use inference 'none'"
    if refused is not None:
        raise ValueError(f"labels have {classes} classes: {refused}, or merge classes to two.")


def require_start(options: TreeOptions, criterion: Criterion, classes: int) -> None:
    """ValueError where no boosting of these responses starts at the option ``base_score``."""
    start = options.base_score
    if start is None:
        return
    if classes > 2:
        raise ValueError(f"base_score is {start!r}: {classes} classes start at equal probabilities; leave it out.")
    if criterion == CLASSES and start != "mean" and not 0 < start < 1:
        raise ValueError(f"base_score is {start!r}: of labels it is the probability of label 1, between 0 and 1.")
    if start != "mean" and not isfinite(start):
        raise ValueError(f"base_score is {start!r}: it must be a finite number.")


def kept_ties(options: TreeOptions) -> None:
    """ValueError where ties are cut by position in declared bins."""
    if options.ties == "position":
        raise ValueError("ties is 'position': it needs edges 'quantile', whose bins have equal counts.")


@final
@dataclass(frozen=True)
class TreePooledOptions(TreeOptions):
    """All columns in one place: the reference of losslessness, no privacy."""

    uses_epsilon = False
    public_start = False


@final
@dataclass(frozen=True)
class ActiveOnlyOptions(TreeOptions):
    """Options of trees that the active party grows alone: nothing crosses."""

    uses_epsilon = False
    public_start = False


@dataclass(frozen=True)
class DeployedOptions(TreeOptions):
    """Options of scoring held-out rows.

    inference : ``none`` (by an evaluator outside the federation), ``plain`` (owners send indicators), ``he`` (leaf
        vectors under encryption, Fed-EINI) or ``ss`` (secret sharing)
    inference_rows : the first so many held-out rows are scored; None for all
    inference_cipher : of ``he``: ``paillier``, or ``sized`` (the same integers openly, the same bytes)
    key_size : bits of the Paillier modulus
    full_exponents : random exponents as long as the modulus, which rests on fewer assumptions and is slower
    """

    inference: Literal["none", "plain", "he", "ss"] = "none"
    inference_rows: Count | None = None
    inference_cipher: Literal["paillier", "sized"] = "paillier"
    key_size: KeySize = 2048
    full_exponents: bool = False

    # Whether the training itself encrypts.
    encrypts = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.inference == "none":
            check_unread_options(self, ("inference_rows",), "inference 'plain', 'he' or 'ss'")
        else:
            # The evaluator chooses after the last message, of trees that were all scored together.
            check_unread_options(self, ("select_by",), "inference 'none'")
        if self.inference != "he":
            check_unread_options(self, ("inference_cipher",), "inference 'he'")
            if not self.encrypts:
                check_unread_options(self, ("key_size", "full_exponents"), "inference 'he'")
        check_key_size(self.key_size)


@final
@dataclass(frozen=True)
class GatheringOptions(DeployedOptions):
    """Feature-gathering: passive parties send the order of their columns to the active party.

    protect : ``none`` (dense ranks), ``dp`` (bin indices by randomised response) or ``op_boost`` (noise on integers)
    n_bins : bins of ``dp``; None for those of the declared edges. With ``op_boost`` bins of the noised values
    edges : ``public`` (declared with the data) or ``quantile`` (published: of the data)
    randomise : whether indices of ``dp`` are randomised; False for the source's epsilon None, where rows are only
        shuffled inside a bin
    variant : of ``op_boost``: ``global`` or ``adjusting`` (alias ``adjust``)
    lower_bound, upper_bound : integers onto which ``op_boost`` maps a column
    epsilon_prt, epsilon_ner, partition_num : of ``adjusting``; with ``budget: record`` only their ratio counts
    extremes : ends of the map onto integers: ``declared`` with the data, or of the ``sample`` (published)
    budget : the grid's epsilon is the claim for each ``feature`` (published) or the target for a whole ``record``
    redraw : noise drawn ``once``, or anew for each ``tree`` (published ``rf``), which costs T times as much
    """

    protect: Literal["none", "dp", "op_boost"] = "none"
    n_bins: Bins | None = None
    edges: Literal["public", "quantile"] = "public"
    randomise: bool = True
    variant: Literal["global", "adjusting", "adjust"] = "global"
    lower_bound: int = 1
    upper_bound: int = 100
    epsilon_prt: Positive = 2.0
    epsilon_ner: Positive = 2.0
    partition_num: Count = 10
    extremes: Literal["declared", "sample"] = "declared"
    budget: Literal["feature", "record"] = "record"
    redraw: Literal["once", "tree"] = "once"

    no_interval = "trees"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_read()
        if self.protect == "dp" and self.edges != "quantile":
            kept_ties(self)
        if self.protect == "dp" and self.edges == "quantile" and self.n_bins is None:
            raise ValueError("n_bins is None: edges 'quantile' need a number of bins.")
        if self.lower_bound >= self.upper_bound:
            raise ValueError(
                f"lower_bound and upper_bound are {self.lower_bound} and {self.upper_bound}: they must be increasing."
            )
        values = self.upper_bound - self.lower_bound + 1
        if self.protect == "op_boost" and self.variant != "global" and values % self.partition_num:
            raise ValueError(
                f"partition_num is {self.partition_num}: it must divide the {values} integers from lower_bound to "
                "upper_bound."
            )

    def _check_read(self) -> None:
        if self.protect != "dp":
            check_unread_options(self, ("edges", "randomise"), "protect 'dp'")
        if self.protect == "none":
            check_unread_options(self, ("n_bins", "budget", "redraw"), "protect 'dp' or 'op_boost'")
        if self.protect != "op_boost":
            check_unread_options(self, ("variant", "lower_bound", "upper_bound", "extremes"), "protect 'op_boost'")
        if self.protect != "op_boost" or self.variant == "global":
            check_unread_options(self, ("epsilon_prt", "epsilon_ner", "partition_num"), "variant 'adjusting'")
        if not self.randomise:
            check_unread_options(self, ("budget", "redraw"), "randomise true")

    @property
    def public_start(self) -> bool:  # type: ignore[override]
        """Whether what is gathered is protected, so that boosting starts at a public number."""
        return self.protect != "none"

    @property
    def noise_free(self) -> bool:
        """Whether what is gathered is as it is."""
        return not self.uses_epsilon

    @property
    def uses_epsilon(self) -> bool:
        """Whether the grid's epsilon is a target or a claim."""
        if self.protect == "op_boost":
            return self.variant == "global" or self.budget == "record"
        return self.protect == "dp" and self.randomise


@final
@dataclass(frozen=True)
class ScatteringOptions(DeployedOptions):
    """Label-scattering: gradients cross encrypted, sums come back.

    cipher : ``paillier``; ``sized`` (the same integers computed openly, the same bytes, for large grids); ``identity``
        (published: encryption in name only); or the name of a cipher that another package registers
    n_bins : bins of the passive parties' columns; None for those of the declared edges
    edges : ``quantile`` (they stay with their owner) or ``public``
    hide_instances : zeros are sent for rows outside a node, so that no owner sees which rows are in it
    residual_bound : public bound of the residuals of regression, from the start on, which the slots must hold
    """

    cipher: Annotated[str, OneOfCiphers(("paillier", "sized", "identity"))] = "paillier"
    n_bins: Bins | None = 50
    edges: Literal["public", "quantile"] = "quantile"
    hide_instances: bool = False
    residual_bound: Positive | None = None

    uses_epsilon = False
    encrypts = True
    many_classes = False
    public_start = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.edges != "quantile":
            kept_ties(self)
        if self.edges == "quantile" and self.n_bins is None:
            raise ValueError("n_bins is None: edges 'quantile' need a number of bins.")
        if self.cipher == "identity" and self.inference != "he":
            check_unread_options(self, ("key_size", "full_exponents"), "cipher 'paillier' or 'sized'")
        most = (self.residual_bound or 1.0) * (self.batch_size or 1)
        if self.cipher != "identity" and most > LARGEST_SUM:
            raise ValueError(
                f"residual_bound and batch_size are {self.residual_bound} and {self.batch_size}: a sum of one tree may "
                f"be {most:g}, above {LARGEST_SUM} sums are not exact; use smaller units, or fewer rows."
            )


@dataclass(frozen=True)
class TreeTableOptions(DeployedOptions):
    """Noisy gradient and Hessian histograms of passive columns on top of what the active party grows alone.

    stumps : most stumps of the tables; stump_eta, stump_lambda : their shrinkage and L2
    least_hessian : least sum of hessians on both sides of a stump
    residual_bound : R of regression: gradients are clipped to [-R, R]; those of classes are at most 1, for any R
    """

    stumps: Natural = 300
    stump_eta: Positive = 0.2
    stump_lambda: NotNegative = 1.0
    least_hessian: NotNegative = 5.0
    residual_bound: Positive | None = None

    uses_epsilon = True
    no_interval = "trees"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.algo == "rf":
            raise ValueError("algo is 'rf': tables are boosted; use 'xgb' or 'gbdt'.")
        if self.as_published or self.ties == "position":
            published = "as_published is true" if self.as_published else "ties is 'position'"
            raise ValueError(f"{published}: this method is none of the source's; leave it out.")


@final
@dataclass(frozen=True)
class TablesOptions(TreeTableOptions):
    """Noise is added under encryption by the owner of the columns.

    cipher : ``sized`` (the same integers computed openly, the same bytes) or ``paillier``
    hessian_share : share of mu^2 that the hessians of regression get
    masked : whether the gradient slots of pair cells are masked; False only for the audit, which flags it
    """

    cipher: Literal["paillier", "sized"] = "paillier"
    hessian_share: Annotated[float, Range(0, 1, "()")] = 0.35
    masked: bool = True

    encrypts = True


@final
@dataclass(frozen=True)
class LocalTablesOptions(TreeTableOptions):
    """A random set of each record's features is released by randomised response; no cryptography.

    epsilon_per_feature : the number of features of a record is its target over this, at least one
    """

    epsilon_per_feature: Positive = 2.5
