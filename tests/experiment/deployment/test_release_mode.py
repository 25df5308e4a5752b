"""Which methods can run with secret randomness is on a page that was made by trying them."""

from __future__ import annotations

import pytest

from deployment_cases import Apart
from partywise.errors import ConfigError
from partywise.experiment.cells import execution
from partywise.experiment.data import generate
from partywise.experiment.deployment import rehearsal
from partywise.experiment.deployment.rehearsal import floating_point, rehearse
from partywise.federation.deployment.forms import form_of
from partywise.federation.run import simulate
from partywise.privacy.mechanisms.random import SecureRandom
from release_table import PAGE, page


def test_the_page_of_methods_that_can_release_is_what_trying_them_gives():
    assert PAGE.read_text(encoding="utf-8") == page()


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
