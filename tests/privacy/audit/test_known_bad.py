"""Every formula of a source document that fails is kept runnable, caught here, and its corrected form passes.

Each test shows the published form refuted (or without a certificate) and the corrected one within what it claims.
Sampled bounds are wrong with probability ALPHA each.
"""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from audit_driver import cell, scalars
from fixed import fixed
from partywise.alignment.identifiers import hash_identifiers
from partywise.audits.attacks.linear_images import recover_rows
from partywise.audits.attacks.messages import dictionary_attack
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.federation.channel import Channel
from partywise.federation.parties import Party
from partywise.methods.pca.protocols.block_svd import scores_of_block
from partywise.privacy.accounted_values import Clear
from partywise.privacy.accounting.calibration import classic_gaussian_sigma
from partywise.privacy.audit.exact import audit_exact
from partywise.privacy.ledger.compose import epsilon as composed_epsilon
from partywise.privacy.ledger.event import Event
from partywise.privacy.mechanisms import AdjustedDistanceExponential, DiscreteGaussian, Gaussian, Release
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate
from partywise.privacy.statistics.records import label_dot_product
from partywise.studies.sliced_inverse_regression.leaks import floor_variance, vectorised_covariance
from partywise.studies.vertical_trees.leaks.messages import abstract_encrypt, mask

ROUNDING = 1 + 1e-9


def refuted(found: dict) -> bool:
    """Whether an attack proves more than the claim."""
    return bool(found["claim_refuted"])


def holds(found: dict, target: float = 1.0) -> bool:
    """Whether the ledger certifies the target and no attack proves more than the ledger."""
    bounds = [found["audited_lower"], found["epsilon_mu_lower"], found["exact_epsilon"]]
    top = max(bound for bound in bounds if bound is not None)
    return found["certified_for_claim"] <= target * ROUNDING and top <= found["certified_for_claim"] * ROUNDING


def test_000_noise_with_the_gram_matrix_as_covariance():
    settings = {"n": 50}
    bad = scalars("covariance", settings, draws=100_000)
    assert refuted(bad) and bad["mu_lower"] > 7 and bad["one_run_correct"] == 2000
    assert bad["certified_for_claim"] == pytest.approx(2581, abs=1)
    assert holds(scalars("covariance", settings, "corrected"))


def test_000_a_guarantee_does_not_depend_on_the_unit_of_time():
    certified = {
        (variant, end): scalars("covariance", {"n": 50, "end": end}, variant)["certified_for_claim"]
        for variant in ("published", "corrected")
        for end in (1.0, 365.0)
    }
    assert certified["published", 1.0] > 1000 * certified["published", 365.0]
    assert certified["corrected", 1.0] == pytest.approx(certified["corrected", 365.0], rel=1e-9)


def test_000_an_uncharged_radius_taken_from_the_data():
    bad = cell("radius", {})
    assert bad.scalars["epsilon_claimed"] == 0 and bad.scalars["certified_for_claim"] == inf
    assert bad.scalars["audited_lower"] == inf and [event.mechanism for event in bad.ledger] == ["none"]
    good = cell("radius", {}, "corrected")
    assert holds(dict(good.scalars)) and good.ledger[0].epsilon == 1.0


@pytest.mark.parametrize(("parties", "certified"), [(2, 2.69), (4, 1.82), (10, 1.10)])
def test_000_a_budget_held_by_the_root_of_the_number_of_parties(parties, certified):
    settings = {"n": 10, "n_basis": 1}
    bad = dict(cell("budget", settings, parties=parties).scalars)
    assert bad["certified_for_claim"] == pytest.approx(certified, abs=0.005)
    assert refuted(bad), "the exact epsilon of one record's 20 curves exceeds the total that is claimed"
    assert holds(dict(cell("budget", settings, "corrected", parties=parties).scalars))


def test_000_residuals_carry_the_response():
    assert scalars("messages", {})["certified_for_claim"] == inf
    assert holds(scalars("messages", {}, "corrected"))


def test_001_quantile_slices():
    settings = {"p": 3}
    bad, good = (scalars("quantile_slices", settings, variant, draws=200_000) for variant in ("published", "corrected"))
    assert refuted(bad) and bad["epsilon_mu_lower"] > 1 and holds(good)
    public = scalars("public_slices", {"p": 3})
    ratio = (
        cell("quantile_slices", settings).ledger[0].sensitivity / cell("public_slices", {"p": 3}).ledger[0].sensitivity
    )
    assert ratio == pytest.approx(np.sqrt(8))
    assert not refuted(public) and public["control"]


