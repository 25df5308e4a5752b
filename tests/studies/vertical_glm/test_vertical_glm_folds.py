"""Private fits of several folds: noise of its own for every fold, and what a whole cross-validation costs."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from partywise.experiment.blocks import write_block
from partywise.experiment.cells import run
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.tables.ledger import ledger_total, ledgers
from partywise.federation.run import Run
from partywise.privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from small_cube import read_block

PRIVATE = ("moments", "noisy_newton", "noisy_gradient", "noisy_predictor")
FOLDS = 3


def made_of(protocol, epsilon=1.0, **settings):
    grid = {"methods": ["tried"], "replicates": 1, "parties": [2], "folds": FOLDS, "epsilon": [epsilon]}
    case = {"source": "generated", "settings": {"n": 120, "p": 4} | settings, "grid": grid}
    return plan("vertical_glm", {"methods": {"tried": {"protocol": protocol}}, "cases": {"made": case}}, 7)


def cells_of(made):
    data = generate(made, "made", [0], Path("resources"))
    return run(made, "made", "tried", 2, [0], range(FOLDS), data)


@pytest.mark.parametrize("protocol", PRIVATE)
def test_folds_cost_the_composition_of_all_their_releases(protocol, tmp_path):
    made = made_of(protocol)
    cells = cells_of(made)
    write_block(tmp_path / "block.npz", cells)
    ((group, names, ledger),) = ledgers(read_block(tmp_path / "block.npz"))
    total = ledger_total(made, group, names, ledger)
    assert [cell.scalars["epsilon_certified"] for cell in cells] == pytest.approx([1.0] * FOLDS, abs=1e-9)
    # A record is in the training records of all folds but its own.
    assert FOLDS * total["n_releases"] == (FOLDS - 1) * sum(cell.scalars["n_releases"] for cell in cells)
    # Gaussian releases: mu squared adds over the fits that a record is in.
    mu = np.sqrt(FOLDS - 1) * gdp_mu(1.0, 1e-5)
    assert total["mu_total"] == pytest.approx(mu, rel=1e-9)
    assert total["epsilon_certified"] == pytest.approx(gaussian_epsilon(mu, 1e-5), rel=1e-9)


@pytest.mark.parametrize("protocol", PRIVATE)
def test_no_two_folds_add_the_same_noise(protocol, monkeypatch):
    """The same noise on two statistics of one size would cancel in their difference."""
    drawn: list[list[np.ndarray]] = []

    def started(self, *given, **named):
        source = named["rng_for"]
        record: list[np.ndarray] = []
        drawn.append(record)

        def rng_for(*names):
            record.append(source(*names).standard_normal(3))
            return source(*names)

        begun(self, *given, **named | {"rng_for": rng_for})

    begun = Run.__init__
    monkeypatch.setattr(Run, "__init__", started)
    cells_of(made_of(protocol))
    records = [np.array(record) for record in drawn]
    assert len(records) == FOLDS and len(records[0]) > 0
    for one, other in combinations(records, 2):
        assert one.shape == other.shape and not np.any(np.all(one == other, axis=1))
