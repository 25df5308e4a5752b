"""Filters for NVFlare and Flower keep of a result what is named as public and no more, with stand-ins for classes."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from partywise.methods.filters.adapters import flower_mod
from partywise.methods.filters.certified import CertifiedFilter


@dataclass
class DXO:
    """As NVFlare's: a kind, arrays by their names, and values beside them."""

    data_kind: str
    data: dict[str, np.ndarray]
    meta: dict[str, Any] = field(default_factory=dict)

    def to_shareable(self) -> SimpleNamespace:
        return SimpleNamespace(dxo=self, get_return_code=lambda: "OK")


@pytest.fixture
def component(monkeypatch):
    """The class that NVFlare makes at a site."""
    kinds = SimpleNamespace(WEIGHT_DIFF="WEIGHT_DIFF", WEIGHTS="WEIGHTS")
    names = {
        "dxo": {"DXO": DXO, "DataKind": kinds, "from_shareable": lambda shareable: shareable.dxo},
        "filter": {"Filter": type("Filter", (), {})},
        "fl_constant": {
            "ReturnCode": SimpleNamespace(OK="OK", EXECUTION_EXCEPTION="EXECUTION_EXCEPTION", EMPTY="EMPTY")
        },
        "fl_context": {"FLContext": type("FLContext", (), {})},
        "shareable": {"Shareable": SimpleNamespace, "make_reply": lambda code: code},
    }
    for module in ("nvflare", "nvflare.apis"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    for module, content in names.items():
        made = ModuleType(f"nvflare.apis.{module}")
        vars(made).update(content)
        monkeypatch.setitem(sys.modules, made.__name__, made)
    monkeypatch.delitem(sys.modules, "partywise.methods.filters.dxo", raising=False)
    yield importlib.import_module("partywise.methods.filters.dxo").CertifiedDXOFilter
    sys.modules.pop("partywise.methods.filters.dxo", None)


PUBLIC = {"rounds": "a number of the protocol", "step": "a setting of the job"}
STATED = {"w": ["float32", 3], "step": ["int64"]}


@pytest.fixture
def site_filter(component, tmp_path):
    return component(1.0, 0.5, "user", 8.0, 1e-5, "north", str(tmp_path / "account.jsonl"), STATED, PUBLIC)


def result(meta=None, **changed) -> SimpleNamespace:
    arrays = {"step": np.array(7), "w": np.zeros(3, np.float32)} | changed
    return DXO("WEIGHT_DIFF", {name: array for name, array in arrays.items() if array is not None}, meta or {})


def test_what_is_public_stays_and_everything_else_goes(site_filter):
    released = site_filter.process(result({"rounds": 3, "sick": 98}).to_shareable(), None).dxo
    assert released.meta == {"rounds": 3} and list(released.data) == ["w", "step"] and released.data["step"] == 7
    assert released.data["w"].shape == (3,) and np.any(released.data["w"] != 0)
    # The type of an array says nothing either.
    wide = site_filter.process(result(w=np.zeros(3)).to_shareable(), None).dxo
    assert wide.data["w"].dtype == np.float32
    with pytest.raises(ValueError, match="a DXO of kind WEIGHTS is not released: send the difference"):
        site_filter.process(DXO("WEIGHTS", {}).to_shareable(), None)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (result(**{"sick=98 of 304": np.zeros(3)}), "are not ..step., .w.. of the model"),
        (result(w=None), "of the model"),
        (result(w=np.zeros(98)), "array 'w' of a result must have type float32 and shape .3,. of the model"),
        (result(step=np.array([7, 98])), "array 'step' of a result must have type int64"),
        (result(step=np.array("sick=98")), "array 'step' of a result must have type int64"),
        (result(step=np.array(98.0)), "array 'step' of a result must have type int64"),
        (result({"rounds": "sick=98"}), "public value 'rounds' is of type str: numbers pass, nothing else"),
        (result({"rounds": {"sick": 98}}), "public value 'rounds' is of type dict"),
        (result({"rounds": b"98"}), "public value 'rounds' is of type bytes"),
    ],
    ids=["name", "missing", "shape", "public shape", "text", "public type", "text in meta", "mapping", "bytes"],
)
def test_names_shapes_and_types_of_a_result_are_those_of_the_model(site_filter, wrong, reason):
    with pytest.raises(ValueError, match=reason):
        site_filter.process(wrong.to_shareable(), None)
    assert site_filter._filter.epsilon_spent == 0


