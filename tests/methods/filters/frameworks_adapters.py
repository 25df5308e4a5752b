"""The certified filter within Flower and NVFlare themselves: what leaves, what is refused, and that it stops.

Run by ``./run test --frameworks``, in the environment of ``requirements-frameworks.lock``; a framework that is absent
is a failure.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Error, Message, MetricRecord, RecordDict
from flwr.client import NumPyClient
from flwr.client.mod import secaggplus_mod
from flwr.clientapp import ClientApp
from flwr.common import FitIns, bytes_to_ndarray, ndarrays_to_parameters
from flwr.common.secure_aggregation.secaggplus_constants import RECORD_KEY_CONFIGS, RECORD_KEY_STATE, Key, Stage
from flwr.common.secure_aggregation.secaggplus_utils import pseudo_rand_gen
from flwr.compat.common import recorddict_compat
from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.fl_constant import FilterKey, FLContextKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.utils.task_utils import apply_filters
from nvflare.apis.workspace import Workspace
from nvflare.app_common.aggregators.intime_accumulate_model_aggregator import InTimeAccumulateWeightedAggregator
from nvflare.app_common.np.np_model_persistor import NPModelPersistor
from nvflare.app_common.shareablegenerators.full_model_shareable_generator import FullModelShareableGenerator
from nvflare.app_common.workflows.scatter_and_gather import ScatterAndGather
from nvflare.fuel.utils.component_builder import ComponentBuilder
from nvflare.job_config.api import FedJob, FilterType
from nvflare.private.fed.app.fl_conf import create_privacy_manager
from nvflare.private.privacy_manager import Scope

import documented
from framework_layers import in_a_task
from nvflare_trainer import Trainer
from partywise.core.errors import BudgetExceeded
from partywise.federation.account.chain import read_chain
from partywise.methods.filters.adapters import dxo_filter, flower_mod
from partywise.methods.filters.certified import CertifiedFilter

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "framework_filters.md"
ROUNDS, SECRET = 20, "patient 42"
MODEL = {"weights": np.array([[0.5, -1.0], [2.0, 0.25]]), "intercept": np.array(-0.75)}
PUBLIC = {"num-examples": "every client says 1", "lr": "a setting of the server"}


@pytest.fixture
def account(tmp_path):
    return tmp_path / "ledger.jsonl"


def filter_on(account, rounds: int = ROUNDS, **terms) -> CertifiedFilter:
    given = {"clip": 1.0, "epsilon": 1.0, "delta": 1e-5, "rounds": rounds, "unit": "user", "owner": "north"}
    return CertifiedFilter.for_rounds(**given | terms, account=account)


def paid(account) -> int:
    return sum(row.kind == "paid" for row in read_chain(account).rows) if account.exists() else 0


# Flower.


def record(arrays) -> ArrayRecord:
    return ArrayRecord({name: Array(np.asarray(array)) for name, array in arrays.items()})


def arrays_of(reply: Message) -> dict[str, np.ndarray]:
    (one,) = reply.content.array_records.values()
    return {name: array.numpy() for name, array in one.items()}


def asked(kind: str = "train", records=(MODEL,)) -> Message:
    in_a_task()
    content = RecordDict({f"arrays{place or ''}": record(arrays) for place, arrays in enumerate(records)})
    content["config"] = ConfigRecord({"lr": 0.1})
    return Message(content, dst_node_id=1, message_type=kind)


def context(**config) -> Context:
    return Context(run_id=1, node_id=1, node_config=config, state=RecordDict(), run_config={})


def app_of(mods, reply) -> ClientApp:
    """An app whose client answers every message as ``reply`` says."""
    app = ClientApp(mods=mods)
    app.train()(lambda message, context: reply(message))
    app.evaluate()(lambda message, context: reply(message))
    return app


def trained(message: Message, **changed) -> Message:
    """The model, some steps on, with metrics and settings of the client."""
    arrays = {name: array.numpy() + 30.0 for name, array in message.content["arrays"].items()} | changed
    metrics = MetricRecord({"num-examples": 304, "loss": 0.25, "labels": [1.0, 0.0]})
    told = ConfigRecord({"lr": 0.1, "site": SECRET})
    return Message(
        RecordDict({"arrays": record(arrays), "metrics": metrics, "config": told, SECRET: told}), reply_to=message
    )


def refused(reply: Message) -> str:
    assert reply.has_error() and not reply.has_content() and SECRET not in str(reply.error)
    return reply.error.reason


def test_flower_gets_the_certified_update_and_nothing_else_and_no_more_of_them(account):
    made = filter_on(account)
    app, message = app_of([flower_mod(made, PUBLIC)], trained), asked()
    moves = []
    for number in range(ROUNDS):
        reply = app(message, context())
        assert list(reply.content) == ["arrays", "config", "metrics"] and paid(account) == number + 1
        assert dict(reply.content["metrics"]) == {"num-examples": 304} and dict(reply.content["config"]) == {"lr": 0.1}
        sent = arrays_of(reply)
        assert [(name, array.shape, array.dtype) for name, array in sent.items()] == [
            (name, array.shape, array.dtype) for name, array in MODEL.items()
        ]
        moves += [np.ravel(sent[name] - MODEL[name]) for name in MODEL]
    # One clip for all five entries: noise of 33 around .45.
    moves = np.concatenate(moves)
    assert 0.7 < moves.std() / made.sigma < 1.3 and np.abs(moves).max() < 6 * made.sigma
    assert refused(app(message, context())) == "not released: BudgetExceeded"
    assert paid(account) == ROUNDS and made.epsilon_spent <= 1


def test_flower_gets_model_and_update_within_the_clip(account):
    """With as little noise as a filter adds: old + update, clipped over all arrays."""
    made = CertifiedFilter(1.0, mu=2.0**16, unit="user", budget=(1e10, 1e-5), owner="north", account=account)
    sent = arrays_of(app_of([flower_mod(made)], trained)(asked(), context()))
    for name, array in MODEL.items():
        assert sent[name] == pytest.approx(array + 1 / np.sqrt(5), abs=1e-3)


@pytest.mark.parametrize("kind", ["evaluate", "train"])
def test_flower_gets_public_metrics_alone_where_no_arrays_come_back(account, kind):
    def reply(message):
        return Message(RecordDict({"metrics": MetricRecord({"num-examples": 3, "loss": 0.1})}), reply_to=message)

    made = app_of([flower_mod(filter_on(account), PUBLIC)], reply)
    assert dict(made(asked(kind), context()).content["metrics"]) == {"num-examples": 3} and paid(account) == 0


def other_record(message: Message) -> Message:
    reply = trained(message)
    reply.content["more"] = record({"weights": np.ones(3)})
    return reply


@pytest.mark.parametrize(
    "reply",
    [
        lambda message: trained(message, more=np.ones(2)),
        lambda message: trained(message, weights=np.ones(2)),
        lambda message: trained(message, intercept=np.array(3)),
        other_record,
    ],
    ids=["another name", "another shape", "integers", "another record"],
)
def test_flower_gets_no_arrays_but_those_that_were_sent(account, reply):
    app = app_of([flower_mod(filter_on(account))], reply)
    assert refused(app(asked(), context())).startswith("not released") and paid(account) == 0


def test_flower_gets_no_arrays_for_none_or_two(account):
    app = app_of([flower_mod(filter_on(account))], lambda message: trained(asked()))
    for records in ((), (MODEL, MODEL)):
        assert refused(app(asked(records=records), context())).startswith("not released")
    assert paid(account) == 0


def test_flower_hears_that_an_app_failed_and_not_why(account, caplog):
    def raises(message):
        raise RuntimeError(SECRET)

    for reply in (raises, lambda message: Message(Error(0, SECRET), reply_to=message)):
        app = app_of([flower_mod(filter_on(account))], reply)
        assert "log of the site" in refused(app(asked(), context()))
    assert SECRET in caplog.text and paid(account) == 0


def test_a_mod_that_stands_behind_adds_nothing_to_a_reply_of_flower(account):
    """The first in the list is the last to see a reply."""

    def talkative(message, context, call_next):
        reply = call_next(message, context)
        reply.content["metrics"]["norm"] = 3.0
        reply.content["more"] = ConfigRecord({"site": SECRET})
        return reply

    first = app_of([flower_mod(filter_on(account)), talkative], trained)(asked(), context())
    assert not first.content["metrics"] and "more" not in first.content
    last = app_of([talkative, flower_mod(filter_on(account))], trained)(asked(), context())
    assert last.content["more"]["site"] == SECRET


def test_what_an_app_of_flower_does_to_the_message_does_not_count_as_its_model(account):
    def trains_in_place(message):
        reply = trained(message)
        message.content["arrays"]["weights"] = Array(np.full((2, 2), 1e6))
        return reply

    sent = arrays_of(app_of([flower_mod(filter_on(account))], trains_in_place)(asked(), context()))
    assert np.abs(sent["weights"]).max() < 1e4


def test_sites_of_one_flower_app_have_their_own_account(tmp_path):
    mod = flower_mod(lambda context: filter_on(tmp_path / context.node_config["account"], rounds=1))
    app = app_of([mod], trained)
    for site in ("north", "south"):
        assert arrays_of(app(asked(), context(account=site)))
        assert refused(app(asked(), context(account=site))) == "not released: BudgetExceeded"


class Constant(NumPyClient):
    """A client of Flower's older kind, whose update is 30 in every entry."""

    def fit(self, parameters, config):
        return [np.asarray(array + 30.0) for array in parameters], 1, {"loss": 0.25}


