"""Long statistical checks of noise in shares: what coalitions can tell apart, and what 3 to 100 clients gain."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, norm

from partywise.core.randomness import stream
from partywise.experiment.cells import execution
from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.federation.run import simulate
from partywise.methods.inverse_regression.subspace import projection_loss
from partywise.privacy.mechanisms.noise_shares import NoiseShares
from partywise.privacy.mechanisms.release import OBSERVER
from partywise.privacy.statistics.whole import whole
from pipeline import ROOT

pytestmark = pytest.mark.statistical

OWNERS, DRAWS, CONFIDENCE = tuple(f"clinic {k}" for k in range(5)), 100_000, 0.999
MU, MOVE = 0.8, 3 * 2**20


class Keys:
    """An observer that keeps the shares of the noise."""

    def __init__(self):
        self.noise = []

    def add_key(self, key):
        self.noise.append(key.integers)


def drawn_shares(shares, seed):
    """(owners, draws) the shares of all owners, in the finer steps."""
    keys, event = Keys(), shares.event("sum", ("*",), "simulation", "")
    token = OBSERVER.set(keys)
    try:
        for name in OWNERS:
            shares.draw(shares.total, event, stream(seed, "share", name))
    finally:
        OBSERVER.reset(token)
    return np.array(keys.noise, dtype=float)


def bracket(hits, misses, draws):
    """Bounds of mu from the numbers of one threshold that both worlds exceed, at the confidence together."""
    tail = (1 - CONFIDENCE) / 4
    rates = [(beta.ppf(tail, k, draws - k + 1), beta.ppf(1 - tail, k + 1, draws - k)) for k in (hits, misses)]
    (low, high), (least, most) = rates
    return norm.ppf(low) - norm.ppf(most), norm.ppf(high) - norm.ppf(least)


@pytest.mark.parametrize("colluders", [1, 3])
@pytest.mark.parametrize("joined", [0, 1, 3, 4])
def test_what_a_coalition_can_tell_apart_is_what_the_ledger_says(colluders, joined):
    """The view of colluders is the opened sum without their own shares; one record of the first clinic moves it."""
    total = whole(np.zeros(DRAWS, dtype=np.int64), MOVE**2, 1.0, "a test")
    shares = NoiseShares(total, MU, OWNERS, colluders)
    event = shares.event("sum", ("*",), "simulation", "")
    view = OWNERS[1 : 1 + joined]
    claimed = event.profile_against(event.profile, view).mu
    unknown = [k for k, name in enumerate(OWNERS) if name not in view]
    move = MOVE * 2.0**shares.bits
    with_record, without = (drawn_shares(shares, seed)[unknown].sum(axis=0) for seed in (1, 2))
    counts = np.count_nonzero(with_record + move > move / 2), np.count_nonzero(without > move / 2)
    low, high = bracket(*counts, DRAWS)
    print(f"t={colluders}, {joined} joined: mu {claimed:.4f} in [{low:.4f}, {high:.4f}]")
    assert low <= claimed <= high < low + 0.09
    # A ledger that counted a share too many or too few would be seen.
    honest = 5 - joined
    assert not low <= claimed * np.sqrt((honest + 1) / honest) <= high


# Mean losses of the specification (section 6) and their largest standard errors: model III, n = 500, total epsilon 2.
PRINTED = {
    "cert_shared": {3: (1.254, 0.033), 10: (0.513, 0.035), 100: (0.121, 0.012)},
    "whiten_shared": {3: (1.053, 0.04), 10: (0.427, 0.03), 100: (0.108, 0.009)},
}
LOCAL = {"cert_shared": ("cert", 0.65), "whiten_shared": ("whiten", 0.72)}
REPLICATES = 30


def test_shared_noise_brings_clients_close_to_one_trusted_server():
    """Section 14, number 11: losses within three standard errors, ratios to local noise, epsilons by coalition."""
    methods = {
        name: {"protocol": protocol} | ({"noise": "shared"} if name.endswith("shared") else {})
        for protocol, names in (("certified", ("cert", "cert_shared")), ("whitened", ("whiten", "whiten_shared")))
        for name in names
    }
    grid = {"methods": list(methods), "replicates": REPLICATES, "folds": 1, "parties": [3, 10, 100], "epsilon": [2.0]}
    case = {"source": "simulated", "settings": {"model": "III", "n": 500}, "grid": grid}
    made = plan("sliced_inverse_regression", {"methods": methods, "figures": [], "cases": {"iii": case}}, 20260101)
    data = generate(made, "iii", range(REPLICATES), ROOT / "resources").values()

    def losses(method, count):
        found = []
        for one in data:
            run = execution(made, "iii", method, count, 0, 2.0, one)
            # Every replicate has noise of its own.
            run.rng_for = type(run.rng_for)(int(one.key) % 2**62, "noise of", method)
            found.append(projection_loss(simulate(made.methods[method].protocol.fit, run).basis, one.beta))
        return np.array(found), run.channel

    for method, printed in PRINTED.items():
        for count, (mean, se) in printed.items():
            found, channel = losses(method, count)
            error = np.hypot(se, found.std(ddof=1) / np.sqrt(REPLICATES))
            total = channel.ledger.worst_total(channel.names, "row", made.delta("iii", method, count))
            print(
                f"{method}, K={count}: {found.mean():.3f} against {mean} (SE {error:.3f}); any {total.epsilon_any:.6f}"
            )
            assert abs(found.mean() - mean) < 3 * error
            assert total.epsilon_certified == pytest.approx(2.0, abs=1e-6) and total.colluders == 1
            if count == 10:
                local, most = LOCAL[method]
                assert found.mean() / losses(local, count)[0].mean() < most
                assert total.epsilon_any == pytest.approx(7.371336, abs=1e-6)
                assert total.epsilon_public == pytest.approx(1.882695, abs=1e-6)
