"""An address that users may have written before names the one of today."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec

import pytest

from partywise.core.addresses import NEW_ADDRESSES, new_address, renamed_class


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
    ],
)
def test_a_renamed_class_of_own_methods_is_named(module, earlier, name):
    with pytest.raises(ImportError) as caught:
        exec(f"from partywise.{module} import {earlier}")
    assert renamed_class(caught.value) == f"; it is {name} now"


def test_other_errors_name_no_class():
    with pytest.raises(ImportError) as caught:
        exec("from partywise.methods.glm.model import Nothing")
    assert renamed_class(caught.value) == renamed_class(ImportError("no module")) == ""
