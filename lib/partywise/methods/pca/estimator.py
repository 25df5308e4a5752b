"""Correlation and principal components of columns that several parties hold, as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ...alignment.identifiers import prepare_identifiers
from ...alignment.options import IdentifierRules
from ...federation.estimators.column_estimator import blocks_of
from ...federation.estimators.estimator import Transformer
from ...federation.estimators.fit_budget import Budget
from ...federation.estimators.inputs import party
from ...federation.estimators.parameters import Method
from ...federation.exchanges.sharing import DEALER
from ...federation.parties import Party
from ...federation.roles import ANALYST
from ...federation.secure_streams import Randomness
from .components import correlation_of, pvalues, shares, standardise, variance_inflation
from .model import PcaFacts
from .options import BlockSvdOptions, CorrelationOptions
from .protocols import block_svd, correlation

LIKE = "(n, p): records, columns of all parties"


def held_by(blocks: Sequence[np.ndarray], groups: Sequence[tuple], ids: Sequence[Sequence[str]] | None) -> list[Party]:
    """Parties with columns and nothing else, with identifiers where records arrive unaligned."""
    owners = []
    for place, (block, group) in enumerate(zip(blocks, groups, strict=True)):
        name, arrays = f"party {place + 1}", {"X": block}
        if ids is not None:
            # As they were given: an array would make text of the numbers among them.
            arrays["ids"] = np.array(prepare_identifiers(ids[place], IdentifierRules(), name)[0])
        owners.append(party(name, "passive", group, **arrays))
    return owners


class VerticalPCA(Transformer):
    """Correlations and principal components of vertically split columns (document 004, "Block SVD").

    Parameters
    ----------
    protocol : {"correlation", "block_svd"}
        The matrix from secure cross products, opened once; or as published, from rotations of every block, with a
        matrix that is not the correlation matrix.
    delta : float
        Of what the ledger answers.
    parties, random_state, shared_budget
        As in `Estimator`; ``parties`` and ``rng`` of a fit come before those given here.
    **options
        Fields of the protocol's dataclass in `partywise.methods.pca.options`.

    Attributes
    ----------
    correlation_ : ndarray of shape (p, p)
        Of ``correlation`` only.
    covariance_ : ndarray of shape (p, p)
        With ``matrix="covariance"``.
    rotated_matrix_ : ndarray of shape (p, p)
        What ``block_svd`` calls the correlation matrix: B'RB with the right singular vectors of all blocks in B.
    components_ : ndarray of shape (p, p)
        One component a row, its largest absolute entry positive; of ``block_svd`` those of rotated columns.
    explained_variance_, explained_variance_ratio_ : ndarray of shape (p,)
    pvalues_ : ndarray of shape (p, p)
        Two-sided, of no correlation.
    vif_ : ndarray of shape (p,)
        Variance inflation factors; infinite for columns that others determine.
    scores_ : ndarray of shape (n, c), or None
        Where the analyst has them.
    rows_ : mapping of str to ndarray, or None
        Positions of the common records in every party's own, of records that arrived unaligned.
    mean_, scale_ : ndarray of shape (p,)
        By which parties centre and scale their columns, as each knows of its own.
    estimate_, ledger_, transcript_, privacy_, epsilon_claimed_
        As in `Estimator`; the unit of ``privacy_`` is ``features``.

    Notes
    -----
    Formal guarantee: none in epsilon, which is infinite. With ``correlation`` the analyst learns the matrix and, unless
    there are ``scores``, no party sees a record, as long as the dealer of random numbers does not collude. With
    ``block_svd`` the analyst has every record up to a rotation.

    Examples
    --------
    >>> import partywise as pw
    >>> X = pw.stream(1, "records").normal(size=(200, 4))
    >>> model = pw.VerticalPCA(parties=[[0, 1], [2, 3]], random_state=7).fit(X)
    >>> model.transform(X).shape, model.correlation_.shape
    ((200, 4), (4, 4))
    """

    unit = "features"
    _finite = ("components_", "explained_variance_")
    _without_holder = "the analyst has the loadings, every party the centres and scales of its columns"
    methods: ClassVar[Mapping[str, Method]] = {
        "correlation": Method(CorrelationOptions, correlation.fit, (ANALYST, DEALER)),
        "block_svd": Method(BlockSvdOptions, block_svd.fit, (ANALYST,)),
    }

    def __init__(
        self,
        protocol: str = "correlation",
        *,
        delta: float = 1e-5,
        parties: int | Sequence[Sequence[int | str]] = 2,
        random_state: Randomness | None = None,
        shared_budget: Budget | None = None,
        **options: object,
    ) -> None:
        super().__init__(protocol, None, delta, parties, random_state, shared_budget, options)

    def fit(
        self,
        X: ArrayLike,
        y: None = None,
        *,
        parties: int | Sequence[Sequence[int | str]] | None = None,
        ids: Sequence[Sequence[str]] | None = None,
        names: Sequence[str] | None = None,
        rng: Randomness | None = None,
    ) -> VerticalPCA:
        """Simulate the protocol.

        Parameters
        ----------
        X : ndarray of shape (n, p), or sequence of K arrays of shape (n_k, p_k)
            Columns. Of records that arrive unaligned (``ids``), one array a party.
        y : None
            Not read; for pipelines.
        parties : int or sequence of sequences of int or str
            How many share the columns, in runs, or the columns of each, by number or name; not read with ``ids``.
        ids : sequence of K sequences of str, optional
            Identifiers of each party's records, which are aligned first, as the option ``alignment`` states.
        names : sequence of p str, optional
            Of the columns, for messages; by default those of data frames, else x0, x1, ...
        rng : int, numpy.random.Generator, Streams or SecureStreams
            Source of masks and shares. All but `SecureStreams` repeat what they draw: for experiments.

        Raises
        ------
        ValueError
            If values are not finite, a column is constant (naming party and column), or ``parties`` is not a partition
            of the columns into two or more groups.
        TypeError
            For an ``rng`` of another kind, or an unknown option.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(200, 4)) + pw.stream(1, "shared").normal(size=(200, 1))
        >>> model = pw.VerticalPCA().fit(X, parties=[[0, 1], [2, 3]], rng=7)
        >>> model.explained_variance_ratio_.round(2)  # of one common factor
        array([0.65, 0.13, 0.12, 0.1 ])
        >>> np.allclose(model.correlation_, np.corrcoef(X.T)), model.vif_.round(1)
        (True, array([1.8, 1.9, 1.6, 1.7]))
        """
        blocks, groups, column_names = blocks_of(X, self._division(parties), ids, names)
        p = len(column_names)
        owners = held_by(blocks, groups, ids)
        public = PcaFacts(column_names, ids is None)
        estimate = self._simulate(owners, len(blocks[0]), rng, public=public, settings=SimpleNamespace())
        self._forget()
        self._keep_names(X, names)
        self.components_ = estimate.loadings.T
        self.explained_variance_, self.explained_variance_ratio_ = estimate.eigenvalues, shares(estimate.eigenvalues)
        self.scores_, self.rows_, self.names_, self.n_features_in_ = estimate.scores, estimate.rows, column_names, p
        self.mean_, self.scale_ = np.empty(p), np.empty(p)
        for owner in owners:
            block = owner.block["X"] if estimate.rows is None else owner.block["X"][estimate.rows[owner.name]]
            self.mean_[list(owner.columns)] = block.mean(axis=0)
            self.scale_[list(owner.columns)] = standardise(block)[1]
        self._judge()
        if self.protocol == "block_svd":
            self.rotated_matrix_ = estimate.matrix
            return self
        if self._options().matrix == "covariance":
            self.covariance_, self.scale_ = estimate.matrix, np.ones(p)
        self.correlation_ = correlation_of(estimate.matrix)
        self.pvalues_, self.vif_ = pvalues(self.correlation_, estimate.n), variance_inflation(self.correlation_)
        return self

    def _forget(self) -> None:
        """Remove what an earlier fit by another protocol had and this one has not."""
        for name in ("rotated_matrix_", "covariance_", "correlation_", "pvalues_", "vif_"):
            self.__dict__.pop(name, None)

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Scores of records: centred, scaled for a correlation matrix, times the loadings.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            Records with the columns of the fit.

        Returns
        -------
        ndarray of shape (n, p)

        Raises
        ------
        AttributeError
            With ``block_svd``, whose loadings belong to rotated columns that only the parties can make.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").normal(size=(200, 4)) + pw.stream(1, "shared").normal(size=(200, 1))
        >>> scores = pw.VerticalPCA(parties=[[0, 1], [2, 3]], random_state=7).fit(X).transform(X)
        >>> scores.var(axis=0, ddof=1).round(2), np.allclose(np.corrcoef(scores.T), np.eye(4))
        (array([2.61, 0.53, 0.47, 0.39]), True)
        """
        self._fitted_estimate()
        if self.protocol == "block_svd":
            raise AttributeError("transform is of protocol 'correlation': the loadings of 'block_svd' fit no columns.")
        return (self._records(X, 2, LIKE) - self.mean_) / self.scale_ @ self.components_.T
