"""What a ledger adds up, for whom, and what it refuses to call safe."""

import csv
import io
import json
import math
import time
from dataclasses import replace

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from partywise.errors import CertificationError
from partywise.privacy.accounting import compose
from partywise.privacy.calibration import classic_gaussian_sigma, gaussian_epsilon, simple_zcdp_epsilon
from partywise.privacy.law import Law
from partywise.privacy.ledger import Event, Ledger, clear_event, default_views
from partywise.privacy.mechanisms import Gaussian, QuantileRadius
from partywise.privacy.sensitivity import clipped_coefficients
from partywise.randomness import stream

DELTA = 1e-5
BOTH = ("features", "label")
MUS = st.floats(1e-3, 20)


def event(release_id="r", **fields):
    values = {"owner": "p1", "mechanism": "gaussian", "unit": "row", "depends_on": BOTH, "mu": 1.0, **fields}
    return Event(release_id=release_id, **values)


def gaussian_rows(mus, **fields):
    return [event(f"r{k}", mu=mu, **fields) for k, mu in enumerate(mus)]


def epsilon_of(events, unit="row", view="active", delta=DELTA):
    return Ledger(events).total(view, unit, delta).epsilon_certified


# The table of units ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "depends_on", "label", "features", "row"),
    [
        ("row", BOTH, "cost", "cost", "cost"),
        ("row", ("label",), "cost", "cost", "cost"),
        ("user", BOTH, "cost", "cost", "cost"),
        ("label", ("label",), "cost", 0, "cost"),
        ("label", BOTH, "cost", math.inf, math.inf),
        ("features", ("features",), 0, "cost", "cost"),
        ("features", BOTH, math.inf, "cost", math.inf),
    ],
)
def test_the_table_of_units(unit, depends_on, label, features, row):
    cost = gaussian_epsilon(1.0, DELTA)
    for question, answer in (("label", label), ("features", features), ("row", row)):
        found = epsilon_of([event(unit=unit, depends_on=depends_on)], question)
        assert found == (cost if answer == "cost" else answer), (unit, depends_on, question)


@pytest.mark.parametrize(
    ("units", "label", "features", "row"),
    [
        (("label",), math.inf, 0, math.inf),
        (("features",), 0, math.inf, math.inf),
        (("row",), math.inf, math.inf, math.inf),
        (("user",), math.inf, math.inf, math.inf),
        (("label", "features"), math.inf, math.inf, math.inf),
    ],
)
def test_the_table_of_clear_values(units, label, features, row):
    for question, answer in (("label", label), ("features", features), ("row", row)):
        assert epsilon_of([clear_event("c", "p1", units, "active")], question) == answer


def test_add_remove_doubles_mu_and_label_flips_count_for_rows():
    assert epsilon_of([event(relation="add_remove")]) == gaussian_epsilon(2.0, DELTA)
    flipped = event(unit="label", depends_on=("label",), relation="label_flip")
    total = Ledger([flipped]).total("active", "row", DELTA)
    assert (total.epsilon_certified, total.relation) == (gaussian_epsilon(1.0, DELTA), "replace_one")
    assert Ledger([flipped]).total("active", "label", DELTA).relation == "label_flip"


# Composition ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [20, 400])
def test_totals_lie_just_above_the_loss_distribution_oracle(count):
    accountant = PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
    accountant.compose(dp_accounting.GaussianDpEvent(1 / 0.2), count)
    total = Ledger(gaussian_rows([0.2] * count)).total("active", "row", DELTA)
    assert total.epsilon_certified == pytest.approx(accountant.get_epsilon(DELTA), abs=1e-3)
    assert total.n_releases == count and total.certified
    if count == 20:
        assert total.epsilon_certified == pytest.approx(3.848610, abs=1e-6)
        assert total.eps_simple == pytest.approx(4.6919, abs=5e-5)


