"""Common ground of every room: errors, checks of arguments, files, randomness, verdicts, verbs."""