def masked_mean(apps) -> list[np.ndarray]:
    """Mean of the models of two clients behind SecAgg+, as its server forms it; private masks are read from states."""
    in_a_task()
    contexts = {node: context() for node in apps}
    scale = {Key.CLIPPING_RANGE: 64.0, Key.TARGET_RANGE: 1 << 22, Key.MOD_RANGE: 1 << 32, Key.MAX_WEIGHT: 1.0}
    model = FitIns(ndarrays_to_parameters(list(MODEL.values())), {})

    def ask(node, stage, **configs):
        content = recorddict_compat.fitins_to_recorddict(model, keep_input=True)
        content[RECORD_KEY_CONFIGS] = ConfigRecord({Key.STAGE: stage} | configs)
        reply = apps[node](Message(content, dst_node_id=node, message_type="train"), contexts[node])
        assert all(SECRET not in str(record) and "loss" not in record for record in reply.content.values())
        return reply.content[RECORD_KEY_CONFIGS]

    sizes = {Key.SAMPLE_NUMBER: 2, Key.SHARE_NUMBER: 2, Key.THRESHOLD: 2}
    keys = {node: ask(node, Stage.SETUP, **sizes, **scale) for node in apps}
    public = {str(node): [keys[node][Key.PUBLIC_KEY_1], keys[node][Key.PUBLIC_KEY_2]] for node in apps}
    shares = {node: ask(node, Stage.SHARE_KEYS, **public) for node in apps}
    total = None
    for node, other in ((1, 2), (2, 1)):
        sources = {Key.SOURCE_LIST: [other], Key.CIPHERTEXT_LIST: shares[other][Key.CIPHERTEXT_LIST]}
        sent = ask(node, Stage.COLLECT_MASKED_VECTORS, **sources)[Key.MASKED_PARAMETERS]
        vectors = [bytes_to_ndarray(one) for one in sent]
        seed = contexts[node].state[RECORD_KEY_STATE]["rd_seed"]
        masks = pseudo_rand_gen(seed, 1 << 32, [vector.shape for vector in vectors])
        own = [vector.astype(object) - mask for vector, mask in zip(vectors, masks, strict=True)]
        total = own if total is None else [one + more for one, more in zip(total, own, strict=True)]
    values = [np.asarray(one % (1 << 32), dtype=float) for one in total][1:]
    return [(value / (1 << 22) * 128.0 - 128.0) / 2 for value in values]


