"""Pooled generalised linear models against statsmodels, one thread, by turns in one run.

The same work for both: from columns and responses in memory to coefficients, standard errors, deviance, null deviance
and log-likelihood, at the same tolerance. Beside it the certified fit of the same data by two parties (`joint`, opened
link), all roles in one process: what not pooling them costs. Fails when a median ratio of CPU times to statsmodels'
exceeds its limit, or when coefficients or standard errors differ by more than 1e-8, relative. Adult is read from
resources/adult if it was fetched; otherwise generated columns of its size stand in, and are named so.
"""

from __future__ import annotations

from _timing import ROOT, by_turns

# isort: split

import sys

import numpy as np

from glm_driver import FAMILIES, records, start
from partywise.data.descriptions import TABLES
from partywise.data.loaders.party_tables.read import load
from partywise.federation.run import simulate
from partywise.methods.glm.diagnostics import diagnose, sums_of
from partywise.methods.glm.exact import fit_glm
from partywise.methods.glm.options import JointOptions
from partywise.methods.glm.protocols import joint
from partywise.methods.glm.records import WeightedResponse
from partywise.models.families import FAMILIES as OBJECTS

# Measured: .2 to .6 on small data, .07 to .4 on large.
LIMIT = 1.0
Data = tuple[np.ndarray, np.ndarray]
Found = tuple[np.ndarray, np.ndarray]


def adult_or_stand_in() -> tuple[str, Data]:
    """Adult in the 14 columns of its three parties, or as many generated ones."""
    table = TABLES["adult_three_parties"]
    folder = ROOT / "resources" / table.resource
    if (folder / "provenance.json").is_file():
        found = load(table, table.responses[0], folder)
        return "Adult", (found.X, found.y)
    return "Adult-like (synthetic)", records("binomial", 45222, 14)


def ours(data: Data, family: str) -> Found:
    X, y = data
    fit = fit_glm(X, y, family)
    sums = sums_of(WeightedResponse(y, OBJECTS[family]), fit.eta)
    found = diagnose(sums, fit.information, fit.scaling, family, ridge=0.0, dispersion="family")
    assert found.standard_errors is not None
    return fit.coefficients, found.standard_errors


def theirs(data: Data, family: str) -> Found:
    import statsmodels.api as sm

    from glm_oracle import ORACLES

    X, y = data
    found = sm.GLM(y, sm.add_constant(X), family=ORACLES[family]).fit(tol=1e-12)
    _ = found.null_deviance, found.llf
    return found.params, found.bse


def together(data: Data, family: str) -> Found:
    X, y = data
    half = X.shape[1] // 2
    groups = [list(range(half)), list(range(half, X.shape[1]))]
    found = simulate(joint.fit, start(X, y, groups, JointOptions(), family=family))
    return found.coefficients, found.standard_errors


def compare(name: str, data: Data, family: str, repeats: int) -> list[str]:
    """Print one line of the table; the requirements that are missed."""
    pairs = [way(data, family) for way in (ours, theirs, together)]
    apart = [
        max(float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in zip(pairs[0], other, strict=True))
        for other in pairs[1:]
    ]
    own, other, joined = by_turns([lambda: ours(data, family), lambda: theirs(data, family)], repeats) + by_turns(
        [lambda: together(data, family)], max(1, repeats // 3)
    )
    label = f"{name} {len(data[1])} x {data[0].shape[1]}, {family}"
    print(
        f"  {label:48s} {1e3 * own:8.1f} ms {1e3 * other:8.1f} ms  {own / other:5.2f} of at most {LIMIT:g}"
        f"   joint {1e3 * joined:8.1f} ms   apart {apart[0]:.0e}, joint {apart[1]:.0e}",
        flush=True,
    )
    missed = [f"{label}: {own / other:.2f} of statsmodels' time, more than {LIMIT:g}"] if own > LIMIT * other else []
    return missed + [f"{label}: {value:.1e} apart" for value in apart if not value <= 1e-8]


def main() -> int:
    """Print the table; 1 if a requirement is missed."""
    print("  fit                                                  ours  statsmodels  ratio")
    missed = []
    for family in FAMILIES:
        missed += compare("generated", records(family, 2000, 10), family, 7)
    missed += compare("generated", records("gamma", 50_000, 20), "gamma", 3)
    name, data = adult_or_stand_in()
    missed += compare(name, data, "binomial", 3)
    print("\n".join(missed) or "  all limits are kept")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
