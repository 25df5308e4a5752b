"""Attacks: what an observer of a view can reconstruct."""