def test_flowers_secure_aggregation_masks_the_release(tmp_path):
    """The mod stands directly after ``secaggplus_mod``, before others: masks hide the release, nothing else leaves."""

    def talkative(message, context, call_next):
        reply = call_next(message, context)
        reply.content["more"] = ConfigRecord({"site": SECRET})
        return reply

    def client(mu, node):
        account = tmp_path / f"{node}-{mu}.jsonl"
        made = CertifiedFilter(1.0, mu=mu, unit="user", budget=(1e10, 1e-5), owner="north", account=account)
        mods = [
            secaggplus_mod,
            flower_mod(made, {"num_examples": "1", "code": "a constant", "message": "none"}),
            talkative,
        ]
        return ClientApp(client_fn=lambda context: Constant().to_client(), mods=mods)

    for mu, least, most in ((2.0**16, 0.0, 1e-3), (1.0, 1e-2, 12.0)):
        mean = masked_mean({node: client(mu, node) for node in (1, 2)})
        gaps = [np.abs(one - (array + 1 / np.sqrt(5))).max() for one, array in zip(mean, MODEL.values(), strict=True)]
        assert least <= max(gaps) <= most
        assert [paid(tmp_path / f"{node}-{mu}.jsonl") for node in (1, 2)] == [1, 1]


