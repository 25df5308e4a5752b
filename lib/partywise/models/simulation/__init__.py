"""Intervals of noisy sums over records, by simulation of single records under declared laws."""
