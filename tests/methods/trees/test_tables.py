"""Histograms under encryption: what is decrypted, what it costs, what it equals without noise, what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from error_rates import accepts_sigma
from forked import in_all_ways
from gathering_driver import execution, facts, table, total
from partywise.audits.contract import Subject, agree, changed_records, check_neighbours
from partywise.audits.replay import record
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.federation.exchanges.homomorphic import paillier
from partywise.federation.exchanges.homomorphic.paillier_keys import drawn_key
from partywise.federation.exchanges.sharing import DEALER
from partywise.federation.run import simulate
from partywise.federation.secure_streams import SecureStreams
from partywise.methods.trees.codes import public_bins
from partywise.methods.trees.histograms.assemble import assemble_histograms, integers_of
from partywise.methods.trees.histograms.plan import histogram_plan
from partywise.methods.trees.histograms.slots import drawn_masks, read
from partywise.methods.trees.model import TreeColumn
from partywise.methods.trees.options import ActiveOnlyOptions, TablesOptions
from partywise.methods.trees.protocols import active_only, tables
from partywise.models.losses import derivatives
from partywise.privacy.accounted_values import Clear
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.statistics.newton import ONE, hessians

REGRESSION, CLASSES = "RegressionMSELoss", "CrossEntropyLoss"
GROUPS = {2: [[0, 1, 2], [3, 4, 5]], 3: [[0, 2], [1, 4], [3, 5]], 4: [[0], [1], [2, 3], [4, 5]]}
DELTA = 1e-5


@pytest.fixture(autouse=True)
def short_keys(monkeypatch):
    monkeypatch.setattr("partywise.core.checks.LEAST_KEY_SIZE", 512)


def options(cipher="sized", **given):
    return TablesOptions(cipher=cipher, **({"key_size": 512, "num_of_trees": 3} | given))


def started(parties=2, criterion=CLASSES, n=150, seed=5, data=None, cipher="sized", epsilon=1.0, **given):
    X, y = table(n=n, criterion=criterion) if data is None else data
    given |= {"residual_bound": 3.0} if criterion == REGRESSION and "residual_bound" not in given else {}
    public = given.pop("public", None)
    held_out, extra = given.pop("held_out", 0), given.pop("extra", ())
    parts = GROUPS[parties] if isinstance(parties, int) else parties
    return execution(
        options(cipher, **given), X, y, parts, epsilon=epsilon, seed=seed, public=public, held_out=held_out, extra=extra
    )


def fitted(*args, **given):
    run = started(*args, **given)
    return simulate(tables.fit, run), run


def first_model(run):
    """What the active party grows alone, and its gradients as integers."""
    start = 0.0 if run.spec.public.criterion == REGRESSION else None
    own = ActiveOnlyOptions(num_of_trees=run.spec.options.num_of_trees, algo=run.spec.options.algo, base_score=start)
    alone = execution_of(run, own)
    ensemble = simulate(active_only.fit, alone).ensemble
    X, y = pooled(run)
    g, h = derivatives(ensemble.scores(X), y, run.spec.public.criterion)
    return ensemble, g, h


def execution_of(run, own):
    X, y = pooled(run)
    groups = [list(party.columns) for party in run.parties]
    return execution(own, X, y, groups, public=run.spec.public)


def pooled(run):
    X = np.empty((len(run.fold.train), sum(len(party.columns) for party in run.parties)))
    for party in run.parties:
        X[:, party.columns] = party.block["X"]
    return X, next(party.block["y"] for party in run.parties if party.role == "active")


def plan_of(run):
    groups = [(party.name, party.columns) for party in run.parties if party.role == "passive"]
    return histogram_plan(run.spec, groups, len(run.fold.train), run.epsilon)


def key_of(run):
    """The active party's key, drawn anew."""
    return drawn_key(("key", run.parties[-1].name), run.spec.options.cipher, run.spec.options, run.rng_for)


