"""What is public of flights from New York by airline: calendar, clock and round numbers; standard library only.

The ranges centre this sample to .06 of half their width; no value was read to choose them.
"""

from __future__ import annotations

from .declarations import ColumnFacts

RESPONSE = "arr_delay"
FACTS = {
    "month": ColumnFacts(None, (1.0, 12.0), "1 to 12"),
    "day": ColumnFacts(None, (1.0, 31.0), "1 to 31"),
    "dep_delay": ColumnFacts(
        None, (-45.0, 75.0), "minutes: late is more than 15; an hour from there is a heavy delay, and as early as rare"
    ),
    "arr_time": ColumnFacts(None, (6.0, 24.0), "hours of the day: 6 to 24 h"),
    "sched_arr_time": ColumnFacts(None, (6.0, 24.0), "hours of the day: 6 to 24 h"),
    "air_time": ColumnFacts(None, (0.0, 300.0), "minutes: 0 to 5 hours"),
    "distance": ColumnFacts(None, (0.0, 2000.0), "miles: up to 2000, the medium range"),
}
