"""Fits of records that arrive unaligned: those of the common records in one order."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from forked import in_all_ways
from glm_driver import records
from partywise.core.randomness import Streams, stream
from partywise.federation.folds import Fold
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.methods.glm.exact import fit_glm as pooled
from partywise.methods.glm.model import GlmFacts
from partywise.methods.glm.options import BcdOptions, JointOptions
from partywise.methods.glm.protocols import bcd, joint

PEOPLE = 90
X, Y = records("poisson", PEOPLE, 5)
WEIGHTS = np.linspace(0.5, 1.5, PEOPLE)
COLUMNS = ((0, 3), (1,), (2, 4))


def who(party):
    """Which people a party has, in its order."""
    return stream(5, "who", party).permutation(PEOPLE)[: 70 + 4 * party]


def start(options):
    """A run of three parties that each have other people in another order."""
    parties = []
    for k, own in enumerate(COLUMNS):
        block = {"X": X[np.ix_(who(k), own)], "ids": np.array([f"P{person:04d}" for person in who(k)])}
        more = {} if k else {"y": Y[who(k)], "weights": WEIGHTS[who(k)]}
        parties.append(Party(("clinic", "insurer", "registry")[k], "passive" if k else "active", block | more, own))
    public = GlmFacts("poisson", tuple(f"x{j}" for j in range(5)), aligned=False)
    return Run(
        parties,
        epsilon=np.inf,
        fold=Fold(np.zeros(PEOPLE, dtype=int), 0, 1),
        rng_for=Streams(2, "unaligned"),
        spec=SimpleNamespace(options=options, public=public, settings=SimpleNamespace()),
        extra=("analyst", "dealer"),
        record=True,
    )


PROTOCOLS = {
    "published": (bcd.fit, BcdOptions(ridge=0.0, tolerance=1e-10)),
    "corrected": (bcd.fit, BcdOptions(variant="corrected", alignment="psi", ridge=0.0, tolerance=1e-10)),
    "newton": (joint.fit, JointOptions()),
    "lbfgs": (joint.fit, JointOptions(solver="lbfgs", alignment="hmac")),
}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_fit_is_that_of_the_common_records(name):
    fit, options = PROTOCOLS[name]
    run = start(options)
    found = simulate(fit, run)
    common = set(who(0)) & set(who(1)) & set(who(2))
    assert 40 < len(common) < 70
    for k, party in enumerate(run.parties):
        assert set(who(k)[found.rows[party.name]]) == common
    order = who(0)[found.rows["clinic"]]
    assert np.array_equal(order, who(2)[found.rows["registry"]])
    expected = pooled(X[order], Y[order], "poisson", weights=WEIGHTS[order])
    np.testing.assert_allclose(found.coefficients, expected.coefficients, atol=1e-6 if fit is bcd.fit else 1e-8)
    assert run.channel.ledger.total("analyst", "row", 1e-5).epsilon_certified == np.inf


@pytest.mark.parametrize("name", ["published", "newton"])
def test_one_process_a_place_does_the_same(name):
    fit, options = PROTOCOLS[name]
    options = replace(options, max_iter=2) if fit is joint.fit else replace(options, max_sweeps=2)
    in_all_ways(fit, lambda: start(options))
