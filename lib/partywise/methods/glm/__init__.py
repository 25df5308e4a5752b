"""Generalised linear models of columns that several parties hold (seed 004)."""