# NVFlare.


def result(kind: str = DataKind.WEIGHT_DIFF, data=None, **meta) -> Shareable:
    data = {name: array + 30.0 for name, array in MODEL.items()} if data is None else data
    shareable = DXO(kind, data, {"NUM_STEPS_CURRENT_ROUND": 19, "initial_metrics": {"loss": 0.2}} | meta).to_shareable()
    shareable["more"] = SECRET
    shareable.set_header("site", SECRET)
    return shareable


STEPS = {"NUM_STEPS_CURRENT_ROUND": "a setting of the job"}


def test_nvflare_gets_the_certified_difference_and_nothing_else_and_no_more_of_them(account):
    made = filter_on(account)
    component = dxo_filter(made, MODEL, STEPS)
    for number in range(ROUNDS):
        sent = component.process(result(), FLContext())
        dxo = from_shareable(sent)
        assert dxo.data_kind == DataKind.WEIGHT_DIFF and dxo.meta == {"NUM_STEPS_CURRENT_ROUND": 19}
        assert SECRET not in str(sent) and set(sent) == {"DXO", "__headers__"} and paid(account) == number + 1
        assert {name: array.shape for name, array in dxo.data.items()} == {"weights": (2, 2), "intercept": ()}
        for array in dxo.data.values():
            assert np.array_equal(np.rint(array / made.grid) * made.grid, array)
    with pytest.raises(BudgetExceeded):
        component.process(result(), FLContext())
    assert paid(account) == ROUNDS and made.epsilon_spent <= 1


@pytest.mark.parametrize(
    "wrong",
    [
        result(DataKind.WEIGHTS),
        result(DataKind.METRICS, {"loss": 0.2}),
        result(DataKind.COLLECTION, {"one": DXO(DataKind.WEIGHT_DIFF, dict(MODEL))}),
        result(data={}),
        result(data={"weights": np.ones(2), "batches": np.array(7)}),
        Shareable({"weights": MODEL["weights"]}),
    ],
    ids=["WEIGHTS", "METRICS", "COLLECTION", "empty", "a counter", "no DXO"],
)
def test_nvflare_gets_nothing_else(account, wrong):
    component = dxo_filter(filter_on(account), MODEL)
    with pytest.raises((TypeError, ValueError)) as refusal:
        component.process(wrong, FLContext())
    assert SECRET not in str(refusal.value) and paid(account) == 0


def test_nvflare_hears_the_return_code_of_a_failure_alone(account):
    for code, told in ((ReturnCode.MODEL_UNRECOGNIZED,) * 2, (SECRET, ReturnCode.EXECUTION_EXCEPTION)):
        failed = make_reply(code)
        failed["traceback"] = SECRET
        sent = dxo_filter(filter_on(account), MODEL).process(failed, FLContext())
        assert sent.get_return_code() == told and SECRET not in str(sent) and paid(account) == 0


