"""One tree of label scattering at the size of a9a: 32,561 rows, 123 indicators of 14 variables, two parties, 2048 bits.

``python _wide.py CHECKOUT`` runs the library of a checkout, which may be an earlier commit, and prints CPU seconds,
bytes and a digest of the tree and of all sums; with the word ``alone`` every column is summed by itself.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
CHECKOUT, *WORDS = sys.argv[1:]
sys.path[:0] = [str(Path(CHECKOUT) / "lib"), str(Path(CHECKOUT) / "tests" / "support")]

# isort: split

import hashlib
import json
import time
from importlib import import_module
from importlib.util import find_spec

import numpy as np

import scattering_driver

ROWS, TREES, DEPTH = 32_561, 1, 6
LEVELS = (5, 8, 5, 16, 5, 7, 14, 6, 5, 2, 2, 2, 5, 41)


def indicators(n: int, d: int, criterion: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A column of 0 and 1 for each level of each variable, and labels that follow some of them."""
    rng = np.random.default_rng(seed)
    levels = [rng.integers(0, size, n) for size in LEVELS]
    X = np.hstack([level[:, None] == np.arange(size) for level, size in zip(levels, LEVELS, strict=True)])
    score = sum((level / size - 0.5) * (-1) ** k for k, (level, size) in enumerate(zip(levels, LEVELS, strict=True)))
    return X.astype(float), (score + rng.normal(size=n) > 0).astype(float)


def main() -> None:
    scattering_driver.records = indicators
    if "alone" in WORDS:
        from partywise.methods.trees.scattering import column_groups

        column_groups.LARGEST = 0
    run = scattering_driver.make_run(
        2,
        n=ROWS,
        d=sum(LEVELS),
        edges="public",
        n_bins=2,
        own_n_bins=255,
        num_of_trees=TREES,
        max_tree_depth=DEPTH,
        key_size=2048,
        record=True,
    )
    fit = _fit()
    begun = time.process_time()
    estimate = fit(run)
    seconds = time.process_time() - begun
    digest = hashlib.sha256()
    for tree, pooled in zip(estimate.ensemble.trees, scattering_driver.pooled(run).trees, strict=True):
        np.testing.assert_array_equal(tree.feature, pooled.feature)
        np.testing.assert_array_equal(tree.value, pooled.value)
        digest.update(tree.feature.tobytes() + tree.value.tobytes())
    for message, value in run.channel.view("active"):
        digest.update(message.name.encode() + np.asarray(getattr(value, "content", value)).tobytes())
    print(json.dumps({"seconds": seconds, "bytes": run.channel.bytes_total, "digest": digest.hexdigest()}))


def _fit():
    """The protocol, at its present address or an earlier one."""
    room = "partywise.methods.trees" if find_spec("partywise.methods") else "partywise.trees"
    return import_module(f"{room}.protocols.label_scattering").fit


if __name__ == "__main__":
    main()
