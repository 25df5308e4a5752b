"""Correlations and principal components of columns that several parties hold (seed 004)."""
