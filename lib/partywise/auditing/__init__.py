"""The audit study: every mechanism of the source documents, as published and as repaired, attacked in both worlds."""
