"""Parties as processes of organisations: wire, sessions, site policies, publication; nothing outside imports it."""
