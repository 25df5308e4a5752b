"""Long checks of secure products and of the shared link: accuracy at full size, every family, every table.

Part of ``./run test --long`` alone. Lines 5 and 7 of section 16 of the specification.
"""

from __future__ import annotations

import numpy as np
import pytest

from glm_driver import FAMILIES, fitted, records
from party_tables import arrays
from partywise.core.randomness import stream
from partywise.data.descriptions import TABLES
from partywise.federation.exchanges.cross_product import private, product, reveal, send_masked
from partywise.federation.exchanges.dealing import dealing
from partywise.federation.exchanges.residues import ring_for
from partywise.methods.glm.diagnostics import diagnose, sums_of
from partywise.methods.glm.exact import fit_glm as pooled
from partywise.methods.glm.options import JointOptions
from partywise.methods.glm.protocols.joint import fit
from partywise.methods.glm.records import WeightedResponse
from partywise.methods.glm.secret_shared_link.refinement import OUTSIDE as OUTSIDE_MOST
from partywise.models.families import FAMILIES as ALL
from products_driver import a_run, local_block, parts

pytestmark = pytest.mark.statistical

OPTIONS = JointOptions(solver="lbfgs", link="shared")
BITS = 38
# Its predictors leave the range of the polynomial: the fit ends, and says so.
OUTSIDE = ("injury", "totmed", "inverse_gaussian")
FITS = [
    (table.name, response.name, family)
    for table in TABLES.values()
    if table.holders
    for response in table.responses
    if response.status is None
    for family in response.families
]


@pytest.mark.parametrize("n", [2_000, 50_000])
def test_a_secure_product_is_right_to_twelve_digits(n):
    X = stream(1, "secure product", n).standard_normal((n, 6))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    run = a_run(X)
    dealt = dealing(run, run.parties, ring_for(n, 2 * BITS))
    closed = []
    for party in run.parties:
        own = private(run, dealt, party, run.at(party, local_block), (n, len(party.columns)), BITS)
        closed.append(send_masked(run, dealt, own, party.name, run.parties))
    found = reveal(run, product(run, dealt, closed[0], closed[2], "product"), "analyst", "sums", parts(run))
    error = float(np.max(np.abs(found - X[:, :2].T @ X[:, 3:]))) / n
    print(f"n = {n}: {error:.1e}")
    assert dealt.ring.m == 5 and error <= 1e-12


def checked(X: np.ndarray, y: np.ndarray, groups, family: str) -> None:
    estimate, run = fitted(fit, X, y, groups, OPTIONS, family=family)
    exact, response = pooled(X, y, family), WeightedResponse(y, ALL[family])
    sums = sums_of(response, exact.eta)
    best = diagnose(sums, exact.information, exact.scaling, family, ridge=0.0, dispersion="family")
    units = float(np.max(np.abs(estimate.coefficients - exact.coefficients) / best.standard_errors))
    excess = (response.deviance(estimate.predictor(X)) - best.deviance) / (best.null_deviance - best.deviance)
    se = float(np.max(np.abs(estimate.standard_errors / best.standard_errors - 1)))
    print(f"{family}: {estimate.iterations} evaluations, {units:.3f} SE, excess {excess:.1e}, SE off by {se:.1e}")
    binomial = family == "binomial"
    assert estimate.status == "ok" and estimate.iterations <= 35
    assert units <= (2.0 if binomial else 0.5) and excess <= (0.01 if binomial else 0.001)
    assert se <= 0.1
    # One value where the finer steps of the end did all.
    assert len(estimate.objective) and np.all(np.diff(estimate.objective) <= 1e-12 * abs(estimate.objective[0]))
    assert all(message.kind == "cipher" for message in run.channel.messages if len(y) in message.shape)


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9, 0.99])
@pytest.mark.parametrize("parties", [2, 3, 5])
@pytest.mark.parametrize("family", FAMILIES)
def test_generated_records(family, parties, rho):
    X, y = records(family, 2000, 10, rho=rho)
    groups = [range(k * 10 // parties, (k + 1) * 10 // parties) for k in range(parties)]
    checked(X, y, groups, family)


@pytest.mark.parametrize(("table", "response", "family"), [fit for fit in FITS if fit != OUTSIDE])
def test_tables(table, response, family):
    X, y = arrays(table, response)
    checked(X, y, TABLES[table].groups, family)


def test_a_table_outside_of_the_range_ends_without_standard_errors():
    X, y = arrays(*OUTSIDE[:2])
    estimate, _ = fitted(fit, X, y, TABLES["injury"].groups, OPTIONS, family=OUTSIDE[2])
    assert estimate.status != "ok" and estimate.standard_errors is None
    # Steps are halved until records are just outside, and not in the range.
    assert estimate.numbers["outside"] > OUTSIDE_MOST
