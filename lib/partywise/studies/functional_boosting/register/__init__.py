"""What the source document prints, beside our numbers: entries of the claims register."""
