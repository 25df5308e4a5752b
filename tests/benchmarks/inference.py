"""Scoring 2000 rows together: 10 full trees of two levels, secret sharing and leaf vectors under a key of 2048 bits.

CPU time of the whole sub-protocol, all parties in one process.  Fails when sharing between two or three parties takes
more than 0.2 s, when encryption between two takes more than 45 s, or when a score differs from the evaluator's.  A
further party adds a hop, which re-randomises every ciphertext under the public key; it is measured on a tenth of the
rows and scaled.
"""

from __future__ import annotations

import _timing  # noqa: F401

# isort: split

import sys
import time
from types import SimpleNamespace

import numpy as np

from partywise.core.randomness import stream
from partywise.federation.exchanges.sharing import DEALER
from partywise.federation.folds import Fold
from partywise.federation.parties import Party, split_columns
from partywise.federation.run import Run
from partywise.methods.trees.ensemble import with_thresholds
from partywise.methods.trees.model import LEAF, Ensemble, Tree, TreeColumn, TreeFacts
from partywise.methods.trees.options import GatheringOptions
from partywise.methods.trees.protocols.inference import score_held_out

ROWS, TREES, LEVELS, COLUMNS, REPEATS = 2000, 10, 2, 14, 9
SHARED, ENCRYPTED = 0.2, 45.0
CUTS = np.linspace(-1, 1, 9)


def full_tree(rng: np.random.Generator) -> Tree:
    """A tree with all splits: the first on a column of the first party, the others on any."""
    inner, leaves = 2**LEVELS - 1, 2**LEVELS
    node = np.arange(inner + leaves)
    feature = np.where(node < inner, rng.integers(0, COLUMNS, inner + leaves), LEAF)
    feature[0] = 0
    cut = rng.integers(0, len(CUTS), inner + leaves)
    return Tree(feature, cut, np.full(len(node), np.nan), 2 * node + 1, 2 * node + 2, rng.standard_normal(len(node)))


def measured(inference: str, parties: int, rows: int) -> float:
    """CPU seconds of one deployment; SystemExit where a score is wrong."""
    rng = stream(1, "benchmark", "inference")
    X = rng.standard_normal((rows + 1, COLUMNS))
    whole = with_thresholds(
        Ensemble(tuple(full_tree(rng) for _ in range(TREES)), 0.0, 0.5), dict.fromkeys(range(COLUMNS), CUTS)
    )
    groups = split_columns(COLUMNS, parties, "contiguous")
    roles = ["passive"] * (parties - 1) + ["active"]
    holders = [
        Party(f"{role} {k}", role, {"X": X[:, group]}, group)
        for k, (role, group) in enumerate(zip(roles, groups, strict=True))
    ]
    facts = TreeFacts(tuple(TreeColumn(f"x{j}") for j in range(COLUMNS)), "CrossEntropyLoss")
    spec = SimpleNamespace(options=GatheringOptions(inference=inference), public=facts, study=None)
    fold = Fold(np.append(np.zeros(rows, dtype=int), 1), 0, 2)
    run = Run(holders, epsilon=np.inf, fold=fold, rng_for=lambda *names: stream(2, *names), spec=spec, extra=(DEALER,))
    thresholds = run.each(holders[:-1], lambda party: (CUTS,) * len(party.columns))
    begun = time.process_time()
    scores = score_held_out(run, whole, thresholds)
    taken = time.process_time() - begun
    if np.abs(scores - whole.scores(X[:rows])).max() > TREES * 2.0**-33 + 1e-12:
        sys.exit(f"inference {inference!r} between {parties} parties: scores differ from the evaluator's")
    return taken


def main() -> int:
    """Print the table; 1 when a limit is passed."""
    failed = []
    print(f"{ROWS} rows, {TREES} trees of {LEVELS} levels, CPU seconds of all parties together")
    for parties in (2, 3):
        taken = float(np.median([measured("ss", parties, ROWS) for _ in range(REPEATS)]))
        print(f"secret sharing, {parties} parties: {taken:.3f} (at most {SHARED:g})")
        if taken > SHARED:
            failed.append(f"sharing between {parties} takes {taken:.3f} s")
    taken = measured("he", 2, ROWS)
    print(f"2048 bits, 2 parties: {taken:.1f} (at most {ENCRYPTED:g})")
    if taken > ENCRYPTED:
        failed.append(f"encryption takes {taken:.1f} s")
    two, three = (measured("he", parties, ROWS // 10) for parties in (2, 3))
    print(f"a further party, from {ROWS // 10} rows: + {10 * (three - two):.1f}")
    print("; ".join(failed) if failed else "met")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
