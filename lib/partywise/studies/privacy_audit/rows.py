"""The rows of the audit study in words: source document, title, remedy, unit of the claim.

Standard library only.  Titles reach the cube as text flags, so they are made of letters, digits, blanks and ``. - +``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One mechanism of one source document.

    document : number of the seed; title : template over the settings of the case; remedy : what repairs it
    unit : what changes between neighbours in the claim
    claim : ``epsilon`` (the slot of the grid), ``free`` (said to cost nothing) or ``none`` (nothing is said)
    control : whether the published mechanism keeps its claim
    """

    document: str
    title: str
    remedy: str
    unit: str = "row"
    claim: str = "epsilon"
    control: bool = False


ROWS: dict[str, Row] = {
    # 000: functional boosting
    "covariance": Row(
        "000",
        "curves with noise covariance s2M - {n_basis} splines on {start:g} to {end:g}",
        "covariance s2 times the inverse of M",
        unit="features",
    ),
    "orthonormal": Row(
        "000",
        "curves with white noise on orthonormal coordinates",
        "analytic noise level",
        unit="features",
        control=True,
    ),
    "radius": Row(
        "000", "clip radius at the 95th percentile of the data", "private quantile", unit="features", claim="free"
    ),
    "budget": Row(
        "000",
        "noise times root J - {n_predictors} predictors",
        "noise times the root of the number of predictors",
        unit="features",
    ),
    "messages": Row("000", "residuals sent to the parties", "released response", unit="label", claim="none"),
    # 001: sliced inverse regression
    "public_slices": Row("001", "slice means - public slices", "analytic noise level", control=True),
    "quantile_slices": Row("001", "slice means - {n_slices} quantile slices", "public slices"),
    "fixed_covariance": Row("001", "vectorised noise - fixed covariance", "analytic noise level", control=True),
    "printed_covariance": Row("001", "vectorised noise - as printed", "independent noise at the analytic level"),
    "near_tie": Row("001", "vectorised noise - charitable reading", "independent noise at the analytic level"),
    "symmetric": Row("001", "covariance of Lemma 1", "symmetric noise at the analytic level"),
    "scale": Row("001", "scale from the longest record - ratio {ratio:g}", "public scale"),
    "screening": Row("001", "screened index sets", "noisy votes", claim="free"),
    # 002: label-private logistic regression
    "label_sum": Row("002", "label dot product - classic noise", "analytic noise level", unit="label"),
    # 003: vertical trees
    "public_buckets": Row(
        "003",
        "bucket response - public edges",
        "none needed for one feature",
        unit="features",
        control=True,
    ),
    "quantile_buckets": Row("003", "bucket response - {n_buckets} quantile buckets", "public edges", unit="features"),
    "many_features": Row(
        "003",
        "bucket response - {n_features} features with {n_buckets} buckets",
        "epsilon shared by the features",
        unit="features",
    ),
    "distance": Row("003", "OpBoost global - {low} to {high}", "epsilon spread over the domain", unit="features"),
    "adjusting": Row("003", "OpBoost adjusting - as printed", "sums over the buckets", unit="features"),
    "affine": Row("003", "affine map by sample minimum and maximum", "public bounds", unit="features", claim="free"),
    "encryption": Row(
        "003", "encryption by abstract paillier", "one-time masks or Paillier", unit="label", claim="free"
    ),
    # 004: vertical generalised linear models
    "scores": Row("004", "scores U D of a party", "Gram matrix with noise", unit="features", claim="free"),
    "predictor": Row(
        "004", "linear predictors eta of a party", "Gram matrix with noise", unit="features", claim="free"
    ),
    "hashes": Row("004", "SHA-256 of identifiers", "private set intersection", claim="free"),
    # 001, Figure 1: descriptive
    "tracing": Row("001", "tracing attack on the discriminant direction", "independent noise", claim="none"),
}
