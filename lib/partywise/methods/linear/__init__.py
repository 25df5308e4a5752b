"""Vertical linear and logistic models from sums or shares (seed 003)."""