@given(st.lists(MUS, min_size=1, max_size=8))
def test_many_releases_are_one_with_the_summed_rho(mus):
    total = Ledger(gaussian_rows(mus)).total("active", "row", DELTA)
    rho = sum(mu * mu / 2 for mu in mus)
    one = epsilon_of([event(mu=math.sqrt(2 * rho))])
    assert total.epsilon_certified == pytest.approx(one, rel=1e-12)
    assert total.rho_total == pytest.approx(rho, rel=1e-12)
    assert total.eps_simple == pytest.approx(simple_zcdp_epsilon(rho, DELTA), rel=1e-12)
    assert total.epsilon_certified_part == total.epsilon_certified


def test_count_composes():
    assert epsilon_of([event(mu=0.2, count=20)]) == pytest.approx(3.848610, abs=1e-6)


def test_a_release_sent_again_is_one_row_and_a_new_draw_is_another():
    ledger = Ledger([event("a"), event("a")])
    assert len(ledger) == 1
    ledger.append(event("b"))
    assert ledger.total("active", "row", DELTA).mu_total == pytest.approx(math.sqrt(2))
    for other in (event("a", mu=2.0), event("a", noise_digest="another draw"), event("a", owner="p2")):
        with pytest.raises(CertificationError, match="'a' is in the ledger with another value"):
            ledger.append(other)


def test_a_redrawn_release_under_its_old_name_is_refused():
    bounded = clipped_coefficients(np.ones((4, 2)), None, 1.0)
    ledger = Ledger()
    for seed in (1, 1):
        ledger.append(Gaussian(sigma=1.0)(bounded, stream(seed, "a"), owner="p1", release_id="curves").event)
    with pytest.raises(CertificationError, match="new release_id"):
        ledger.append(Gaussian(sigma=1.0)(bounded, stream(2, "a"), owner="p1", release_id="curves").event)


def test_strata_compose_in_parallel_and_everybody_else_in_sequence():
    rows = [
        event("a", stratum="hospital 1", mu=1.0),
        event("b", stratum="hospital 2", mu=2.0),
        event("c", stratum="hospital 2", mu=2.0),
        event("d", stratum="*", mu=1.0),
    ]
    assert Ledger(rows).total("active", "row", DELTA).mu_total == pytest.approx(3.0)
    assert Ledger(rows[:2]).total("active", "row", DELTA).mu_total == pytest.approx(2.0)


@given(st.lists(st.tuples(MUS, st.sampled_from("*ABC")), min_size=1, max_size=6), st.sampled_from("*ABC"))
def test_moving_a_row_never_goes_below_the_largest_stratum(rows, target):
    events = [event(f"r{k}", mu=mu, stratum=stratum) for k, (mu, stratum) in enumerate(rows)]
    moved = [event("r0", mu=rows[0][0], stratum=target), *events[1:]]
    largest = max(epsilon_of([e for e in moved if e.stratum in ("*", s)]) for s in "ABC")
    assert epsilon_of(moved) == pytest.approx(largest, rel=1e-12)
    everything = epsilon_of([event(e.release_id, mu=e.mu) for e in events])
    assert epsilon_of(moved) <= everything * (1 + 1e-12)


@pytest.mark.parametrize(
    ("law", "users", "added"),
    [
        ({"mu": 0.3}, Law(mu=0.9), Law(mu=0.6)),
        ({"mu": 0.3, "count": 4}, Law(mu=0.9, count=4), Law(mu=0.6, count=4)),
        ({"epsilon": 0.3}, Law(epsilon=0.9), Law(epsilon=0.6)),
        ({"epsilon": 0.3, "k": 50, "count": 2}, Law(epsilon=0.9, count=2), Law(epsilon=0.6, count=2)),
        ({"rho": 0.1}, Law(rho=0.9), Law(rho=0.4)),
        # Nothing is gained by sampling in a group: every record may be included.
        ({"mu": 0.3, "rate": 0.1}, Law(mu=0.9), Law(mu=0.6)),
    ],
)
def test_the_table_of_groups(law, users, added):
    row = event(**{"mu": None, **law})

    def total(unit, rows=(row,), **users):
        return Ledger(rows).total("active", unit, DELTA, **users).epsilon_certified

    assert total("user", rows_per_user=3) == pytest.approx(compose([users]).epsilon(DELTA), rel=1e-12)
    assert total("user") == math.inf, "an unknown number of rows proves nothing"
    assert total("row") == total("user", rows_per_user=1) <= total("user", rows_per_user=2)
    assert total("row", [replace(row, relation="add_remove")]) == compose([added]).epsilon(DELTA)
    # An event about users costs itself, whatever is asked and known.
    of_user = [replace(row, unit="user")]
    assert {total(unit, of_user) for unit in ("row", "label", "features", "user")} == {total("row")}
    # A release about labels alone costs a person all their labels; one that reads features proves nothing.
    label = replace(row, unit="label", relation="replace_one", depends_on=frozenset(["label"]))
    assert total("user", [label], rows_per_user=3) == total("user", rows_per_user=3)
    assert total("user", [replace(label, depends_on=frozenset(BOTH))], rows_per_user=3) == math.inf
    assert total("user", [clear_event("c", "p1", ("label",), "active")], rows_per_user=1) == math.inf


