"""Printed values of the source document, next to our numbers: entries of the claims register."""
