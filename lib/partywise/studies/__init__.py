"""One folder per paper: its cases, measures, claims, leaks and figures."""