def test_sampling_is_credited_where_one_neighbour_contributes_nothing():
    flipped = {"unit": "label", "depends_on": ("label",), "relation": "label_flip"}
    sampled = event(mu=1.0, rate=0.05, count=20, **flipped)
    found = epsilon_of([sampled], "label")
    assert found == compose([Law(mu=1.0, rate=0.05, count=20)]).epsilon(DELTA)
    assert found == epsilon_of([sampled], "row")
    replaced = event(mu=1.0, rate=0.05, count=20)
    assert epsilon_of([replaced]) == gaussian_epsilon(math.sqrt(20), DELTA) > 3 * found


def test_what_lies_outside_a_law_has_no_group_rule():
    row = event(mu=0.3, delta_numeric=1e-9)
    assert epsilon_of([row]) == gaussian_epsilon(0.3, DELTA - 1e-9)
    assert epsilon_of([replace(row, relation="add_remove")]) == math.inf
    assert Ledger([row]).total("active", "user", DELTA, rows_per_user=2).epsilon_certified == math.inf


@pytest.mark.parametrize("rows_per_user", [0, 1.5, -1])
def test_a_bad_number_of_rows_is_refused(rows_per_user):
    with pytest.raises(ValueError, match="rows_per_user="):
        Ledger([event()]).total("active", "user", DELTA, rows_per_user=rows_per_user)


def mixed_rows():
    return [
        event("a", mu=0.5, stratum="A"),
        event("b", mu=None, epsilon=1.0, k=5, count=3, stratum="B"),
        event("c", mu=None, rho=0.01),
        event("d", mu=0.2, delta_numeric=1e-7),
    ]


def test_other_laws_compose_by_stratum():
    total = Ledger(mixed_rows()).total("active", "row", DELTA)
    common = [Law(rho=0.01), Law(mu=0.2)]
    strata = [[*common, Law(mu=0.5)], [*common, Law(epsilon=1.0, k=5, count=3)]]
    expected = max(compose(laws, 1e-7).epsilon(DELTA) for laws in strata)
    assert total.epsilon_certified == total.epsilon_certified_part == expected
    assert math.isnan(total.mu_total)
    assert total.rho_total == pytest.approx(0.01 + 0.02 + 3 * 0.5, rel=1e-12)
    assert total.eps_simple == pytest.approx(simple_zcdp_epsilon(total.rho_total, DELTA), rel=1e-12)
    assert total.n_releases == 4 and total.certified
    # The part of delta that only another stratum uses up is not taken off here.
    elsewhere = Ledger([event("a", mu=1.0, stratum="A"), event("b", mu=0.1, stratum="B", delta_numeric=1e-6)])
    assert elsewhere.total("active", "row", DELTA).epsilon_certified == gaussian_epsilon(1.0, DELTA)


