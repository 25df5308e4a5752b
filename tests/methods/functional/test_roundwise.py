"""The round-wise comparator pays in every round and costs what one release costs."""

from dataclasses import replace

import numpy as np
import pytest

from error_rates import accepts_sigma
from partywise.methods.functional.options import LocalOptions, RoundwiseOptions
from partywise.methods.functional.protocols import rounds as roundwise
from partywise.privacy.statistics.bounded import clip_curves
from protocol_driver import INF, SMALL, make_data, run

ROUNDS = RoundwiseOptions(s=0.4, max_steps=8)


@pytest.fixture
def rounds_seen(monkeypatch):
    """What the active party works on in each round: curves and the covariance it is told."""
    seen = []
    original = roundwise.active_step

    def recording(course, Z, covariance, plan):
        seen.append((Z.copy(), covariance.copy()))
        return original(course, Z, covariance, plan)

    monkeypatch.setattr(roundwise, "active_step", recording)
    return seen


@pytest.mark.parametrize("memory", ["last", "mean"])
@pytest.mark.parametrize("rounds", [1, 5])
@pytest.mark.parametrize("parties", [1, 4])
def test_all_rounds_together_cost_what_one_release_costs(memory, rounds, parties):
    done = run(replace(ROUNDS, memory=memory, max_steps=rounds), parties=parties)
    once = run(LocalOptions(s=0.4, max_steps=rounds), parties=parties)
    assert done.total().rho_total == pytest.approx(once.total().rho_total, rel=1e-12)
    assert done.total().n_releases == len(done.releases) == rounds * 4
    assert len({event.noise_digest for event in done.releases}) == rounds * 4
    assert done.estimate.epsilon_claimed == once.estimate.epsilon_claimed


def test_early_stopping_refunds_nothing():
    done = run(replace(ROUNDS, s=3.0, max_steps=20, patience=1))
    assert done.estimate.numbers["hit_max_steps"] is False and done.estimate.numbers["steps"] < 19
    assert len(done.releases) == 20 * 4
    assert done.channel.bytes_total == 20 * 4 * 120 * 6 * 8 + 4 * 6 * 6 * 8


@pytest.mark.parametrize("patience", [1, 3])
def test_the_walk_ends_after_as_many_rounds_without_improvement_as_patience_says(patience, monkeypatch):
    courses = []
    original = roundwise.active_round

    def recording(*given):
        courses.append(original(*given))
        return courses[-1]

    monkeypatch.setattr(roundwise, "active_round", recording)
    done = run(replace(ROUNDS, s=3.0, max_steps=30, patience=patience))
    last = courses[-1]
    assert len(courses) == 30 and last.progress.stopped
    assert len(last.path) - last.progress.best == patience
    assert done.estimate.numbers["steps"] == last.progress.best


def test_calibrated_rounds_spend_exactly_the_target():
    done = run(RoundwiseOptions(s_mode="calibrated", max_steps=8), epsilon=20.0)
    # Rounding of eight times four squared sums.
    assert done.total().epsilon_certified == pytest.approx(20.0, rel=1e-9)
    assert done.estimate.epsilon_claimed == 20.0


def test_after_the_last_round_the_mean_has_the_distribution_of_one_release(rounds_seen):
    settings = replace(SMALL, n=400, p=20)
    data = make_data(settings)
    exact = np.stack([clip_curves(data.X[:, j], None, data.radius[j])[0] for j in range(20)], axis=1)
    run(RoundwiseOptions(s=0.4, max_steps=5), settings=settings, data=data)
    assert len(rounds_seen) == 5
    for t, (curves, covariance) in enumerate(rounds_seen, start=1):
        told = 0.4 * np.sqrt(5 / t)
        assert np.allclose(covariance, np.broadcast_to(told**2 * np.eye(6), (20, 6, 6)), rtol=1e-12)
        # 48 000 draws: their sd is known to .3 %, so 3 % is ten standard errors.
        assert accepts_sigma(curves - exact, told)
        assert not accepts_sigma(curves - exact, 1.03 * told) and not accepts_sigma(curves - exact, told / 1.03)
    once = run(LocalOptions(s=0.4, max_steps=1), settings=settings, data=data).estimate.received_curves
    assert accepts_sigma(once - exact, 0.4) and np.allclose(rounds_seen[-1][1], 0.4**2 * np.eye(6), rtol=1e-12)