def counted(run, share, g, h):
    """The integer tables of a party by a loop over records."""
    party = next(party for party in run.parties if party.name == share.party)
    codes = public_bins(party.block["X"], [edges.value for edges in share.edges]).codes
    G = [np.zeros(size, dtype=np.int64) for size in share.cells.sizes]
    margins = [np.zeros(size, dtype=np.int64) for size in share.cells.sizes]
    pairs = [np.zeros((share.cells.sizes[f], share.cells.sizes[e]), dtype=np.int64) for f, e in share.cells.pairs]
    for i, row in enumerate(codes.tolist()):
        for f, a in enumerate(row):
            G[f][a] += g[i]
            margins[f][a] += h[i]
        for place, (f, e) in enumerate(share.cells.pairs):
            pairs[place][row[f], row[e]] += h[i]
    return np.concatenate([part.ravel() for part in (*G, *margins, *pairs)])


# What crosses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cipher", ["sized", "paillier"])
@pytest.mark.parametrize("parties", [2, 4])
def test_what_is_decrypted_is_the_table_and_the_noise(parties, cipher):
    run = started(parties, cipher=cipher)
    tape = record(lambda: simulate(tables.fit, run) and run.channel)
    plan, (_, g, _) = plan_of(run), first_model(run)
    steps = np.rint(g * 2.0**32).astype(np.int64)
    assert len(tape.calls) == len(plan.shares) == parties - 1
    residuals = []
    for call, share in zip(tape.calls, plan.shares, strict=True):
        units = share.cells.units(share.ratio)
        expected = counted(run, share, steps, hessians(steps))
        np.testing.assert_array_equal(np.rint(np.asarray(call.bounded.value) / units), expected)
        # Noise is in whole steps, all of it there.
        noise = call.output / units - expected
        np.testing.assert_allclose(noise, np.rint(noise), atol=1e-3)
        assert not np.any(np.abs(noise) < 1)
        residuals.append(noise * units / plan.sigma)
    assert accepts_sigma(np.concatenate(residuals), 1.0)
    assert not accepts_sigma(np.concatenate(residuals), 2.5)


def test_the_key_holder_reads_what_the_observer_reads():
    run = started(3, cipher="paillier")
    tape = record(lambda: simulate(tables.fit, run) and run.channel)
    plan, private = plan_of(run), key_of(run)
    for call, share in zip(tape.calls, plan.shares, strict=True):
        mine = read(paillier.decrypt(private, call.sent_value), share, plan)
        np.testing.assert_array_equal(mine * share.cells.units(share.ratio), call.output)


@pytest.mark.parametrize(
    ("parties", "criterion", "given"),
    [
        (2, CLASSES, {}),
        (4, CLASSES, {"full_exponents": True}),
        (3, REGRESSION, {}),
        (2, CLASSES, {"algo": "gbdt"}),
        (2, CLASSES, {"epsilon": math.inf}),
        (2, CLASSES, {"masked": False}),
    ],
)
def test_sized_integers_give_the_bytes_ledger_and_results_of_paillier(parties, criterion, given):
    (first, one), (second, other) = (
        fitted(parties, criterion, cipher=cipher, **given) for cipher in ("sized", "paillier")
    )
    agree(one, first, other, second, "with ciphertexts")
    assert one.channel.ledger.digest == other.channel.ledger.digest


