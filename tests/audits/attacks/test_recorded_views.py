"""Attacks A1 to A6 on what participants received: they succeed on the published protocols of document 004 only."""

from __future__ import annotations

from hashlib import sha256
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from block_attacks import binary_column, candidate_rotations, candidate_rows
from glm_driver import DECLARED, fitted, records
from partywise.audits.attacks.linear_images import (
    attack_rows,
    attack_space,
    recover_rows,
    row_errors,
    space_by_iteration,
)
from partywise.audits.attacks.messages import attack_ids
from partywise.core.randomness import Streams, stream
from partywise.federation.cipher import Cipher
from partywise.federation.exchanges.psi import points_of
from partywise.federation.exchanges.residues import Ring
from partywise.federation.folds import Fold
from partywise.federation.parties import Party
from partywise.federation.run import Run, simulate
from partywise.methods.glm.options import BcdOptions, GlmMomentsOptions, JointOptions
from partywise.methods.glm.protocols import bcd, joint, moments
from partywise.methods.glm.secret_shared_link.plan import PREDICTOR
from partywise.methods.pca.model import PcaFacts
from partywise.methods.pca.options import BlockSvdOptions, CorrelationOptions
from partywise.methods.pca.protocols import block_svd, correlation
from partywise.privacy.accounted_values import Public

GROUPS = [(0, 1, 2, 3), (4, 5, 6, 7, 8, 9, 10, 11)]
OWN = list(GROUPS[1])
N = 600


def received(run, place, name):
    """What a participant received under a name, in order."""
    return [value for message, value in run.channel.view(place) if message.name == name]


