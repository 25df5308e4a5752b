"""Privacy claims of published systems of federated survival analysis, and what these release without a claim."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from ...core.checks import Count, Positive, Range
from ...experiment.claims import Claim, ClaimSettings, Document, Mechanism
from ...experiment.study import Lazy

FDPCOX = Document("fdpcox", "FDPCox - noisy Cox gradients")
FEDECA = Document("fedeca", "FedECA - external control arms")
NVFLARE = Document("nvflare_km", "NVFlare - Kaplan-Meier under encryption")
VANTAGE6 = Document("vantage6_km", "vantage6 - Kaplan-Meier with noised times")
EXACT_COX = Document("exact_cox", "WebDISCO - exact federated Cox")
# Nobody's claim: what those who judge a curve need to know.
CURVES = Document("dp_survival", "Survival curves - what one record moves")


@dataclass(frozen=True)
class FollowUpSettings(ClaimSettings):
    """Records with a time, an event and p covariates of length 1 at most; the horizon is 1."""

    n: Annotated[int, Range(2)] = 200
    p: Annotated[int, Range(1)] = 3


@dataclass(frozen=True)
class GradientSettings(FollowUpSettings):
    """A run of noisy gradient steps.

    steps : T; c_beta : longest coefficients; paths : realised ones of which the least loss is taken
    """

    steps: Count = 300
    c_beta: Positive = 3.0
    paths: Count = 20


@dataclass(frozen=True)
class PropensitySettings(FollowUpSettings):
    """One step on one batch: C is 1, the multiplier that of the whole plan.

    multiplier : of the noise
    """

    multiplier: Positive = 1.0


_LEAKS = "partywise.studies.federated_survival.leaks:"
_NEIGHBOURS = "partywise.studies.federated_survival.neighbours:"
_form = partial(Mechanism.of, _LEAKS)
_TABLE = _form("cells", "cells")
_SCORES = _form("scores", "scores")
_TIMES = Claim(
    name="event_times",
    document=EXACT_COX,
    title="event times and tables in the clear",
    remedy="noisy table of public cells",
    states="free",
    settings=FollowUpSettings,
    generate=Lazy(_NEIGHBOURS + "another_time"),
    published=_form("event times", "event_times"),
    correction=_TABLE,
)

CLAIMS = (
    Claim(
        name="cox_gradient",
        document=FDPCOX,
        title="noisy Cox gradients - bound at 0 - n {n}",
        plain="noisy gradients of Cox regression, n = {n:,}",
        remedy="noisy scores of a stopped model",
        settings=GradientSettings,
        generate=Lazy(_NEIGHBOURS + "opposite_risk_sets"),
        published=_form("gradients", "published_gradients"),
        correction=_SCORES,
    ),
    Claim(
        name="propensity_noise",
        document=FEDECA,
        title="propensity model - noise of a public seed",
        remedy="noise that nobody knows",
        settings=PropensitySettings,
        generate=Lazy(_NEIGHBOURS + "opposite_labels"),
        published=_form("gradient", "seeded_gradient"),
        correction=_form("gradient", "secret_gradient"),
    ),
    Claim(
        name="risk_set_sums",
        document=EXACT_COX,
        title="sums over risk sets in the clear",
        remedy="noisy scores of a stopped model",
        states="free",
        settings=FollowUpSettings,
        generate=Lazy(_NEIGHBOURS + "another_record"),
        published=_form("sums", "risk_set_sums"),
        correction=_SCORES,
    ),
    _TIMES,
    replace(
        _TIMES,
        name="published_curve",
        document=CURVES,
        states="none",
        title="Kaplan-Meier curve printed with 4 decimals",
        published=_form("curve", "printed_curve"),
    ),
    replace(
        _TIMES,
        name="survival_sensitivity",
        document=CURVES,
        title="noise of order 1 over n on survival",
        states="none",
        generate=Lazy(_NEIGHBOURS + "last_at_risk"),
        published=_form("survival", "noisy_survival"),
    ),
    replace(
        _TIMES,
        name="histogram_sum",
        document=NVFLARE,
        title="sum of histograms at every client",
        published=_form("sum", "histogram_sum"),
    ),
    replace(
        _TIMES,
        name="seeded_times",
        document=VANTAGE6,
        title="event times with noise of a fixed seed",
        published=_form("times", "seeded_times"),
    ),
)
