"""Printed values and statements of frameworks about their privacy layers, and the facts that no fit reports."""
