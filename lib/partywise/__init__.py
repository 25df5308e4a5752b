"""Differentially private federated statistics, as reproducible experiments."""

__version__ = "0.2.0"
