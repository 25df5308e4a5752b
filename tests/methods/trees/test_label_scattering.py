"""Label scattering: the same trees as one place grows of the same integers, under every cipher and for any parties."""

from __future__ import annotations

import numpy as np
import pytest

import scattering_driver
from partywise.core.randomness import stream
from partywise.federation.cipher import Cipher
from partywise.federation.exchanges.homomorphic import grouped_sums, paillier
from partywise.federation.exchanges.homomorphic.paillier_keys import PublicKey, generate_key
from partywise.federation.place_checks import PlacedRun, estimate_at
from partywise.methods.trees.codes import from_codes
from partywise.methods.trees.model import LEAF, Ensemble
from partywise.methods.trees.options import ScatteringOptions
from partywise.methods.trees.protocols.label_scattering import fit
from partywise.methods.trees.scattering import column_groups
from partywise.methods.trees.scattering.passive import local_bins
from partywise.methods.trees.scattering.plan import integers_of, marks_of, nodes_of, plan_of
from partywise.privacy.mechanisms.random import SecureRandom
from scattering_driver import make_run, pooled

KEY = 512
# Passive columns with few codes, of which several are summed together.
CUT_ONCE = {"edges": "public", "n_bins": 2}
NUMBERS = "RegressionMSELoss"


@pytest.fixture(autouse=True)
def short_keys(monkeypatch):
    monkeypatch.setattr("partywise.core.checks.LEAST_KEY_SIZE", KEY)


def require_same(one: Ensemble, other: Ensemble) -> None:
    """Every field of every tree, to the last bit; what stands in a leaf besides its value does not count."""
    assert len(one.trees) == len(other.trees) and one.weight == other.weight
    for first, second in zip(one.trees, other.trees, strict=True):
        inner = first.feature != LEAF
        for name in ("feature", "value"):
            np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
        for name in ("cut", "threshold", "left", "right"):
            np.testing.assert_array_equal(getattr(first, name)[inner], getattr(second, name)[inner])


VARIANTS = {
    "xgb": {},
    "three_parties": {"parties": 3, "active": 1},
    "a_column_each": {"parties": 5},
    "labels_alone": {"columns": [(0,), (2, 1), (4, 3), ()]},
    "mixed_columns": {"columns": [(4, 1), (0,), (3, 2)], "active": 1},
    "regression": {"criterion": NUMBERS, "parties": 3},
    "gbdt": {"algo": "gbdt", "lambda_": 1.0, "gamma": 0.3},
    "gbdt_numbers": {"algo": "gbdt", "criterion": NUMBERS},
    "gbdt_published": {"algo": "gbdt", "as_published": True},
    "rf": {"algo": "rf", "parties": 3},
    "rf_more_draws_than_rows": {"algo": "rf", "batch_size": 200, "feature_subsample_ratio": 0.5},
    "rf_numbers": {"algo": "rf", "criterion": NUMBERS, "batch_size": 30},
    "rf_published": {"algo": "rf", "as_published": True},
    "drawn_columns": {"feature_subsample_ratio": 0.4, "parties": 2, "num_of_trees": 3},
    "declared_edges": {"edges": "public", "n_bins": None},
    "declared_bounds": {"edges": "public", "n_bins": 5},
    "fewer_rows_than_bins": {"n": 12, "n_bins": 40},
    "stump": {"max_tree_depth": 1},
    "full_exponents": {"full_exponents": True},
    "deep": {"max_tree_depth": 9, "n": 90, "own_n_bins": None},
}


