"""Both protocols are one program: place by place and with one process a place they do the same, to the last bit."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from forked import in_all_ways
from partywise.core.randomness import Streams, stream
from partywise.federation.folds import Fold
from partywise.federation.parties import Party
from partywise.federation.run import Run
from partywise.methods.pca.model import PcaFacts
from partywise.methods.pca.options import BlockSvdOptions, CorrelationOptions
from partywise.methods.pca.protocols import block_svd, correlation

GROUPS = ((0, 3), (1,), (2, 4))


def execution(options, aligned):
    """A run of three parties whose records come aligned, with a fold held out, or in orders of their own."""
    rng = stream(2, "places")
    X = rng.standard_normal((40, 5)) + rng.standard_normal((40, 1))
    parties = []
    for number, group in enumerate(GROUPS):
        rows = np.arange(40) if aligned else rng.permutation(40)[: 38 - number]
        block = {"X": X[rows][:, list(group)]} | ({} if aligned else {"ids": np.array([f"P{i}" for i in rows])})
        parties.append(Party(f"holder {number}", "passive" if number else "active", block, group))
    fold = Fold(np.arange(40) % 4, 1, 4) if aligned else Fold(np.zeros(38, dtype=int), 0, 1)
    public = PcaFacts(tuple("abcde"), aligned)
    spec = SimpleNamespace(options=options, public=public, study=None, settings=None)
    places = {"rng_for": Streams(7, "pca"), "extra": ("analyst", "dealer"), "record": True}
    return Run(parties, epsilon=np.inf, fold=fold, spec=spec, **places), X


METHODS = [
    (block_svd.fit, BlockSvdOptions()),
    (correlation.fit, CorrelationOptions()),
    (correlation.fit, CorrelationOptions(matrix="covariance", scores=True, components=3)),
]


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize(("fit", "options"), METHODS, ids=["block_svd", "correlation", "covariance"])
def test_all_ways_to_run_are_one(fit, options, aligned):
    _, X = execution(options, aligned)
    expected, plain = in_all_ways(fit, lambda: execution(options, aligned)[0])
    # And it is the pooled answer of the records that train, or that all parties have.
    if aligned:
        used = plain.fold.train
        assert expected.rows is None
    else:
        ids = [party.block["ids"][expected.rows[party.name]] for party in plain.parties]
        assert np.array_equal(ids[0], ids[1]) and np.array_equal(ids[0], ids[2])
        used = [int(name[1:]) for name in ids[0]]
        assert len(set(used)) == expected.n >= 30
    pooled = np.cov(X[used].T) if options.matrix == "covariance" else np.corrcoef(X[used].T)
    np.testing.assert_allclose(expected.eigenvalues, np.linalg.eigvalsh(pooled)[::-1], rtol=1e-10)
