"""Vertical linear and logistic models from sums or shares (document 003)."""
