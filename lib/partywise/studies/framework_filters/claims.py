"""Statements of federated-learning frameworks about their privacy layers, and what these release without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Literal

from ...core.checks import Count, Positive, Range, Scalar
from ...experiment.claims import Claim, ClaimSettings, Document, Mechanism
from ...experiment.study import Lazy

FLOWER = Document("flower", "Flower 1.42.0")
FLIP = Document("flip", "FLIP - defaults")
NVFLARE = Document("nvflare_filters", "NVFlare 2.9.0 - filters")
BIOMED = Document("fed_biomed", "Fed-BioMed 6.4.1")
PFL = Document("pfl", "pfl 0.6.0")


@dataclass(frozen=True)
class LayerSettings(ClaimSettings):
    """Clients whose updates are clipped at 1.

    n : clients; entries : of an update
    sensitivity : S of local noise; rounds : releases, each with the noise of the claim
    heaviest : n times the largest weight of a client
    """

    n: Count = 4
    entries: Count = 14
    sensitivity: Positive = 2.0
    rounds: Count = 1
    heaviest: Positive = 1.0


@dataclass(frozen=True)
class FlipSettings(LayerSettings):
    """Likewise, with the defaults of FLIP."""

    sensitivity: Positive = 1e-4


@dataclass(frozen=True)
class RoundsSettings(LayerSettings):
    """Likewise, of 30 rounds."""

    rounds: Count = 30


@dataclass(frozen=True)
class WeightsSettings(RoundsSettings):
    """Likewise, with weights by examples: of four hospitals the largest has 304 of 740."""

    heaviest: Positive = 4 * 304 / 740


@dataclass(frozen=True)
class OptimiserSettings(LayerSettings):
    """Likewise, of 10 clients."""

    n: Count = 10


@dataclass(frozen=True)
class AdaptiveSettings(LayerSettings):
    """Likewise, of 100 clients."""

    n: Count = 100


@dataclass(frozen=True)
class TrainingSettings(ClaimSettings):
    """Records of one site, whose gradients are clipped at 1.

    n : records; entries : of a gradient; batch : records of a step; multiplier : noise in units of the clip
    steps : of a round; step : their length; rounds : of training
    """

    n: Count = 30
    entries: Count = 14
    batch: Count = 16
    multiplier: Positive = 1.0
    steps: Count = 10
    step: Positive = 0.5
    rounds: Count = 20


@dataclass(frozen=True)
class ColumnClaim(ClaimSettings):
    """Records with a column of whole numbers."""

    n: Annotated[int, Range(10)] = 40


@dataclass(frozen=True)
class SeedSettings(LayerSettings):
    """A pair of clients whose seed is planted.

    bits : it is drawn below 2^bits
    """

    bits: Annotated[int, Range(8, 24)] = 14


@dataclass(frozen=True)
class ClaimLine:
    """Parameters with which the page judges a claim.

    settings : of the claim, those that are not its defaults
    epsilon : what the layer claims then, of all rounds or, where the claim states none, of one; None: nothing
    options : by which a method of the experiment is known that is attacked as this line
    """

    settings: Mapping[str, Scalar] = field(default_factory=dict)
    epsilon: float | None = None
    options: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LayerClaim(Claim):
    """A claim and the lines of the page that are of it.

    relation : ``replace_one``; ``zero_out``, where an update becomes 0 that only another one can replace in a run; or
        ``leave``, where a client may
    """

    lines: tuple[ClaimLine, ...]
    relation: Literal["replace_one", "zero_out", "leave"] = "replace_one"


_LEAKS = "partywise.studies.framework_filters.leaks:"
_form = partial(Mechanism.of, _LEAKS)
_LOCAL = LayerClaim(
    name="local_noise",
    document=FLOWER,
    title="local DP - S {sensitivity:g} C",
    remedy="certified filter",
    unit="user",
    settings=LayerSettings,
    generate=Lazy(_LEAKS + "opposite_update"),
    published=_form("update", "local_noise"),
    correction=_form("update", "certified_update"),
    lines=(
        ClaimLine(epsilon=1.0, options={"sensitivity": 2.0}),
        ClaimLine(epsilon=10.0),
        ClaimLine({"sensitivity": 1.0}, 1.0),
        ClaimLine({"sensitivity": 1.0}, 10.0),
    ),
)
_SILENT = replace(
    _LOCAL,
    name="percentile_filter",
    document=NVFLARE,
    title="percentile without noise",
    states="none",
    published=_form("update", "percentile_update"),
    lines=(ClaimLine(options={"layer": "percentile"}),),
)
_RECORDS = replace(
    _SILENT,
    name="record_noise",
    document=BIOMED,
    title="DP-SGD - {n} records - T {rounds}",
    unit="row",
    settings=TrainingSettings,
    generate=Lazy(_LEAKS + "leaving_update"),
    published=_form("gradients", "record_noise"),
    lines=(ClaimLine({"n": 201}), ClaimLine()),
)
_FIXED = replace(
    _LOCAL,
    name="fixed_clip",
    title="fixed clip by zero-out - T {rounds}",
    control=True,
    relation="zero_out",
    published=_form("model", "fixed_clip"),
    settings=RoundsSettings,
    # Epsilon of multiplier 1.
    lines=(ClaimLine(epsilon=37.62253),),
)
_COLUMN = replace(
    _RECORDS,
    name="noisy_extremes",
    document=NVFLARE,
    title="noisy extremes",
    remedy="noisy counts of public bins",
    settings=ColumnClaim,
    generate=Lazy(_LEAKS + "another_maximum"),
    published=_form("extreme", "noisy_extreme"),
    correction=_form("counts", "certified_counts"),
    lines=(ClaimLine(),),
)

CLAIMS = (
    _LOCAL,
    replace(
        _LOCAL,
        name="local_rounds",
        title="local DP - S {sensitivity:g} C - {rounds} rounds",
        # It says an epsilon of each round, and nothing of all of them.
        states="none",
        settings=RoundsSettings,
        lines=(ClaimLine(epsilon=1.0),),
    ),
    replace(
        _LOCAL,
        name="flip_noise",
        document=FLIP,
        settings=FlipSettings,
        lines=(ClaimLine(epsilon=10.0, options={"sensitivity": 1e-4}),),
    ),
    replace(
        _LOCAL,
        name="float_noise",
        title="local DP in floats - S {sensitivity:g} C",
        generate=Lazy(_LEAKS + "even_update"),
        published=_form("update", "float_noise"),
        lines=(ClaimLine(epsilon=1.0),),
    ),
    _FIXED,
    replace(
        _FIXED,
        name="fixed_weights",
        title="fixed clip by zero-out - weights up to {heaviest:.4g} - T {rounds}",
        control=False,
        settings=WeightsSettings,
    ),
    replace(
        _LOCAL,
        name="fixed_optimiser",
        title="fixed clip around FedAdam - n {n}",
        plain="clipping around a server optimiser, {n} clients",
        generate=Lazy(_LEAKS + "even_update"),
        published=_form("model", "fixed_optimiser"),
        settings=OptimiserSettings,
        lines=(ClaimLine(epsilon=4.37718),),
    ),
    replace(
        _LOCAL,
        name="adaptive_clip",
        title="adaptive clip - n {n}",
        plain="adaptive clipping, {n} clients",
        published=_form("model", "adaptive_clip"),
        settings=AdaptiveSettings,
        lines=(ClaimLine(epsilon=4.37718),),
    ),
    replace(
        _SILENT,
        name="pair_mask",
        document=FLOWER,
        title="mask of a pair - seed below {bits} bits",
        settings=SeedSettings,
        published=_form("masked words", "planted_mask"),
        lines=(),
    ),
    replace(
        _LOCAL,
        name="sparse_vector",
        document=NVFLARE,
        title="sparse vector - {entries} entries",
        generate=Lazy(_LEAKS + "sparse_update"),
        published=_form("entries", "sparse_vector"),
        lines=(ClaimLine(epsilon=0.1, options={"layer": "svt"}), ClaimLine({"entries": 25}, 0.1)),
    ),
    _SILENT,
    replace(
        _SILENT,
        name="excluded_variables",
        title="excluded variables",
        generate=Lazy(_LEAKS + "even_update"),
        published=_form("update", "excluded_variables"),
        lines=(ClaimLine(options={"layer": "exclude_vars"}),),
    ),
    _COLUMN,
    replace(
        _COLUMN,
        name="few_bins",
        title="few bins - least count",
        published=_form("histograms", "few_bins"),
    ),
    replace(
        _SILENT,
        name="parameters_with_noise",
        document=BIOMED,
        title="noise on unbounded parameters",
        published=_form("parameters", "parameters_with_noise"),
        lines=(ClaimLine(options={"layer": "biomed_central"}),),
    ),
    replace(
        _RECORDS,
        name="noise_of_small_steps",
        title="noise on parameters - convex - T {rounds}",
        generate=Lazy(_LEAKS + "opposite_update"),
        published=_form("parameters", "noise_of_small_steps"),
        lines=(ClaimLine(),),
    ),
    _RECORDS,
    replace(
        _LOCAL,
        name="cohort_sum",
        document=PFL,
        title="Gaussian mechanism",
        control=True,
        relation="leave",
        published=_form("sum", "cohort_sum"),
        lines=(ClaimLine(epsilon=1.0),),
    ),
)


def all_lines() -> Iterator[tuple[LayerClaim, ClaimLine]]:
    """The lines of the page, claim by claim."""
    return ((claim, line) for claim in CLAIMS for line in claim.lines)
