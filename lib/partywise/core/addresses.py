"""Addresses that modules had before: an import of one ends in a sentence that names the new one."""

from __future__ import annotations

import re
import sys

# Rooms and modules below the package, and where each stands now.
NEW_ADDRESSES = {
    "attacks": "audits.attacks",
    "audits.attacks.identifiers": "audits.attacks.messages",
    "audits.attacks.predictors": "audits.attacks.linear_images",
    "audits.attacks.rotations": "audits.attacks.linear_images",
    "audits.attacks.tracing": "audits.attacks.membership",
    "checks": "core.checks",
    "data.clients": "data.division",
    "datasets": "data",
    "errors": "core.errors",
    "experiment.deployment": "deployment",
    "experiment.plotting.replicates": "experiment.plotting.series",
    "experiment.plotting.shade": "experiment.plotting.style",
    "experiment.plotting.ticks": "experiment.plotting.layout",
    "experiment.plotting.typeset": "experiment.tables.templates",
    "experiment.plotting.words": "experiment.plotting.series",
    "federation.account.fit_budget": "federation.estimators.fit_budget",
    "federation.column_estimator": "federation.estimators.column_estimator",
    "federation.deployment": "deployment.session",
    "federation.estimator": "federation.estimators.estimator",
    "federation.exchanges.homomorphic.keys": "federation.exchanges.homomorphic.paillier_keys",
    "federation.exchanges.homomorphic.masking": "federation.exchanges.homomorphic.weighted_sums",
    "federation.exchanges.homomorphic.plain_integers": "federation.exchanges.homomorphic.ciphertexts",
    "federation.exchanges.words": "federation.exchanges.sharing",
    "federation.publication": "deployment.statement",
    "federation.transport": "deployment.wire",
    "files": "core.files",
    "filters": "methods.filters",
    "functional": "methods.functional",
    "glm": "methods.glm",
    "inverse_regression": "methods.inverse_regression",
    "linear": "methods.linear",
    "logistic": "methods.logistic",
    "pca": "methods.pca",
    "project": "core.project",
    "randomness": "core.randomness",
    "survival": "methods.survival",
    "trees": "methods.trees",
}


def new_address(name: str) -> str | None:
    """The address of a module today, by the one it had; None where it did not move."""
    package, *parts = name.split(".")
    for length in range(len(parts), 0, -1):
        if (home := NEW_ADDRESSES.get(".".join(parts[:length]))) is not None:
            return ".".join([package, home, *parts[length:]])
    return None


def require_known_address(name: str) -> None:
    """Raise ModuleNotFoundError that names the new address of a module that moved."""
    if (home := new_address(name)) is not None:
        raise ModuleNotFoundError(f"{name} is {home} now: import it from there.", name=name)


def renamed_class(error: ImportError) -> str:
    """Return the end of a sentence with the class's name of today, which ends in the earlier one; empty without any."""
    missing = re.match(r"cannot import name '(\w+)' from 'partywise\.", str(error))
    module = sys.modules.get(error.name or "")
    if missing is None or module is None:
        return ""
    classes = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == error.name]
    names = [value.__name__ for value in classes if value.__name__.endswith(missing[1])]
    return f"; it is {' or '.join(names)} now" if names else ""
