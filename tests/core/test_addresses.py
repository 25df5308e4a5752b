"""An address or a name that users may have written before names the one of today."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

from partywise.core.addresses import NEW_ADDRESSES, new_address, present_name


@pytest.mark.parametrize("name", NEW_ADDRESSES)
def test_what_moved_is_gone_and_its_home_is_there(name):
    home = f"partywise.{NEW_ADDRESSES[name]}"
    assert find_spec(home) is not None
    with pytest.raises(ModuleNotFoundError, match=f"partywise.{name} is {home} now"):
        import_module(f"partywise.{name}")


def test_a_module_in_a_room_that_moved_is_named_with_its_new_room():
    code = "from partywise.glm.options import VerticalOptions"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ModuleNotFoundError: partywise.glm is partywise.methods.glm now: import it from there." in done.stderr
    assert new_address("partywise.glm.protocols.joint") == "partywise.methods.glm.protocols.joint"
    assert new_address("partywise.glm.standardise") == "partywise.models.standardise"
    assert new_address("partywise.datasets.clients.deal") == "partywise.data.division"
    assert new_address("partywise.privacy.ledger") is None and new_address("partywise.data.fetch") is None


def test_other_names_that_are_not_there_are_told_as_python_does():
    with pytest.raises(ModuleNotFoundError, match=r"No module named .partywise\.nowhere"):
        import_module("partywise.nowhere")


@pytest.mark.parametrize(
    ("module", "earlier", "name"),
    [
        ("methods.glm.model", "Estimate", "GlmEstimate"),
        ("methods.trees.model", "Estimate", "TreeEstimate"),
        ("methods.logistic.model", "Estimate", "LabelEstimate"),
        ("methods.logistic.model", "Plan", "ReleasePlan"),
        ("methods.survival.estimator", "FederatedCox", "in partywise.methods.survival.cox"),
        ("federation.run", "PlaceError", "in partywise.federation.places"),
        ("federation.channel", "Transcript", "in partywise.federation.payloads"),
    ],
)
def test_a_class_is_named_that_own_methods_import_under_its_former_name_or_from_its_former_place(module, earlier, name):
    with pytest.raises(ImportError) as caught:
        exec(f"from partywise.{module} import {earlier}")
    assert present_name(caught.value) == f"; it is {name} now"


@pytest.mark.parametrize("name", ["Nothing", "fit"])
def test_other_errors_name_no_class(name):
    """Of a name that is nowhere, or in many modules."""
    with pytest.raises(ImportError) as caught:
        exec(f"from partywise.methods.glm.model import {name}")
    assert present_name(caught.value) == present_name(ImportError("no module")) == ""
