"""Survival curves and hazard ratios between clients that hold the rows.

``tables`` counts records into public cells; ``curves`` and ``bands`` read what is released of them;
``exact`` is Kaplan-Meier, log-rank and Cox regression of all records, in sums that clients can add up.
"""