def test_a_site_of_nvflare_states_the_filter_itself(account, tmp_path):
    """As the page has it: before the filters of a job, for whatever job."""
    (stated,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    (tmp_path / "local").mkdir()
    (tmp_path / "startup").mkdir()
    (tmp_path / "local" / "privacy.json").write_text(stated.replace("/secure/ledger.jsonl", str(account)))
    manager = create_privacy_manager(Workspace(str(tmp_path), site_name="site-1"), names_only=False)
    context = FLContext()
    context.set_prop(FLContextKey.SCOPE_OBJECT, manager.get_scope(""), private=True, sticky=False)
    sent = apply_filters(Scope.TASK_RESULT_FILTERS_NAME, result(), context, {}, "train", FilterKey.OUT)
    assert from_shareable(sent).data["weights"].shape == (2, 2) and SECRET not in str(sent) and paid(account) == 1
    with pytest.raises(ValueError, match="WEIGHT_DIFF"):
        apply_filters(Scope.TASK_RESULT_FILTERS_NAME, result("WEIGHTS"), context, {}, "train", FilterKey.OUT)


def test_the_page_prints_what_stands_there():
    assert documented.run(PAGE, extras=True) == []


class Builder(ComponentBuilder):
    """Makes components as NVFlare does at a site, of the path and the arguments in a job."""

    def get_module_scanner(self):
        raise AssertionError("a path is given")


def test_a_job_of_nvflare_carries_the_filter_to_its_site(account, tmp_path):
    job = FedJob(name="certified", min_clients=1)
    job.set_app_packages(["partywise"])
    job.to(
        dxo_filter(filter_on(account, rounds=1), MODEL, STEPS),
        "site-1",
        filter_type=FilterType.TASK_RESULT,
        tasks=["train"],
    )
    job.export_job(str(tmp_path / "job"))
    (config,) = (tmp_path / "job").rglob("config_fed_client.json")
    assert not list((tmp_path / "job").rglob("*.py"))
    (chain,) = json.loads(config.read_text())["task_result_filters"]
    component = Builder().build_component(chain["filters"][0])
    assert chain["tasks"] == ["train"] and type(component) is type(dxo_filter(filter_on(account), MODEL))
    assert from_shareable(component.process(result(), FLContext())).meta == {"NUM_STEPS_CURRENT_ROUND": 19}
    with pytest.raises(BudgetExceeded):
        component.process(result(), FLContext())


def test_a_job_of_nvflare_ends_with_the_budget_of_a_site(tmp_path, monkeypatch):
    """Three rounds by NVFlare's simulator, a process a site: the model moves by two releases, the third is refused."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(ROOT / folder) for folder in ("lib", "tests/support")))
    job = FedJob(name="certified", min_clients=2)
    job.set_app_packages(["partywise"])
    job.to_server(NPModelPersistor(model=[[0.0, 0.0], [0.0, 0.0]]), id="persistor")
    job.to_server(FullModelShareableGenerator(), id="shareable_generator")
    job.to_server(InTimeAccumulateWeightedAggregator(expected_data_kind="WEIGHT_DIFF"), id="aggregator")
    rounds = {"min_clients": 2, "num_rounds": 3, "wait_time_after_min_received": 0, "persistor_id": "persistor"}
    job.to_server(ScatterAndGather(**rounds))
    for site, left in (("site-1", 3), ("site-2", 2)):
        job.to(Trainer(), site, tasks=["train"])
        made = filter_on(tmp_path / f"{site}.jsonl", rounds=left, owner=site)
        model = {"numpy_key": np.zeros((2, 2))}
        job.to(dxo_filter(made, model, STEPS), site, filter_type=FilterType.TASK_RESULT, tasks=["train"])
    job.simulator_run(str(tmp_path / "work"))
    # Whether the other site had released its third before the job ended is a matter of moments.
    assert paid(tmp_path / "site-2.jsonl") == 2 and paid(tmp_path / "site-1.jsonl") in (2, 3)
    log = (tmp_path / "work" / "server" / "log.txt").read_text()
    assert "TASK_RESULT_FILTER_ERROR" in log and "Round 1 finished" in log and "Round 2 finished" not in log
    model = np.load(next((tmp_path / "work" / "server").rglob("server.npy")))
    assert model.shape == (2, 2) and len(set(model.ravel())) == 4 and np.abs(model).max() < 6 * 2 * made.sigma


@pytest.mark.parametrize("adapter", [flower_mod, dxo_filter])
@pytest.mark.parametrize("wrong", ["account", "unit", "public"])
def test_a_framework_is_given_no_filter_that_it_cannot_run(account, adapter, wrong):
    made = filter_on(None if wrong == "account" else account, unit="row" if wrong == "unit" else "user")
    with pytest.raises(ValueError, match={"public": "because"}.get(wrong, wrong)):
        adapter(
            made,
            **({"model": MODEL} if adapter is dxo_filter else {}),
            public={"loss": ""} if wrong == "public" else None,
        )
