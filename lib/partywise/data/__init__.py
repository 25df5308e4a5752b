"""Pinned tables, readers of your own files, division among parties."""
