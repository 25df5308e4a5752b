"""Correlations and principal components of columns that several parties hold (document 004)."""
