"""Trees of columns that several parties hold, as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import CertificationError
from ...core.verdicts import response_verdict
from ...federation.estimators.column_estimator import Predictor, check_classes, checked_range, held_columns, response_of
from ...federation.estimators.fit_budget import Budget
from ...federation.estimators.inputs import groups_of, labels_of, numbers
from ...federation.estimators.parameters import Method
from ...federation.exchanges.sharing import DEALER
from ...federation.parties import split_columns
from ...federation.secure_streams import Randomness
from ...models.criteria import Criterion
from ...models.links import LOGIT
from ...models.losses import class_probabilities
from ...privacy.accounted_values import Public
from .effects import ImportanceType, PartialDependence, checked_grid, dependence, grid_of, importances
from .model import TreeColumn, TreeEstimate, TreeFacts, check_ensemble
from .options import (
    ActiveOnlyOptions,
    GatheringOptions,
    LocalTablesOptions,
    ScatteringOptions,
    TablesOptions,
    TreeOptions,
    TreePooledOptions,
    require_classes,
    require_start,
)
from .protocols import active_only, feature_gathering, label_scattering, local_tables, pooled, tables
from .protocols.common import local_beyond

DECLARED = "declared by the caller of the estimator"
# What one party can do.
ALONE = ("pooled", "active_only")
# Protocols whose trees need no column of the labels' party.
LABELS_ALONE = ("pooled", "label_scattering")
# What has no bin for missing cells.
RANKED = ("feature_gathering", "label_scattering")
# Of the options of the study these ask an evaluator, or score rows that are held out, which a fit has none of.
EVALUATOR = ("eval_freq", "select_by", "inference")


class VerticalBoosting(Predictor):
    """Boosted trees and forests of columns that several parties hold, one of which has the labels (document 003).

    Parameters
    ----------
    protocol : {"tables", "local_tables", "feature_gathering", "label_scattering", "pooled", "active_only"}
        Tables of gradients on top of the active party's own trees, noised under encryption or from randomised
        responses, which are certified; ranks of the passive parties' columns cross, unprotected or noised; gradients
        cross encrypted; all columns in one place, or those of the active party alone.
    epsilon : float, optional
        Target for one record's features at all passive parties, or the claim for one feature with
        ``budget="feature"``; refused where the options calibrate no noise to it.
    delta : float
    loss : {"CrossEntropyLoss", "RegressionMSELoss"}
        Labels, or numbers.
    public_edges : sequence of d increasing sequences, optional
        Cuts of every column, fixed before the data were seen; None where none are declared. Tables, and protections
        with public edges, need those of every passive column.
    public_bounds : sequence of d pairs, optional
        Range of every column, likewise.
    public_missing : sequence of d bools, optional
        Columns whose cells may be missing (NaN), likewise: they get one bin more. Tables need it of every passive
        column with missing cells; others are seen in X.
    public_response_bounds : pair of floats, optional
        Range of y, likewise, with ``loss="RegressionMSELoss"``. Protocols whose start must be public begin in its
        middle, the others at the mean of y; the option ``base_score`` gives another start.
    parties, random_state, shared_budget, clipped
        As in `Estimator`; ``parties`` and ``rng`` of a fit come before those given here.
    active : {"first", "last"}
        Which party holds y, unless ``fit`` gets another one.
    importance_type : {"gain", "split"}
        What ``feature_importances_`` adds up.
    **options
        Fields of the protocol's dataclass in `partywise.methods.trees.options`.

    Attributes
    ----------
    ensemble_ : Ensemble
        Trees and tables with the thresholds of all parties, as only an evaluator sees them.
    classes_ : ndarray of shape (k,)
        The labels in order, of classification. ``predict_proba`` has a column of each; where there are more than two,
        ``decision_function`` too.
    estimate_, ledger_, transcript_, privacy_, epsilon_claimed_
        As in `Estimator`; the unit of ``privacy_`` is ``features``: one record's columns at all passive parties.

    Notes
    -----
    Formal guarantee: ``privacy_.epsilon_certified`` at ``delta`` for replacing one record's features, against the view
    named there. Prediction here is an evaluator's: who deploys the trees over parties learns more (``inference`` of
    the study ``vertical_trees``).

    Examples
    --------
    >>> import partywise as pw
    >>> X = pw.stream(1, "records").uniform(size=(300, 4))
    >>> model = pw.VerticalBoosting("pooled", num_of_trees=5, parties=[[0, 1], [2, 3]], random_state=7)
    >>> model.fit(X, X[:, 3] > 0.5).score(X, X[:, 3] > 0.5)
    1.0
    >>> model.feature_importances_.round(2).tolist()
    [0.0, 0.0, 0.0, 1.0]
    >>> model.fit(X, X[:, 3].round(1) * 2 // 1).predict_proba(X[:1]).shape  # labels 0, 1 and 2
    (1, 3)
    """

    unit = "features"
    methods: ClassVar[Mapping[str, Method]] = {
        "tables": Method(TablesOptions, tables.fit, (DEALER,), "active"),
        "local_tables": Method(LocalTablesOptions, local_tables.fit, (DEALER,), "active"),
        "feature_gathering": Method(GatheringOptions, feature_gathering.fit, (DEALER,)),
        "label_scattering": Method(ScatteringOptions, label_scattering.fit, (DEALER,)),
        "pooled": Method(TreePooledOptions, pooled.fit, holder="active"),
        "active_only": Method(ActiveOnlyOptions, active_only.fit, holder="active"),
    }
    _estimate = TreeEstimate
    _model_fields = ("ensemble", "epsilon_claimed")
    _model_attributes: ClassVar[Mapping[str, object]] = {"classes_": np.ndarray}
    _without_holder = "thresholds of its columns stay with every passive party; take a protocol of tables"

    def __init__(
        self,
        protocol: str = "tables",
        *,
        epsilon: float | None = None,
        delta: float = 1e-5,
        loss: Criterion = "CrossEntropyLoss",
        public_edges: Sequence[ArrayLike | None] | None = None,
        public_bounds: Sequence[Sequence[float] | None] | None = None,
        public_missing: Sequence[bool] | None = None,
        public_response_bounds: Sequence[float] | None = None,
        active: Literal["first", "last"] = "last",
        importance_type: ImportanceType = "gain",
        parties: int | Sequence[Sequence[int]] = 2,
        random_state: Randomness | None = None,
        shared_budget: Budget | None = None,
        clipped: Literal["refuse", "allow"] = "refuse",
        **options: object,
    ) -> None:
        self.active: Literal["first", "last"] = active
        self.importance_type: ImportanceType = importance_type
        self.clipped: Literal["refuse", "allow"] = clipped
        self.loss, self.public_edges, self.public_bounds = loss, public_edges, public_bounds
        self.public_missing, self.public_response_bounds = public_missing, public_response_bounds
        super().__init__(protocol, epsilon, delta, parties, random_state, shared_budget, options)

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        parties: int | Sequence[Sequence[int]] | None = None,
        active: Literal["first", "last"] | None = None,
        rng: Randomness | None = None,
    ) -> VerticalBoosting:
        """Simulate the protocol.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            NaN is a cell that is missing: it goes to the side of each split that gains most, and in tables it has a
            value of its own. ``feature_gathering`` and ``label_scattering`` refuse it.
        y : ndarray of shape (n,)
            Labels, which ones there are counts as public; numbers with ``loss="RegressionMSELoss"``. More than two
            need a protocol and options that learn them: all protocols but ``label_scattering``, ``algo="xgb"``.
        parties : int or sequence of sequences of int
            How many share the columns, in runs, or the columns of each; of the labels' party none with
            ``label_scattering`` and ``pooled``.
        active : {"first", "last"}
            Which of them holds y.
        rng : int, numpy.random.Generator, Streams or SecureStreams
            Source of keys, encryption and noise, and of drawn rows and columns. All but `SecureStreams` repeat what
            they draw: for experiments.

        Raises
        ------
        ValueError
            If shapes disagree, values are not finite, labels are of one class, or of more than the protocol learns,
            ``parties`` is not a partition or one party where a protocol needs two, or an option asks an evaluator.
        CertificationError
            If a certified protocol gets no public edges or bounds of a passive party's column, or no bound of the
            residuals of a regression.
        TypeError
            For an ``rng`` of another kind, or an unknown option.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(size=(500, 4))
        >>> y, columns = X[:, 0] + X[:, 3] > 1, [[0, 1], [2, 3]]
        >>> model = pw.VerticalBoosting(epsilon=2.0, public_edges=[np.linspace(0.1, 0.9, 9)] * 4, cipher="sized")
        >>> alone = pw.VerticalBoosting("active_only")
        >>> scores = [estimator.fit(X, y, parties=columns, rng=7).score(X, y) for estimator in (model, alone)]
        >>> print("{:.2f}, without the other party's columns {:.2f}".format(*scores))
        0.94, without the other party's columns 0.75
        """
        features = numbers("X", X, 2, "(n, d): records, columns", missing=True)
        response, d = self._response(y, len(features)), features.shape[1]
        parties, active = self._division(parties), active or self.active
        holder = 0 if active == "first" else -1
        if not isinstance(parties, int | np.integer) and parties and not len(parties[holder]):
            if self.protocol not in LABELS_ALONE:
                raise ValueError(
                    f"parties={parties!r} gives the labels' party no column, and protocol={self.protocol!r} grows or "
                    "ranks its own: give it one, or use protocol='label_scattering' or 'pooled'."
                )
            holder %= len(parties)
        groups = groups_of(parties, d, lambda count, k: split_columns(count, k, "contiguous"), bare=holder)
        if len(groups) < 2 and self.protocol not in ALONE:
            raise ValueError(
                f"parties={parties!r} with protocol={self.protocol!r}: the labels' party needs another one; give two "
                "or more, or use protocol='active_only'."
            )
        if active not in ("first", "last"):
            raise ValueError(f"active={active!r} must be 'first' or 'last', of the parties.")
        for field in fields(self._method.options):
            value = self._given.get(field.name, field.default)
            if field.name in EVALUATOR and value != field.default:
                raise ValueError(f"{field.name}={value!r} asks the evaluator of a study, not a fit: leave it out.")
        owners = held_columns(features, response, groups, 0 if active == "first" else len(groups) - 1)
        classes = len(self.classes_) if self._kind == "classifier" else 2
        require_start(self._options(), self.loss, classes)
        public = TreeFacts(self._columns(d), self.loss, classes, self._response_bounds())
        missing = self._missing(
            features, [column for party in owners if party.role == "passive" for column in party.columns]
        )
        if any(missing):
            columns = tuple(
                replace(column, missing=may_miss) for column, may_miss in zip(public.columns, missing, strict=True)
            )
            public = replace(public, columns=columns)
        for party in owners:
            local_beyond(party, public.columns)
        estimate: TreeEstimate = self._simulate(owners, len(features), rng, public=public, settings=self._settings())
        if any(missing):
            known = replace(estimate.ensemble, missing=tuple(np.flatnonzero(missing).tolist()))
            self.estimate_ = replace(estimate, ensemble=known)
        self.n_features_in_ = d
        self._keep_names(X)
        self._derive()
        if classes > 2 or self._options().algo == "rf":
            self._judge(response_verdict("y", response))
        else:
            self._judge_records(features, response)
        return self

    def _derive(self) -> None:
        self.ensemble_ = self._fitted_estimate().ensemble

    def _check_model(self) -> None:
        check_ensemble(self._fitted_estimate().ensemble, self.n_features_in_)
        if self._kind == "classifier":
            check_classes(self, max(2, self._fitted_estimate().ensemble.outputs))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column in all gains or splits, shape (d,), by ``importance_type``: they sum to 1, or are 0.

        A gain is what a split lowers the loss by, to second order, with the shrinkage of its step.

        ============================ =======================================================================
        columns                      gains and splits come from
        ============================ =======================================================================
        passive, ``tables``          released noisy sums, less what a stump is charged for their noise
        passive, ``local_tables``    histograms of released randomised codes, likewise
        passive, other protocols     what crossed: (noised) ranks or codes, decrypted sums, the columns
        the active party's           its own trees, on its own columns and labels
        ============================ =======================================================================

        All of it is post-processing: it costs nothing beyond ``privacy_``. Who gets the importances of the active
        party's columns gets unprotected sums of that party's labels, as with the leaves of its trees.

        Raises
        ------
        NotFittedError
            Before a fit.
        ValueError
            If ``importance_type`` is another, or the model came without gains.
        """
        ensemble = self._fitted_estimate().ensemble
        if self.importance_type not in ("gain", "split"):
            raise ValueError(f"importance_type={self.importance_type!r}: use 'gain' or 'split'.")
        return importances(ensemble, self.n_features_in_, self.importance_type)

    def partial_dependence(
        self,
        features: int | str | Sequence[int | str],
        grid: ArrayLike | Sequence[ArrayLike] | None = None,
    ) -> PartialDependence:
        """Mean score where some columns have given values and the others are as they were.

        It is made of the model alone and costs nothing: others are averaged over the covers of the nodes of trees
        (scikit-learn's method "recursion") and over the released sums of hessians in the bins of tables, which are
        noisy numbers of records in regression and with ``algo="gbdt"``, and those below 0 count as 0.

        Parameters
        ----------
        features : int, str or a sequence of them
            Columns, by number or by name.
        grid : array_like or a sequence of array_like, optional
            Values of the column, or of each column; by default one in each bin of its ``public_edges``. Do not take
            them from records.

        Returns
        -------
        PartialDependence
            ``grid`` of each column, and ``average`` of shape (k_1, k_2, ...), on the scale of ``decision_function``
            or of the numbers; of more than two classes (classes, k_1, k_2, ...).

        Raises
        ------
        NotFittedError
            Before a fit.
        ValueError
            If a column is unknown or given twice, a grid is missing where no edges are declared, or not finite.

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(size=(300, 4))
        >>> model = pw.VerticalBoosting("pooled", num_of_trees=5, parties=[[0, 1], [2, 3]], random_state=7)
        >>> dependence = model.fit(X, X[:, 3] > 0.5).partial_dependence(3, [0.2, 0.4, 0.6, 0.8])
        >>> dependence.average.round(1).tolist()  # log odds: a step where the labels change
        [-3.3, -3.3, 3.3, 3.3]
        """
        ensemble = self._fitted_estimate().ensemble
        single = isinstance(features, int | np.integer | str)
        chosen = [self._column_number(name) for name in ([features] if single else list(features))]  # type: ignore[arg-type]
        if not chosen or len(set(chosen)) < len(chosen):
            raise ValueError(f"features={features!r}: give different columns, at least one.")
        if grid is None:
            points = {column: grid_of(self._declared_edges(column)) for column in chosen}
        else:
            grids: list[ArrayLike] = [grid] if single else list(grid)  # type: ignore[arg-type,list-item]
            if len(grids) != len(chosen):
                raise ValueError(f"grid has {len(grids)} entries for {len(chosen)} columns: give one a column.")
            points = {column: checked_grid(values, column) for column, values in zip(chosen, grids, strict=True)}
        return PartialDependence(tuple(points.values()), dependence(ensemble, points))

    def _column_number(self, column: int | str) -> int:
        """Number of a column of the fit."""
        names = getattr(self, "feature_names_in_", np.array([], dtype=object)).tolist()
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"features name {column!r}, which the fit did not have: it had {names or 'no names'}.")
            return names.index(column)
        if not 0 <= column < self.n_features_in_:
            raise ValueError(f"features name column {column!r}: give 0 to {self.n_features_in_ - 1}.")
        return int(column)

    def _declared_edges(self, column: int) -> np.ndarray:
        edges = None if self.public_edges is None else self.public_edges[column]
        if edges is None:
            raise ValueError(f"grid is missing: column {column} has no public_edges; give the values to look at.")
        return np.asarray(edges, dtype=float)

    @property
    def _kind(self) -> str:
        return "regressor" if self.loss == "RegressionMSELoss" else "classifier"

    @property
    def _many_classes(self) -> bool:
        options = self._method.options if self._has_protocol else None
        return options is not None and issubclass(options, TreeOptions) and options.many_classes

    @property
    def _may_miss(self) -> bool:
        return self._has_protocol and self.protocol not in RANKED

    def _missing(self, X: np.ndarray, passive: Sequence[int]) -> list[bool]:
        """Whether the cells of each column may be missing: as declared, or as seen where that discloses nothing."""
        d, declared = X.shape[1], self.public_missing
        if declared is not None and len(declared) != d:
            raise ValueError(f"public_missing has {len(declared)} entries for {d} columns: give one a column.")
        known, seen = [False] * d if declared is None else list(map(bool, declared)), np.isnan(X).any(axis=0)
        column = int(np.argmax(seen | known))
        if not (seen | known).any():
            return known
        if self.protocol in RANKED:
            raise ValueError(
                f"X has missing cells (NaN) in column {column}: protocol={self.protocol!r} has no bin for them; fill "
                "them, or use 'tables', 'local_tables' or 'pooled'."
            )
        if self._options().ties == "position":
            raise ValueError(f"X has missing cells (NaN) in column {column}: they have no position; use ties='kept'.")
        hidden = [place for place in passive if seen[place] and not known[place]]
        if hidden and self.protocol not in ALONE:
            raise CertificationError(
                f"X has missing cells (NaN) in column {hidden[0]} of a passive party, whose bins must be public: "
                "declare it by public_missing, or fill them."
            )
        return [bool(may_miss) for may_miss in seen | known]

    def _settings(self) -> SimpleNamespace:
        return SimpleNamespace(delta=self.delta)

    def _response(self, y: np.ndarray, n: int) -> np.ndarray:
        """Labels or numbers (n,), checked."""
        if self.loss not in ("CrossEntropyLoss", "RegressionMSELoss"):
            raise ValueError(f"loss={self.loss!r}: use 'CrossEntropyLoss' or 'RegressionMSELoss'.")
        if self._kind == "regressor":
            return response_of(y, n)
        response, self.classes_ = labels_of(y, n, many=True)
        require_classes(self._options(), self.protocol, len(self.classes_))
        return response

    def _response_bounds(self) -> tuple[float, float] | None:
        """Declared range of y, checked."""
        bounds = self.public_response_bounds
        if bounds is None:
            return None
        if self._kind != "regressor":
            raise ValueError(
                f"public_response_bounds={bounds!r}: labels have no range; leave it out, or use "
                "loss='RegressionMSELoss'."
            )
        return checked_range("public_response_bounds", bounds)

    def _columns(self, d: int) -> tuple[TreeColumn, ...]:
        """Declared facts of every column."""
        declared = []
        for name, values in (("public_edges", self.public_edges), ("public_bounds", self.public_bounds)):
            if values is not None and len(values) != d:
                raise ValueError(f"{name} has {len(values)} entries for {d} columns: give one a column, None for none.")
            declared.append([None] * d if values is None else list(values))
        return tuple(_column(j, *both) for j, both in enumerate(zip(*declared, strict=True)))

    def _scores(self, X: np.ndarray) -> np.ndarray:
        records, ensemble = self._records(X, 2, "(n, d): records, columns"), self._fitted_estimate().ensemble
        unknown = sorted(set(np.flatnonzero(np.isnan(records).any(axis=0)).tolist()) - set(ensemble.missing))
        if unknown:
            raise ValueError(
                f"X has missing cells (NaN) in column {unknown[0]}, in which the fit had none: fill them, or declare "
                "the column by public_missing and fit again."
            )
        scores: np.ndarray = ensemble.scores(records)
        return scores

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        scores = self._scores(X)
        if scores.ndim == 2:
            return class_probabilities(scores)
        ones = np.clip(scores, 0, 1) if self._options().algo == "rf" else LOGIT.mean(scores)
        return np.column_stack([1 - ones, ones])

    def _likeliest(self, X: np.ndarray) -> np.ndarray:
        return self._probabilities(X).argmax(axis=1)


def _column(j: int, edges: ArrayLike | None, bounds: Sequence[float] | None) -> TreeColumn:
    """A column's declared cuts and range, checked."""
    known_edges = known_bounds = None
    if edges is not None:
        cuts = np.asarray(edges, dtype=float)
        if cuts.ndim != 1 or not cuts.size or not np.all(np.isfinite(cuts)) or np.any(np.diff(cuts) <= 0):
            raise ValueError(f"public_edges[{j}]={edges!r}: give increasing numbers, at least one, or None.")
        known_edges = Public(cuts, because=DECLARED)
    if bounds is not None:
        known_bounds = Public(checked_range(f"public_bounds[{j}]", bounds), because=DECLARED)
    return TreeColumn(f"x{j}", known_edges, known_bounds)