def test_an_unproved_row_beside_other_laws_shows_the_proved_part():
    proved = Ledger(mixed_rows()).total("active", "row", DELTA)
    total = Ledger([*mixed_rows(), event("e", mu=None, certified=False)]).total("active", "row", DELTA)
    assert total.epsilon_certified == total.mu_total == total.rho_total == total.eps_simple == math.inf
    assert total.epsilon_certified_part == proved.epsilon_certified


FINITE = st.tuples(st.floats(0.05, 2), st.sampled_from([None, 3, 50]), st.integers(1, 4))
ROWS = st.one_of(
    st.floats(0.01, 2).map(lambda mu: {"mu": mu}),
    FINITE.map(lambda x: {"mu": None, "epsilon": x[0], "k": x[1], "count": x[2]}),
    st.floats(0.001, 0.5).map(lambda rho: {"mu": None, "rho": rho}),
)


@given(st.lists(st.tuples(ROWS, st.sampled_from("*ABC")), min_size=1, max_size=4), st.sampled_from("*ABC"))
@settings(deadline=None, max_examples=40)
def test_moving_any_row_never_goes_below_the_largest_stratum(rows, target):
    events = [event(f"r{k}", stratum=stratum, **law) for k, (law, stratum) in enumerate(rows)]
    moved = [replace(events[0], stratum=target), *events[1:]]
    largest = max(epsilon_of([e for e in moved if e.stratum in ("*", s)]) for s in "ABC")
    assert epsilon_of(moved) == pytest.approx(largest, rel=1e-9)
    # Never above everything in sequence (but for the search of the split of delta and the grid).
    assert epsilon_of(moved) <= epsilon_of([replace(e, stratum="*") for e in events]) * (1 + 1e-3)
    assert epsilon_of(list(reversed(moved))) == epsilon_of(moved)


def test_the_worst_view_weighs_different_laws_by_their_epsilon():
    ledger = Ledger(
        [
            event("a", audience=("x",), mu=0.4),
            event("b", audience=("y",), mu=None, epsilon=3.0, k=2),
            event("c", audience=("z",), mu=None, epsilon=1.0, count=2),
        ]
    )
    worst = ledger.worst_total(["p1", "x", "y", "z"], "row", DELTA)
    assert worst.view_worst == "all but p1" and worst.epsilon_certified > 3.0
    each = {name: ledger.total(name, "row", DELTA).epsilon_certified for name in "xyz"}
    assert max(each, key=each.get) == "y"


# Views ----------------------------------------------------------------------------------------------------------


def test_a_view_counts_what_it_sees_and_does_not_own():
    ledger = Ledger(
        [
            event("a", owner="p1", audience=("active",), mu=1.0),
            event("b", owner="p2", audience=("active",), mu=2.0),
            event("c", owner="p1", audience=("p2",), mu=4.0),
            event("d", owner="active", audience="*", mu=8.0),
        ]
    )

    def mu(view):
        return ledger.total(view, "row", DELTA).mu_total

    assert mu(["active"]) == pytest.approx(math.sqrt(1 + 4))
    assert mu("p1") == 8.0 and mu([]) == 8.0
    assert mu(["p2"]) == pytest.approx(math.sqrt(16 + 64))
    assert mu(["active", "p2"]) == pytest.approx(math.sqrt(1 + 16))
    assert mu(["active", "p1", "p2"]) == 0.0
    assert ledger.total(["p2", "active"], "row", DELTA).view_worst == "active+p2"
    assert ledger.total([], "row", DELTA).view_worst == "public"
    worst = ledger.worst_total(["active", "p1", "p2"], "row", DELTA)
    assert (worst.view_worst, worst.mu_total) == ("p2", pytest.approx(math.sqrt(80)))


def test_the_default_views():
    assert default_views(["a", "b"]) == {"a": {"a"}, "b": {"b"}, "public": set()}
    assert default_views(["a", "b", "c"])["all but b"] == {"a", "c"}
    with pytest.raises(ValueError, match="repeats a name"):
        default_views(["a", "a"])