def test_without_memory_every_round_is_as_noisy_as_the_first(rounds_seen):
    settings = replace(SMALL, n=400, p=20)
    data = make_data(settings)
    exact = np.stack([clip_curves(data.X[:, j], None, data.radius[j])[0] for j in range(20)], axis=1)
    run(RoundwiseOptions(s=0.4, max_steps=3, memory="last"), settings=settings, data=data)
    for curves, covariance in rounds_seen:
        assert np.allclose(covariance, 0.4**2 * 3 * np.eye(6), rtol=1e-12)
        assert accepts_sigma(curves - exact, 0.4 * np.sqrt(3)) and not accepts_sigma(curves - exact, 0.4 * np.sqrt(2.8))
    first, second = (curves - exact for curves, _ in rounds_seen[:2])
    # Independent rounds: the correlation of 48 000 pairs has a standard error of .0046.
    assert abs(np.corrcoef(first.ravel(), second.ravel())[0, 1]) < 6 / np.sqrt(first.size)


@pytest.mark.parametrize("memory", ["last", "mean"])
@pytest.mark.parametrize("learner", ["predictor", "party"])
def test_without_noise_rounds_walk_the_path_of_one_release(memory, learner):
    options = RoundwiseOptions(s=0.0, memory=memory, learner=learner, max_steps=15)
    done, once = run(options), run(LocalOptions(noise="none", learner=learner, max_steps=15))
    # The same path with gradients made anew in each round; 15 steps of rounding.
    assert np.allclose(done.estimate.operators, once.estimate.operators, rtol=0, atol=1e-10)
    assert done.estimate.numbers["steps"] == once.estimate.numbers["steps"]
    assert done.estimate.numbers["criterion"] == pytest.approx(once.estimate.numbers["criterion"], rel=1e-9)
    assert done.total().epsilon_certified == INF
    assert done.channel.ledger.total("party 1", "features", 1e-5).epsilon_certified == INF


@pytest.mark.parametrize("options", [ROUNDS, replace(ROUNDS, memory="last"), replace(ROUNDS, coordinates="raw")])
def test_predictor_learners_are_bit_identical_over_parties(options):
    first = run(options, parties=1)
    for parties in (2, 4):
        assert np.array_equal(run(options, parties=parties).estimate.operators, first.estimate.operators)
    by_party = run(replace(options, learner="party"), parties=4)
    assert np.array_equal(by_party.estimate.operators, first.estimate.operators)


def test_a_release_of_a_round_is_made_once_for_all_folds_and_learners():
    def drawn(**change):
        held_out = change.pop("held_out", 0)
        done = run(replace(ROUNDS, **change), held_out=held_out)
        return {event.release_id: event.noise_digest for event in done.releases}

    assert drawn() == drawn(held_out=2) == drawn(learner="party") == drawn(memory="last") == drawn(nu=0.1)


def test_the_mean_beats_the_last_round():
    """The average of t rounds has t times less noise; replicates are paired."""
    excess = {
        memory: [run(replace(ROUNDS, memory=memory, max_steps=20), replicate=r).scalars["excess"] for r in range(3)]
        for memory in ("mean", "last")
    }
    assert all(mean < 0.5 * last for mean, last in zip(excess["mean"], excess["last"], strict=True))


def test_a_radius_from_the_data_makes_everything_uncertified():
    done = run(replace(ROUNDS, radius="quantile"))
    assert done.total().epsilon_certified == INF and not any(event.certified for event in done.releases)
    assert np.isfinite(done.estimate.epsilon_claimed)
    wanted = np.mean([np.quantile(np.linalg.norm(done.data.X[:, j], axis=1), 0.95) for j in range(4)])
    assert done.estimate.numbers["radius"] == pytest.approx(wanted, rel=1e-12)


def test_a_public_radius_of_its_own_is_used():
    done = run(replace(ROUNDS, radius_value=2.0))
    assert done.estimate.numbers["radius"] == 2.0
    assert done.total().rho_total == pytest.approx(4 * 2 * 2.0**2 / 0.4**2, rel=1e-12)


def test_labels_are_unprotected():
    assert run(ROUNDS).total("label").epsilon_certified == INF
