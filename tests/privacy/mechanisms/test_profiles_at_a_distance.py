"""What a mechanism says that a unit at a distance costs is never less than its exact profile costs, by enumeration.

A case is a mechanism, two neighbouring inputs as far apart as a certificate allows, and the exact probabilities of
all outputs of both: their privacy profile lies below that of the profile that the mechanism states for the certificate.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from error_rates import accepts_sigma
from fixed import fixed
from partywise.core.randomness import stream
from partywise.privacy import mechanisms
from partywise.privacy.accounting.compose import cost
from partywise.privacy.audit.exact import finite_epsilon
from partywise.privacy.mechanisms.discrete import DiscreteGaussian
from partywise.privacy.mechanisms.distances.adjustment import AdjustedDistanceExponential
from partywise.privacy.mechanisms.distances.exponential import DistanceExponential
from partywise.privacy.mechanisms.gaussian import Gaussian, SymmetricGaussian
from partywise.privacy.mechanisms.integer import IntegerGaussian
from partywise.privacy.mechanisms.laplace import Geometric, Laplace
from partywise.privacy.mechanisms.mixed_response import MixedResponse
from partywise.privacy.mechanisms.quantiles import PrivateQuantile, QuantileRadius
from partywise.privacy.mechanisms.randomized_response import RandomizedResponse
from partywise.privacy.mechanisms.selection import ReportNoisyMax
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate
from partywise.privacy.statistics.counts import membership
from partywise.privacy.statistics.records import clipped_coefficients, entries

BOTH = frozenset({"label", "features"})
DELTAS = (0.0, 1e-9, 1e-6, 1e-4, 0.01, 0.1)
LIB = Path(mechanisms.__file__).parent


def certificate(value: float, norm: str, **fields: Any) -> SensitivityCertificate:
    return SensitivityCertificate(value, norm, "row", "replace_one", BOTH, **fields)


def stated(profile: dict[str, Any], delta: float) -> float:
    """Epsilon that an accountant makes of the profile of an event."""
    fields = {name: profile[name] for name in ("mu", "rho", "epsilon", "k", "count") if name in profile}
    return cost(**fields).epsilon(delta) if any(profile.get(name) for name in ("mu", "rho", "epsilon")) else 0.0


def joint(profiles: Sequence[np.ndarray]) -> np.ndarray:
    """Probabilities of all outputs of independent draws."""
    return reduce(lambda one, other: np.outer(one, other).ravel(), profiles)


def shortfall(profile: dict[str, Any], first: np.ndarray, second: np.ndarray, deltas=DELTAS) -> float:
    """Largest epsilon of the exact profiles beyond the one that is stated, over many deltas; at most 0 if it holds."""
    # Where tails are cut off, what is outside must not count as an output of one input alone.
    seen = (first > 0) & (second > 0)
    return max(finite_epsilon(first[seen], second[seen], delta) - stated(profile, delta) for delta in deltas)


def holds(profile: dict[str, Any], first: np.ndarray, second: np.ndarray, deltas=DELTAS) -> bool:
    return shortfall(profile, first, second, deltas) <= 1e-9


def quantile_profiles(mechanism: PrivateQuantile, *inputs: np.ndarray) -> list[np.ndarray]:
    """Probabilities of the pieces between all points of both inputs."""
    profiles = [mechanism.distribution(values) for values in inputs]
    cuts = np.unique(np.concatenate([points for points, _ in profiles]))
    refined = []
    for points, shares in profiles:
        where = np.searchsorted(points, (cuts[1:] + cuts[:-1]) / 2, side="right") - 1
        refined.append(shares[where] / np.diff(points)[where] * np.diff(cuts))
    return refined


def rounded(shift: float, deviation: float, reach: int = 60) -> np.ndarray:
    """Probabilities of the integers -reach..reach of a rounded Gaussian around a whole number."""
    ends = np.arange(-reach, reach + 1) - shift
    return ndtr((ends + 0.5) / deviation) - ndtr((ends - 0.5) / deviation)


def weighted(shift: float, log_weight, reach: int = 60) -> np.ndarray:
    """Probabilities of the integers -reach..reach, proportional to exp(log_weight) of the distance from a number."""
    weights = np.exp(log_weight(np.arange(-400, 401).astype(float)))
    ends = np.arange(-reach, reach + 1) - shift
    return np.exp(log_weight(ends)) / weights.sum()


@pytest.mark.parametrize("q", [0.0, 0.3, 0.5, 0.95])
def test_a_quantile_is_one_draw_of_a_unit_with_many_entries(q):
    """All data sets of five entries at four places, all pairs of them."""
    n, mechanism = 5, PrivateQuantile(0.6, q, fixed((0.0, 1.0)))
    sets = list(combinations_with_replacement((0.0, 1e-12, 0.5, 1.0), n))
    reached = dict.fromkeys(range(1, n + 1), 0.0)
    for one, other in combinations(sets, 2):
        c = n - (Counter(one) & Counter(other)).total()
        first, second = quantile_profiles(mechanism, *map(np.array, (one, other)))
        reached[c] = max(reached[c], float(np.max(np.abs(np.log(first) - np.log(second)))))
    for c, loss in reached.items():
        profile = mechanism.privacy_profile(certificate(c, "hamming"), n)
        assert profile.get("count", 1) == 1 and loss <= profile["epsilon"] * (1 + 1e-12)
        assert loss > 0.9 * profile["epsilon"] or q != 0.5 or c > 2, "it is not far from what is charged"


def test_what_a_quantile_of_several_entries_costs_is_rounded_up():
    """Of the exact products; without the rounding about a half of them would be charged with less."""
    for tenth in range(1, 200):
        for moved in (2.0, 3.0, 7.0):
            profile = PrivateQuantile(tenth / 10, 0.5, fixed((0.0, 1.0))).privacy_profile(
                certificate(moved, "hamming"), 20
            )
            assert Fraction(profile["epsilon"]) >= Fraction(tenth / 10) * Fraction(moved)


def test_the_quantile_of_a_unit_with_ten_thousand_entries_is_no_product():
    """As a product of 10,000 draws this was certified with epsilon 10.0 at delta 1e-5."""
    n, mechanism, close = 10_000, PrivateQuantile(0.02, 0.5, fixed((0.0, 1.0))), math.exp(-48.0)
    one, other = (np.repeat(places, n // 2) for places in ([0.0, close], [close, 1.0]))
    released = mechanism(entries(one, unit="user", moved=fixed(n)), stream(1, "quantile"))
    exact = finite_epsilon(*quantile_profiles(mechanism, one, other), 1e-5)
    certified = stated({"epsilon": released.event.epsilon, "count": released.event.count}, 1e-5)
    # Scores range over n / 2, so that no two data sets differ by more than 100.
    assert 97 < exact <= certified <= 100 * (1 + 1e-9)


@pytest.mark.parametrize("c", [1, 2, 3])
@pytest.mark.parametrize("sampler", ["simulation", "secure"])
def test_randomised_response_is_a_product_over_entries(c, sampler):
    for k, epsilon in product((2, 3, 5), (0.3, 1.5)):
        mechanism = RandomizedResponse(epsilon, k)
        profile = mechanism.privacy_profile(certificate(c, "hamming"), sampler)
        rows = mechanism.matrix()
        if sampler == "secure":
            flip = mechanism._flip_threshold() / 2**64
            rows = np.where(np.eye(k, dtype=bool), 1 - flip, flip / (k - 1))
        first, second = joint([rows[0]] * c), joint([rows[1]] * c)
        assert holds(profile, first, second) and (profile["count"], profile["k"]) == (c, k)
        if c > 1:
            assert not holds(profile | {"count": c - 1}, first, second), "one application less is noticed"


@pytest.mark.parametrize("sampler", ["simulation", "secure"])
def test_mixed_response_is_a_product_whose_entries_have_the_smallest_alphabet_at_most(sampler):
    mechanism = MixedResponse(1.2, np.array([2, 3, 5, 4]))
    rows = {k: RandomizedResponse(1.2, k).matrix() for k in (2, 3, 4, 5)}
    for c in (1, 2, 3):
        profile = mechanism.privacy_profile(certificate(c, "hamming"), sampler)
        for chosen in product((2, 3, 4, 5), repeat=c):
            assert holds(profile, joint([rows[k][0] for k in chosen]), joint([rows[k][1] for k in chosen]))
        if c > 1:
            twos = [joint([rows[2][x]] * c) for x in (0, 1)]
            assert not holds(profile | {"count": c - 1}, *twos) and not holds(profile | {"k": 5}, *twos)


@pytest.mark.parametrize(
    "mechanism",
    [DistanceExponential(0.5, fixed((0, 4))), AdjustedDistanceExponential(0.8, 0.4, 2, fixed((0, 4)))],
    ids=["global", "adjusted"],
)
def test_profiles_of_distances_are_products_over_entries_and_one_draw_over_steps(mechanism):
    rows = mechanism.matrix()
    for c in (1, 2, 3):
        profile = mechanism.privacy_profile(certificate(c, "hamming"))
        for pairs in combinations_with_replacement([(0, 4), (4, 1), (2, 3), (0, 2)], c):
            assert holds(profile, joint([rows[x] for x, _ in pairs]), joint([rows[y] for _, y in pairs]))
        ends = [joint([rows[x]] * c) for x in (0, 4)]
        assert profile["count"] == c and not holds(profile | {"epsilon": 0.5 * profile["epsilon"]}, *ends)
    for steps in (1, 2, 4, 9, math.inf):
        profile = mechanism.privacy_profile(certificate(steps, "distance"))
        near = [(x, y) for x, y in product(range(5), repeat=2) if 0 < abs(x - y) <= steps]
        assert profile.get("count", 1) == 1 and all(holds(profile, rows[x], rows[y]) for x, y in near)
        assert max(finite_epsilon(rows[x], rows[y], 0.0) for x, y in near) == pytest.approx(profile["epsilon"])


@pytest.mark.parametrize("winners", [1, 2, 3])
def test_every_winner_is_an_application_chosen_after_those_before_it(winners):
    mechanism, rng = ReportNoisyMax(0.9, winners), stream(1, "scores", winners)
    profile, reached = mechanism.privacy_profile(certificate(2.0, "linf")), 0.0
    for trial in range(12):
        scores = 8 * rng.standard_normal(5) if trial else np.zeros(5)
        signs = np.sign(rng.standard_normal(5)) if trial else np.repeat([1.0, -1.0], [winners, 5 - winners])
        profiles = [
            mechanism.probabilities(Bounded(s, certificate(2.0, "linf"))).ravel()
            for s in (scores, scores + 2.0 * signs)
        ]
        assert holds(profile, *profiles)
        reached = max(reached, finite_epsilon(*profiles, 0.0))
    assert profile["count"] == winners and reached > 0.5 * winners * 0.9


def test_laplace_loses_the_whole_l1_distance():
    profile = Laplace(scale=2.0).privacy_profile(certificate(3.0, "l1"))
    assert profile == {"epsilon": 1.5} and Laplace(epsilon=0.4).privacy_profile(certificate(3.0, "l1")) == {
        "epsilon": 0.4
    }
    outputs = np.array(list(product(np.linspace(-9, 9, 37), repeat=2)))
    for moves in ([3.0, 0.0], [1.0, -2.0], [0.5, 2.5]):
        losses = np.sum(np.abs(outputs) - np.abs(outputs - moves), axis=1) / 2.0
        assert np.max(np.abs(losses)) == pytest.approx(profile["epsilon"], rel=1e-12)


def test_geometric_noise_loses_the_whole_l1_distance():
    mechanism = Geometric(0.8)
    for distance, grid in ((1.0, 1.0), (3.0, 1.0), (2.0, 0.5)):
        profile, gamma = mechanism.privacy_profile(certificate(distance, "l1", grid=grid)), 0.8 * grid / distance
        steps = round(distance / grid)
        for one in range(steps + 1):
            first = joint([weighted(0.0, lambda k, gamma=gamma: -gamma * abs(k), 30)] * 2)
            second = joint(
                [weighted(shift, lambda k, gamma=gamma: -gamma * abs(k), 30) for shift in (one, one - steps)]
            )
            assert holds(profile, first, second)
            assert not holds({"epsilon": 0.95 * profile["epsilon"]}, first, second)


@pytest.mark.parametrize("shape", ["white", "covariance", "metric", "both"])
def test_gaussian_noise_loses_the_longest_move_in_its_own_norm(shape):
    rng = stream(1, "moves", shape)
    root, other = rng.standard_normal((2, 3, 3))
    covariance = root @ root.T + np.eye(3) if shape in ("covariance", "both") else None
    metric = other @ other.T + np.eye(3) if shape in ("metric", "both") else None
    bound = certificate(1.5, "l2" if metric is None else "mahalanobis", metric=metric)
    noise = {"sigma": 2.0} if covariance is None else {"covariance": fixed(covariance)}
    stated_mu = Gaussian(**noise).privacy_profile(bound)["mu"]
    inverse = np.eye(3) / 4 if covariance is None else np.linalg.inv(covariance)
    moves = rng.standard_normal((20_000, 3))
    lengths = np.sqrt(np.sum((moves @ (np.eye(3) if metric is None else metric)) * moves, axis=1))
    moves *= 1.5 / lengths[:, None]
    # The log ratio at f + noise is N(m^2 / 2, m^2), m^2 = d' Sigma^-1 d.
    reached = np.sqrt(np.max(np.sum((moves @ inverse) * moves, axis=1)))
    assert 0.97 * stated_mu < reached <= stated_mu * (1 + 1e-12)
    assert Gaussian(mu=0.3).privacy_profile(bound) == {"mu": 0.3}


def test_symmetric_noise_and_votes_lose_the_length_of_what_is_drawn():
    # Mirrored entries are copies: the move of the upper triangle is all there is.
    move = np.array([[1.0, -2.0], [-2.0, 2.0]])
    profile = SymmetricGaussian(4.0).privacy_profile(certificate(3.0, "l2"))
    noise = SymmetricGaussian(4.0)(Bounded(np.zeros((2, 2)), certificate(3.0, "l2")), stream(1, "noise")).value
    assert noise[0, 1] == noise[1, 0] and profile == {"mu": np.linalg.norm(move[np.triu_indices(2)]) / 4}
    # Three votes for other candidates: six entries move by one.
    vote = membership([0, 1, 2], 200_000, fixed(3))
    released = IntegerGaussian(mu=0.7)(vote, stream(1, "votes"))
    deviation = float(np.std(released.value - vote.value))
    assert released.event.mu == 0.7
    assert math.sqrt(6) / deviation == pytest.approx(0.7, rel=0.01)


@pytest.mark.parametrize("profile", ["rounded", "discrete"])
@pytest.mark.parametrize("entries_moved", [1, 2])
def test_integer_noise_on_records_pays_for_the_rounding_of_one_record(profile, entries_moved):
    """Two records that round apart: each entry of the one that moves goes up to a step further than it moved."""
    grid, sigma, q = 0.5, 1.5, entries_moved
    mechanism = DiscreteGaussian(sigma=sigma, grid=grid, distribution=profile)
    bound = certificate(0.02 * math.sqrt(q), "l2", records=1)
    one = np.full((40, q), 0.24)
    other = one.copy()
    other[7] = 0.26
    stated_profile = mechanism.privacy_profile(bound, one.shape)
    steps = sigma / grid

    def noise(centre: float) -> np.ndarray:
        if profile == "rounded":
            return rounded(centre, steps, 30)
        return weighted(centre, lambda k: -k * k / (2 * steps**2), 30)

    centres = [np.rint(values[7] / grid) for values in (one, other)]
    first, second = (joint([noise(centre) for centre in move]) for move in centres)
    assert not np.array_equal(*centres) and holds(stated_profile, first, second, DELTAS[1:])
    mu = bound.value / sigma
    without = stated_profile | ({"mu": mu} if profile == "rounded" else {"rho": mu * mu / 2})
    assert not holds(without, first, second, DELTAS[1:]), "rounding that is not charged is noticed"
    all_entries = mechanism.privacy_profile(certificate(bound.value, "l2"), one.shape)
    assert stated(all_entries, 1e-6) > 2 * stated(stated_profile, 1e-6)


def test_records_know_that_one_of_them_moves_and_need_no_more_noise_than_one():
    """Ten entries of one record move, and not those of 10,000: the noise was 1.6 times as much as it is now."""
    bounded = clipped_coefficients(np.zeros((10_000, 10)), None, fixed(1.0))
    noise = DiscreteGaussian(mu=1.0)(bounded, stream(1, "noise")).value
    wide = DiscreteGaussian(sigma=2.0, grid=2.0**-9)
    assert accepts_sigma(noise, 2.0 + math.sqrt(10) * 2.0**-9) and not accepts_sigma(noise, 2.06)
    one, many = (wide.privacy_profile(bounded.certificate, (n, 10))["mu"] for n in (1, 10**6))
    assert one == many == pytest.approx(1 + math.sqrt(10) * 2.0**-10, rel=1e-12)


@pytest.mark.parametrize("share", [0.5, 0.95])
def test_the_six_counts_of_a_radius_cost_one_gaussian_of_their_total(share):
    mechanism = QuantileRadius(0.4, share)
    deviation, grid = math.sqrt(6 / 0.8), mechanism.grid

    def radii(norms: np.ndarray) -> np.ndarray:
        found = np.zeros(len(grid))
        ends = {(0, len(grid) - 1): 1.0}
        for _ in range(6):
            halves = dict[tuple[int, int], float]()
            for (low, high), mass in ends.items():
                middle = (low + high) // 2
                up = ndtr((np.count_nonzero(norms <= grid[middle]) - share * len(norms)) / deviation)
                for half, part in (((low, middle), up), ((middle + 1, high), 1 - up)):
                    halves[half] = halves.get(half, 0.0) + mass * part
            ends = halves
        for (_, high), mass in ends.items():
            found[high] += mass
        return found

    profile, worst = mechanism.privacy_profile(certificate(1.0, "l2")), -math.inf
    for norms in (np.full(6, 3.0), np.r_[np.full(3, 1.0), np.full(3, 200.0)], np.geomspace(1, 200, 8)):
        for replacement in (0.5, 300.0):
            other = np.r_[replacement, norms[1:]]
            profiles = [radii(values) for values in (norms, other)]
            np.testing.assert_allclose([one.sum() for one in profiles], 1.0, rtol=1e-12)
            worst = max(worst, shortfall(profile, *profiles, DELTAS[1:]))
            assert holds(profile, *profiles, DELTAS[1:])
    assert worst < 0


def test_every_mechanism_states_its_distribution_and_products_are_those_enumerated_here():
    here = Path(__file__).read_text(encoding="utf-8")
    bodies = [node for path in sorted(LIB.rglob("*.py")) for node in ast.parse(path.read_text(encoding="utf-8")).body]
    nodes = {node.name: node for node in bodies if isinstance(node, ast.ClassDef)}
    heirs = {name: base.id for name, node in nodes.items() for base in node.bases if getattr(base, "id", "") in nodes}
    products, classes = set(), set()
    for name, own in nodes.items():
        node = nodes[heirs.get(name, name)]
        methods = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
        used = {getattr(n.func, "id", "") for n in ast.walk(node) if isinstance(n, ast.Call)}
        if name in heirs.values():
            continue
        if "charge_and_draw" in used:
            classes.add(name)
            assert "privacy_profile" in methods, f"{name} draws and states no profile at a distance"
            # One that inherits its profile states nothing beside it.
            assert own is node or not {"privacy_profile", "__call__"} & {getattr(part, "name", "") for part in own.body}
        if "product_profile" in used:
            products.add(name)
    assert all(f"{name}(" in here for name in classes) and len(classes) == 13
    assert products == {"RandomizedResponse", "MixedResponse", "DistanceExponential", "AdjustedDistanceExponential"}
