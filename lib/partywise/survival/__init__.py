"""Survival analysis between clients that hold the rows: curves and hazard ratios, as published and as certified.

``tables`` counts records into public cells; ``curves``, ``bands`` and ``ranks`` read what is released of them;
``exact`` is Kaplan-Meier, log-rank and Cox regression of all records, in sums that clients can add up.
"""
