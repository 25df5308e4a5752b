"""The pages on parties apart: their configuration runs, their keys are all keys, sentences and commands are ours."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

import pytest
import yaml

from partywise.__main__ import main
from partywise.core.errors import BudgetExceeded
from partywise.deployment.deployments import Deployment, deployments_of
from partywise.deployment.part import whole
from partywise.deployment.settings import NetworkSettings
from partywise.experiment.plans import plans, read_configuration
from partywise.federation.account.spending import AccountBudget, Spending, spent_of
from partywise.federation.run import simulate
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.ledger.event import Event
from pipeline import ROOT

GUIDE, REFERENCE = (
    (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("network", "network_reference")
)
PAGE = GUIDE + REFERENCE
# What of a sentence is another one each time.
OWN = re.compile(r"is refused:|'[^']*'|\([^)]*\)|\.\.\.|\bnetwork\.\w+|\d+(?: s)?")


def section(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def first_cells(heading: str) -> list[str]:
    """The first column of the table of a section."""
    return re.findall(r"^\| (.+?) \|", section(heading), flags=re.MULTILINE)[1:]


def test_the_configuration_of_the_page_is_one_that_parties_share():
    config = yaml.safe_load(re.search(r"```yaml\n(.*?)```", REFERENCE, re.DOTALL)[1])
    [found] = deployments_of(config, plans(config))
    assert found.names == ("north", "river", "server")
    assert set(found.names) == set(config["network"]["parties"])


def test_the_fits_of_the_page_are_a_session_of_its_configuration():
    config, more = (
        yaml.safe_load(found) for found in re.findall(r"```yaml\n((?:root_seed|fits).*?)```", PAGE, re.DOTALL)
    )
    targets = [fit["epsilon"] for fit in more["fits"]]
    for key in ("method", "epsilon"):
        del config["network"][key]
    config["studies"]["sliced_inverse_regression"]["cases"]["two_hospitals"]["grid"]["epsilon"] = targets
    for fits in (more["fits"], "grid"):
        config["network"]["fits"] = fits
        assert [one.epsilon for one in deployments_of(config, plans(config))] == targets


def test_the_table_has_every_key_of_the_block():
    named = re.findall(r"`(\w+)`", " ".join(first_cells("The shared configuration")))
    assert sorted(set(named) - {"network"}) == sorted(field.name for field in fields(NetworkSettings))


def test_every_sentence_that_is_told_stands_in_the_code():
    """But for what is another word each time; the parts of a sentence that the code writes on two lines are joined."""
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "lib" / "partywise").rglob("*.py"))
    code = re.sub(r"\"\s*\n\s*f?\"", "", code)
    told = first_cells("Error messages")
    assert len(told) > 10
    for sentence in told:
        parts = [part.strip(" ,;:.") for part in OWN.split(sentence)]
        longest = max(parts, key=len)
        assert len(longest.split()) > 2 and longest in code, (sentence, longest)


# Verbs of the page, with the second word of those that have verbs of their own.
VERBS = sorted(set(re.findall(r"python -m partywise (network [a-z-]+|[a-z-]+)", PAGE)))


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_of_the_page_is_known_with_its_words(verb, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*verb.split(), "--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    words = {word for line in re.findall(rf"python -m partywise {verb} ([^`\n]*)", PAGE) for word in line.split()}
    assert {word for word in words if word.startswith("--")} <= set(re.findall(r"--[\w-]+", told))


@pytest.mark.parametrize("path", sorted((ROOT / "config").glob("network_*.example.yaml")), ids=lambda path: path.stem)
def test_every_example_of_a_network_is_a_block_that_runs(path):
    """And is named on the page of keys."""
    config = read_configuration(path)
    [found] = deployments_of(config, plans(config))
    assert set(found.holders) <= set(found.names)
    assert f"config/{path.name}" in (ROOT / "docs" / "network_reference.md").read_text(encoding="utf-8")


def test_the_example_of_a_linear_model_has_room_for_two_runs_and_no_third():
    """Each party pays the target, by Gaussian noise."""
    network = read_configuration(ROOT / "config" / "network_glm.example.yaml")["network"]
    budget = network["budget"]
    run, room = (gdp_mu(epsilon, budget["delta"]) ** 2 for epsilon in (network["epsilon"], budget["epsilon"]))
    assert 2 * run <= room < 3 * run


def test_the_screens_of_the_page_are_what_its_examples_cost():
    """Messages, bytes and costs do not depend on what a file holds: those of one party, from its file alone."""
    config = read_configuration(ROOT / "config" / "network_clients.example.yaml")
    sent, _, _ = paid_by("north", config)
    assert f"sent to server: {len(sent)} messages, {sum(sent)} bytes" in PAGE
    assert "paid: row without limit, label without limit, features without limit (epsilon at delta 0.000353553" in PAGE
    config = read_configuration(ROOT / "config" / "network_tables.example.yaml")
    sent, paid, found = paid_by("shop", config)
    delta, budget = found.plan.delta(found.network.case), found.network.budget
    costs = spent_of(paid, delta)
    assert f"sent to bank: {len(sent)} message, {sum(sent):,} bytes" in PAGE
    told = ", ".join(f"{unit} {costs[unit].epsilon:.6g}" for unit in ("row", "features"))
    assert f"paid: {told} (epsilon at delta {delta:g}, by unit)" in PAGE
    spending = Spending(AccountBudget(budget.epsilon, budget.delta, budget.unit), paid)
    number = f"{spent_of(paid, budget.delta)['features'].epsilon:.6g} of {budget.epsilon:g}"
    assert f"budget: epsilon {number} (unit features, delta 1e-05, composed exactly; left for another run: " in PAGE
    assert f"{spending.room})" in PAGE
    spending.require("second", [replace(event, release_id="again") for _, event in paid])
    with pytest.raises(BudgetExceeded):
        spending.require("third", [replace(event, release_id="and again") for _, event in paid])


def paid_by(name: str, config: dict[str, Any]) -> tuple[list[int], list[tuple[str, Event]], Deployment]:
    """Bytes of the messages of a party of an example, what it pays in one run, and the block."""
    [found] = deployments_of(config, plans(config))
    run, *_ = whole(found, name, ROOT)
    simulate(found.plan.methods[found.network.method].protocol.fit, run)
    sent = [row["bytes"] for row in run.channel.transcript() if row["sender"] == name]
    return sent, [("first", event) for event in run.channel.ledger.rows if event.owner == name], found
