"""The membership attack: its numbers by brute force, and that it sees overfitting and nothing else."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partywise.audits.attacks.membership import ATTACK, attack_metrics, tracing_auc
from partywise.audits.attacks.roc import balanced_accuracy, bootstrap_interval, rank_auc, true_positive_rate
from partywise.core.randomness import stream
from partywise.methods.functional.model import CurveEstimate
from partywise.methods.functional.options import BaselineOptions, CentralOptions, LocalOptions
from partywise.methods.logistic.evaluate import auc
from partywise.privacy.audit.pairs import audit_pair
from partywise.studies.functional_boosting.metrics import reference_model
from protocol_driver import DELTA, SMALL, make_data, run

# Few distinct scores, so that ties are common.
SCORES = st.lists(st.integers(-4, 4), min_size=1, max_size=25).map(lambda values: np.array(values, dtype=float))


@given(SCORES, SCORES)
def test_the_rank_auc_is_the_share_of_pairs_won(members, others):
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in members for b in others]
    found = rank_auc(members, others)
    assert found == pytest.approx(np.mean(pairs), abs=1e-12)
    labels = np.repeat([1.0, 0.0], [len(members), len(others)])
    assert found == tracing_auc(members, others) == auc(np.concatenate([members, others]), labels)


@given(SCORES, SCORES)
def test_balanced_accuracy_is_the_best_over_all_thresholds(members, others):
    cuts = np.arange(-6, 6) + 0.5
    best = max((np.mean(members > cut) + np.mean(others <= cut)) / 2 for cut in cuts)
    assert balanced_accuracy(members, others) == pytest.approx(best, abs=1e-12)
    assert best >= 0.5


@given(SCORES, SCORES, st.sampled_from([0.0, 0.01, 0.2, 0.5, 1.0]))
def test_the_true_positive_rate_is_the_best_at_the_allowed_false_positives(members, others, level):
    cuts = np.concatenate([[-np.inf], np.arange(-5, 6)])
    allowed = [np.mean(members > cut) for cut in cuts if np.mean(others > cut) <= level]
    assert true_positive_rate(members, others, level) == pytest.approx(max(allowed), abs=1e-12)


def test_undefined_auc_is_none():
    assert rank_auc(np.zeros(0), np.ones(3)) is None and rank_auc(np.ones(3), np.zeros(0)) is None
    assert rank_auc(np.array([1.0, np.nan]), np.ones(3)) is None
    assert rank_auc(np.array([1.0, -np.inf]), np.ones(3)) is None


def test_the_bootstrap_interval_surrounds_the_auc_and_has_its_spread():
    rng = stream(1, "scores")
    members, others = rng.standard_normal(200) + 0.5, rng.standard_normal(200)
    low, high = bootstrap_interval(members, others, stream(1, "bootstrap"), 2000)
    auc = rank_auc(members, others)
    assert low < auc < high
    # Hanley and McNeil's standard error of the AUC; 2000 draws give a 95 % width within 10 % of it.
    q1, q2 = auc / (2 - auc), 2 * auc**2 / (1 + auc)
    error = np.sqrt((auc * (1 - auc) + 199 * (q1 - auc**2) + 199 * (q2 - auc**2)) / 200**2)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)
    narrow = bootstrap_interval(members, others, stream(1, "bootstrap"), 2000, level=0.5)
    assert low < narrow[0] < narrow[1] < high


@pytest.mark.parametrize("auc", [0.0, 1.0])
def test_a_bootstrap_of_separated_scores_has_no_width(auc):
    members, others = np.arange(5.0) + 10 * auc, np.arange(5.0) + 10 * (1 - auc)
    assert bootstrap_interval(members, others, stream(2, "bootstrap"), 50) == (auc, auc)


def test_the_score_is_minus_the_loss_calibrated_by_fresh_models():
    data = make_data(replace(SMALL, references=2))
    train = np.arange(120) >= 50
    estimate = CurveEstimate(data.operators, np.zeros((4, 6)), np.zeros(6), np.ones(4, dtype=bool), 1.0)

    def losses(B, mean_x, mean_y):
        fitted = mean_y + np.einsum("npq,pqr->nr", data.X - mean_x, B)
        return np.sum((data.Y - fitted) ** 2, axis=1)

    own, reference = losses(data.operators, 0, 0), np.zeros(120)
    for X, Y in zip(data.reference_X, data.reference_Y, strict=True):
        flat = X.reshape(len(X), -1)
        B = np.linalg.lstsq(flat - flat.mean(0), Y - Y.mean(0), rcond=None)[0].reshape(4, 6, 6)
        reference += losses(B, X.mean(0), Y.mean(0)) / 2
    members, others = np.flatnonzero(train)[:50], np.flatnonzero(~train)  # as many members as non-members
    references = zip(data.reference_X, data.reference_Y, strict=True)
    found = attack_metrics(estimate.predict, (data.X, data.Y), train, references, reference_model)
    assert found["attack_auc"] == rank_auc(-own[members], -own[others])
    # The reference models have a ridge of 1e-8, which no rank of 100 well separated scores sees.
    score = reference - own
    assert found["attack_auc_calibrated"] == rank_auc(score[members], score[others])
    assert found["attack_tpr"] == true_positive_rate(score[members], score[others])
    assert found["attack_balanced_accuracy"] == balanced_accuracy(score[members], score[others])
    assert found["attack_auc_low"] < found["attack_auc_calibrated"] < found["attack_auc_high"]


def test_without_non_members_or_with_a_diverged_fit_nothing_is_reported():
    settings = replace(SMALL, references=1)
    everything = run(LocalOptions(max_steps=2), settings=settings, folds=1).scalars
    assert [everything[name] for name in ATTACK] == [None] * len(ATTACK)
    data = make_data(settings)
    lost = CurveEstimate(1e200 * data.operators, np.zeros((4, 6)), np.zeros(6), np.ones(4, dtype=bool), 1.0)
    with np.errstate(over="ignore"):
        records, references = (data.X, data.Y), [(data.reference_X[0], data.reference_Y[0])]
        found = attack_metrics(lost.predict, records, np.arange(120) > 60, references, reference_model)
        assert set(found.values()) == {None}
    assert not set(ATTACK) & set(run(LocalOptions(max_steps=2)).scalars)


def attacked(options, settings):
    return [run(options, settings=settings, folds=2, held_out=fold).scalars for fold in (0, 1)]


def test_the_attack_sees_an_overfitted_model():
    """60 training records, 36 coordinates, as much noise as signal: the fit follows the noise of its members.

    Without any leak the AUC of 60 against 60 has a standard error of sqrt(121 / (12 * 60 * 60)) = .053.
    """
    settings = replace(SMALL, p=6, snr=1.0, references=4)
    error = np.sqrt(121 / (12 * 60 * 60))
    for scalars in attacked(BaselineOptions(kind="least_squares", lambda_s=0.0, lambda_t=0.0), settings):
        assert scalars["attack_auc"] > 0.5 + 6 * error and scalars["attack_auc_calibrated"] > 0.5 + 6 * error
        assert scalars["attack_auc_low"] > 0.5 and scalars["attack_balanced_accuracy"] > 0.7


def test_the_attack_is_blind_to_a_heavily_noised_model():
    """At s = 30 the operators are nearly zero, so members and others differ by chance only: 4 standard errors."""
    settings = replace(SMALL, n=400, p=6, snr=1.0, references=4)
    error = np.sqrt(401 / (12 * 200 * 200))
    for scalars in attacked(LocalOptions(s=30.0, max_steps=20), settings):
        assert abs(scalars["attack_auc"] - 0.5) < 4 * error
        assert abs(scalars["attack_auc_calibrated"] - 0.5) < 4 * error


SWAPPED = replace(SMALL, n=14, p=1, n_basis_x=4, n_basis_y=4, active=(0,), singular_values=(1.0,))
DRAWS = 150


@cache
def scores_of_a_swap(options, seed):
    """Scores of two attackers in worlds that differ in one person's X-block, at opposite ends of the clipping ball.

    The first sees only predictions (of the fitted model, along the person's response), the second the release.
    """
    data = make_data(SWAPPED)
    end = data.X[0, 0] / np.linalg.norm(data.X[0, 0]) * data.radius[0]
    Y = data.Y.copy()
    Y[0] = 3 * end @ data.operators[0]  # a response that the two worlds explain in opposite directions
    scores = np.zeros((2, 2, DRAWS))
    for world, sign in enumerate((1.0, -1.0)):
        X = data.X.copy()
        X[0, 0] = sign * end
        here = replace(data, X=X, Y=Y)
        for draw in range(DRAWS):
            done = run(
                options,
                settings=SWAPPED,
                data=here,
                parties=1,
                folds=1,
                noise=lambda *names, at=(world, draw): stream(seed, "swap", *at, *names),
            )
            ends = done.estimate.predict(np.stack([end, -end])[:, None])
            scores[:, world, draw] = (ends[0] - ends[1]) @ Y[0], done.estimate.received_curves[0, 0] @ end
    return scores, done.total().rho_total


@pytest.mark.parametrize("options", [LocalOptions(s=2.0, max_steps=5), CentralOptions(s=2.0)])
def test_attacks_on_a_swapped_block_stay_below_the_certificate(options):
    scores, rho = scores_of_a_swap(options, 7)
    mu = np.sqrt(2 * rho)
    for attack in scores:
        assert audit_pair(attack[0], attack[1], DELTA).mu_lower <= mu
    # The release itself, scored by its likelihood ratio, gives most of mu away: the bound is not vacuous.
    assert audit_pair(*scores[1], DELTA).mu_lower > 0.6 * mu


def test_an_audit_of_the_published_noise_exceeds_its_claim():
    """The published geometry with the sd of mu = 3: the certificate of the right noise is broken by an attack."""
    data = make_data(SWAPPED)
    basis = data.basis_x.build()
    values, vectors = np.linalg.eigh(basis.gram)
    end = vectors[:, 0] * data.radius[0]  # z along the least eigenvector, where the noise is s lambda_min
    s = 2 * data.radius[0] / 3.0
    scores = []
    for world, sign in enumerate((1.0, -1.0)):
        X = data.X.copy()
        X[0, 0] = sign * end
        here = replace(data, X=X)
        options = LocalOptions(s=float(s), geometry="gram", max_steps=1)
        drawn = [
            run(
                options,
                settings=SWAPPED,
                data=here,
                parties=1,
                folds=1,
                noise=lambda *names, at=(world, draw): stream(8, "gram", *at, *names),
            )
            for draw in range(100)
        ]
        scores.append([done.estimate.received_curves[0, 0] @ vectors[:, 0] for done in drawn])
    found = audit_pair(*scores, DELTA).mu_lower
    assert drawn[0].estimate.epsilon_claimed < drawn[0].total().epsilon_certified
    assert 3.0 < found <= drawn[0].total().mu_total == pytest.approx(3.0 / values[0], rel=1e-9)
