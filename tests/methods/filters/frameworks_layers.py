"""The real layers once more: what they compute equals what is stored, and what the restated layers compute.

Run by ``./run test --frameworks``, in the environment of ``requirements-frameworks.lock``; a framework that is absent
is a failure. In an environment with newer versions it says which layers compute something else.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import framework_layers
import restated_layers
from partywise.methods.filters.layers import nvflare

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


def test_filters_of_nvflare_let_pass_what_they_do_not_know():
    """A kind of data that a filter does not list, a tuple of names, a result that is not a DXO."""
    from nvflare.apis.dxo import DXO, DataKind, from_shareable
    from nvflare.apis.fl_context import FLContext
    from nvflare.apis.shareable import Shareable
    from nvflare.app_common.filters.exclude_vars import ExcludeVars
    from nvflare.app_common.filters.percentile_privacy import PercentilePrivacy
    from nvflare.app_common.filters.svt_privacy import SVTPrivacy

    update = {"w": np.array([1.4e6, 1.0])}
    for privacy_filter in (PercentilePrivacy(), SVTPrivacy(), ExcludeVars(["w"])):
        other = DXO(DataKind.METRICS, data=dict(update))
        found = from_shareable(privacy_filter.process(other.to_shareable(), FLContext()))
        assert restated_layers.differences(found.data, update) == []
        plain = Shareable({"weights": update})
        assert privacy_filter.process(plain, FLContext())["weights"]["w"].tolist() == update["w"].tolist()
    weights = DXO(DataKind.WEIGHT_DIFF, data=dict(update))
    named = from_shareable(ExcludeVars(("w",)).process(weights.to_shareable(), FLContext())).data
    assert restated_layers.differences(named, update) == []
    assert restated_layers.differences(nvflare.exclude_vars(update, ("w",)), update) == []


def test_flower_sends_metrics_of_a_reply_as_they_are():
    from flwr.app import Message, MetricRecord, RecordDict
    from flwr.clientapp.mod import LocalDpMod

    framework_layers.in_a_task()
    sent, trained = framework_layers.record([np.zeros(3)]), framework_layers.record([np.ones(3)])
    asked = Message(RecordDict({"arrays": sent}), dst_node_id=1, message_type="train")

    def train(message, context):
        metrics = MetricRecord({"num-examples": 304, "loss": 0.25})
        return Message(RecordDict({"arrays": trained, "metrics": metrics}), reply_to=message)

    answer = LocalDpMod(1.0, 2.0, 1.0, 1e-5)(asked, None, train)
    assert dict(answer.content["metrics"]) == {"num-examples": 304, "loss": 0.25}
