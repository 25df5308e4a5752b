"""Secure cross products and polynomials in shares: against the same in words of 64 bits, and against plain numpy.

10 and 10 standardised columns at two parties, all roles in one process, one thread, CPU time as ratios side by side
(medians of turns), by `federation.exchanges.cross_product` with its messages and the ledger. ``residues``: 38 bits
after the point; ``words``: modulo 2^64, where n = 50,000 leaves 23 bits; ``plain``: one product of doubles. Errors are
of X_1'X_2 / n. Fails where the residues' error exceeds 1e-12, or they take more than 6 times the words' time: what they
cost is digits.

A polynomial of degree 8 of a shared vector of n records (20 bits), by powers of a mask, against seven products by
triples in residues: fails if it is not the faster one. A fit of `joint` with the shared link, n = 1,000, p = 10, is
printed for 2 and 5 parties, and fails above 1 CPU s.
"""

from __future__ import annotations

from _timing import by_turns

# isort: split

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np

from glm_driver import fitted, records
from partywise.core.randomness import Streams, stream
from partywise.federation.exchanges.cross_product import private, product, reveal, send_masked
from partywise.federation.exchanges.dealing import dealing
from partywise.federation.exchanges.polynomials import polynomials
from partywise.federation.exchanges.residues import Ring, ring_for
from partywise.federation.exchanges.shared_values import LinearCombination
from partywise.federation.exchanges.sharing import WORDS
from partywise.federation.parties import Party
from partywise.federation.run import Run
from partywise.methods.glm.options import JointOptions
from partywise.methods.glm.protocols.joint import fit
from partywise.privacy.accounted_values import Clear

SIZES, P, BITS, WORD_BITS = (2_000, 50_000), 10, 38, 23
ERROR, COST, SECONDS = 1e-12, 6.0, 1.0


def local_columns(party: Party) -> np.ndarray:
    """The party's columns."""
    return party.block["X"]


def local_first(party: Party) -> np.ndarray:
    """The party's first column, small enough for powers."""
    return party.block["X"][:, :1] / 8


def a_run(X: np.ndarray) -> Run:
    """Two parties with half of the columns each."""
    halves = [np.ascontiguousarray(half) for half in (X[:, :P], X[:, P:])]
    parties = [Party(f"party {k}", "passive", {"X": half}, range(k * P, k * P + P)) for k, half in enumerate(halves)]
    places = {"epsilon": np.inf, "fold": None, "rng_for": Streams(1, "benchmark"), "spec": SimpleNamespace()}
    return Run(parties, **places, extra=("analyst", "dealer"))


def products_of(X: np.ndarray, ring: Ring, bits: int) -> np.ndarray:
    """X_1'X_2 by the exchange."""
    run = a_run(X)
    dealt = dealing(run, run.parties, ring)
    closed = []
    for party in run.parties:
        own = private(run, dealt, party, run.at(party, local_columns), (len(X), P), bits)
        closed.append(send_masked(run, dealt, own, party.name, run.parties))
    parts = [Clear(None, units=("features",), owner=party.name) for party in run.parties]
    return reveal(run, product(run, dealt, *closed, "products"), "analyst", "products", parts)


def in_residues(X: np.ndarray) -> np.ndarray:
    """X_1'X_2 in residues."""
    return products_of(X, ring_for(len(X), 2 * BITS), BITS)


def in_words(X: np.ndarray) -> np.ndarray:
    """The same in words."""
    return products_of(X, WORDS, WORD_BITS)


def by_powers(X: np.ndarray) -> Any:
    """u^8 in shares, u the sum of a column of both parties, in one round."""
    run = a_run(X)
    dealt = dealing(run, run.parties, ring_for(1e6, 9 * 20))
    u = shared_vector(run, dealt, X)
    return polynomials(run, dealt, send_masked(run, dealt, u, "u", ()), [np.arange(9) == 8], "p", 8 * 20)


def by_triples(X: np.ndarray) -> Any:
    """The same by a product for every degree; both factors cross behind masks."""
    run = a_run(X)
    dealt = dealing(run, run.parties, ring_for(1e6, 9 * 20))
    u = shared_vector(run, dealt, X)
    power = u
    for degree in range(2, 9):
        one, other = (send_masked(run, dealt, v, f"{name} {degree}", ()) for v, name in ((u, "u"), (power, "power")))
        power = product(run, dealt, one, other, f"degree {degree}", entries=True)
    return power


def shared_vector(run: Run, dealt: Any, X: np.ndarray) -> Any:
    """One vector of records in shares of both parties."""
    own = [private(run, dealt, p, run.at(p, local_first), (len(X), 1), 20) for p in run.parties]
    return LinearCombination.of(own).evaluate(run, 20)


def products() -> list[str]:
    """Print the table of products; what failed."""
    failed = []
    print("n        residues CPU s   / words   / plain    error residues   error words")
    for n in SIZES:
        X = stream(1, "columns", n).standard_normal((n, 2 * P))
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        exact = X[:, :P].T @ X[:, P:]
        works = [lambda X=X: in_residues(X), lambda X=X: in_words(X), lambda X=X: X[:, :P].T @ X[:, P:]]
        own, words, plain = by_turns(works, 9 if n < 10_000 else 3)
        errors = [float(np.max(np.abs(found - exact))) / n for found in (in_residues(X), in_words(X))]
        print(f"{n:<8} {own:<16.4f} {own / words:<9.1f} {own / plain:<10.0f} {errors[0]:<16.1e} {errors[1]:.1e}")
        if errors[0] > ERROR:
            failed.append(f"n = {n}: error {errors[0]:.1e} > {ERROR}")
        if own / words > COST:
            failed.append(f"n = {n}: {own / words:.1f} times the words' time > {COST}")
    return failed


def powers() -> list[str]:
    """Print what a polynomial costs in shares; what failed."""
    failed = []
    print("n        degree 8 by powers CPU s   by triples, times as long")
    for n in SIZES:
        X = stream(1, "columns", n).standard_normal((n, 2 * P))
        own, other = by_turns([lambda X=X: by_powers(X), lambda X=X: by_triples(X)], 5 if n < 10_000 else 2)
        print(f"{n:<8} {own:<26.4f} {other / own:.1f}")
        if other < own:
            failed.append(f"n = {n}: triples are faster")
    return failed


def fits() -> list[str]:
    """Print what a fit with the shared link costs; what failed."""
    failed, options = [], JointOptions(solver="lbfgs", link="shared")
    print("family             parties   CPU s   evaluations")
    for family in ("gaussian", "binomial", "poisson", "gamma", "inverse_gaussian"):
        X, y = records(family, 1000, 10)
        for count in (2, 5):
            groups = [range(k * 10 // count, (k + 1) * 10 // count) for k in range(count)]
            found = []
            (seconds,) = by_turns([lambda: found.append(fitted(fit, X, y, groups, options, family=family)[0])], 3)  # noqa: B023
            print(f"{family:<18} {count:<9} {seconds:<7.2f} {found[0].iterations}")
            if seconds > SECONDS:
                failed.append(f"{family}, {count} parties: {seconds:.2f} CPU s > {SECONDS}")
    return failed


if __name__ == "__main__":
    failures = products() + powers() + fits()
    print("\n".join(failures) or "all within their bounds")
    sys.exit(bool(failures))
