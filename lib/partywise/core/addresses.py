"""Addresses that modules had before: an import of one ends in a sentence that names the new one."""

from __future__ import annotations

import re
import sys
from pathlib import Path

LIBRARY = Path(__file__).parents[1]
# A name that more modules define is not that of what moved.
MOST_HOMES = 3
# Rooms and modules below the package, and where each stands now.
NEW_ADDRESSES = {
    "alignment.party_arrays": "alignment.rows",
    "attacks": "audits.attacks",
    "audits.attacks.identifiers": "audits.attacks.messages",
    "audits.attacks.predictors": "audits.attacks.linear_images",
    "audits.attacks.rotations": "audits.attacks.linear_images",
    "audits.attacks.tracing": "audits.attacks.membership",
    "checks": "core.checks",
    "data.clients": "data.division",
    "data.columns.check": "data.columns.settings",
    "data.loaders.curves": "data.loaders.read",
    "data.public": "data",
    "datasets": "data",
    "errors": "core.errors",
    "experiment.deployment": "deployment",
    "experiment.differences.keys": "experiment.differences.difference",
    "experiment.differences.reference": "experiment.differences.verb",
    "experiment.plotting.replicates": "experiment.plotting.series",
    "experiment.plotting.shade": "experiment.plotting.style",
    "experiment.plotting.ticks": "experiment.plotting.layout",
    "experiment.plotting.typeset": "experiment.tables.templates",
    "experiment.plotting.words": "experiment.plotting.series",
    "experiment.register.page": "experiment.register.text",
    "federation.account.fit_budget": "federation.estimators.fit_budget",
    "federation.account.verb": "deployment.site.accounts",
    "federation.column_estimator": "federation.estimators.column_estimator",
    "federation.deployment": "deployment.session",
    "federation.estimator": "federation.estimators.estimator",
    "federation.exchanges.homomorphic.keys": "federation.exchanges.homomorphic.paillier_keys",
    "federation.exchanges.homomorphic.masking": "federation.exchanges.homomorphic.weighted_sums",
    "federation.exchanges.homomorphic.plain_integers": "federation.exchanges.homomorphic.ciphertexts",
    "federation.exchanges.masked_sum": "federation.exchanges.masks.masked_sum",
    "federation.exchanges.noisy_moments": "federation.exchanges.column_sums.noisy_moments",
    "federation.exchanges.noisy_sum": "federation.exchanges.masks.noisy_sum",
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
    "methods.functional.df": "methods.functional.paths",
    "methods.functional.margin": "methods.functional.paths",
    "methods.glm.protocols.parts": "methods.glm.protocols.scoring",
    "methods.glm.standardise": "models.standardise",
    "methods.linear.exact": "methods.linear.steps",
    "methods.logistic.objective": "methods.logistic.model",
    "methods.pca.inference": "methods.pca.components",
    "methods.pca.rotations": "methods.pca.protocols.block_svd",
    "methods.survival.ranks": "methods.survival.bands",
    "methods.trees.gathering.routing": "methods.trees.ensemble",
    "methods.trees.growth.tree": "methods.trees.ensemble",
    "methods.trees.scattering.branches": "methods.trees.scattering.active",
    "methods.trees.scattering.cells": "methods.trees.scattering.plan",
    "methods.trees.scattering.report": "methods.trees.scattering.passive",
    "models.partial_likelihood": "models.follow_up.partial_likelihood",
    "pca": "methods.pca",
    "privacy.accounting.per_index": "privacy.mechanisms.mixed_response",
    "privacy.accounting.profile": "privacy.accounting.gaussian_profile",
    "privacy.accounting.tally": "privacy.ledger.coalitions",
    "privacy.ledger.frames": "privacy.ledger.chain",
    "privacy.ledger.odometer": "privacy.ledger.ledger",
    "privacy.ledger.parallel": "privacy.ledger.total",
    "privacy.mechanisms.distance": "privacy.mechanisms.distances.exponential",
    "privacy.mechanisms.distance_adjusted": "privacy.mechanisms.distances.adjustment",
    "privacy.mechanisms.shared_gaussian": "privacy.mechanisms.noise_shares",
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
            moved = [*home.split("."), *parts[length:]]
            # Part of a room that moved once more, or is one module now.
            return new_address(".".join([package, *moved])) or ".".join([package, *_existing(moved)])
    return None


def _existing(parts: list[str]) -> list[str]:
    """The longest beginning of an address below the package that is a module or a package."""
    path = LIBRARY.joinpath(*parts)
    return parts if path.is_dir() or path.with_suffix(".py").is_file() else _existing(parts[:-1])


def require_known_address(name: str) -> None:
    """Raise ModuleNotFoundError that names the new address of a module that moved."""
    if (home := new_address(name)) is not None:
        raise ModuleNotFoundError(f"{name} is {home} now: import it from there.", name=name)


def present_name(error: ImportError) -> str:
    """Return the end of a sentence with the name of today of what a module lacks; empty if there is none.

    The name ends in the earlier one, or another module defines it.
    """
    missing = re.match(r"cannot import name '(\w+)' from 'partywise\.", str(error))
    module = sys.modules.get(error.name or "")
    if missing is None or module is None:
        return ""
    classes = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == error.name]
    if names := [value.__name__ for value in classes if value.__name__.endswith(missing[1])]:
        return f"; it is {' or '.join(names)} now"
    definition = re.compile(rf"^(class|def) {missing[1]}\b", re.MULTILINE)
    paths = [path for path in sorted(LIBRARY.rglob("*.py")) if definition.search(path.read_text(encoding="utf-8"))]
    modules = [".".join(["partywise", *path.relative_to(LIBRARY).with_suffix("").parts]) for path in paths]
    return f"; it is in {' or '.join(modules)} now" if 0 < len(modules) <= MOST_HOMES else ""
