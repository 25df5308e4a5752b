"""Which methods can run with secret randomness is on a page that was made by trying them."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from deployment_cases import Apart
from partywise.core.errors import CertificationError, ConfigError
from partywise.deployment import rehearsal, running
from partywise.deployment import screen as screens
from partywise.deployment import start as stage
from partywise.deployment.part import whole
from partywise.deployment.rehearsal import floating_point, rehearse
from partywise.deployment.running import FitReport, RunReport
from partywise.deployment.screen import screen
from partywise.deployment.session.link import form_of
from partywise.deployment.start import PartyStart, rehearse_all
from partywise.experiment.cells import execution
from partywise.experiment.data import generate
from partywise.experiment.study import EXACT, NO_NOISE, available, load
from partywise.federation.cipher import Cipher
from partywise.federation.run import simulate
from partywise.privacy.accounted_values import Clear
from partywise.privacy.accounting.calibration import gaussian_epsilon, gdp_mu
from partywise.privacy.mechanisms.random import SecureRandom
from release_table import cases, row, section, table, written

STUDIES = sorted(available())
# Id and digest, platforms and estimate of a fit.
HELD = "r" * 64, "d" * 64, "", "none here: method m gives it to server"
# Protocol that is never released, and why.
REFUSED = {"sliced_inverse_regression": ("published", "is for experiments: nothing finite is certified")}


def test_the_page_names_every_method_and_its_lines_are_what_trying_them_gives():
    """Every ninth method here, all of them in `./run test --long`."""
    rows = written()
    assert sorted(rows) == sorted(cases()) and section() == table({one: rows[one] for one in cases()})
    assert [rows[one] for one in list(cases())[::9]] == [row(*one) for one in list(cases())[::9]]


@pytest.mark.statistical
def test_the_page_of_methods_that_can_release_is_what_trying_them_gives():
    assert section() == table({one: row(*one) for one in cases()})


def test_only_what_secret_randomness_lacks_counts():
    for draw, why in (("normal", "draws by 'normal', which has no secret source"), ("__class__.x", None)):
        with pytest.raises(AttributeError) as found:
            getattr(SecureRandom() if why else object(), draw)
        assert floating_point(found.value) == why
    assert floating_point(TypeError("a sum of text")) is None


@pytest.mark.parametrize(("listed", "words"), [(True, "has cipher: sized, which closes"), (False, "sends what")])
def test_what_closes_nothing_is_refused_before_anybody_is_met(listed, words, monkeypatch):
    """By its options, and by what crosses in the rehearsal."""
    case = Apart("vertical_linear")
    case.network["mode"] = "release"
    if not listed:
        monkeypatch.setattr(rehearsal, "open_ciphers", lambda options: [])
    with pytest.raises(ConfigError, match=words):
        rehearse(case.deployment(), 60)
    case.method |= {"cipher": "paillier"}
    rehearse(case.deployment(), 60)


@pytest.mark.parametrize(("study", "words"), REFUSED.items())
def test_what_a_protocol_states_decides_and_no_rehearsal_is_asked(study, words, monkeypatch):
    case = Apart(study)
    case.network["mode"] = "release"
    case.method |= {"protocol": words[0]}
    monkeypatch.setattr(rehearsal, "simulate", lambda *given: pytest.fail("was rehearsed"))
    with pytest.raises(ConfigError, match=words[1]):
        rehearse(case.deployment(), 60)


def test_a_target_without_noise_is_refused(monkeypatch):
    case = Apart("vertical_trees")
    deployment = case.deployment()
    network = replace(deployment.network, mode="release", epsilon=math.inf, budget=None)
    with pytest.raises(ConfigError, match=r"network.epsilon is inf with mode 'release'"):
        rehearse(replace(deployment, network=network), 60)


def test_the_largest_epsilon_is_asked_of_the_session_and_not_of_each_fit():
    """Exact compositions of the Gaussian: the root of the sum of mu squared of fits at epsilon 4, 8, 16 and 20."""
    case = Apart("vertical_glm")
    targets = [4.0, 8.0, 16.0, 20.0]
    case.method |= {"protocol": "moments", "cipher": "paillier", "dealer": "none"}
    del case.network["parties"]["dealer"]
    case.grid["epsilon"] = targets
    case.network = {key: one for key, one in case.network.items() if key not in ("epsilon", "fold", "method")}
    case.network |= {"mode": "release", "fits": "grid"}
    deployments = case.deployments()
    delta = deployments[0].delta
    total = gaussian_epsilon(math.hypot(*(gdp_mu(target, delta) for target in targets)), delta)
    assert total > 30
    with pytest.raises(ConfigError) as found:
        rehearse_all(deployments, 60)
    said = re.search(r"all fits of the session certify epsilon (\S+) for one row at delta", str(found.value))
    assert said and float(said[1]) == pytest.approx(total, rel=1e-4)
    assert "more than network.largest_epsilon (20)" in str(found.value)
    rehearse_all(deployments[:2], 60)


@pytest.mark.parametrize("cipher", ["identity", "sized"])
def test_labels_that_are_closed_by_nothing_are_refused(cipher):
    case = Apart("vertical_trees")
    case.network["mode"] = "release"
    deployment = case.deployment()
    method = deployment.plan.methods["m"]
    protocol = load("vertical_trees").methods["label_scattering"]
    open_labels = replace(method, protocol=protocol, options=protocol.options(cipher=cipher))
    with pytest.raises(ConfigError, match=f"has cipher: {cipher}, which closes nothing"):
        rehearse(replace(deployment, plan=replace(deployment.plan, methods={"m": open_labels})), 60)


def test_short_keys_and_products_that_round_are_refused(monkeypatch):
    case = Apart("vertical_trees")
    case.network["mode"] = "release"
    deployment = case.deployment()
    method = deployment.plan.methods["m"]
    short = replace(method, options=SimpleNamespace(uses_epsilon=True, key_size=1024))
    shorter = replace(deployment, plan=replace(deployment.plan, methods={"m": short}))
    with pytest.raises(ConfigError, match="key_size is 1024: it must be at least 2048"):
        rehearse(shorter, 60)
    monkeypatch.setattr(rehearsal, "products_are_exact", lambda: False)
    with pytest.raises(ConfigError, match="do not add whole numbers exactly"):
        rehearse(deployment, 60)


@pytest.mark.parametrize("study", STUDIES)
def test_every_protocol_states_what_it_does(study):
    """Exact noise or none, or a reason that ends no sentence of its own."""
    for protocol in load(study).methods.values():
        assert protocol.release in (EXACT, NO_NOISE) or (protocol.refusal and not protocol.refusal.endswith("."))


def test_a_rehearsal_says_what_the_messages_look_like(tmp_path, monkeypatch):
    """Of made-up records, and the same as of the parties' own."""
    case = Apart("vertical_trees")
    case.network["mode"] = "release"
    deployment, forms = case.deployment(), {}
    rehearsed = rehearse(deployment, 60)
    assert rehearsed and all(" of " in form for form in rehearsed.values())
    monkeypatch.chdir(case.write(tmp_path))
    data = generate(deployment.plan, "own", [0], "resources")[0]
    run = execution(deployment.plan, "own", "m", deployment.n_parties, 0, deployment.epsilon, data)
    send = run.channel.send

    def seen(sender, receiver, name, payload):
        forms[receiver, name] = form_of(payload)
        return send(sender, receiver, name, payload)

    monkeypatch.setattr(run.channel, "send", seen)
    simulate(deployment.plan.methods["m"].protocol.fit, run)
    assert forms == rehearsed


