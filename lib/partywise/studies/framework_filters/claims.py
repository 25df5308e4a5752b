"""What frameworks of federated learning say of their privacy layers, or let out without a word."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...checks import Count, Positive
from ...experiment.claims import Claim, ClaimSettings, Document, Mechanism
from ...experiment.study import Lazy

FLOWER = Document("flower", "Flower 1.42.0")
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


_LEAKS = "partywise.studies.framework_filters.leaks:"


def _form(message: str, function: str) -> Mechanism:
    return Mechanism(message, Lazy(_LEAKS + function))


_LOCAL = Claim(
    name="local_noise",
    document=FLOWER,
    title="local DP - S {sensitivity:g} C - T {rounds}",
    remedy="certified filter",
    unit="user",
    settings=LayerSettings,
    generate=Lazy(_LEAKS + "opposite_update"),
    published=_form("update", "local_noise"),
    correction=_form("update", "certified_update"),
)
_SILENT = replace(
    _LOCAL,
    name="percentile_filter",
    document=NVFLARE,
    title="percentile without noise",
    states="none",
    published=_form("update", "percentile_update"),
)

CLAIMS = (
    _LOCAL,
    replace(
        _LOCAL,
        name="fixed_clip",
        title="fixed clip - n w {heaviest:g} - T {rounds}",
        published=_form("model", "fixed_clip"),
    ),
    replace(_LOCAL, name="adaptive_clip", title="adaptive clip", published=_form("model", "adaptive_clip")),
    replace(
        _LOCAL,
        name="sparse_vector",
        document=NVFLARE,
        title="sparse vector - {entries} entries",
        published=_form("index", "sparse_vector"),
    ),
    _SILENT,
    replace(
        _SILENT,
        name="parameters_with_noise",
        document=BIOMED,
        title="noise on unbounded parameters",
        published=_form("parameters", "parameters_with_noise"),
    ),
    replace(
        _LOCAL,
        name="cohort_sum",
        document=PFL,
        title="Gaussian mechanism",
        control=True,
        published=_form("sum", "cohort_sum"),
    ),
)
