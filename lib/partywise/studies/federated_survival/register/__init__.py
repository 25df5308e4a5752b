"""Printed values and statements of published systems of survival analysis, and the facts that no fit reports."""
