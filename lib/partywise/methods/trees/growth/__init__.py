"""One tree, level by level, from sums over cells."""