def test_001_the_printed_covariance_has_no_distribution():
    settings = {"n": 1000, "truncation": 1.0}
    bad = scalars("printed_covariance", settings)
    assert bad["least_variance"] < 0 and bad["audit_kind"] == "no_distribution" and bad["certified_for_claim"] == inf
    slice_mean = np.diag([0.3, 0.1, 0.0])
    certificate = SensitivityCertificate(1.0, "l2", "row", "replace_one", frozenset(("label", "features")))
    with pytest.raises(ValueError, match=r"not positive semi-definite: lambda_min = -0\.19"):
        Gaussian(covariance=fixed(0.002 * np.eye(3) - vectorised_covariance(slice_mean, 0.001)))(
            Bounded(slice_mean, certificate), stream(7, "printed"), owner="client"
        )
    assert np.linalg.eigvalsh(vectorised_covariance(slice_mean, 0.001))[0] > 0
    assert holds(scalars("printed_covariance", settings, "corrected"))


def test_001_the_charitable_covariance_on_a_near_tie():
    settings = {"n": 1000, "n_slices": 4, "truncation": 1.0}
    bad = scalars("near_tie", settings, draws=100_000)
    assert refuted(bad) and bad["audited_lower"] > 5 and bad["certified_for_claim"] == inf
    fixed = scalars("fixed_covariance", settings)
    assert not refuted(fixed) and fixed["exact_epsilon"] < 0.2 and fixed["certified_for_claim"] < 1
    assert holds(scalars("near_tie", settings, "corrected"))


def test_001_a_scale_taken_from_the_data():
    settings = {"n": 1000, "p": 4}
    bad = scalars("scale", settings)
    assert refuted(bad) and bad["certified_for_claim"] == inf and bad["audited_lower"] > 5
    assert holds(scalars("scale", settings, "corrected"))


def test_001_index_sets_of_the_screening():
    bad = scalars("screening", {})
    assert bad["audit_kind"] == "certain" and bad["audited_lower"] == inf and bad["certified_for_claim"] == inf
    assert holds(scalars("screening", {}, "corrected"))


def test_001_lemma_1_holds_with_more_noise_than_needed():
    settings = {"n": 1000, "p": 10}
    published, corrected = (scalars("symmetric", settings, variant) for variant in ("published", "corrected"))
    assert not refuted(published) and holds(corrected)
    assert published["noise_sd"] / corrected["noise_sd"] == pytest.approx(13.3, abs=0.05)


@pytest.mark.parametrize(("epsilon", "certified"), [(10.0, 10.39), (16.0, 18.90)])
def test_002_the_classic_noise_at_large_epsilon(epsilon, certified):
    bad = scalars("label_sum", {}, epsilon=epsilon, draws=500_000)
    assert bad["certified_for_claim"] == pytest.approx(certified, abs=0.01) and refuted(bad)
    with pytest.raises(CertificationError):
        classic_gaussian_sigma(epsilon, 1e-5, 1.0)
    assert holds(scalars("label_sum", {}, "corrected", epsilon), epsilon)


def test_002_the_classic_noise_at_epsilon_1_keeps_its_claim():
    good = scalars("label_sum", {})
    assert good["certified_for_claim"] == pytest.approx(0.751, abs=0.001) and not refuted(good)


@pytest.mark.parametrize(("epsilon", "certified"), [(1.0, 10.59), (3.0, 86.05)])
def test_003_bins_at_quantiles(epsilon, certified):
    settings = {"n": 200}
    bad = scalars("quantile_bins", settings, epsilon=epsilon)
    assert bad["indices_moved"] == 50 and bad["certified_for_claim"] == pytest.approx(certified, abs=0.01)
    assert refuted(bad) and bad["audited_lower"] > epsilon
    assert bad["exact_epsilon"] <= bad["certified_for_claim"] < bad["exact_epsilon"] + 0.01
    assert holds(scalars("quantile_bins", settings, "corrected", epsilon), epsilon)


def test_003_features_of_one_record_compose():
    settings = {"n": 200}
    bad = scalars("many_features", settings, epsilon=3.0)
    assert bad["exact_pure"] == pytest.approx(42) and refuted(bad)
    assert holds(scalars("many_features", settings, "corrected", 3.0), 3.0)


def test_003_distance_privacy_is_no_local_privacy():
    bad = scalars("distance", {}, epsilon=2.0)
    assert bad["exact_pure"] == pytest.approx(99) and refuted(bad)
    assert holds(scalars("distance", {}, "corrected", 2.0), 2.0)