def clear_vectors(run, n):
    """Columns of length n that reached somebody in the clear, by who saw them."""
    found = {}
    for place in run.names:
        values = [value for _, value in run.channel.view(place) if not isinstance(value, Cipher)]
        arrays = [value for value in values if isinstance(value, np.ndarray) and value.ndim and len(value) == n]
        found[place] = sum(array.size // n for array in arrays)
    return found


@pytest.fixture(scope="module")
def published():
    """A block with a binary column, and what the analyst received of it."""
    X, y = records("gaussian", N, 12, rho=0.0)
    X[:, 6] = X[:, 6] + 0.4 * X[:, 9] > 0
    _, run = fitted(block_svd.fit, X, y, GROUPS, BlockSvdOptions())
    block = X[:, OWN]
    return block, (block - block.mean(axis=0)) / block.std(axis=0, ddof=1), received(run, "analyst", "scores U D")[1]


def test_a1_known_rows_give_all_others(published):
    raw, block, seen = published
    found = recover_rows(seen, np.arange(8), block[:8])
    assert np.max(np.abs(found - block)) < 1e-10
    # In the units of the source the attacker needs one row more.
    assert attack_rows(seen, raw, np.arange(9), transformation="affine") == 1
    errors = [np.max(np.abs(one - block)) for one in candidate_rows(seen, np.arange(7), block[:7])]
    assert len(errors) == 2 and min(errors) < 1e-10 < max(errors)
    (guess,) = candidate_rows(seen, np.arange(4), block[:4])
    assert 1 - np.sum((guess - block)[4:] ** 2) / np.sum(block[4:] ** 2) == pytest.approx(0.5, abs=0.1)


def test_a2_a_binary_column_needs_no_known_row(published):
    raw, _, seen = published
    found, residual = binary_column(seen, stream(1, "kurtosis"))
    assert abs(np.corrcoef(found, raw[:, 2])[0, 1]) > 0.99995 and residual < 1e-20


def test_a3_the_true_correlations_leave_signs_only(published):
    _, block, seen = published
    rotations = candidate_rotations(seen, (N - 1) * np.corrcoef(block.T))
    errors = np.array([np.max(np.abs(seen @ rotation - block)) for rotation in rotations])
    assert len(errors) == 2**8 and np.count_nonzero(errors < 1e-10) == 1


@pytest.mark.parametrize("options", [CorrelationOptions(), CorrelationOptions(matrix="covariance")])
def test_a1_to_a3_have_no_input_in_the_certified_protocol(options):
    X, y = records("gaussian", N, 12)
    estimate, run = fitted(correlation.fit, X, y, GROUPS, options)
    assert set(clear_vectors(run, N).values()) == {0} and estimate.numbers["record_openings"] == 0
    # What crosses behind masks is uniform: it spans no part of anybody's columns.
    masked = [value for message, value in run.channel.view("active") if message.name.startswith("masked")]
    residues = masked[0].content[0].astype(float)
    assert residues.shape == (N, 8) and attack_space(residues, X[:, OWN]) < 0.1
    assert attack_rows(residues, X[:, OWN], np.arange(9), transformation="affine") == 0
    with pytest.raises(ValueError, match="sign patterns"):
        BlockSvdOptions(matrix="correlation")


def test_scores_of_all_components_are_every_record_and_say_so():
    X, y = records("gaussian", N, 12)
    few, every = (
        fitted(correlation.fit, X, y, GROUPS, CorrelationOptions(scores=True, components=count))[0]
        for count in (2, None)
    )
    known = np.arange(9)
    assert attack_rows(every.views["analyst: passive 1"], X[:, OWN], known, transformation="affine") == 1
    assert attack_rows(few.views["analyst: passive 1"], X[:, OWN], known, transformation="affine") == 0
    assert attack_space(few.views["analyst: passive 1"], X[:, OWN]) < attack_space(
        every.views["analyst: passive 1"], X[:, OWN]
    )


@pytest.fixture(scope="module")
def history():
    """Predictors of the passive party, five columns, as the analyst received them sweep by sweep."""
    found = {}
    for family in ("gaussian", "poisson"):
        X, y = records(family, N, 10, rho=0.6)
        estimate, run = fitted(bcd.fit, X, y, [range(5), range(5, 10)], BcdOptions(max_sweeps=40), family=family)
        sent = [
            value
            for message, value in run.channel.view("analyst")
            if message.name == "predictor" and message.sender == "passive 1"
        ]
        assert estimate.iterations == len(sent) > 10
        found[family] = X[:, 5:], np.column_stack(sent), estimate, run
    return found


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_a4_five_predictors_span_five_columns(history, family):
    block, sent, estimate, run = history[family]
    path = space_by_iteration(sent[:, :10], block)
    assert np.all(np.diff(path[:5]) > 0.1) and path[4] == pytest.approx(1, abs=1e-6)
    assert path[3] < 0.9 and path[-1] == pytest.approx(1, abs=1e-6)
    # The active party is told the same of the others, which with two parties is the other's own.
    told = received(run, "active", "predictors of the others")[1:6]
    assert attack_space(np.column_stack(told), block) == pytest.approx(1, abs=1e-6)
    assert estimate.numbers["record_openings"] == 2 * estimate.iterations
    view = estimate.views["analyst: passive 1"]
    assert np.array_equal(view, sent[:, : view.shape[1]])


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_a5_five_known_rows_give_all_others(history, family):
    block, sent, _, _ = history[family]
    errors = row_errors(sent, block, np.arange(5))
    assert len(errors) == N - 5 and np.median(errors) <= 1e-8 and attack_rows(sent, block, np.arange(5)) == 1
    assert attack_rows(sent, block, np.arange(4)) == 0 and attack_rows(sent[:, :4], block, np.arange(5)) == 0


def directions(run):
    """What each other party sent the active one of every step, as words: (n, t) by sender."""
    found = {}
    for message, value in run.channel.view("active"):
        if message.name == "predictor of the direction":
            found.setdefault(message.sender, []).append(value)
    return {sender: np.column_stack(values) for sender, values in found.items()}


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_a4_the_opened_link_leaks_the_only_other_party_as_well(solver):
    """An exact solver does not cure it: with two parties the sum that the active one adds up is the other's own."""
    X, y = records("poisson", N, 10, rho=0.6)
    estimate, run = fitted(joint.fit, X, y, [range(5), range(5, 10)], JointOptions(solver=solver), family="poisson")
    (words,) = directions(run).values()
    sent, block = words.view(np.int64).astype(float), X[:, 5:]
    assert sent.shape[1] == estimate.numbers["record_openings"] >= 5
    path = space_by_iteration(sent, block)
    assert path[4] == pytest.approx(1, abs=1e-6) and path[3] < 0.9
    assert attack_space(estimate.views["active: passive 1"], block) == pytest.approx(path[-1], abs=1e-9)
    assert clear_vectors(run, N) == {"active": sent.shape[1], "passive 1": 0, "analyst": 0, "dealer": 0}


def test_a4_of_three_parties_the_opened_link_shows_the_sum_of_two():
    X, y = records("poisson", N, 10, rho=0.0)
    groups = [range(2), range(2, 6), range(6, 10)]
    _, run = fitted(joint.fit, X, y, groups, JointOptions(solver="lbfgs"), family="poisson")
    words = directions(run)
    # A summand is uniform, whatever it hides; the sum lies in the space of both parties' columns, in no single one's.
    for group, sent in zip(groups[1:], words.values(), strict=True):
        assert attack_space(sent.view(np.int64).astype(float), X[:, list(group)]) < 0.1
    total = sum(words.values()).view(np.int64).astype(float)
    assert attack_space(X[:, 2:], total) == pytest.approx(1, abs=1e-6)
    assert attack_space(total, X[:, 2:6]) > 0.2 and attack_space(X[:, 2:6], total) < 0.9


def test_a4_and_a5_have_no_input_behind_the_shared_link_and_the_released_moments():
    X, y = records("poisson", 200, 4)
    groups = [range(2), range(2, 4)]
    shared = JointOptions(solver="lbfgs", link="shared", max_iter=3)
    statistic = {"statistic": Public((0.0, 20.0), DECLARED)}
    for fit, options, facts in ((joint.fit, shared, {}), (moments.fit, GlmMomentsOptions(dealer="dealer"), statistic)):
        estimate, run = fitted(fit, X, y, groups, options, family="poisson", facts=facts, epsilon=1.0)
        assert set(clear_vectors(run, 200).values()) == {0}
        seen = np.column_stack(list(estimate.views.values())) if estimate.views else np.zeros((200, 0))
        assert attack_space(seen, X[:, 2:]) == 0 and attack_rows(seen, X[:, 2:], np.arange(3)) == 0
        assert estimate.numbers["record_openings"] == 0


def test_the_two_holders_together_open_the_predictors_of_a_third_party_and_nobody_else_does():
    X, y = records("poisson", 100, 6)
    groups = [(0, 1), (2, 3), (4, 5)]
    _, run = fitted(joint.fit, X, y, groups, JointOptions(solver="lbfgs", link="shared", max_iter=3), family="poisson")
    spans = {}
    for view in combinations([name for name in run.names if name != "dealer"], 2):
        parts = {}
        for message, value in run.channel.view(*view):
            if message.sender == "passive 2" and message.name.startswith("part of passive 2"):
                parts.setdefault(message.name, []).append(value.content)
        sums = [
            Ring(len(held[0])).decode(Ring(len(held[0])).sum(held), PREDICTOR)[:, 0]
            for name, held in parts.items()
            if name != "part of passive 2, evaluation 1"
        ]
        # Uniform residues as numbers span nothing of two columns; the plaintexts span both.
        spans[view] = attack_space(np.column_stack(sums), X[:, 4:]) if sums else 0.0
    holders = ("active", "passive 1")
    assert spans.pop(holders) == pytest.approx(1.0)
    assert max(spans.values()) < 0.2


def unaligned(options, fit):
    """A run on 60 and 50 persons of whom 40 are common, and their identifiers."""
    numbers = stream(3, "persons").choice(100_000, 70, replace=False)
    names = np.array([f"PATIENT_{number:05d}" for number in numbers])
    groups = {"clinic": names[:60][::-1], "registry": names[20:]}
    rng = stream(3, "columns")
    parties = [
        Party(name, role, {"X": rng.standard_normal((len(ids), 2)), "ids": ids}, (2 * k, 2 * k + 1))
        for k, ((name, ids), role) in enumerate(zip(groups.items(), ("active", "passive"), strict=True))
    ]
    public = PcaFacts(("a", "b", "c", "d"), aligned=False)
    spec = SimpleNamespace(options=options, public=public, study=None, settings=None)
    run = Run(
        parties,
        epsilon=np.inf,
        fold=Fold(np.zeros(60, dtype=int), 0, 1),
        rng_for=Streams(7, "views"),
        spec=spec,
        extra=("analyst", "dealer"),
        record=True,
    )
    return simulate(fit, run), run, groups


def tokens(run):
    """All 32-byte entries that the analyst received, ciphers as they are."""
    found = []
    for _, value in run.channel.view("analyst"):
        content = value.content if isinstance(value, Cipher) else value
        if isinstance(content, np.ndarray) and content.dtype == np.uint8:
            found += [row.tobytes() for row in content.reshape(-1, 32)]
    return found


def test_a6_a_dictionary_inverts_digests_and_no_blinded_point():
    everyone = [f"PATIENT_{number:05d}" for number in range(100_000)]
    estimate, run, groups = unaligned(BlockSvdOptions(), block_svd.fit)
    names = sorted({name for ids in groups.values() for name in ids})
    seen = tokens(run)
    assert len(seen) == 110 and attack_ids(seen, names, everyone, lambda name: sha256(name.encode()).digest()) == 1
    # Set intersection: a dictionary of the very identifiers, by every public step of what the parties do.
    certified, closed, _ = unaligned(CorrelationOptions(), correlation.fit)
    seen = tokens(closed)
    assert len(seen) == 110
    for digest in (lambda name: sha256(name.encode()).digest(), lambda name: points_of([name])[0].tobytes()):
        assert attack_ids(seen, names, names, digest) == 0
    # Both protocols used the same 40 records.
    for found in (estimate, certified):
        ids = [groups[name][found.rows[name]] for name in groups]
        assert found.n == 40 and np.array_equal(*ids) and set(ids[0]) == set(groups["clinic"]) & set(groups["registry"])
    np.testing.assert_allclose(estimate.eigenvalues, certified.eigenvalues, rtol=1e-10)
