"""Families, links and losses: each formula of a generalised linear model, once."""
