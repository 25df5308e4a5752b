"""Parties, what may cross between them, sub-protocols, transport between processes."""
