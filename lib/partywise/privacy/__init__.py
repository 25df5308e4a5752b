"""Sensitivity, calibrated noise, accounting and audits; import the modules directly (this file stays light)."""
