"""Mechanisms: a bounded statistic goes in, a release and the event it cost come out. The only source of noise."""

from partywise.privacy.discrete import DiscreteGaussian
from partywise.privacy.finite import AdjustedDistanceExponential, DistanceExponential, RandomizedResponse
from partywise.privacy.gaussian import Gaussian, SymmetricGaussian
from partywise.privacy.release import Release, Terms
from partywise.privacy.selection import NoisyVotes, PrivateQuantile, QuantileRadius, ReportNoisyMax

__all__ = [
    "AdjustedDistanceExponential",
    "DiscreteGaussian",
    "DistanceExponential",
    "Gaussian",
    "NoisyVotes",
    "PrivateQuantile",
    "QuantileRadius",
    "RandomizedResponse",
    "Release",
    "ReportNoisyMax",
    "SymmetricGaussian",
    "Terms",
]