@pytest.mark.parametrize(
    ("code", "sent"), [("EMPTY", "EMPTY"), ("loss=0.123, sick=98", "EXECUTION_EXCEPTION"), (98, "EXECUTION_EXCEPTION")]
)
def test_a_failure_has_a_code_of_nvflare_and_no_other(site_filter, code, sent):
    assert site_filter.process(SimpleNamespace(get_return_code=lambda: code), None) == sent


class Array(SimpleNamespace):
    """As Flower's."""

    def __init__(self, array) -> None:
        super().__init__(array=np.asarray(array))

    def numpy(self) -> np.ndarray:
        return self.array


class ArrayRecord(dict):
    """As Flower's."""


class MetricRecord(dict):
    """As Flower's, of metrics or of settings."""


class RecordDict(dict):
    """As Flower's."""

    @property
    def array_records(self):
        return {key: record for key, record in self.items() if isinstance(record, ArrayRecord)}


class Message:
    """As Flower's: content, or an error."""

    def __init__(self, content, reply_to=None) -> None:
        failed = isinstance(content, SimpleNamespace)
        self.content, self.error = (None, content) if failed else (content, None)

    def has_error(self) -> bool:
        return self.error is not None


@pytest.fixture
def flower(monkeypatch):
    """Flower's classes in short."""
    error = type("Error", (SimpleNamespace,), {"__init__": lambda self, code, reason: vars(self).update(locals())})
    names = {"Array": Array, "ArrayRecord": ArrayRecord, "Error": error, "RecordDict": RecordDict, "Message": Message}
    codes = {"ErrorCode": SimpleNamespace(CLIENT_APP_RAISED_EXCEPTION=2, MOD_FAILED_PRECONDITION=4)}
    for module, content in {"flwr": {}, "flwr.app": names, "flwr.common": {}, "flwr.common.constant": codes}.items():
        made = ModuleType(module)
        vars(made).update(content)
        monkeypatch.setitem(sys.modules, module, made)


def replied(tmp_path, reply: Message) -> Message:
    """What leaves of a reply to a model of one array and its public step."""
    account = tmp_path / "flower.jsonl"
    made = CertifiedFilter(1.0, mu=0.5, unit="user", budget=(8.0, 1e-5), owner="north", account=account)
    model = RecordDict(arrays=ArrayRecord(w=Array(np.zeros(3, np.float32)), step=Array(7)))
    return flower_mod(made, PUBLIC)(Message(model), None, lambda message, context: reply)


def reply_of(metrics=None, more=None, **changed) -> Message:
    arrays = {"step": np.array(7), "w": np.zeros(3, np.float32)} | changed
    record = ArrayRecord({name: Array(array) for name, array in arrays.items()})
    return Message(RecordDict({"metrics": MetricRecord(metrics or {}), "arrays": record} | (more or {})))


def test_flower_gets_the_records_that_it_knows_and_public_numbers(flower, tmp_path):
    more = {"loss=0.123, sick=98": MetricRecord(rounds=98), "config": MetricRecord(rounds="sick=98")}
    sent = replied(tmp_path, reply_of({"rounds": 3, "sick": 98}, more)).content
    assert list(sent) == ["arrays", "config", "metrics"]
    assert sent["metrics"] == {"rounds": 3} and sent["config"] == {"rounds": ""}
    assert list(sent["arrays"]) == ["w", "step"] and sent["arrays"]["step"].numpy() == 7


@pytest.mark.parametrize(
    "reply",
    [
        reply_of(more={"sick=98": ArrayRecord()}),
        Message(RecordDict({"sick=98": ArrayRecord(w=Array(np.zeros(3, np.float32)), step=Array(7))})),
        reply_of(step=np.array([7, 98])),
        reply_of(step=np.array(98.0)),
        reply_of(step=np.array("sick=98")),
        reply_of({"rounds": b"sick=98"}),
        reply_of({"rounds": [9, 8]}),
        reply_of({"rounds": True}),
    ],
    ids=["two records", "record", "public shape", "public type", "text", "bytes", "list", "truth value"],
)
def test_flower_gets_no_name_shape_or_value_that_tells(flower, tmp_path, reply):
    error = replied(tmp_path, reply).error
    assert (error.code, error.reason) == (4, "not released: see the log of the site")
    assert not (tmp_path / "flower.jsonl").exists() or "paid" not in (tmp_path / "flower.jsonl").read_text()


def test_flower_hears_one_code_of_an_app_that_failed(flower, tmp_path):
    error = replied(tmp_path, Message(SimpleNamespace(code=98, reason="sick"))).error
    assert (error.code, error.reason) == (2, "the app replied with an error: see the log of the site")
