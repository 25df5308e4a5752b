"""Columns and response of the parties, checked before they are used; the response with its weights and offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from ...alignment.rows import columns_of, vector_of
from ...federation.parties import Party
from ...federation.run import Run
from ...models.families import FAMILIES, SHARES, Family, LogLink
from ...models.standardise import Scaling, scaling_of
from ...privacy.accounted_values import Clear
from .exact import check_size, intercept_only
from .follow_up import FollowUp, local_follow_up
from .model import GlmFacts
from .options import COX, ExactOptions

# Of the logarithms of exposures: records of which one counts 1e20 times as much as another leave nothing to be fitted.
WIDEST = 46.0


@dataclass(frozen=True)
class WeightedResponse:
    """Responses (n,) of a family, with prior weights (n,) and an offset (n,) where the active party has them.

    With shares of successes as responses the family is `SHARES` and the weights are the trials.

    constant : what the log-likelihood of counts adds to that of their shares, logarithms of binomial coefficients
    """

    y: np.ndarray
    family: Family
    weights: np.ndarray | None = None
    offset: np.ndarray | None = None
    constant: float = 0.0

    @property
    def n_observations(self) -> int:
        """Records of positive weight."""
        return len(self.y) if self.weights is None else int(np.sum(self.weights > 0))

    @property
    def absent(self) -> np.ndarray:
        """Numbers of the records without weight."""
        return np.flatnonzero([] if self.weights is None else self.weights == 0)

    @property
    def shift(self) -> np.ndarray:
        """(n,) the offset, 0 where there is none."""
        return np.zeros(len(self.y)) if self.offset is None else self.offset

    def weigh(self, values: np.ndarray) -> np.ndarray:
        """Values of the records times their weights."""
        return values if self.weights is None else values * self.weights

    @classmethod
    def of(cls, y: np.ndarray, family: str, weights: np.ndarray | None = None) -> WeightedResponse:
        """The response as a party knows it that has the numbers alone: shares of successes are not 0 and 1."""
        shares = family == "binomial" and not np.all(FAMILIES[family].contains(y))
        return cls(y, SHARES if shares else FAMILIES[family], weights)

    def log_likelihood(self, mu: np.ndarray, dispersion: float) -> float:
        """Log-likelihood at means (n,), with the binomial coefficients of counts; nan without a dispersion."""
        if not dispersion > 0:
            return float("nan")
        return self.family.log_likelihood(self.y, mu, dispersion, self.weights) + self.constant

    def deviance(self, eta: np.ndarray) -> float:
        """Deviance at linear predictors (n,), offset included."""
        return self.family.deviance(self.y, eta, self.weights)

    def null(self) -> tuple[float, float]:
        """Intercept and deviance of the fit without columns, with the same weights and offset."""
        return intercept_only(self.y, self.family, self.weights, self.offset)


def response_of(
    block: Mapping[str, np.ndarray], rows: np.ndarray, family: str, party: str, *, nearest: bool = False
) -> WeightedResponse:
    """The response at the used records, with weights and offset where the party has them.

    ``nearest`` : where a record is protected, a finite value that the family does not have counts as the nearest one
    that it has, since an error would show it to all others.
    """
    known = ("y", "weights", "offset", "trials")
    vectors = {name: vector_of(block, rows, name, party) for name in known if name in block}
    for name in ("weights", "offset"):
        wrong = np.flatnonzero(~np.isfinite(vectors.get(name, np.empty(0))))
        if len(wrong):
            value = vectors[name][wrong[0]]
            raise ValueError(f"{name} of {party!r} has the value {value}: fill or drop incomplete records first.")
    if "y" not in vectors:
        raise ValueError(f"{party!r} is the active party and holds no y: give it the response.")
    counts, trials = vectors["y"], vectors.get("trials")
    if trials is not None:
        vectors["y"] = shares_of(counts, trials, family, party)
    else:
        (FAMILIES["gaussian"] if nearest else FAMILIES[family]).check(vectors["y"], f"y of {party!r}")
    if nearest:
        vectors["y"] = FAMILIES[family].nearest(vectors["y"])
    weights = vectors.get("weights")
    if weights is not None and (np.any(weights < 0) or not np.any(weights > 0)):
        raise ValueError(
            f"weights of {party!r} lie between {weights.min():g} and {weights.max():g}: give numbers of at least zero, "
            "some of them positive."
        )
    offset = vectors.get("offset")
    if offset is not None and isinstance(FAMILIES[family], LogLink) and np.ptp(offset) > WIDEST:
        raise ValueError(
            f"offset of {party!r} lies between {offset.min():g} and {offset.max():g}: means would differ "
            f"{np.exp(min(np.ptp(offset), 700)):.0e}-fold; of family {family!r} it is the logarithm of an exposure."
        )
    if trials is None:
        return WeightedResponse(vectors["y"], FAMILIES[family], weights, offset)
    times = np.ones(len(trials)) if weights is None else weights
    if not np.any(trials * times > 0):
        raise ValueError(f"trials of {party!r} are 0 in all records that have a weight: give at least one trial.")
    orders = gammaln(trials + 1) - gammaln(counts + 1) - gammaln(trials - counts + 1)
    return WeightedResponse(vectors["y"], SHARES, trials * times, offset, float(times @ orders))


def shares_of(successes: np.ndarray, trials: np.ndarray, family: str, party: str) -> np.ndarray:
    """(n,) shares of successes; ValueError for values that are not counts of successes among trials."""
    if family != "binomial":
        raise ValueError(f"trials of {party!r} with family {family!r}: successes among trials are 'binomial'.")
    whole = (np.round(trials) == trials) & (np.round(successes) == successes)
    wrong = np.flatnonzero(~(whole & (trials >= 0) & (successes >= 0) & (successes <= trials)))
    if len(wrong):
        k = wrong[0]
        raise ValueError(
            f"y of {party!r} has {successes[k]:g} successes in {trials[k]:g} trials in record {k}: give whole numbers, "
            "and no more successes than trials."
        )
    # Records without a trial have the weight 0: they are absent, as in R.
    return successes / np.maximum(trials, 1)


def local_columns(party: Party, rows: np.ndarray, public: GlmFacts) -> np.ndarray:
    """(n, p_k) the party's columns at the used records, after a look at them."""
    return columns_of(party.block, rows, [public.names[column] for column in party.columns], party.name)