@pytest.mark.parametrize("trees", [1, 6])
def test_n_ciphertexts_cross_whatever_the_number_of_trees(trees, monkeypatch):
    closed = []
    encrypt = paillier.encrypt

    def counting(key, integers, rng, **named):
        closed.append(np.size(integers))
        return encrypt(key, integers, rng, **named)

    monkeypatch.setattr(tables.paillier, "encrypt", counting)
    estimate, run = fitted(3, cipher="paillier", num_of_trees=trees, n=90)
    assert closed == [90] and estimate.numbers["encryptions"] == 90
    rows = [(row["name"], row["kind"], row["bytes"]) for row in run.channel.transcript()]
    plan, width = plan_of(run), 128
    back = [("noisy histograms", "release", width * sum(plan.ciphertexts(share))) for share in plan.shares]
    key = [("public key", "public", 512 // 8 + width + 8)] * 2
    assert rows == [*key, *[("gradients", "cipher", 90 * width)] * 2, *back]
    without_key = sum(size for name, _, size in rows if name != "public key")
    assert estimate.numbers["bytes_formula"] == without_key
    assert estimate.numbers["decryptions"] == sum(size for *_, size in back) // width


def test_every_public_cell_is_returned_and_counted():
    estimate, run = fitted(2, n=150)
    (share,), plan = plan_of(run).shares, plan_of(run)
    assert share.cells.sizes == (6, 7, 8)
    pairs = 6 * 7 + 6 * 8 + 7 * 8
    assert plan.ciphertexts(share) == (-(-21 // plan.per_margin), -(-pairs // plan.per_pair))
    codes = public_bins(run.parties[0].block["X"], [edges.value for edges in share.edges]).codes
    seen = [len(np.unique(codes[:, f] * 10 + codes[:, e])) for f, e in share.cells.pairs]
    # Pairs are added up from records, single features from the smallest pair that has them.
    smallest = {0: 42, 1: 42, 2: 48}
    margins = sum(cells - size for (_, cells), size in zip(smallest.items(), (6, 7, 8), strict=True))
    assert estimate.numbers["additions"] == sum(150 - cells for cells in seen) + margins


# What it costs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parties", [2, 3, 4])
@pytest.mark.parametrize(
    ("criterion", "given"),
    [(CLASSES, {}), (CLASSES, {"algo": "gbdt"}), (REGRESSION, {}), (REGRESSION, {"hessian_share": 0.8})],
)
@pytest.mark.parametrize("epsilon", [0.5, 8.0])
def test_the_ledger_certifies_the_target_for_features_and_nothing_for_labels(parties, criterion, given, epsilon):
    estimate, run = fitted(parties, criterion, epsilon=epsilon, **given)
    assert total(run).epsilon_certified == pytest.approx(epsilon, rel=1e-9)
    assert total(run).epsilon_certified <= epsilon
    assert estimate.epsilon_claimed == epsilon
    names = run.channel.names
    assert run.channel.ledger.worst_total(names, "label", DELTA).epsilon_certified == 0
    rows = [row for row in run.channel.ledger.rows if row.mechanism != "cipher"]
    assert [row.owner for row in rows] == [party.name for party in run.parties if party.role == "passive"]
    for row in rows:
        assert (row.unit, row.depends_on, row.trust_model) == ("features", {"features"}, "local")
        assert (row.audience, row.relation, row.certified) == (("active",), "replace_one", True)
    # The parties have their share of mu^2 by their number of features, where hessians are free.
    if criterion == CLASSES and not given:
        sizes = np.array([len(share.columns) for share in plan_of(run).shares])
        squares = np.array([row.mu**2 for row in rows])
        np.testing.assert_allclose(squares / squares[0], sizes / sizes[0], rtol=1e-12)


@pytest.mark.parametrize(("given", "parts"), [({"epsilon": math.inf}, 0), ({"masked": False}, 1)])
def test_without_noise_or_masks_nothing_is_certified(given, parts):
    _, run = fitted(2, **given)
    assert total(run).epsilon_certified == math.inf
    assert [row["kind"] for row in run.channel.transcript()] == ["public", "cipher", "clear"]
    assert run.channel.ledger.worst_total(run.channel.names, "label", DELTA).epsilon_certified == 0


@pytest.mark.parametrize(("d", "sigma"), [(7, 13.96), (11, 17.50)])
def test_noise_of_the_specification(d, sigma):
    X, y = table(n=200, d=d + 1)
    run = started([list(range(d)), [d]], data=(X, y), public=facts(d + 1, edges=[[0.0]] * (d + 1)))
    assert plan_of(run).sigma == pytest.approx(sigma, abs=0.005)


@pytest.mark.parametrize(("share", "algo", "criterion"), [(0.35, "xgb", REGRESSION), (0.2, "gbdt", CLASSES)])
@pytest.mark.parametrize("parties", [2, 4])
def test_hessians_of_one_size_get_their_share(share, algo, criterion, parties):
    run = started(parties, criterion, algo=algo, hessian_share=share)
    plan, mu = plan_of(run), gdp_mu(1.0, DELTA)
    d = [len(part.columns) for part in plan.shares]
    R, h = (3.0, 1.0) if criterion == REGRESSION else (1.0, 0.25)
    (ratio,) = {part.ratio for part in plan.shares}
    on_gradients = 2 * sum(d) * R**2 / plan.sigma**2
    on_hessians = sum(k * (k + 1) for k in d) * h**2 / (ratio * plan.sigma) ** 2
    assert on_gradients + on_hessians == pytest.approx(mu**2, rel=1e-7)
    assert on_hessians == pytest.approx(share * mu**2, rel=1e-7)


def test_masks_are_uniform_and_their_cost_is_stated():
    run = started(2)
    (share,), plan = plan_of(run).shares, plan_of(run)
    masks = np.array(drawn_masks(stream(0, "masks"), share, plan), dtype=object)
    half = 1 << (plan.bits + 39)
    assert len(masks) == share.cells.count - share.cells.margins
    scaled = masks.astype(float) / half
    assert np.all((scaled >= -1) & (scaled < 1))
    assert abs(scaled.mean()) < 6 / math.sqrt(3 * len(masks))
    assert abs((scaled**2).mean() - 1 / 3) < 6 / math.sqrt(len(masks))
    # A gradient moves two cells of each of three pairs by at most 2^32; 40 bits hide all sums.
    assert share.mask_delta == 6 * 2.0**32 / (2 * half)
    assert half >= 2.0**38 * 150 * 2**32
    (row,) = (row for row in fitted(2)[1].channel.ledger.rows if row.profile is not None)
    assert row.delta_numeric == share.mask_delta


@pytest.mark.parametrize(("masked", "told"), [(True, False), (False, True)])
def test_gradients_beside_hessians_of_pairs_are_told_without_masks_only(masked, told):
    """The difference of two neighbours in the open slots of pair cells shows which cell a record is in."""
    X, y = table(n=60)
    other = X.copy()
    other[7, :3] = np.where(X[7, :3] > 0, -1.9, 1.9)
    slots = []
    for data in ((X, y), (other, y)):
        run = started(2, data=data, masked=masked)
        seen = record(lambda run=run: simulate(tables.fit, run) and run.channel).sent_messages[-1][1]
        (share,), plan = plan_of(run).shares, plan_of(run)
        private = key_of(run)
        numbers = paillier.decrypt(private, seen)[plan.ciphertexts(share)[0] :]
        cells = [c for packed in numbers for c in split(packed, plan.pair_bits, plan.per_pair)]
        slots.append(np.array([(c + (1 << (plan.bits - 1))) >> plan.bits for c in cells], dtype=object))
    # The same masks in both worlds cancel, so what is looked at is one world alone.
    largest = max(abs(int(value)) for value in slots[0])
    assert (largest <= 60 * ONE) == told
    if told:
        moved = [int(a) - int(b) for a, b in zip(*slots, strict=True)]
        assert sum(map(bool, moved)) == 6 and sum(moved) == 0


def split(number, bits, per):
    """Signed slots of an integer, the lowest first."""
    found = []
    for _ in range(per):
        slot = ((number + (1 << (bits - 1))) % (1 << bits)) - (1 << (bits - 1))
        found.append(slot)
        number = (number - slot) >> bits
    return found


# What it equals ---------------------------------------------------------------------------------------------------


def stumps_on_residuals(g, h, codes, given):
    """Boosted stumps on records: residual by residual, with the options of the tables; the oracle."""
    slope, values = g.astype(float).copy(), [np.zeros(codes[:, f].max() + 2) for f in range(codes.shape[1])]
    for _ in range(given.stumps):
        best = (0.0,)
        for f in range(codes.shape[1]):
            for cut in range(codes[:, f].max()):
                left = codes[:, f] <= cut
                H = h[left].sum(), h[~left].sum()
                if min(H) <= given.least_hessian:
                    continue
                G, lambda_ = (slope[left].sum(), slope[~left].sum()), given.stump_lambda
                gain = sum(a**2 / (b + lambda_) for a, b in zip(G, H, strict=True))
                gain -= sum(G) ** 2 / (sum(H) + lambda_)
                if gain > best[0] * (1 + 1e-12):
                    best = (gain, f, cut, *(-given.stump_eta * a / (b + lambda_) for a, b in zip(G, H, strict=True)))
        if len(best) == 1:
            break
        _, f, cut, low, high = best
        values[f][: cut + 1] += low
        values[f][cut + 1 :] += high
        slope += h * np.where(codes[:, f] <= cut, low, high)
    return sum(values[f][codes[:, f]] for f in range(codes.shape[1]))


@pytest.mark.parametrize("algo", ["xgb", "gbdt"])
def test_without_noise_and_with_squared_loss_tables_boost_stumps_on_the_pooled_residual(algo):
    estimate, run = fitted(2, REGRESSION, epsilon=math.inf, residual_bound=50.0, algo=algo, stumps=40)
    ensemble, g, h = first_model(run)
    X, _ = pooled(run)
    share = plan_of(run).shares[0]
    codes = public_bins(X[:, share.columns], [edges.value for edges in share.edges]).codes
    expected = stumps_on_residuals(g, np.ones(len(g)), codes, run.spec.options)
    np.testing.assert_allclose(estimate.ensemble.scores(X), ensemble.scores(X) + expected, rtol=0, atol=1e-10)
    assert np.std(expected) > 0.05
    assert np.all(h == 1)


@pytest.mark.parametrize("criterion", [CLASSES, REGRESSION])
def test_any_passive_parties_give_the_pooled_gradients_and_one_gives_the_pooled_model(criterion):
    """Pairs of two parties are products of margins: with one passive party alone all is as pooled."""
    found = {}
    for parts in ([[0, 1, 2], [3, 4, 5]], [[2, 0, 1], [5, 3, 4]], [[0, 2], [1], [3, 4, 5]], [[1], [2], [0], [3, 4, 5]]):
        run = started(parts, criterion, epsilon=math.inf)
        estimate, plan, (_, g, _) = simulate(tables.fit, run), plan_of(run), first_model(run)
        integers = integers_of(g, plan)
        made = assemble_histograms([counted(run, share, *integers) for share in plan.shares], *integers, plan)
        found[len(parts), parts[0][0]] = estimate, made
    (first, expected), *others = found.values()
    for (parties, _), (estimate, made) in list(found.items())[1:]:
        np.testing.assert_array_equal(made.G, expected.G)
        np.testing.assert_array_equal(np.diag(made.H), np.diag(expected.H))
        assert (made.gradient, made.hessian) == (expected.gradient, expected.hessian)
        if parties == 2:
            np.testing.assert_array_equal(made.H, expected.H)
            for one, other in zip(first.ensemble.tables, estimate.ensemble.tables, strict=True):
                np.testing.assert_array_equal(one.values, other.values)
    assert [len({*made.groups}) for _, made in others] == [1, 2, 3]


def test_tables_of_the_estimate_are_of_the_declared_cuts():
    estimate, run = fitted(3)
    assert [one.feature for one in estimate.ensemble.tables] == [0, 1, 2, 4]
    for one in estimate.ensemble.tables:
        np.testing.assert_array_equal(one.edges, run.spec.public.columns[one.feature].edges.value)
        assert one.values.shape == (len(one.edges) + 1,)
    X, _ = pooled(run)
    # Columns of the active party are split by trees alone.
    assert {int(f) for tree in estimate.ensemble.trees for f in tree.feature} <= {-1, 3, 5}
    assert np.isfinite(estimate.ensemble.scores(X)).all()


@pytest.mark.parametrize("epsilon", [1e-3, 1000.0])
def test_the_active_party_may_come_first_and_targets_may_be_extreme(epsilon):
    X, y = table(n=150)
    run = execution(options(), X, y, [[3, 0], [5, 4], [2, 1]], epsilon=epsilon, active=0)
    estimate = simulate(tables.fit, run)
    assert [one.feature for one in estimate.ensemble.tables] == [1, 2, 4, 5]
    assert total(run).epsilon_certified == pytest.approx(epsilon, rel=1e-9)
    assert np.isfinite(estimate.ensemble.scores(X)).all()


def test_noise_is_the_same_at_every_epsilon_but_for_its_size():
    tapes = [
        record(lambda r=r: simulate(tables.fit, r) and r.channel) for r in (started(epsilon=1), started(epsilon=4))
    ]
    first, second = ((t.calls[0].output - t.calls[0].bounded.value) / t.calls[0].event.mu ** -1 for t in tapes)
    np.testing.assert_allclose(first, second, rtol=1e-6)


# The contract -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parties", "criterion", "given"),
    [
        (2, CLASSES, {}),
        (4, CLASSES, {"cipher": "paillier"}),
        (3, REGRESSION, {"inference": "plain", "held_out": 20}),
        (3, CLASSES, {"epsilon": math.inf, "masked": False}),
    ],
)
def test_places_and_processes_agree(parties, criterion, given):
    in_all_ways(tables.fit, lambda: started(parties, criterion, n=90, **given))


def subject(parties, criterion, pairs=True, **given):
    def data(seed):
        return table(n=60, seed=seed, criterion=criterion)

    def start(given_data, seed):
        return started(parties, criterion, data=given_data, seed=seed, **given)

    def neighbours(given_data, unit, count, seed):
        """The features of the passive parties; the active party's row stays."""
        own = [column for part in GROUPS[parties][:-1] for column in part]
        for name, x, _ in changed_records(*given_data, unit, count, stream(seed, "neighbours")):
            mixed = given_data[0].copy()
            mixed[:, own] = x[:, own]
            yield name, (mixed, given_data[1])

    return Subject(tables.fit, data, start, neighbours, delta=DELTA)


@pytest.mark.parametrize(
    ("parties", "criterion", "given"), [(2, CLASSES, {}), (3, REGRESSION, {}), (4, CLASSES, {"algo": "gbdt"})]
)
def test_neighbours_look_alike_but_for_what_is_certified(parties, criterion, given):
    totals = check_neighbours(subject(parties, criterion, **given), ["features"])
    assert totals["features"] == pytest.approx(1.0, rel=1e-9)


def test_neighbours_look_alike_under_real_encryption():
    totals = check_neighbours(subject(2, CLASSES, cipher="paillier"), ["features"], pairs=3, seeds=1)
    assert totals["features"] == pytest.approx(1.0, rel=1e-9)


def test_noise_masks_and_keys_of_a_release_come_from_the_system():
    released = []
    for _ in range(2):
        run = started(3, cipher="paillier")
        run.rng_for = SecureStreams(5)
        simulate(tables.fit, run)
        assert [row.sampler for row in run.channel.ledger.rows if row.profile is not None] == ["secure"] * 2
        assert total(run).epsilon_certified == pytest.approx(1.0, rel=1e-9)
        released.append([row.noise_digest for row in run.channel.ledger.rows if row.noise_digest])
    assert not set(released[0]) & set(released[1])


@pytest.mark.parametrize("inference", ["plain", "he", "ss"])
def test_scores_of_deployed_tables_are_the_evaluators(inference):
    extra = (DEALER,) if inference == "ss" else ()
    estimate, run = fitted(3, n=100, held_out=20, inference=inference, extra=extra)
    X, _ = pooled(run)
    np.testing.assert_allclose(estimate.scores, estimate.ensemble.scores(X)[:20], rtol=0, atol=1e-8)
    assert total(run).epsilon_certified == math.inf


# Edges of the domain ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [[[0], [1], [2], [3], [4], [5]], [[0], [1, 2, 3, 4, 5]]])
def test_single_columns_constant_columns_and_single_bins_work(parts):
    X, y = table(n=50)
    edges = [[0.0], [9.0, 10.0], [], [0.0], [-1.0, 1.0], [0.0]]
    for cipher in ("sized", "paillier"):
        estimate, run = fitted(parts, data=(X, y), public=facts(6, edges=edges), cipher=cipher)
        assert np.isfinite(estimate.ensemble.scores(X)).all()
        assert total(run).epsilon_certified == pytest.approx(1.0, rel=1e-9)


def test_a_column_without_edges_is_refused_before_anything_crosses():
    known = facts(6)
    columns = tuple(replace(column, edges=None) if k == 1 else column for k, column in enumerate(known.columns))
    run = started(2, public=replace(known, columns=columns))
    with pytest.raises(CertificationError, match="edges of column 'x1' are not declared"):
        simulate(tables.fit, run)
    assert not run.channel.messages
    # Columns of the active party need none.
    columns = tuple(replace(column, edges=None) if k > 2 else column for k, column in enumerate(known.columns))
    assert fitted(2, public=replace(known, columns=columns))[1].channel.messages


def test_edges_of_the_data_prove_nothing():
    known = facts(6)
    of_data = TreeColumn("x0", Clear(np.array([0.0]), units=("features",), owner="passive 1"))
    _, run = fitted(2, public=replace(known, columns=(of_data, *known.columns[1:])))
    assert total(run).epsilon_certified == math.inf


@pytest.mark.parametrize(
    ("criterion", "given", "error", "message"),
    [
        (REGRESSION, {"residual_bound": None}, CertificationError, "residual_bound is None"),
        (
            REGRESSION,
            {"residual_bound": 1e300},
            OverflowError,
            r"residual_bound=1e\+300 with epsilon=1 and 150 records",
        ),
        (REGRESSION, {"residual_bound": 1e70}, OverflowError, r"residual_bound=1e\+70 with epsilon=1 and 150 records"),
        # Noise of more than 2^56 steps is not drawn, and sums of more than 64 bits are not read.
        (REGRESSION, {"residual_bound": 1e7}, OverflowError, r"residual_bound=1e\+07 with epsilon=1 .* exceed 64 bits"),
        (REGRESSION, {"residual_bound": 1e9, "epsilon": math.inf}, OverflowError, "with epsilon=inf and 150 records"),
    ],
)
def test_what_cannot_be_certified_or_read_is_refused(criterion, given, error, message):
    run = started(2, criterion, **given)
    with pytest.raises(error, match=message):
        simulate(tables.fit, run)
    assert not run.channel.messages


def test_residuals_of_the_largest_bound_are_summed():
    """Of 150 records 2^24 leave 64 bits."""
    estimate, run = fitted(2, REGRESSION, epsilon=math.inf, residual_bound=2.0**23)
    assert total(run).epsilon_certified == math.inf
    expected, _ = fitted(2, REGRESSION, epsilon=math.inf, residual_bound=100.0)
    X, _ = pooled(run)
    np.testing.assert_allclose(estimate.ensemble.scores(X), expected.ensemble.scores(X), rtol=0, atol=1e-6)


def test_masks_that_delta_cannot_pay_are_refused():
    X, y = table(n=60)
    run = execution(options(), X, y, GROUPS[2], epsilon=1.0, delta=1e-15)
    with pytest.raises(CertificationError, match="masks of 40 bits"):
        simulate(tables.fit, run)


def test_the_plan_is_made_of_public_things():
    """Another table with the same declared edges has the same plan."""
    plans = []
    for seed in (1, 2):
        run = started(3, data=table(n=80, seed=seed))
        plan = plan_of(run)
        plans.append((plan.sigma, plan.bits, plan.per_margin, plan.per_pair, [s.cells.sizes for s in plan.shares]))
    assert plans[0] == plans[1]
