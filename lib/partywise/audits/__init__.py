"""The contract of a protocol: claim, certificate and attack compared on neighbouring data."""
