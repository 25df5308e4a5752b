"""What it takes a passive party to protect the order of 45,222 x 14 values, and what drawing as many uniforms takes.

Every protection from raw values to the message: columns are coded, drawn and packed; the accounting of a budget per
record is included once.  Fails when OpBoost, global or adjusting, takes more than .6 CPU seconds.
"""

from __future__ import annotations

from _timing import cpu_seconds

# isort: split

import sys

import numpy as np

from partywise.core.randomness import Streams, stream
from partywise.methods.trees.gathering.protection import protection
from partywise.methods.trees.gathering.ranks import message_of, rank_codes
from partywise.methods.trees.model import TreeColumn, TreeFacts
from partywise.methods.trees.options import GatheringOptions
from partywise.privacy.accounted_values import Public

ROWS, COLUMNS, REPEATS, LIMIT = 45_222, 14, 7, 0.6
QUANTILES = {"protect": "dp", "edges": "quantile", "n_bins": 50, "budget": "feature"}
CASES = {
    "dense ranks": (GatheringOptions(), 1.0, None),
    "dp, declared edges, a record": (GatheringOptions(protect="dp"), 1.0, None),
    "dp, quantiles, ties by position": (GatheringOptions(**QUANTILES, ties="position"), 3.0, None),
    "dp, quantiles, ties kept": (GatheringOptions(**QUANTILES), 3.0, None),
    "OpBoost global, 2 a step": (GatheringOptions(protect="op_boost", budget="feature"), 2.0, LIMIT),
    "OpBoost global, 1 a record": (GatheringOptions(protect="op_boost"), 1.0, LIMIT),
    "OpBoost adjusting, 2 and 2": (
        GatheringOptions(protect="op_boost", variant="adjusting", budget="feature"),
        float("inf"),
        LIMIT,
    ),
    "OpBoost adjusting, 1 a record": (GatheringOptions(protect="op_boost", variant="adjusting"), 1.0, LIMIT),
}


def table() -> tuple[np.ndarray, TreeFacts]:
    """Columns half of which have ties, with declared edges and bounds."""
    X = stream(7, "benchmark", "orders").standard_normal((ROWS, COLUMNS))
    X[:, ::2] = np.round(X[:, ::2], 1)
    edges = Public(np.linspace(-2, 2, 20), because="fixed for the benchmark")
    bounds = Public((-3.0, 3.0), because="fixed for the benchmark")
    columns = tuple(TreeColumn(f"x{j}", edges, bounds) for j in range(COLUMNS))
    return X, TreeFacts(columns, "CrossEntropyLoss")


def protected(X: np.ndarray, facts: TreeFacts, options: GatheringOptions, epsilon: float) -> object:
    """The message of one party with all columns."""
    columns = range(COLUMNS)
    plan = protection(options, facts, ROWS, columns, epsilon, 1e-5)
    ranks = [rank_codes(X[:, j], facts.columns[j], "passive", options) for j in columns]
    return message_of(ranks, columns, plan, "passive", Streams(7, "benchmark"))


def main() -> int:
    """Print the table; 1 when a limit is exceeded."""
    X, facts = table()
    uniform = cpu_seconds(lambda: stream(7, "benchmark", "uniform").random((ROWS, COLUMNS)), REPEATS)
    print(f"  {'uniform numbers':34s} {uniform:7.3f} CPU s")
    missed = []
    for name, (options, epsilon, limit) in CASES.items():
        spent = cpu_seconds(lambda options=options, epsilon=epsilon: protected(X, facts, options, epsilon), REPEATS)
        print(f"  {name:34s} {spent:7.3f} CPU s" + (f" of at most {limit:g}" if limit else ""), flush=True)
        if limit and spent > limit:
            missed.append(f"{name}: {spent:.2f} CPU s, more than {limit:g}")
    print("\n".join(missed) or "all requirements met")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