@pytest.mark.parametrize(("noise", "lines"), [(False, 1), (True, 0)])
def test_a_release_without_noise_says_that_nothing_may_be_published(noise, lines, tmp_path, monkeypatch):
    case = Apart("vertical_trees")
    deployment = case.deployment()
    deployment = replace(deployment, network=replace(deployment.network, mode="release"))
    start = PartyStart((deployment,), "c" * 64, case.names[0], tmp_path, tmp_path, tmp_path)
    monkeypatch.setattr(screens, "plan_draws", lambda one: noise)
    told = screen(start, RunReport((FitReport(start, *HELD, (), ()),), {}, {}, None, ""))
    assert sum("nothing here may be published" in line for line in told) == lines


def test_the_screen_says_what_coalitions_can_learn(tmp_path):
    deployment = Apart("vertical_trees").deployment()
    start = PartyStart((deployment,), "c" * 64, deployment.names[0], tmp_path, tmp_path, tmp_path)
    against = {"outsiders": 1.5768, "any other single party": 2.0, "hill and river together": 3.0186}
    fit = FitReport(start, *HELD, (), ())
    told = screen(start, RunReport((fit,), {}, {}, None, "", "1/2 of it", against))
    assert any(
        "epsilon 1.577 against outsiders, 2 against any other single party, 3.019 against hill and river" in line
        for line in told
    )
    assert "noise: 1/2 of it" in told


