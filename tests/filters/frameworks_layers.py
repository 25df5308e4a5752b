"""The real layers once more: what they compute equals what is stored, and what the restated layers compute.

Run by ``./run frameworks``, in the environment of ``requirements-frameworks.lock``; a framework that is absent is a
failure. In an environment with newer versions it says which layers compute something else.
"""

from __future__ import annotations

import json

import pytest

import framework_layers
import restated_layers

STORED = framework_layers.decode(json.loads(framework_layers.VECTORS.read_text(encoding="utf-8")))


def test_the_frameworks_are_those_of_the_texts():
    assert framework_layers.versions() == STORED["versions"]


@pytest.mark.parametrize("layer", framework_layers.LAYERS)
def test_a_real_layer_computes_what_is_stored(layer):
    changed = []
    own = [case for case in STORED["cases"] if case["layer"] == layer]
    assert own
    for case in own:
        inputs = {name: case[name] for name in ("layer", "seed", "inputs")}
        found = framework_layers.decode(framework_layers.encode(framework_layers.outputs(**inputs)))
        changed += restated_layers.differences(found, case["outputs"], f"seed {case['seed']}")
    assert not changed, "\n".join(changed)
