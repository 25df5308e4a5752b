"""Printed numbers of the sources, and what computes ours."""