def newton(**network) -> Apart:
    """Noisy Newton steps between a shop and a bank, whose records an aggregator sees."""
    case = Apart("vertical_glm")
    case.take_newton_steps()
    del case.network["trusted"]
    case.network |= {"mode": "release", **network}
    return case


def test_an_aggregator_that_sees_records_must_be_named():
    with pytest.raises(ConfigError, match=r"the aggregator sees every record; name its operator, network.trusted"):
        rehearse(newton().deployment(), 60)
    case = newton(trusted={"aggregator": "Statistics Office"})
    rehearse(case.deployment(), 60)
    case.network["trusted"] = {"dealer": "Statistics Office"}
    with pytest.raises(ConfigError, match=r"network.trusted has 'dealer': method m has analyst, aggregator"):
        case.deployment()
    case.network["trusted"] = {"aggregator": "Statistics Office", "analyst": "Bureau"}
    with pytest.raises(ConfigError, match=r"trusted has 'analyst': method m gives it neither .* go to aggregator"):
        rehearse(case.deployment(), 0)
    case.network["trusted"] = {"aggregator": " "}
    with pytest.raises(ConfigError, match=r"network.trusted.aggregator is ' ': give the name"):
        case.deployment()


def test_a_dealer_that_knows_the_noise_must_be_named():
    case = Apart("vertical_glm")
    case.method = {"protocol": "moments", "dealer": "dealer"}
    case.network["mode"] = "release"
    with pytest.raises(ConfigError, match=r"the dealer knows the noise; name its operator, network.trusted"):
        rehearse(case.deployment(), 60)
    case.network["trusted"] = {"dealer": "Statistics Office"}
    rehearse(case.deployment(), 60)


def test_what_would_protect_next_to_nothing_is_refused():
    case = newton(trusted={"aggregator": "Statistics Office"}, largest_epsilon=1.5)
    with pytest.raises(ConfigError, match=r"certifies epsilon 2 for one row .* more than network.largest_epsilon"):
        rehearse(case.deployment(), 60)


def test_the_screen_says_who_is_trusted(tmp_path):
    deployment = newton(trusted={"aggregator": "Statistics Office"}).deployment()
    start = PartyStart((deployment,), "c" * 64, deployment.names[0], tmp_path, tmp_path, tmp_path)
    report = RunReport((FitReport(start, *HELD, (), ()),), {}, {}, None, "")
    told = screen(start, report)
    named = replace(deployment, network=replace(deployment.network, trusted={"analyst": "Bureau"}))
    other = screen(replace(start, deployments=(named,)), report)
    assert "Bureau runs the analyst, which may know the noise or the records: epsilon inf against it" in other
    assert "Statistics Office runs the aggregator, which sees every record: epsilon inf against it" in told


def test_records_go_to_the_place_that_is_trusted_with_them_and_to_nobody_else():
    """Neither to one that is no trusted place, nor to one that is trusted with the noise."""
    run, _, _ = whole(newton(trusted={"aggregator": "Statistics Office"}).deployment(), "", Path())
    shares = Cipher(np.ones(3), "nobody", "additive shares", knows=("aggregator",))
    run.channel.send("shop", "aggregator", "shares", shares)
    for trusted in (("aggregator",), ("aggregator", "analyst")):
        run.channel.trusted = frozenset(trusted)
        with pytest.raises(CertificationError, match="closes nothing in a run that is not an experiment"):
            run.channel.send("shop", "analyst", "shares", shares)
    run.channel.trusted = frozenset()
    assert isinstance(run.channel.leaving("shop", shares), Clear)


def test_what_costs_too_much_or_trusts_nobody_by_name_is_refused_before_data_are_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "parts", lambda *given: pytest.fail("opened data"))
    named = {"trusted": {"aggregator": "Statistics Office"}}
    for given, words in (({}, "name its operator"), (named | {"largest_epsilon": 1.5}, "network.largest_epsilon")):
        start = PartyStart(newton(**given).deployments(), "c" * 64, "shop", tmp_path, tmp_path, tmp_path)
        with pytest.raises(running.PartyRunError, match=words):
            running.run(start)
