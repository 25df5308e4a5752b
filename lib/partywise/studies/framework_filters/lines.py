"""The lines of the table of claims: what each layer says with its parameters, and what holds in exact arithmetic.

``said`` and ``held`` are epsilons at delta, of one release or of ``rounds``; nan where nothing is said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...checks import Scalar
from ...filters import guarantees
from ...filters.guarantees import epsilon_of
from ...filters.layers.pfl import pfl_sigma
from ...filters.training import SVT_EPSILON

Status = Literal["keeps", "refuted", "not proved", "no claim", "not composed", "zero-out only"]
RELATIONS: tuple[guarantees.Relation, ...] = ("replace_one", "zero_out")
WEIGHTS = (304.0, 260.0, 46.0, 130.0)
Judgement = tuple[float, float, float]


@dataclass(frozen=True)
class Line:
    """One line: key, title, framework, how it is judged at a delta (said, held, held by zero-out), and the outcome.

    options : by which a method of the experiment is known that is attacked as this line
    """

    key: str
    title: str
    framework: str
    judge: Callable[[float], Judgement]
    status: Status
    options: Mapping[str, Scalar] = field(default_factory=dict)


def _local(sensitivity: float, epsilon: float, rounds: int = 1, bound: float = 1.0) -> Callable[[float], Judgement]:
    def judge(delta: float) -> Judgement:
        mu = guarantees.local_mu(bound, sensitivity, epsilon, delta)
        return epsilon, epsilon_of(mu, delta, rounds), epsilon_of(mu / 2, delta, rounds)

    return judge


def _fixed_clip(rounds: int, weights: tuple[float, ...] = (1.0,)) -> Callable[[float], Judgement]:
    def judge(delta: float) -> Judgement:
        said = epsilon_of(guarantees.fixed_mu(1.0, "zero_out"), delta, rounds)
        mu = guarantees.fixed_mu(1.0, "replace_one", weights)
        return said, epsilon_of(mu, delta, rounds), epsilon_of(mu / 2, delta, rounds)

    return judge


def _adaptive(delta: float) -> Judgement:
    held, zero_out = (guarantees.adaptive_epsilon(1.0, 100, delta, one) for one in RELATIONS)
    return epsilon_of(1.0, delta), held, zero_out


def _optimiser(delta: float) -> Judgement:
    mu = guarantees.fixed_optimiser_mu("FedAdam", 10, 0.01, 1.0, 14)
    return epsilon_of(1.0, delta), math.nan, epsilon_of(mu, delta)


def _svt(entries: int) -> Callable[[float], Judgement]:
    return lambda delta: (SVT_EPSILON, guarantees.svt_bound(entries), math.nan)


def _nothing(delta: float) -> Judgement:
    return math.nan, math.inf, math.inf


def _biomed_local(delta: float) -> Judgement:
    return math.nan, guarantees.biomed_local_epsilon(1.0, 16, 30, 200, delta), math.nan


def _float(delta: float) -> Judgement:
    return 1.0, math.inf, math.inf


def _pfl(delta: float) -> Judgement:
    held = epsilon_of(1 / pfl_sigma(1.0, delta), delta)
    return 1.0, held, held


FLOWER, NVFLARE, BIOMED = "Flower 1.42.0", "NVFlare 2.9.0", "Fed-BioMed 6.4.1"
LINES = (
    Line("local_2c", "local DP, S = 2C, ε 1", FLOWER, _local(2, 1), "keeps", {"sensitivity": 2.0}),
    Line("local_2c_10", "local DP, S = 2C, ε 10", FLOWER, _local(2, 10), "refuted"),
    Line("local_c", "local DP, S = C, ε 1", FLOWER, _local(1, 1), "refuted"),
    Line("local_c_10", "local DP, S = C, ε 10", FLOWER, _local(1, 10), "refuted"),
    Line("local_rounds", "local DP, S = 2C, ε 1 a round, 30 rounds", FLOWER, _local(2, 1, 30), "not composed"),
    Line(
        "flip_defaults",
        "local DP, S = 1e-4, C = 1, ε 10",
        "FLIP",
        _local(1e-4, 10),
        "refuted",
        {"sensitivity": 1e-4},
    ),
    Line("fixed_equal", "fixed clip, z 1, 30 rounds", FLOWER, _fixed_clip(30), "zero-out only"),
    Line("fixed_weights", "fixed clip, z 1, by examples, 30 rounds", FLOWER, _fixed_clip(30, WEIGHTS), "refuted"),
    Line("fixed_optimiser", "fixed clip, z 1, FedAdam", FLOWER, _optimiser, "refuted"),
    Line("adaptive", "adaptive clip, z 1, n 100", FLOWER, _adaptive, "refuted"),
    Line("svt_14", "sparse vector, 14 entries", NVFLARE, _svt(14), "not proved", {"layer": "svt"}),
    Line("svt_7m", "sparse vector, 7 033 200 entries", NVFLARE, _svt(7_033_200), "not proved"),
    Line("percentile", "percentile, excluded variables", NVFLARE, _nothing, "no claim", {"layer": "percentile"}),
    Line("statistics", "noisy extremes, few bins, least count", NVFLARE, _nothing, "no claim"),
    Line("biomed_central", "noise on parameters", BIOMED, _nothing, "no claim", {"layer": "biomed_central"}),
    Line("biomed_local", "DP-SGD, σ 1, 200 steps, 30 rows", BIOMED, _biomed_local, "no claim"),
    Line("float_noise", "local DP, S = 2C, ε 1, floats", "any float noise", _float, "refuted"),
    Line("pfl_gaussian", "Gaussian mechanism, ε 1", "pfl 0.6.0", _pfl, "keeps"),
)


def judgements(delta: float) -> list[Judgement]:
    """Said, held and held by zero-out, line by line."""
    return [line.judge(delta) for line in LINES]
