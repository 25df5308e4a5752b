"""A party that has its own file alone knows what a simulation of all files knows in public, and of blocks its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deployment_cases import STUDIES, Apart
from partywise.deployment.part import parts
from partywise.deployment.session.outcome import plain
from partywise.deployment.settings import digest
from partywise.experiment.cells import execution
from partywise.experiment.data import generate
from partywise.federation.codec import encode
from partywise.federation.run import Run


def simulated(case: Apart, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The run of the whole data, as a cell of the cube computes it."""
    monkeypatch.chdir(folder)
    found = case.deployment()
    network = found.network
    data = generate(found.plan, network.case, [0], "resources")[0]
    return execution(found.plan, network.case, network.method, found.n_parties, network.fold, found.epsilon, data)


def public(run: Run) -> bytes:
    """All of a run but blocks and generators, as bytes."""
    told: dict[str, Any] = {"names": run.names, "epsilon": run.epsilon, "fold": run.fold}
    told |= {"parties": [(party.name, party.role, party.columns) for party in run.parties]}
    told |= {"spec": {name: getattr(run.spec, name) for name in ("options", "study", "settings", "public")}}
    told |= {"n_parties": run.spec.n_parties}
    return encode(plain(told, ""))


@pytest.mark.parametrize("study", STUDIES)
def test_a_party_apart_knows_what_is_public(study, tmp_path, monkeypatch):
    case = Apart(study)
    whole = simulated(case, case.write(tmp_path), monkeypatch)
    expected, deployment = public(whole), case.deployment()
    assert deployment.names == whole.names == case.names
    monkeypatch.chdir(tmp_path)
    for me in whole.names:
        own = parts((deployment,), "salt", me, tmp_path / me)[0].run
        assert public(own) == expected, me
        for mine, theirs in zip(own.parties, whole.parties, strict=True):
            if mine.name != me:
                assert dict(mine.block) == {}
                continue
            assert list(mine.block) == list(theirs.block) and mine.block
            for name, values in mine.block.items():
                assert values.dtype == theirs.block[name].dtype
                np.testing.assert_array_equal(values, theirs.block[name])


@pytest.mark.parametrize("study", STUDIES)
def test_holders_of_the_same_records_say_so(study, tmp_path):
    case = Apart(study)
    case.write(tmp_path)
    deployment = case.deployment()
    facts = {me: parts((deployment,), "salt", me, tmp_path / me)[0].facts for me in deployment.names}
    if study in ("federated_epidemiology", "federated_survival", "sliced_inverse_regression"):
        assert not any(facts.values())
        return
    said = {facts[me]["list of records"] for me in deployment.holders}
    assert len(said) == 1 and not any(facts[me] for me in deployment.places)
    [other] = parts((deployment,), "other", deployment.holders[0], tmp_path / deployment.holders[0])
    assert other.facts["list of records"] not in said
    # One record more at one party.
    file, (_, rows) = next(iter(case.files[deployment.holders[1]].items()))
    with (tmp_path / deployment.holders[1] / file).open("a") as handle:
        handle.write(",".join(["zz", *rows[-1][1:]]) + "\n")
    case.network.pop("rows", None) if not deployment.places else None
    if not deployment.places:
        other = parts((case.deployment(),), "salt", deployment.holders[1], tmp_path / deployment.holders[1])[0].facts
        assert other["list of records"] not in said


def test_all_that_a_configuration_says_is_compared():
    case = Apart("vertical_glm")
    before = digest(case.config)
    assert digest(dict(reversed(case.config.items()))) == before
    case.network["parties"]["shop"]["port"] += 100
    assert digest(case.config) != before
