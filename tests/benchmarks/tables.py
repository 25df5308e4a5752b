"""Certified tables with real ciphers at 2048 bits, on cells of the number and sizes that Adult's passive columns have.

CPU seconds of whole fits (key, encryption, sums, packing, noise, decryption, tables) of 300 and 2000 generated rows,
beside what the stand-in for ciphertexts takes.  Fails above 4 s and 6 s, if a decrypted integer is not the sum of its
cell and its noise, or if transcript, ledger or estimate differ between ciphertexts and their stand-in.
"""

from __future__ import annotations

from _timing import timed

# isort: split

import sys

import numpy as np

from gathering_driver import execution, facts
from partywise.audits.contract import agree
from partywise.audits.replay import record
from partywise.core.randomness import stream
from partywise.federation.run import Run, simulate
from partywise.methods.trees.codes import public_bins
from partywise.methods.trees.histograms.plan import histogram_plan
from partywise.methods.trees.options import TablesOptions
from partywise.methods.trees.protocols import tables
from partywise.privacy.mechanisms.random import integer_noise
from partywise.privacy.statistics.newton import Cells

# Bins of age, workclass, fnlwgt, education, education-num, marital-status and occupation; columns of the others.
SIZES, OTHERS = (11, 7, 8, 16, 16, 7, 14), 7
CELLS = Cells(SIZES)
LIMITS = {300: 4.0, 2000: 6.0}


def started(n: int, cipher: str) -> Run:
    """A run of two parties on generated rows."""
    rng = stream(3, "records", n)
    codes = np.column_stack([rng.integers(0, size, n) for size in SIZES]).astype(float)
    X = np.column_stack((codes, rng.standard_normal((n, OTHERS))))
    y = (X[:, 7] + X[:, 0] / 5 + X[:, 3] / 8 + rng.standard_normal(n) > 2).astype(float)
    edges = [np.arange(size - 1) + 0.5 for size in SIZES] + [np.array([0.0])] * OTHERS
    groups = [list(range(len(SIZES))), list(range(len(SIZES), X.shape[1]))]
    public = facts(X.shape[1], n, edges=edges)
    return execution(TablesOptions(cipher=cipher), X, y, groups, epsilon=1.0, public=public)


def check_decrypted(n: int) -> None:
    """The key holder's integers are those of the cells and of the noise, one by one."""
    run = started(n, "paillier")
    (call,) = record(lambda: simulate(tables.fit, run) and run.channel).calls
    owner, active = run.parties
    plan = histogram_plan(run.spec, [(owner.name, owner.columns)], n, run.epsilon)
    share = plan.share(owner.name)
    ensemble = tables.local_boosted(active, run.fold.train, run.spec, run.rng_for)
    g, h = tables.local_gradients(active, run.fold.train, ensemble, run.spec.public, plan)
    codes = public_bins(owner.block["X"], [edges.value for edges in share.edges]).codes
    units, rng = share.cells.units(share.ratio), run.rng_for("table noise", owner.name)
    parts = [(units[0], CELLS.margins), (units[-1], CELLS.count)]
    noise = np.concatenate([integer_noise(rng, plan.sigma / unit, size, "rounded") for unit, size in parts])
    np.testing.assert_array_equal(np.rint(call.output / units), CELLS.sums(codes, g, h) + noise)


def main() -> int:
    """Print the table; 1 when a limit is missed."""
    assert CELLS.count == 2704
    missed = []
    print(f"{'rows, 2704 cells, 2048 bits':28s}{'CPU s':>10s}{'at most':>10s}{'stand-in':>10s}{'bytes':>12s}")
    for n, limit in LIMITS.items():
        runs = {cipher: started(n, cipher) for cipher in ("sized", "paillier")}
        (quick, expected), (cpu, found) = (timed(lambda run=run: simulate(tables.fit, run)) for run in runs.values())
        agree(runs["sized"], expected, runs["paillier"], found, "with ciphertexts")
        print(f"{n:<28d}{cpu:10.2f}{limit:10.1f}{quick:10.2f}{runs['paillier'].channel.bytes_total:12d}")
        missed += [f"{n} rows"] if cpu > limit else []
    check_decrypted(300)
    if missed:
        print("missed:", ", ".join(missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