def local_null(active: Party, response: WeightedResponse) -> tuple[float, float]:
    """Intercept and deviance without columns; ValueError where responses do not differ, before anything is sent."""
    return response.null()


def local_absent(active: Party, response: WeightedResponse | FollowUp) -> Clear:
    """Numbers of the records without weight."""
    return Clear(response.absent, units=("label",), owner=active.name)


def absent_records(
    run: Run, active: Party, passive: Sequence[Party], response: WeightedResponse | FollowUp
) -> np.ndarray | None:
    """The records without weight at all parties, where a ridge makes the fit depend on scales; else None."""
    if not run.spec.options.ridge or run.spec.public.family == COX:
        return None
    absent: np.ndarray = run.broadcast(active, passive, "records without weight", local_absent, response)
    return absent


def local_scaling(party: Party, columns: np.ndarray, absent: np.ndarray | None) -> Scaling:
    """Means and standard deviations of the party's columns."""
    return scaling_of(columns, absent)


def local_standardised(party: Party, columns: np.ndarray, scaling: Scaling, absent: np.ndarray | None) -> np.ndarray:
    """(n, p_k) the party's columns with mean 0 and standard deviation 1; 0 of records without weight."""
    X = scaling.apply(columns)
    if absent is not None:
        X[absent] = 0.0
    return X


def local_answers(
    active: Party, rows: np.ndarray, public: GlmFacts, options: ExactOptions
) -> WeightedResponse | FollowUp:
    """The response or the follow-up of the used records, after a look at it; ValueError where all are alike."""
    if public.family == COX:
        return local_follow_up(active, rows, options.ties)
    response = local_response(active, rows, public, options.ridge)
    local_null(active, response)
    return response


def local_response(active: Party, rows: np.ndarray, public: GlmFacts, ridge: float) -> WeightedResponse:
    """The response at the used records with its weights and offset, after a look at them."""
    response = response_of(active.block, rows, public.family, active.name)
    check_size(response.n_observations, 1 + len(public.names), ridge)
    return response
