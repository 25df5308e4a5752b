"""Generalised linear models of columns that several parties hold (document 004)."""