def test_003_the_adjusting_distribution_as_printed():
    mechanism = AdjustedDistanceExponential(0.1, 0.1, 10, fixed((1, 100)))
    bins, _ = mechanism.printed_matrix()
    with pytest.raises(ValueError, match="matrix is not a distribution"):
        audit_exact(bins)
    assert audit_exact(mechanism.matrix()).epsilon == pytest.approx(mechanism.epsilon_pure, rel=1e-12)
    assert scalars("adjusting", {}, epsilon=2.0)["certified_for_claim"] == inf
    good = scalars("adjusting", {}, "corrected", 2.0)
    assert holds(good, 18.0) and good["exact_pure"] == pytest.approx(18.0, abs=0.01)


def test_003_the_floor_policy():
    mechanism = AdjustedDistanceExponential(2.0, 0.01, 10, fixed((1, 100)))
    floor = 1 // mechanism.theta * mechanism.epsilon_prt + mechanism.theta * mechanism.epsilon_ner
    assert floor == pytest.approx(0.1)
    assert mechanism.worst_loss(1) == pytest.approx(1.209, abs=0.0005)
    assert all(mechanism.policy(t) >= mechanism.worst_loss(t) for t in range(1, 100))


def test_003_an_affine_map_by_the_range_of_the_sample():
    assert scalars("affine", {}, epsilon=2.0)["audited_lower"] == inf
    assert holds(scalars("affine", {}, "corrected", 2.0), 2.0)


def test_003_encryption_that_returns_the_plaintext():
    bad, good = (cell("encryption", {}, variant) for variant in ("published", "corrected"))
    assert bad.scalars["certified_for_claim"] == inf and bad.wire[0]["kind"] == "clear"
    assert good.scalars["certified_for_claim"] == 0 and good.wire[0]["kind"] == "cipher"
    values = stream(7, "gradients").standard_normal(1000)
    assert np.array_equal(abstract_encrypt(values), values)
    masks = [mask(values * sign, stream(7, "masks")).astype(float) / 2.0**64 for sign in (1, -1)]
    # Uniform numbers of [0, 1), whichever values they hide: 7 standard errors is beyond ALPHA.
    assert all(abs(hidden.mean() - 0.5) < 7 / np.sqrt(12 * 1000) for hidden in masks)
    assert abs(np.corrcoef(masks[0], values)[0, 1]) < 7 / np.sqrt(1000)


def test_003_leaf_vectors_that_are_not_rerandomised():
    bad, good = (cell("constant_zero", {"n": 60}, variant) for variant in ("published", "corrected"))
    assert refuted(bad.scalars) and bad.scalars["audited_lower"] == inf and bad.scalars["certified_for_claim"] == inf
    # Two of the four leaves of every row are ruled out, and the next party reads which.
    assert bad.scalars["recovered_entries"] == 120 and bad.scalars["recovered_share"] == 1
    assert good.scalars["recovered_entries"] == 0 and good.wire[0]["kind"] == "cipher"
    assert holds(good.scalars, 0.0) and not refuted(good.scalars)


def test_003_gradients_beside_the_hessians_of_pairs():
    settings = {"n": 200, "n_features": 3, "n_bins": 4}
    bad, good = (cell("pair_slot", settings, variant, draws=100_000) for variant in ("published", "corrected"))
    assert refuted(bad.scalars) and bad.scalars["audited_lower"] == inf and bad.scalars["certified_for_claim"] == inf
    # All sums of gradients over the 48 pairs of bins stand open; under masks none does.
    assert (bad.scalars["recovered_entries"], good.scalars["recovered_entries"]) == (48, 0)
    assert holds(good.scalars) and not refuted(good.scalars)
    # The worst pair is as bad as the certificate says, and an attack on noise that was drawn nearly proves it.
    assert good.scalars["exact_epsilon"] == pytest.approx(1.0, rel=1e-9)
    assert good.scalars["mu_total"] * 0.8 <= good.scalars["mu_lower"] <= good.scalars["mu_total"]
    assert good.scalars["exact_epsilon_ordinary"] < 1


def test_004_rows_come_back_from_scores_and_from_linear_predictors():
    for row in ("scores", "predictor"):
        bad = scalars(row, {"n": 500})
        assert bad["recovered_entries"] == 492 and bad["recovery_error"] < 1e-10 and bad["certified_for_claim"] == inf
        assert holds(scalars(row, {"n": 500}, "corrected"))
    block = stream(7, "block").standard_normal((50, 4))
    with pytest.raises(ValueError, match="the known rows span 3 of 4 directions"):
        recover_rows(scores_of_block(block), np.arange(3), block[:3])