def test_the_worst_view_may_be_a_coalition():
    ledger = Ledger([event("a", audience=("x",), mu=3.0), event("b", audience=("y",), mu=4.0)])
    worst = ledger.worst_total(["p1", "x", "y"], "row", DELTA)
    assert (worst.view_worst, worst.mu_total) == ("all but p1", 5.0)
    assert ledger.worst_total(["p1", "x", "y"], "row", DELTA) == ledger.worst_total(["p1", "x", "y"], "row", DELTA)


def test_one_unproved_row_outranks_any_finite_cost():
    ledger = Ledger([event("a", audience=("x",), mu=50.0), clear_event("c", "p1", ("label",), "y")])
    worst = ledger.worst_total(["p1", "x", "y", "z"], "row", DELTA)
    assert worst.epsilon_certified == math.inf and worst.view_worst == "all but p1"
    assert worst.epsilon_certified_part == gaussian_epsilon(50.0, DELTA)
    assert worst.trust_model == "local;none"


def test_an_empty_transcript_costs_nothing():
    total = Ledger().worst_total(["a", "b"], "row", DELTA)
    assert (total.epsilon_certified, total.mu_total, total.certified, total.n_releases) == (0, 0, True, 0)
    assert (total.trust_model, total.sampler) == ("none", "none")


# Silence is never safety ----------------------------------------------------------------------------------------


def test_unproved_rows_make_the_total_infinite_and_the_proved_part_is_shown():
    ledger = Ledger([event("a", mu=0.5), event("b", certified=False), clear_event("c", "p1", ("row",), "active")])
    total = ledger.total("active", "row", DELTA)
    assert total.epsilon_certified == total.mu_total == total.rho_total == total.eps_simple == math.inf
    assert total.epsilon_certified_part == gaussian_epsilon(0.5, DELTA)
    assert not total.certified and total.n_releases == 3


def test_an_unproved_row_about_another_field_is_no_cost():
    row = event(unit="label", depends_on=("label",), certified=False)
    assert epsilon_of([row], "features") == 0 and epsilon_of([row], "label") == math.inf


def test_a_release_without_noise_is_infinite_though_its_mechanism_is_known():
    total = Ledger([event(mu=math.inf)]).total("active", "row", DELTA)
    assert total.epsilon_certified == math.inf and total.certified and total.rho_total == math.inf


def test_a_law_that_cannot_be_composed_is_refused_and_not_dropped():
    response = event("flip", mechanism="randomized_response", mu=None)
    with pytest.raises(CertificationError, match="'randomized_response' carries no mu"):
        Ledger([response])
    unproved = event("flip", mechanism="randomized_response", mu=None, certified=False)
    assert epsilon_of([unproved]) == math.inf


def curves(radius, rng, **terms):
    bounded = clipped_coefficients(stream(1, "c").standard_normal((50, 3)), None, radius)
    return Gaussian(sigma=radius)(bounded, rng, owner="p1", audience=("active",), **terms)


def test_an_uncharged_data_dependent_radius_makes_the_release_unproved():
    release = curves(2.5, stream(1, "e"), data_dependent_parameters=("95 % quantile of the norms",))
    stored = Ledger().append(release.event)
    assert release.event.certified and not stored.certified
    assert epsilon_of([release.event], "features") == math.inf
    clear = clear_event("95 % quantile of the norms", "p1", ("features",), "active")
    assert epsilon_of([clear, release.event], "features") == math.inf


def test_a_charged_radius_is_added_even_for_views_that_never_got_it():
    radius = QuantileRadius(0.02)(np.ones(50), stream(1, "r"), owner="p1", audience=("p2",), release_id="radius")
    release = curves(2.5, stream(1, "e"), data_dependent_parameters=(radius,))
    ledger = Ledger([radius.event, release.event])
    assert ledger.total("active", "features", DELTA).mu_total == pytest.approx(math.sqrt(2**2 + 0.2**2))
    assert ledger.total("p2", "features", DELTA).mu_total == pytest.approx(0.2)
    assert len(ledger) == 2 and ledger.append(release.event).certified
    # The charge must come first: a release cannot rest on a row that is not there yet.
    assert epsilon_of([release.event, radius.event], "features") == math.inf


