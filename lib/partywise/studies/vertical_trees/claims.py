"""Privacy claims of document 003: randomised bins, order-preserving noise, affine maps, encryption in name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated

from ...core.checks import Count, KeySize, Range, check_key_length
from ...experiment.claims import Claim, ClaimSettings, Document, Mechanism
from ...experiment.study import Lazy

DOCUMENT = Document("003", "003 vertical trees")


@dataclass(frozen=True)
class BinSettings(ClaimSettings):
    """n_bins equally filled bins."""

    n_bins: Annotated[int, Range(2)] = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n < 2 * self.n_bins:
            raise ValueError(f"n is {self.n}: {self.n_bins} bins need at least {2 * self.n_bins} records.")


@dataclass(frozen=True)
class FeatureSettings(BinSettings):
    """The bins of several features."""

    n_features: Count = 14


@dataclass(frozen=True)
class DomainSettings(ClaimSettings):
    """Integers low..high, in bins of width theta where a mechanism has bins."""

    low: int = 1
    high: int = 100
    theta: Count = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low >= self.high:
            raise ValueError(f"low and high are {self.low} and {self.high}: they must be increasing.")


@dataclass(frozen=True)
class KeySettings(ClaimSettings):
    """Messages of n rows under a key that may be short: no party opens them."""

    key_size: KeySize = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        check_key_length(self.key_size)


@dataclass(frozen=True)
class SlotSettings(ClaimSettings):
    """Tables of n_features with n_bins each, and of their pairs."""

    n_features: Annotated[int, Range(2)] = 3
    n_bins: Annotated[int, Range(2)] = 4


_EXPOSURES = "partywise.studies.vertical_trees.leaks.ranks:"
_MESSAGES = "partywise.studies.vertical_trees.leaks.messages:"
_LEAVES = "partywise.studies.vertical_trees.leaks.leaves:"
_SLOTS = "partywise.studies.vertical_trees.leaks.slots:"
_form = partial(Mechanism.of, _EXPOSURES)
_claim = partial(Claim, document=DOCUMENT, unit="features", generate=Lazy(_EXPOSURES + "moved_value"))
CLAIMS = (
    _claim(
        name="public_bins",
        title="randomised bins - public edges",
        remedy="none needed for one feature",
        control=True,
        settings=BinSettings,
        published=_form("bin indices", "public_bins"),
        correction=_form("bin indices", "public_bins"),
    ),
    _claim(
        name="quantile_bins",
        title="bin response - {n_bins} quantile bins",
        plain="randomised bins: {n_bins} cut at quantiles",
        remedy="public edges",
        settings=BinSettings,
        published=_form("bin indices", "quantile_bins"),
        correction=_form("bin indices", "public_bins"),
    ),
    _claim(
        name="many_features",
        title="bin response - {n_features} features with {n_bins} bins",
        plain="randomised bins: {n_features} features per record",
        remedy="epsilon shared by the features",
        settings=FeatureSettings,
        generate=Lazy(_EXPOSURES + "moved_values"),
        published=_form("bin indices", "public_bins"),
        correction=_form("bin indices", "shared_bins"),
    ),
    _claim(
        name="distance",
        title="OpBoost global - {low} to {high}",
        plain="noisy values from {low} to {high}",
        remedy="epsilon spread over the domain",
        settings=DomainSettings,
        published=_form("desensitised values", "distance_published"),
        correction=_form("desensitised values", "distance_corrected"),
    ),
    _claim(
        name="adjusting",
        title="OpBoost adjusting - as printed",
        remedy="sums over the bins",
        # The right sums make a distribution, and a claim about distances; about the whole domain nothing is claimed any
        # more.
        correction_states="none",
        settings=DomainSettings,
        published=_form("desensitised values", "adjusting_published"),
        correction=_form("desensitised values", "adjusting_corrected"),
    ),
    _claim(
        name="affine",
        title="affine map by sample minimum and maximum",
        remedy="public bounds",
        states="free",
        settings=DomainSettings,
        published=_form("range", "affine"),
        correction=_form("desensitised values", "distance_corrected"),
    ),
    _claim(
        name="encryption",
        title="encryption by abstract paillier",
        remedy="Paillier",
        unit="label",
        states="free",
        settings=KeySettings,
        generate=Lazy(_MESSAGES + "turned_label"),
        published=Mechanism("gradients", Lazy(_MESSAGES + "encryption_published")),
        correction=Mechanism("gradients", Lazy(_MESSAGES + "encryption_corrected")),
    ),
    _claim(
        name="constant_zero",
        title="leaf vectors - 0 times a ciphertext",
        remedy="re-randomised ciphertexts",
        states="free",
        settings=KeySettings,
        published=Mechanism("leaf vectors", Lazy(_LEAVES + "zeros_published")),
        correction=Mechanism("leaf vectors", Lazy(_LEAVES + "zeros_corrected")),
    ),
    _claim(
        name="split_indicators",
        title="left indicators of label scattering",
        remedy="randomised response on public cuts",
        states="free",
        settings=ClaimSettings,
        published=Mechanism("left indicators", Lazy(_MESSAGES + "split_indicators_published")),
        correction=Mechanism("left indicators", Lazy(_MESSAGES + "split_indicators_corrected")),
    ),
    _claim(
        name="row_gradients",
        title="gradients of rows - opened by the key holder",
        remedy="masked sums over the batch",
        states="free",
        correction_states="free",
        settings=ClaimSettings,
        published=Mechanism("row gradients", Lazy(_MESSAGES + "row_gradients_published")),
        correction=Mechanism("masked sums", Lazy(_MESSAGES + "row_gradients_corrected")),
    ),
    _claim(
        name="pair_slot",
        title="noisy histograms - gradients beside pairs",
        remedy="masks",
        settings=SlotSettings,
        generate=Lazy(_SLOTS + "moved_record"),
        published=Mechanism("noisy histograms", Lazy(_SLOTS + "slots_published")),
        correction=Mechanism("noisy histograms", Lazy(_SLOTS + "slots_corrected")),
    ),
)
