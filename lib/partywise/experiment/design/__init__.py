"""Design before data: which epsilon, number of records or half-width a study can have."""