def test_a_chain_of_parameters_is_followed():
    rows = [
        event("a", mu=1.0, audience=("z",)),
        event("b", mu=2.0, audience=("z",), data_dependent_parameters=("a",)),
        event("c", mu=2.0, audience=("active",), data_dependent_parameters=("b",)),
    ]
    assert Ledger(rows).total("active", "row", DELTA).mu_total == 3.0
    broken = [event("a", certified=False, audience=("z",)), *rows[1:]]
    assert epsilon_of(broken) == math.inf


@pytest.mark.parametrize(("parties", "real"), [(2, 2.69), (4, 1.82), (10, 1.10)])
def test_the_square_root_budget_of_the_source_does_not_hold_a_total(parties, real):
    """Seed 000: noise times sqrt(J) is said to keep the total; predictors compose, parties do not."""
    mu = 1 / (classic_gaussian_sigma(1, DELTA, 1, allow_uncertified=True) * math.sqrt(parties))
    assert epsilon_of(gaussian_rows([mu] * 20)) == pytest.approx(real, abs=0.006)


# The chain ------------------------------------------------------------------------------------------------------


def chained():
    return Ledger(
        [
            event("a", epsilon_claimed=1.0, sensitivity=2.0, audience=("x", "y")),
            event("b", mu=math.inf, data_dependent_parameters=("a",)),
            clear_event("c", "p1", ("label", "features"), "x"),
        ]
    )


def test_rows_survive_a_round_trip_through_json_and_csv():
    ledger = chained()
    rows = ledger.to_rows()
    assert [row["step"] for row in rows] == [0, 1, 2]
    assert Ledger.from_rows(json.loads(json.dumps(rows))).rows == ledger.rows
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    again = Ledger.from_rows(csv.DictReader(io.StringIO(text.getvalue())))
    assert again.rows == ledger.rows and again.digest == ledger.digest
    again.verify(ledger.digest)


def test_altering_removing_or_moving_a_row_is_noticed():
    ledger = chained()
    rows = ledger.to_rows()
    altered = [{**rows[0], "mu": 0.1}, *rows[1:]]
    for tampered in (altered, rows[1:], [rows[0], rows[2]], [rows[0], rows[2], rows[1]]):
        with pytest.raises(CertificationError, match="hash chain"):
            Ledger.from_rows(tampered)
    with pytest.raises(CertificationError, match="repeat a release"):
        Ledger.from_rows([*rows, rows[0]])
    with pytest.raises(CertificationError, match="removed"):
        Ledger.from_rows(rows[:-1]).verify(ledger.digest)
    digests = {Ledger(order).digest for order in (ledger.rows, ledger.rows[:2], ledger.rows[:1], ())}
    assert len(digests) == 4


def test_a_file_of_rows_is_read_back(tmp_path):
    ledger = Ledger([*chained().rows, event("d", mu=None, epsilon=0.5, k=7, delta_numeric=1e-9, epsilon_distance=0.1)])
    digest = ledger.write(tmp_path / "ledger.jsonl")
    assert digest == ledger.digest
    again = Ledger.read(tmp_path / "ledger.jsonl", digest)
    assert again.rows == ledger.rows and again.digest == digest
    assert [json.loads(line)["step"] for line in (tmp_path / "ledger.jsonl").read_text().splitlines()] == [0, 1, 2, 3]
    assert Ledger().write(tmp_path / "empty.jsonl") == Ledger().digest
    assert len(Ledger.read(tmp_path / "empty.jsonl")) == 0


