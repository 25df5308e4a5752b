"""Sliced inverse regression over clients, as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ...core.arrays import summary_rows
from ...core.checks import positive
from ...core.verdicts import response_verdict, size_verdict
from ...federation.estimators.estimator import Transformer
from ...federation.estimators.fit_budget import Budget
from ...federation.estimators.inputs import column_labels, numbers, vector
from ...federation.estimators.parameters import Method
from ...federation.secure_streams import Randomness
from ...models.intervals import Intervals, level_of, noise_line
from ...models.kinds import Kind
from ...privacy.accounted_values import Public
from .model import Settings, SlicingEstimate, SlicingFacts
from .options import (
    SlicingCertifiedOptions,
    SlicingExactOptions,
    SlicingPublishedOptions,
    SlicingReferenceOptions,
    WhitenedOptions,
    check_budget_options,
)
from .protocols import certified, published, reference, whitened
from .slices import Slices, class_slices, public_slices

FIXED = "edges or classes of the estimator, fixed before the data were seen"
DECLARED = "declared by the caller of the estimator"


class SlicedInverseRegression(Transformer):
    """Federated sliced inverse regression under differential privacy (document 001): rows lie at different clients.

    Parameters
    ----------
    protocol : {"certified", "whitened", "published", "reference"}
        With a proof in one round or, whitened, in two; as published; or without privacy.
    epsilon : float, optional
        Certified, whitened: of all releases of a client together, or by ``calibrate``. Published: of each kind of
        release, as in the source. inf: no noise; refused by the reference.
    delta : float
        Of all releases of a client together.
    n_directions : int
        d, dimension of the subspace; not read where ``dimension`` is ``"estimated"``.
    edges : sequence of float, optional
        Increasing public slice edges of the response.
    classes : sequence, optional
        The public classes of the response, instead of edges.
    radius : float
        Every entry of X is clipped to [-radius, radius], so that columns need public scales; ``reference`` clips
        nothing.
    epsilon_second : float, optional
        Of the second moment, where ``epsilon`` is that of each kind of release and this one's differs.
    screened : bool
        Whether columns are selected before anything else is released.
    active : int, optional
        Size of the true support where it is known; screening keeps twice as many columns unless ``max_size`` is larger.
    rows_per_user : int, optional
        Public bound on the records of one person.
    kinds : mapping of str to str, optional
        How each column is distributed within slices, by its meaning, for intervals and the bound of the loss: only
        ``"normal"`` has a law. Columns without names are ``"x0"``, ``"x1"`` and so on.
    parties, random_state, shared_budget, clipped
        As in `Estimator`; ``parties`` and ``rng`` of a fit come before those given here.
    **options
        Fields of the protocol's dataclass in `partywise.methods.inverse_regression.options`.

    Attributes
    ----------
    components_ : ndarray of shape (d, p)
        Basis of the subspace; only its span counts.
    noise_errors_ : ndarray of shape (d, p), or None
        Standard deviation that the noise of privacy alone gives each entry of ``components_``, to first order; NaN in a
        direction that noise could produce. Of ``certified`` with its standard options and ``whitened``.
    noise_errors_reason_ : str
        Why ``noise_errors_`` of a noisy fit is None; else empty.
    intervals_ : partywise.models.intervals.Intervals
        Of the direction of length 1 before clipping, where d = 1, or the reason why there are none.
    loss_bound_ : float, or None
        Upper 95 % bound of the projection loss of ``components_`` to the true subspace, from what was released; None
        without a law of what was released, for the reason of ``intervals_``.
    columns_ : ndarray of int or None
        Columns that screening kept.
    size_ : int, or None
        Number s of columns in the model where ``size`` is ``"estimated"``.
    estimate_, ledger_, transcript_, privacy_, epsilon_claimed_
        As in `Estimator`; the unit of ``privacy_`` is ``row``.

    Notes
    -----
    Formal guarantee: ``privacy_.epsilon_certified`` at ``delta`` for replacing one record of a client; clients hold
    different persons and compose in parallel.

    Examples
    --------
    >>> import partywise as pw
    >>> X = pw.stream(1, "records").uniform(-1, 1, size=(3000, 3))
    >>> model = pw.SlicedInverseRegression(epsilon=2.0, edges=(-0.5, 0.5), parties=3, random_state=7)
    >>> model.fit(X, X[:, 0] + X[:, 1]).transform(X).shape
    (3000, 1)
    """

    unit = "row"
    _column = "direction"
    methods: ClassVar[Mapping[str, Method]] = {
        "certified": Method(SlicingCertifiedOptions, certified.fit, ("server",), "server"),
        "whitened": Method(WhitenedOptions, whitened.fit, ("server",), "server"),
        "published": Method(SlicingPublishedOptions, published.fit, ("server",), "server", published=True),
        "reference": Method(SlicingReferenceOptions, reference.fit, ("server",), "server"),
    }
    _estimate = SlicingEstimate
    _model_fields = (
        *("basis", "epsilon_claimed", "epsilon", "clients", "columns", "noise_errors", "intervals", "loss_bound"),
    )
    _model_attributes: ClassVar[Mapping[str, object]] = {"size_": int | None}
    _finite = ("components_",)

    def __init__(
        self,
        protocol: str = "certified",
        *,
        epsilon: float | None = None,
        delta: float = 1e-5,
        n_directions: int = 1,
        edges: Sequence[float] | None = None,
        classes: ArrayLike | None = None,
        radius: float = 1.0,
        epsilon_second: float | None = None,
        screened: bool = False,
        active: int | None = None,
        rows_per_user: int | None = None,
        kinds: Mapping[str, str] | None = None,
        parties: int | Sequence[Sequence[int]] | None = None,
        random_state: Randomness | None = None,
        shared_budget: Budget | None = None,
        clipped: Literal["refuse", "allow"] = "refuse",
        **options: object,
    ) -> None:
        self.n_directions, self.edges, self.classes, self.radius = n_directions, edges, classes, radius
        self.epsilon_second, self.screened, self.active = epsilon_second, screened, active
        self.rows_per_user, self.kinds = rows_per_user, kinds
        self.clipped: Literal["refuse", "allow"] = clipped
        super().__init__(protocol, epsilon, delta, parties, random_state, shared_budget, options)

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        parties: int | Sequence[Sequence[int]] | None = None,
        rng: Randomness | None = None,
    ) -> SlicedInverseRegression:
        """Simulate the protocol.

        Parameters
        ----------
        X : ndarray of shape (N, p)
        y : ndarray of shape (N,)
            Response, a number or a class.
        parties : int or sequence of sequences of int
            How many clients hold the rows in contiguous runs, or the rows of each.
        rng : int, numpy.random.Generator or Streams
            Source of all noise.

        Raises
        ------
        ValueError
            If shapes disagree, values are not finite, the groups are not a partition, or edges and classes do not fit.
        TypeError
            For an ``rng`` of another kind, or an unknown option.

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(-1, 1, size=(3000, 3))
        >>> model = pw.SlicedInverseRegression(epsilon=2.0, edges=(-0.5, 0.5))
        >>> direction = model.fit(X, X[:, 0] + X[:, 1], parties=3, rng=7).components_[0]
        >>> np.abs(direction / np.abs(direction).max()).round(1)  # the truth is 1, 1, 0
        array([1., 1., 0.])
        """
        frame = X
        X = numbers("X", X, 2, "(N, p): records, columns")
        y = vector("y", y, len(X))
        n, p = X.shape
        slices = self._slices()
        slices.codes(y)
        if not 1 <= self.n_directions <= min(p, slices.n_slices - 1):
            raise ValueError(
                f"n_directions={self.n_directions} must lie in 1..{min(p, slices.n_slices - 1)}: there are {p} columns "
                f"and {slices.n_slices} slices."
            )
        clients = self._clients(parties, {"X": X, "y": y})
        names = tuple(client.name for client in clients)
        sizes = tuple(len(client.block["y"]) for client in clients)
        kinds = self._kinds(
            [f"x{column}" for column in range(p)] if (labels := column_labels(frame)) is None else labels
        )
        public = SlicingFacts(names, sizes, p, slices.n_slices, self.n_directions, slices, kinds_of_columns=kinds)
        estimate = self._simulate(clients, n, rng, public=public, settings=self._settings())
        self.n_features_in_ = p
        size = estimate.numbers.get("size")
        self.size_ = None if size is None else int(size)
        self._keep_names(frame)
        self._derive()
        self._judge(response_verdict("y", y), size_verdict(n, p))
        return self

    def _kinds(self, names: Sequence[str]) -> dict[str, Kind]:
        """Return the declared kinds of all columns; ValueError for other names, or kinds without a law in slices."""
        if self.kinds is None:
            return {}
        if not isinstance(self._options(), SlicingExactOptions):
            raise ValueError(
                f"kinds={self.kinds!r} is read by protocols 'certified' and 'whitened' only: leave it out."
            )
        if not isinstance(self.kinds, Mapping) or set(self.kinds) != set(names):
            raise ValueError(f"kinds is {self.kinds!r}: give one of each column by name, {sorted(names)}.")
        for name, kind in self.kinds.items():
            if kind != "normal":
                raise ValueError(
                    f"kinds has {kind!r} for column {name!r}: only 'normal' columns have a law within slices; leave "
                    "kinds out for no intervals."
                )
        return dict.fromkeys(names, Kind(because=DECLARED))

    def _derive(self) -> None:
        estimate = self._fitted_estimate()
        self.components_, self.columns_ = estimate.basis.T, estimate.columns
        self.noise_errors_ = None if estimate.noise_errors is None else estimate.noise_errors.T
        self.noise_errors_reason_ = estimate.noise_errors_reason
        self.intervals_, self.loss_bound_ = estimate.intervals, estimate.loss_bound

    def _check_model(self) -> None:
        estimate = self._fitted_estimate()
        estimated = getattr(self._options(), "dimension", "true") == "estimated"
        shape = self.n_features_in_, estimate.basis.shape[1] if estimated else self.n_directions
        if estimate.basis.shape != shape or (
            estimate.noise_errors is not None and estimate.noise_errors.shape != shape
        ):
            raise ValueError(f"basis has shape {estimate.basis.shape} where the columns and directions are {shape}")

    @property
    def _unit(self) -> np.ndarray:
        """(p,) the one direction at length 1."""
        return np.asarray(self.components_[0] / np.linalg.norm(self.components_[0]))

    def _withhold_intervals(self, withheld: Intervals) -> None:
        super()._withhold_intervals(withheld)
        self.loss_bound_ = None

    def conf_int(self, alpha: float = 0.05) -> np.ndarray | None:
        """Intervals of the direction of length 1, over records and noise.

        Parameters
        ----------
        alpha : float
            In (0, 1): one minus the level.

        Returns
        -------
        ndarray of shape (p, 2), or None
            Of each entry of ``components_[0]`` divided by its length; None for the reason of ``intervals_``.

        Raises
        ------
        ValueError
            For an ``alpha`` outside (0, 1).

        Examples
        --------
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").standard_normal((3000, 2))
        >>> kinds = {"x0": "normal", "x1": "normal"}
        >>> facts = {"edges": (-0.5, 0.5), "radius": 4.0, "kinds": kinds}
        >>> model = pw.SlicedInverseRegression(epsilon=4.0, parties=3, random_state=7, **facts)
        >>> model.fit(X, X[:, 0] + X[:, 1]).conf_int().shape  # lower and upper ends of two entries
        (2, 2)
        """
        return self.intervals_.bounds(level_of(alpha))

    def _summary_head(self) -> list[str]:
        """Cost, what is known of the noise, the bound of the loss, and the columns that have a contrast."""
        estimate, errors = self._fitted_estimate(), self.noise_errors_
        rows = super()._summary_head()
        if errors is not None:
            rows.append(noise_line("", "an entry"))
            lost = [f"{place + 1}" for place, row in enumerate(errors) if np.any(np.isnan(row))]
            rows += [f"direction {place}: not distinguishable from noise" for place in lost]
        elif self._options().uses_epsilon and np.isfinite(estimate.epsilon_claimed):
            rows.append(noise_line(self.noise_errors_reason_))
        if self.loss_bound_ is not None:
            rows.append(f"projection loss to the true subspace: at most {self.loss_bound_:.3g} (95 %)")
        if self.size_ is not None:
            rows.append(f"columns with a contrast beyond noise and sampling: {self.size_}")
        return rows

    def _summary_table(self) -> list[str]:
        """Directions, each with what the noise of privacy gives its entries."""
        errors = self.noise_errors_
        entries = [("direction", self.components_)] + ([] if errors is None else [("noise sd", errors)])
        columns = {
            f"{title} {place + 1}": values[place] for place in range(len(self.components_)) for title, values in entries
        }
        if (bounds := self.conf_int()) is not None:
            columns |= {"of length 1": self._unit, "2.5 %": bounds[:, 0], "97.5 %": bounds[:, 1]}
        return summary_rows(columns, [f"x{column}" for column in range(self.n_features_in_)], 6)

    def _options(self) -> SlicingCertifiedOptions | WhitenedOptions | SlicingPublishedOptions | SlicingReferenceOptions:
        options: SlicingCertifiedOptions | WhitenedOptions | SlicingPublishedOptions | SlicingReferenceOptions = (
            super()._options()
        )
        # Nothing leaves that a bound would protect.
        return replace(options, clipped=False) if isinstance(options, SlicingReferenceOptions) else options

    def _slices(self) -> Slices:
        if (self.edges is None) == (self.classes is None):
            raise ValueError(
                f"edges={self.edges!r} and classes={self.classes!r}: give one of them, fixed before the data are seen."
            )
        if self.classes is not None:
            return class_slices(Public(np.asarray(self.classes), because=FIXED))
        return public_slices(Public(np.asarray(self.edges, dtype=float), because=FIXED))

    def _settings(self) -> Settings:
        positive(radius=self.radius, epsilon_second=self.epsilon_second, active=self.active)
        options = self._options()
        check_budget_options(options, self.epsilon_second)
        chosen = getattr(options, "max_size", None) or getattr(options, "top", None)
        if self.screened and self.active is None and chosen is None and getattr(options, "threshold", None) is None:
            raise ValueError("active is missing: screening needs the size of the support, or max_size (or top).")
        return Settings(self.radius, self.delta, self.epsilon_second, self.active, self.screened, self.rows_per_user)

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Projections on the basis.

        Parameters
        ----------
        X : ndarray of shape (N, p)
            Records with the columns of the fit.

        Returns
        -------
        ndarray of shape (N, d)

        Examples
        --------
        >>> import numpy as np
        >>> import partywise as pw
        >>> X = pw.stream(1, "records").uniform(-1, 1, size=(3000, 3))
        >>> y = (X[:, 0] + X[:, 1]) ** 3
        >>> model = pw.SlicedInverseRegression(epsilon=2.0, edges=(-0.5, 0.5), parties=3, random_state=7).fit(X, y)
        >>> found = np.corrcoef(model.transform(X)[:, 0], X[:, 0] + X[:, 1])[0, 1]
        >>> print(f"{abs(found):.3f}")  # with the column that says all about y
        1.000
        """
        return self._records(X, 2, "(N, p)") @ self._fitted_estimate().basis