@pytest.mark.parametrize("hide", [False, True], ids=["shown", "hidden"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_fit_is_that_of_the_pooled_integers(variant, hide):
    for cipher in ("sized", "paillier"):
        run = make_run(**VARIANTS[variant], cipher=cipher, hide_instances=hide)
        estimate = fit(run)
        require_same(estimate.ensemble, pooled(run))
        assert sum(int((tree.feature != LEAF).sum()) for tree in estimate.ensemble.trees) > 0
        assert estimate.numbers["rows_rerouted"] == 0 and estimate.epsilon_claimed == np.inf


def test_some_splits_are_of_other_parties_so_that_the_comparison_means_something():
    for variant in ("xgb", "regression", "rf", "deep"):
        run = make_run(**VARIANTS[variant], cipher="sized")
        owner = {column: party.role for party in run.parties for column in party.columns}
        features = np.concatenate([tree.feature for tree in fit(run).ensemble.trees])
        assert {owner[feature] for feature in features if feature != LEAF} == {"active", "passive"}


@pytest.mark.parametrize("variant", ["xgb", "three_parties", "rf_more_draws_than_rows", "deep", "regression"])
@pytest.mark.parametrize("hide", [False, True], ids=["shown", "hidden"])
def test_the_stand_in_sends_and_counts_what_paillier_does(variant, hide):
    runs = [make_run(**VARIANTS[variant], cipher=cipher, hide_instances=hide) for cipher in ("paillier", "sized")]
    real, sized = (fit(run) for run in runs)
    require_same(real.ensemble, sized.ensemble)
    # The stand-in has no ciphertexts to guess labels from.
    assert real.numbers | {"labels_recovered": None} == sized.numbers | {"labels_recovered": None}
    assert "labels_recovered" not in sized.numbers
    assert runs[0].channel.transcript() == runs[1].channel.transcript()
    assert [event.to_row() for event in runs[0].channel.ledger.rows] == [
        event.to_row() for event in runs[1].channel.ledger.rows
    ]


def test_encryption_in_name_grows_the_same_trees_and_shows_the_gradients():
    shown = make_run(cipher="identity", key_size=2048, record=True)
    closed = make_run(cipher="paillier", record=True)
    require_same(fit(shown).ensemble, fit(closed).ensemble)
    (_, numbers), *_ = [seen for seen in shown.channel.view("passive 1") if seen[0].name == "gradients"]
    active = shown.parties[-1].block["y"][shown.fold.train]
    # At score 0 the gradient is the probability .5 less the label.
    np.testing.assert_array_equal(numbers[:, 0], ((0.5 - active) * 2**32).astype(np.int64))
    (_, cipher), *_ = [seen for seen in closed.channel.view("passive 1") if seen[0].name == "gradients"]
    assert isinstance(cipher, Cipher) and cipher.key_holder == "active"
    for run, epsilon in ((shown, np.inf), (closed, np.inf)):
        assert run.channel.ledger.total("passive 1", "label", 1e-5).epsilon_certified == epsilon
    assert "gradients" in str([event.release_id for event in shown.channel.ledger.rows])
    assert "gradients" not in str([event.release_id for event in closed.channel.ledger.rows])


@pytest.mark.parametrize("hide", [False, True], ids=["shown", "hidden"])
@pytest.mark.parametrize("unit", ["label", "features"])
def test_gradients_name_whatever_moves_them(monkeypatch, unit, hide):
    """Passive parties see them: those of later trees, and of rows in a node, follow from columns as well as labels."""
    drawn, seen = scattering_driver.records, []

    def moved(*size):
        X, y = drawn(*size)
        # The active party has the last three columns.
        return (np.hstack([X[:, :2], X[::-1, 2:]]), y) if unit == "features" else (X, y[::-1])

    for records in (drawn, moved):
        monkeypatch.setattr(scattering_driver, "records", records)
        run = make_run(cipher="identity", key_size=2048, record=True, hide_instances=hide, columns=[(0, 1), (2, 3, 4)])
        fit(run)
        seen.append([one for one in run.channel.view("passive 1") if one[0].name == "gradients"])
    moves = [message for (message, one), (_, other) in zip(*seen, strict=True) if not np.array_equal(one, other)]
    assert moves and all(unit in message.argument.split("+") for message in moves)


@pytest.mark.parametrize("hide", [False, True], ids=["shown", "hidden"])
def test_what_was_encrypted_added_and_decrypted_is_what_is_reported(monkeypatch, hide):
    done = {"encryptions": 0, "decryptions": 0, "additions": 0}
    encrypt, decrypt, totals, times = paillier.encrypt, paillier.decrypt, grouped_sums.group_totals, PublicKey.times

    def counted_totals(public, values, groups, count):
        inside = [group for group in groups if group >= 0]
        done["additions"] += len(inside) - len(set(inside))
        return totals(public, values, groups, count)

    def counted_times(public, ciphertext, factor):
        # What is multiplied by -1 is subtracted.
        done["additions"] += factor == -1
        return times(public, ciphertext, factor)

    def counted_encrypt(key, integers, rng, **named):
        done["encryptions"] += len(integers)
        return encrypt(key, integers, rng, **named)

    def counted_decrypt(key, cipher):
        done["decryptions"] += len(cipher.content)
        return decrypt(key, cipher)

    for name, function in (("encrypt", counted_encrypt), ("decrypt", counted_decrypt)):
        monkeypatch.setattr(paillier, name, function)
    monkeypatch.setattr(grouped_sums, "group_totals", counted_totals)
    monkeypatch.setattr(PublicKey, "times", counted_times)
    run = make_run(3, n=60, d=9, num_of_trees=3, max_tree_depth=3, hide_instances=hide, **CUT_ONCE)
    estimate = fit(run)
    assert {name: estimate.numbers[name] for name in done} == done
    if not hide:
        assert done["encryptions"] == 60 * 3
        return
    # Once for the root, and for the smaller child of every node that splits and whose children may.
    nodes = [1 + int((tree.feature[np.isin(np.arange(len(tree.feature)), inner_above(tree, 2))] != LEAF).sum())
             for tree in estimate.ensemble.trees]  # fmt: skip
    assert done["encryptions"] == 60 * sum(nodes)


@pytest.mark.parametrize("hide", [False, True], ids=["shown", "hidden"])
def test_columns_that_are_summed_together_have_the_sums_of_each_alone(monkeypatch, hide):
    """Every byte is equal: a product does not depend on the order of its factors."""
    together = make_run(2, n=60, d=20, hide_instances=hide, record=True, **CUT_ONCE)
    fitted = fit(together)
    monkeypatch.setattr(column_groups, "LARGEST", 0)
    alone = make_run(2, n=60, d=20, hide_instances=hide, record=True, **CUT_ONCE)
    other = fit(alone)
    require_same(fitted.ensemble, other.ensemble)
    assert fitted.numbers["additions"] < 0.7 * other.numbers["additions"]
    for first, second in zip(together.channel.view("active"), alone.channel.view("active"), strict=True):
        assert first[0] == second[0]
        contents = [value.content if isinstance(value, Cipher) else value for _, value in (first, second)]
        np.testing.assert_array_equal(*contents)
    assert together.channel.transcript() == alone.channel.transcript()
    assert together.channel.ledger.digest == alone.channel.ledger.digest


def test_groups_hold_every_column_once_and_few_combinations():
    rng = stream(5, "groups")
    levels = [rng.integers(0, size, 400) for size in (16, 7, 14, 5)]
    indicators = [(level[:, None] == np.arange(level.max() + 1)).astype(int) for level in levels]
    columns = np.column_stack([*indicators, rng.integers(0, 600, 400), np.zeros(400, dtype=int)])
    groups = column_groups.group_columns(from_codes(columns, columns.max(axis=0) + 1))
    assert sum((group.places for group in groups), ()) == tuple(range(columns.shape[1]))
    for group in groups:
        assert len(group.combinations) <= column_groups.LARGEST or len(group.places) == 1
        np.testing.assert_array_equal(group.combinations[group.row_combinations], columns[:, group.places])
        for place, rest in zip(group.places, group.rests, strict=True):
            found, counts = np.unique(columns[:, place], return_counts=True)
            assert rest == (found[counts.argmax()] if len(found) <= 2 and len(group.places) > 1 else None)
    assert len(groups) < 6


def test_a_distributed_run_does_not_report_how_many_additions_a_party_made():
    """They depend on its columns, in a way that no message does."""
    place = PlacedRun(make_run(3, d=9, **CUT_ONCE), whole=False)
    held = estimate_at(fit(place), "active")
    assert "additions" not in held.numbers
    assert fit(make_run(3, d=9, **CUT_ONCE)).numbers["additions"] > 0


def inner_above(tree, levels: int) -> list[int]:
    """Nodes of the first levels."""
    found, level = [], [0]
    for _ in range(levels):
        found += level
        level = [child for node in level if tree.feature[node] != LEAF for child in (tree.left[node], tree.right[node])]
    return found


@pytest.mark.parametrize("cipher, hide, depth", [
    ("paillier", False, 2), ("paillier", True, 2), ("sized", False, 9), ("sized", True, 3), ("identity", False, 2),
])  # fmt: skip
def test_bytes_are_those_of_the_formula(cipher, hide, depth):
    size = {"key_size": 2048} if cipher == "identity" else {}
    run = make_run(3, n=61, max_tree_depth=depth, cipher=cipher, hide_instances=hide, **size)
    estimate = fit(run)
    rows = run.channel.transcript()
    key = 0 if cipher == "identity" else 2 * (KEY // 8 + KEY // 4 + 8)
    assert run.channel.bytes_total == estimate.numbers["bytes_formula"] + key
    sizes = {name: [row["bytes"] for row in rows if row["name"] == name] for name in {row["name"] for row in rows}}
    width, tree = (16, 2) if cipher == "identity" else (KEY // 4, 2)
    if not hide:
        assert sizes["gradients"] == [61 * width] * 2 * tree
        assert set(sizes["nodes"]) <= {0, 61 * (2 if depth > 8 else 1)}
    else:
        assert "nodes" not in sizes and all(size % (61 * width) == 0 for size in sizes["gradients"])
    # Twelve bytes a split and a bit a row and split.
    assert sum(sizes["left indicators"]) == sum(sizes["splits"]) // 12 * 8
    passive = [c for party in run.parties if party.role == "passive" for c in party.columns]
    splits = sum(int(np.isin(tree.feature, passive).sum()) for tree in estimate.ensemble.trees)
    assert sum(sizes["splits"]) == 12 * splits


def test_all_answers_are_rerandomised():
    run = make_run(record=True, n=20, n_bins=30)
    fit(run)
    seen = {message.name: value for message, value in reversed(run.channel.view("active", "passive 1"))}
    gradients, answer = seen["gradients"], seen["sums"]
    key = generate_key(KEY, run.rng_for("encryption", "active", "key"), kind="paillier")
    spec = run.spec
    plan = plan_of(spec.options, spec.public, 20, run.parties[0].columns)
    codes = local_bins(run.parties[0], run.fold.train, spec)
    cells = codes.codes.T.astype(np.int64)
    plain = paillier.pack(key.public, paillier.sums(key.public, gradients, cells, 30), plan.per, 2 * plan.bits)
    assert paillier.decrypt(key, plain) == paillier.decrypt(key, answer)
    assert not (plain.content == answer.content).all(axis=1).any()
    # Thirty bins of at most twenty rows: packs of empty ones are the constant 1 unless they are re-randomised.
    ones = [int.from_bytes(row.tobytes(), "big") == 1 for row in plain.content]
    assert any(ones) and not any(int.from_bytes(row.tobytes(), "big") == 1 for row in answer.content)


def test_hidden_instances_leave_no_trace_of_nodes():
    """The view of an owner has ciphertexts, and its own splits."""
    run = make_run(hide_instances=True, record=True)
    fit(run)
    kinds = {(message.name, message.kind) for message, _ in run.channel.view("passive 1")}
    assert kinds == {("public key", "public"), ("gradients", "cipher"), ("splits", "clear")}


def test_every_place_keeps_to_what_it_has():
    for given in ({}, {"hide_instances": True}, {"algo": "rf", "feature_subsample_ratio": 0.5}, {"cipher": "sized"}):
        plain = make_run(3, inference="plain", **given)
        placed = PlacedRun(make_run(3, inference="plain", **given))
        one, other = fit(plain), fit(placed)
        require_same(one.ensemble, other.ensemble)
        np.testing.assert_array_equal(one.scores, other.scores)
        assert plain.channel.transcript() == placed.channel.transcript()


def test_the_same_seed_gives_the_same_bytes_and_the_system_gives_others():
    def sent(**given):
        run = make_run(record=True, n=20, **given)
        estimate = fit(run)
        seen = [value.content.tobytes() for message, value in run.channel.view("passive 1", "active")
                if isinstance(value, Cipher)]  # fmt: skip
        return seen, estimate.ensemble

    def secure(*names):
        return SecureRandom() if names[0] == "encryption" else stream(9, *names)

    (one, grown), (again, _), (other, secured) = sent(), sent(), sent(rng_for=secure)
    assert one == again and not set(one) & set(other)
    require_same(grown, secured)


def test_scores_of_the_parties_are_those_of_the_evaluator():
    run = make_run(3, inference="plain")
    estimate = fit(run)
    X = np.empty((len(run.fold.train), 5))
    for party in run.parties:
        X[:, party.columns] = party.block["X"]
    np.testing.assert_allclose(estimate.scores, estimate.ensemble.scores(X[~run.fold.train]), rtol=0, atol=1e-12)


def test_no_split_and_no_passive_party():
    for given in (
        {"max_tree_depth": 0},
        {"parties": 1},
        {"max_tree_depth": 20, "n": 40},
        {"max_tree_depth": 30, "n": 40},
    ):
        run = make_run(**{"cipher": "sized"} | given)
        require_same(fit(run).ensemble, pooled(run))


def test_one_fit_with_a_key_of_real_length():
    run = make_run(n=24, num_of_trees=1, key_size=2048)
    estimate = fit(run)
    require_same(estimate.ensemble, pooled(run))
    assert estimate.numbers["encryptions"] == 24
    assert {row["bytes"] for row in run.channel.transcript() if row["name"] == "gradients"} == {24 * 512}


def test_overflow_is_seen_before_anything_is_encrypted():
    cases = [
        ({"criterion": NUMBERS, "residual_bound": None}, ValueError, "residual_bound is None"),
        ({"criterion": NUMBERS, "residual_bound": 2e5}, OverflowError, "residual_bound=200000 with 60 rows"),
        (
            {"criterion": NUMBERS, "residual_bound": 0.5},
            OverflowError,
            "residual_bound is 0.5, and there is a residual beyond it: declare",
        ),
    ]
    for given, kind, sentence in cases:
        run = make_run(**given)
        with pytest.raises(kind, match=sentence):
            fit(run)
        assert not [row for row in run.channel.transcript() if row["name"] != "public key"]
    run = make_run(criterion=NUMBERS, cipher="identity", residual_bound=None, key_size=2048)
    require_same(fit(run).ensemble, pooled(run))


def test_options_whose_sums_are_never_exact_or_whose_key_is_odd_are_named():
    for given, sentence in [
        ({"batch_size": 2**21, "algo": "rf"}, "batch_size are None and 2097152"),
        ({"residual_bound": 2.0**21}, r"residual_bound and batch_size are 2097152\.0 and None"),
        ({"key_size": 2056}, "multiple of 16"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            ScatteringOptions(**given)
    assert ScatteringOptions(cipher="identity", residual_bound=2.0**21).residual_bound == 2.0**21


def test_slots_of_a_short_key_are_too_narrow_for_many_rows(monkeypatch):
    monkeypatch.setattr("partywise.core.checks.LEAST_KEY_SIZE", 256)
    public = make_run().spec.public
    assert plan_of(ScatteringOptions(key_size=256), public, 60, [0]).per == 3
    with pytest.raises(OverflowError, match="not fit into a ciphertext of 70"):
        plan_of(_short(), public, 60, [0])


def _short() -> ScatteringOptions:
    made = ScatteringOptions(key_size=256)
    object.__setattr__(made, "key_size", 72)
    return made


def test_slots_hold_the_rows_and_the_bound_that_are_declared():
    public = make_run(n=2000).spec.public
    plan = plan_of(ScatteringOptions(key_size=2048, n_bins=50), public, 2000, [0, 1])
    assert (plan.bits, plan.per, plan.width, plan.sizes) == (45, 22, 512, {0: 50, 1: 50})
    numbers = make_run(n=2000, criterion=NUMBERS).spec.public
    assert plan_of(ScatteringOptions(residual_bound=30.0, key_size=2048), numbers, 2000, [0]).bits == 45 + 5
    assert plan_of(ScatteringOptions(algo="rf", batch_size=5000, key_size=2048), public, 2000, [0]).bits == 34 + 13


def test_edges_that_are_not_declared_are_named():
    run = make_run(edges="public", n_bins=None)
    bare = [type(column)(column.name) for column in run.spec.public.columns]
    public = type(run.spec.public)(tuple(bare), "CrossEntropyLoss")
    with pytest.raises(ValueError, match="edges of column 'x0' are not declared"):
        plan_of(run.spec.options, public, 60, [0])


def test_marks_of_nodes():
    nodes = np.array([-1, 0, 5, 254, 255, 70000])
    np.testing.assert_array_equal(nodes_of(marks_of(nodes, 3)), nodes)
    assert marks_of(nodes[:4], 1).shape == (4, 1) and marks_of(nodes[:0], 2).shape == (0, 2)
    with pytest.raises(OverflowError, match="residual beyond"):
        integers_of(np.array([1.0, -3.0]), np.ones(2), None, 2.0)
    assert integers_of(np.array([-3.0]), np.ones(1), np.array([2]), 2.0).tolist() == [[-3 << 32, 1 << 32]]