@pytest.mark.parametrize(
    "tamper",
    [
        lambda lines: lines[1:],
        lambda lines: [lines[0], *lines[2:]],
        lambda lines: lines[:-1],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [*lines, lines[0]],
        lambda lines: [lines[0].replace('"mu":1.0', '"mu":0.1'), *lines[1:]],
        lambda lines: [lines[0].replace('"mu":1.0', '"mu":-1.0'), *lines[1:]],
        lambda lines: [lines[0].replace('"step":0', '"step":5'), *lines[1:]],
        lambda lines: [lines[0].replace('"mu":1.0,', ""), *lines[1:]],
        lambda lines: [lines[0].replace('"owner":"p1"', '"owner":"p2"'), *lines[1:]],
        lambda lines: [*lines[:-1], lines[-1][:40]],
        lambda lines: [],
    ],
)
def test_a_tampered_file_is_noticed(tmp_path, tamper):
    path = tmp_path / "ledger.jsonl"
    digest = chained().write(path)
    lines = path.read_text().splitlines()
    assert tamper(lines) != lines
    path.write_text("".join(line + "\n" for line in tamper(lines)))
    with pytest.raises(CertificationError):
        Ledger.read(path, digest)


def test_only_the_digest_sees_rows_that_were_cut_off_at_the_end(tmp_path):
    path = tmp_path / "ledger.jsonl"
    digest = chained().write(path)
    path.write_text("".join(line + "\n" for line in path.read_text().splitlines()[:-1]))
    assert len(Ledger.read(path)) == 2
    with pytest.raises(CertificationError, match="removed"):
        Ledger.read(path, digest)


def test_the_digest_does_not_depend_on_when_it_is_asked():
    early, late = Ledger(), Ledger()
    for row in chained().rows:
        early.append(row)
        assert early.digest
        late.append(row)
    assert early.digest == late.digest == chained().digest


def test_a_hundred_thousand_rows_are_totalled_in_a_second():
    ledger = Ledger(event(str(k), mu=0.01) for k in range(100_000))
    start = time.process_time()
    total = ledger.total("active", "row", DELTA)
    assert time.process_time() - start < 1.0
    assert total.mu_total == pytest.approx(math.sqrt(10), rel=1e-12)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"owner": ""}, "owner=''"),
        ({"unit": "person"}, "unit='person'"),
        ({"depends_on": ()}, "depends_on="),
        ({"depends_on": ("age",)}, "depends_on="),
        ({"mu": -1.0}, "mu=-1.0"),
        ({"mu": math.nan}, "mu=nan"),
        ({"count": 0}, "count=0"),
        ({"count": 1.5}, "count=1.5"),
        ({"relation": "swap"}, "relation='swap'"),
        ({"relation": "label_flip"}, "needs unit='label'"),
        ({"trust_model": "hope"}, "trust_model='hope'"),
        ({"sampler": "dice"}, "sampler='dice'"),
        ({"audience": ("a;b",)}, "audience="),
        ({"mechanism": "none", "mu": None}, "never certified"),
        ({"epsilon": 1.0}, "mu and epsilon"),
        ({"mu": None, "epsilon": -1.0}, "epsilon=-1.0"),
        ({"mu": None, "rho": math.nan}, "rho=nan"),
        ({"k": 3}, "k=3"),
        ({"mu": None, "epsilon": 1.0, "k": 1}, "k=1"),
        ({"mu": None, "epsilon": 1.0, "k": 2.5}, "k=2.5"),
        ({"rate": 0.0}, "rate=0.0"),
        ({"rate": 1.5}, "rate=1.5"),
        ({"mu": None, "epsilon": 1.0, "rate": 0.5}, "rate=0.5"),
        ({"delta_numeric": 1.0}, "delta_numeric=1.0"),
        ({"delta_numeric": -1e-9}, "delta_numeric=-1e-09"),
        ({"epsilon_distance": -1.0}, "epsilon_distance=-1.0"),
        ({"count": math.inf}, "count=inf"),
    ],
)
def test_bad_events_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        event(**fields)


def test_bad_questions_are_refused():
    with pytest.raises(ValueError, match="unit='person' of a question"):
        Ledger([event()]).total("active", "person", DELTA)
    with pytest.raises(ValueError, match="delta=1"):
        Ledger([event()]).total("active", "row", 1)
    with pytest.raises(TypeError, match="must be a tuple of names"):
        event(audience="active")
    with pytest.raises(TypeError, match="takes Event rows"):
        Ledger([{"mu": 1.0}])
    assert Ledger([event()]).total("active", "row", 0.0).epsilon_certified == math.inf
