"""Statistics with their sensitivity, mechanisms, exact composition, the ledger, audits of a mechanism.

Import the modules directly: this file stays light.
"""
