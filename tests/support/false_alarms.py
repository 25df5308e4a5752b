"""Audits of honest mechanisms, one a call: what the normal and the long checks of false alarms count."""

import math

import numpy as np

from partywise.core.randomness import stream
from partywise.privacy.audit.one_run import audit_one_run
from partywise.privacy.audit.pairs import audit_pair


def randomised_response(epsilon, k):
    distribution = np.full((k, k), 1 / (math.exp(epsilon) + k - 1))
    np.fill_diagonal(distribution, math.exp(epsilon) / (math.exp(epsilon) + k - 1))
    return distribution


def alarms_of(kind, k, confidence=0.999):
    """Whether one audit of an honest mechanism, drawn in its own stream, claims more than the truth."""
    rng = stream(5, "alarm", kind, k)
    if kind == "gaussian":
        scores = rng.standard_normal((2, 1000))
        return audit_pair(scores[0] + 0.5, scores[1], 0.01, confidence=confidence).mu_lower > 0.5
    if kind == "counts":
        distribution = randomised_response(1.0, 4)
        worlds = [rng.choice(4, 1000, p=distribution[x]) for x in (0, 1)]
        ratios = np.log(distribution[0] / distribution[1])
        first, second = (ratios[world] for world in worlds)
        return audit_pair(first, second, 0.0, gaussian=False, confidence=confidence).eps_lower > 1.0
    bits = rng.integers(0, 2, 200)
    scores = np.where(rng.random(200) < 1 / (1 + math.exp(-1)), bits, 1 - bits)
    return audit_one_run(scores, bits, 0.0, confidence=confidence, threshold=0.5).eps_lower > 1.0
