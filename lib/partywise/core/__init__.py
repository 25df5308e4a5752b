"""What every room uses: errors, checks of arguments, files, randomness, verdicts."""