def test_004_hashes_of_identifiers_are_inverted():
    bad = scalars("hashes", {"n": 100, "population": 1000})
    assert bad["recovered_share"] == 1 and bad["certified_for_claim"] == inf
    # With a key that the receiver lacks, the same dictionary finds nothing.
    keyed = hash_identifiers(f"key{i}/PATIENT_{i:05d}" for i in range(100))
    assert not dictionary_attack(keyed, (f"PATIENT_{i:05d}" for i in range(1000)))
    # Blinded by both parties, not even a dictionary of the very identifiers finds one; who takes part is disclosed,
    # which no finite epsilon bounds, and none is claimed.
    good = scalars("hashes", {"n": 100, "population": 1000}, "corrected")
    assert good["recovered_entries"] == 0 and good["certified_for_claim"] == good["audited_lower"] == inf
    assert np.isnan(good["epsilon_claimed"]) and not refuted(good)


def test_004_the_response_lies_at_every_institution():
    bad, good = (scalars("response", {"n": 300}, variant, draws=50_000) for variant in ("published", "corrected"))
    assert (
        refuted(bad) and bad["certified_for_claim"] == bad["audited_lower"] == inf and bad["recovered_entries"] == 300
    )
    assert holds(good) and not refuted(good)
    # The worst pair reaches the certificate, so that an attack nearly proves it.
    assert good["exact_epsilon"] == pytest.approx(1.0, rel=1e-9) and good["epsilon_mu_lower"] > 0.8


def test_low_bits_of_floating_point_noise_tell_the_worlds_apart():
    certificate = SensitivityCertificate(1.0, "l2", "row", "replace_one", frozenset(("label", "features")))
    fine = {}
    for world in (0.0, 1.0):
        bounded = Bounded(np.full(20_000, world), certificate)
        drawn = Gaussian(sigma=3.73)(bounded, stream(7, "bits", int(world)), owner="owner").value * 2.0**53
        fine[world] = float(np.mean(drawn != np.round(drawn)))
    # Expected 0.0709; 0.06 is more than 6 standard errors away, and a claimed delta of 1e-5 is far below.
    assert fine[0.0] > 0.06 and fine[1.0] == 0.0
    mechanism = DiscreteGaussian(sigma=3.73, grid=2.0**-6)
    for world in (0.0, 1.0):
        drawn = mechanism(Bounded(world, certificate), stream(7, "grid", int(world)), owner="owner").value * 2.0**6
        assert drawn == np.round(drawn)


def test_a_count_of_applications_is_never_ignored():
    def response(count: int) -> Event:
        return Event(
            release_id="r",
            owner="owner",
            mechanism="randomized_response",
            unit="features",
            depends_on=frozenset(("features",)),
            epsilon=3.0,
            k=50,
            count=count,
        )

    once, ten = (composed_epsilon([response(count)], 1e-5) for count in (1, 10))
    apart = composed_epsilon([response(1)] * 10, 1e-5)
    assert ten == pytest.approx(apart, abs=1e-3) and ten > 5 * once


def test_a_message_without_a_ledger_row_is_named():
    channel = Channel([Party("owner", "passive", {})], ("server",))
    with pytest.raises(TypeError, match="payload 'residuals' from 'owner' is a bare ndarray"):
        channel.send("owner", "server", "residuals", np.zeros(3))
    assert not channel.messages and len(channel.ledger) == 0
    with pytest.raises(TypeError, match="event=None must be an Event"):
        Release(np.zeros(3), None)
    channel.send("owner", "server", "residuals", Clear(np.zeros(3), units=("label",)))
    assert len(channel.ledger) == len(channel.messages) == 1


def test_features_in_the_clear_are_no_finite_row_epsilon():
    channel = Channel([Party("owner", "active", {})], ("server",))
    X, y = stream(7, "x").random((40, 3)), np.arange(40) % 2.0
    channel.send("owner", "server", "features", Clear(X, units=("features",)))
    bounded = label_dot_product(X, y)
    channel.send("owner", "server", "sum", Gaussian(mu=0.3)(bounded, stream(7, "n"), owner="owner"))
    assert channel.ledger.worst_total(channel.names, "row", 1e-5).epsilon_certified == inf
    assert channel.ledger.worst_total(channel.names, "label", 1e-5).epsilon_certified < 2
    assert scalars("label_sum", {})["epsilon_certified"] == inf
    assert scalars("label_sum", {})["certified_for_claim"] < 1


def test_the_noise_floor_of_equation_4_is_the_inverse_of_a_precision():
    class Claim:
        """n = 1000, p = 10, R = 1, epsilon 1, delta n^-1.1."""

        delta, epsilon = 1000**-1.1, 1.0
        settings = type("S", (), {"truncation": 1.0, "p": 10, "n": 1000})

    assert np.sqrt(floor_variance(Claim)) == pytest.approx(0.0258, abs=5e-5)
