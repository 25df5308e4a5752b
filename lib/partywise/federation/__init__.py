"""Parties, what may cross between them, sub-protocols, accounts, and what estimators share."""
