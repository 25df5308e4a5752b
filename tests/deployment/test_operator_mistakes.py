"""Mistakes of operators with parties, certificates, accounts and published folders: each is one sentence in time.

What only other parties can notice is in tests/deployment/test_ten_mistakes.py.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from config_check import check_network
from deployment_cases import STUDIES, Apart
from mistakes import Mistake, faults
from partywise.__main__ import main
from partywise.core.errors import ConfigError
from partywise.deployment import verbs
from partywise.deployment.deployments import deployments_of
from partywise.deployment.wire.authority import make
from partywise.experiment.plans import plans

PARTIES = ("north", "south", "server")
Scene = Callable[[], object]


def file(name: str, content: str = "") -> Scene:
    def write() -> None:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).unlink(missing_ok=True)
        Path(name).write_text(content)
        Path(name).chmod(0o600)

    return write


def certificates() -> None:
    make("certificates", PARTIES)


def other_key() -> None:
    shutil.copy("certificates/south.key", "certificates/north.key")


def network(**keys: Any) -> Scene:
    """Another block ``network``; ``host`` and ``port`` are those of north."""

    def change() -> None:
        config = yaml.safe_load(Path("mine.yaml").read_text())
        north = {name: keys.pop(name) for name in ("host", "port") if name in keys}
        config["network"] |= keys
        config["network"]["parties"]["north"] |= north
        Path("mine.yaml").write_text(yaml.safe_dump(config, sort_keys=False))

    return change


def call(*words: str, scene: tuple[Scene, ...] = ()) -> Callable[[], int]:
    """A verb, after something was done in the folder of the configuration."""

    def act() -> int:
        for change in scene:
            change()
        return main(words)

    return act


def party(*scene: Scene, me: str = "north", data: str = "north", more: tuple[str, ...] = ()) -> Callable[[], int]:
    words = ("network", "party", "--config", "mine.yaml", "--me", me, "--data", data, "--into", "out", *more)
    return call(*words, scene=(certificates, *scene))


SIGN = ("network", "certificates", "--config", "mine.yaml", "--sign", "north.csr")
BUDGET = {"epsilon": "1,0", "delta": 1e-5, "unit": "row"}
MISTAKES = {
    "name misspelt": Mistake(party(me="nroth"), "did you mean north?", ("--me is 'nroth'",)),
    "capital letter": Mistake(party(me="North"), "did you mean north?", ("--me is 'North'",)),
    "no certificates": Mistake(
        party(lambda: shutil.rmtree("certificates")), "with the verb network certificates", ("authority.pem",)
    ),
    "a certificate that is none": Mistake(
        party(file("certificates/north.pem", "hello")), "put the file there", ("certificates/north.pem", "certificate")
    ),
    "an empty key": Mistake(
        party(file("certificates/north.key")), "put the file there", ("certificates/north.key", "private key")
    ),
    "an authority that is none": Mistake(
        party(file("certificates/authority.pem", "hello")), "put the file there", ("certificates/authority.pem",)
    ),
    "the key of another": Mistake(party(other_key), "make or ask for them anew", ("north.pem", "north.key")),
    "a key for all to read": Mistake(
        party(lambda: Path("certificates/north.key").chmod(0o644)), "chmod 600 north.key", ("certificates/north.key",)
    ),
    "a file for a folder": Mistake(party(data="north/north.csv"), "name the folder", ("--data is north/north.csv",)),
    "a folder misspelt": Mistake(party(data="nroth"), "name the folder", ("--data is nroth", "not there")),
    "a link for a machine": Mistake(
        party(network(host="https://north.org")),
        "such as hospital.example",
        ("network.parties.north.host", "https://no"),
    ),
    "a port in the host": Mistake(
        party(network(host="north.org:47110")), "its port under port", ("network.parties.north.host", "north.org:47110")
    ),
    "a port with a letter": Mistake(
        party(network(port="47a")), "a whole number", ("network.parties.north.port", "'47a'")
    ),
    "a port too large": Mistake(party(network(port=70000)), "[1, 65535]", ("network.parties.north.port", "70000")),
    "a time in words": Mistake(party(network(patience="1 min")), "must be a number", ("network.patience", "'1 min'")),
    "a budget with a comma": Mistake(
        party(network(budget=BUDGET, mode="release")), "with a decimal point", ("network.budget.epsilon", "'1,0'")
    ),
    "a mode with a capital": Mistake(
        party(network(mode="Release")), "did you mean release?", ("network.mode", "'Release'")
    ),
    "a verb of before": Mistake(call("party", "--me", "north"), "type ./run network party", ("'party'",)),
    "rows of another year": Mistake(
        party(network(rows={"north": 81, "south": 60}), more=("--dry-run",)),
        "bring the file that was meant",
        ("north.csv has 80 records", "81"),
    ),
    "no site": Mistake(party(more=("--site", "nowhere.yaml")), "name the site.yaml", ("--site is nowhere.yaml",)),
    "site misspelt": Mistake(
        party(file("site.yaml", "data: north\nmodes: [release]\nmethds: {}\n"), more=("--site", "site.yaml")),
        "did you mean methods?",
        ("site.yaml", "methds"),
    ),
    "a request that is not there": Mistake(
        call(*SIGN, scene=(certificates,)), "name NAME.csr", ("--sign is north.csr",)
    ),
    "a request that is none": Mistake(
        call(*SIGN, scene=(certificates, file("north.csr", "hello"))), "ask for it again", ("north.csr",)
    ),
    "certificates twice": Mistake(
        call("network", "certificates", "--config", "mine.yaml", scene=(certificates,)),
        "name a new folder, or remove",
        ("into=certificates", "authority.pem"),
    ),
    "a table as an account": Mistake(
        call("network", "ledger", "a.csv", scene=(file("a.csv", "a,b\n1,2\n"),)), "name ledger.jsonl", ("a.csv",)
    ),
    "no account": Mistake(call("network", "status", "out"), "name the folder of an account", ("out is not there",)),
    "no run": Mistake(
        call("network", "union", "out", scene=(file("out/a.txt"),)),
        "the verb network party wrote",
        ("out has no run.json",),
    ),
    "no release": Mistake(call("publish", "check-release", "release"), "name the folder", ("release is not there",)),
    "a file as a release": Mistake(
        call("publish", "check-release", "release", scene=(file("release", "x"),)),
        "name the folder",
        ("release is a file",),
    ),
    "the server registers": Mistake(
        call("publish", "register", "--config", "mine.yaml", "--me", "server"),
        "data holders register, north, south",
        ("--me is 'server'",),
    ),
}


Change = Callable[[Apart], Any]


def key(**keys: Any) -> Change:
    return lambda case: case.network.update(keys)


def setting(**keys: Any) -> Change:
    return lambda case: case.settings.update(keys)


def both(*changes: Change) -> Change:
    return lambda case: [change(case) for change in changes]


def fits(*entries: dict[str, Any]) -> Change:
    """Several fits in place of the one."""

    def change(case: Apart) -> None:
        del case.network["method"], case.network["epsilon"]
        case.network["fits"] = list(entries)

    return change


def member(name: str, **keys: Any) -> Change:
    return lambda case: case.network["parties"].setdefault(name, {}).update(keys)


GLM, CLIENTS, LABELS, CURVES = "vertical_glm", "sliced_inverse_regression", "label_private", "functional_boosting"
TREES = "vertical_trees"
USERS = {"epsilon": 1.0, "delta": 1e-5, "unit": "user"}
BLOCK: list[tuple[str, Change, str]] = [
    (GLM, key(studi="x"), "network.studi is unknown: did you mean study? allowed here: budget,"),
    (GLM, lambda case: case.network.pop("mode"), "network.mode is missing: give one of experiment, release."),
    (GLM, key(mode="secret"), "network.mode is 'secret': it must be one of experiment, release."),
    (GLM, key(study="vertical_trees"), "network.study is 'vertical_trees': did you mean vertical_glm? allowed here:"),
    (GLM, key(case="owl"), "network.case is 'owl': did you mean own? allowed here: own."),
    (GLM, key(method="n"), "network.method is 'n': allowed here: m."),
    (GLM, key(epsilon=3.0), "network.epsilon is 3.0: method m has a target; take one of the grid's, 2."),
    (GLM, lambda case: case.network.pop("epsilon"), "network.epsilon is None: method m has a target; take one of"),
    ("vertical_linear", key(epsilon=1.0), "network.epsilon is 1.0: method m has no target; leave it out."),
    (GLM, key(fold=1), "network.fold is 1: case own has the folds 0 to 0."),
    (GLM, lambda case: case.network.pop("method"), "network.method is missing: name that of the one fit that is run"),
    (GLM, key(fits="grid"), "network.method is 'm' with fits given: it is a key of each of the fits; leave it out."),
    (GLM, fits(), "network.fits is empty: give at least one, or 'grid'."),
    (GLM, key(fits="all"), "network.fits is 'all': it must be one of grid or a list of blocks of keys or null."),
    (GLM, fits({"epsilon": 2.0}), "network.fits[0].method is missing: give text."),
    (GLM, fits({"method": "m", "epsilon": 2.0}, {"method": "n"}), "network.fits[1].method is 'n': allowed here: m."),
    (GLM, fits({"method": "m", "epsilon": 3.0}), "network.fits[0].epsilon is 3.0: method m has a target; take one of"),
    (GLM, fits({"method": "m", "epsilon": 2.0, "fold": 1}), "network.fits[0].fold is 1: case own has the folds 0 to 0"),
    (GLM, fits(*2 * [{"method": "m", "epsilon": 2.0}]), "network.fits[1] is m_epsilon2.0_fold0, which is listed"),
    (GLM, key(fold="a"), "network.fold is 'a': it must be a whole number."),
    (GLM, key(patience=0.5), "network.patience is 0.5: it must lie in [1, 86400]."),
    (GLM, key(largest_message=10), "network.largest_message is 10: it must lie in [10000, 1.09951e+12]."),
    (GLM, key(budget={"epsilon": 1.0, "delta": 1e-5}), "network.budget.unit is missing: give one of row, label,"),
    (GLM, key(budget={"epsilon": 0.0, "delta": 1e-5, "unit": "row"}), "network.budget.epsilon is 0.0: it must be a p"),
    (GLM, key(budget={"epsilon": 1.0, "delta": 1e-5, "unit": "row", "numeric_reserve": 1e-5}), "reserve is 1e-05: it"),
    (GLM, key(mode="release", budget=USERS), "network.budget.unit is 'user': case own does"),
    (GLM, key(budget=USERS), "network.budget is given with mode experiment: all parties know the seeds of its noi"),
    (GLM, key(parties=[1]), "network.parties is [1]: a block of keys is needed here."),
    (GLM, key(parties={}), "network.parties lacks 'analyst', a place without data of method m: add it."),
    (GLM, member("analist", host="a", port=1), "network.parties has 'analist': did you mean analyst? allowed here:"),
    (GLM, lambda case: case.network["parties"].pop("shop"), "network.parties has the data holders bank: the grid of"),
    (GLM, member("shop", port=0), "network.parties.shop.port is 0: it must lie in [1, 65535]."),
    (GLM, member("shop", port=47111), "network.parties.shop.port is 47111 at localhost, where bank listens: give"),
    (GLM, member("shop", host="a b"), "network.parties.shop.host is 'a b': give the name or number of a machine, such"),
    (GLM, member("shop", hots="a"), "network.parties.shop.hots is unknown: did you mean host? allowed here: host"),
    (GLM, lambda case: case.network.pop("rows"), "network.rows is missing: analyst has no data and is to know the"),
    (GLM, key(rows={"shop": 60}), "network.rows is {'shop': 60}: all parties hold the same records; give their num"),
    (GLM, key(rows=0), "network.rows is 0: it must be at least 1."),
    (CLIENTS, key(rows=60), "network.rows is 60: clients hold different records, and how many is public; give"),
    (CLIENTS, key(rows={"north": 80}), "network.rows lacks 'south': give the number of its records."),
    (CLIENTS, key(rows={"north": 80, "sud": 60}), "network.rows has 'sud': allowed here: north, south."),
    (CLIENTS, key(rows={"north": 80, "south": 0}), "network.rows.south is 0: it must be at least 1."),
    (CLIENTS, key(rows={"north": 80, "south": "x"}), "network.rows.south is 'x': it must be a whole number."),
    (GLM, setting(match="common"), "studies.vertical_glm.cases.own.settings.match is 'common': in a distributed run"),
    (GLM, both(setting(user="p", rows_per_user=2)), "cases.own.settings.user is 'p': records of one entry are held"),
    (LABELS, setting(missing="drop"), "cases.own.settings.missing is 'drop': in a distributed run, no party knows"),
    (
        LABELS,
        both(setting(file="a.csv", tables=[], response_party=None)),
        "settings.file is 'a.csv', which holds features and labels:",
    ),
    (TREES, lambda case: case.method.update(select_by="test_loss"), "methods.m.select_by is 'test_loss'"),
    (TREES, key(same_platform="x"), "network.same_platform is 'x': it must be true or false."),
    (CURVES, setting(missing="drop"), "settings.missing is 'drop': in a distributed run, no party knows"),
    (CURVES, setting(fold_block="week"), "settings.fold_block is 'week': records of one entry are held out together"),
    (CURVES, setting(split="round_robin"), "settings.split is 'round_robin': in a distributed run, each party holds"),
]  # fmt: skip


def block(study: str, change: Change) -> Callable[[], object]:
    """A block ``network``, checked as `./run` and every party check it before they connect."""

    def check() -> object:
        case = Apart(study)
        change(case)
        return check_network(case.config, plans(case.config))

    return check


MISTAKES |= {sentence: Mistake(block(study, change), sentence, ()) for study, change, sentence in BLOCK}


@pytest.mark.parametrize("name", MISTAKES, ids=[name[:50] for name in MISTAKES])
def test_a_mistake_is_answered_with_key_value_and_remedy(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(verbs, "tell_others", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    case = Apart("sliced_inverse_regression")
    case.write(tmp_path)
    Path("mine.yaml").write_text(yaml.safe_dump(case.config, sort_keys=False))
    try:
        assert MISTAKES[name].make() in (1, 2)
        # The mode, and who has which part of the estimate, are reported first.
        printed = capsys.readouterr().err.splitlines()
        answer = "\n".join(line for line in printed if not line.startswith(("WARNING", "estimate: ")))
    except ConfigError as error:
        answer = str(error)
    assert faults(answer, MISTAKES[name]) == [], answer
    account = Path("north/ledger.jsonl")
    assert not account.exists() or '"paid"' not in account.read_text(), "nothing was paid"


def test_fits_with_other_places_are_no_session():
    """Moments whose noise a dealer draws, and steps between owners that ask an analyst alone."""
    case = Apart(GLM)
    fits({"method": "m", "epsilon": 2.0}, {"method": "n"})(case)
    config = case.config
    config["studies"][GLM]["methods"]["n"] = {"protocol": "bcd"}
    config["studies"][GLM]["cases"]["own"]["grid"]["methods"] = ["m", "n"]
    with pytest.raises(
        ConfigError,
        match=r"fits\[1\].method is 'n', with the places without data analyst, and 'm' has analyst, dealer: all",
    ):
        check_network(config, plans(config))


@pytest.mark.parametrize("mode", ["experiment", "release"])
def test_an_option_that_only_an_evaluator_of_all_data_reads_is_refused(mode):
    """It entered nothing apart: the account said what the same fit without the choice costs."""
    case = Apart(TREES)
    case.network["mode"] = mode
    case.deployment()
    case.method["select_by"] = "test_loss"
    with pytest.raises(
        ConfigError, match=r"held-out rows of all parties, and a distributed deployment has none; leave"
    ):
        case.deployment()


def test_a_name_is_that_of_a_certificate_and_of_a_folder():
    case = Apart(GLM)
    case.settings["tables"][0]["party"] = "../shop"
    case.network["parties"]["../shop"] = case.network["parties"].pop("shop")
    config = case.config
    with pytest.raises(
        ConfigError, match=r"network.parties has a name='../shop' of a party: it names files: leave out"
    ):
        deployments_of(config, plans(config))


@pytest.mark.parametrize("study", [GLM, CLIENTS])
def test_files_of_several_parties_may_have_one_name(study):
    """They are at different machines: three hospitals that each call theirs followup.csv were refused."""
    case = Apart(study)
    for table in case.settings["tables"]:
        table["file"] = "followup.csv"
    deployments_of(case.config, plans(case.config))


def test_a_case_of_generated_data_does_not_run_apart():
    case = Apart(GLM)
    config = case.config
    config["studies"][GLM]["cases"]["made"] = {
        "source": "generated",
        "settings": {},
        "grid": {"methods": ["m"], **case.grid},
    }
    config["network"]["case"] = "made"
    with pytest.raises(ConfigError, match=r"network.case is 'made': its source 'generated' makes the data of all part"):
        deployments_of(config, plans(config))


@pytest.mark.parametrize("study", STUDIES)
def test_a_configuration_without_the_block_has_none(study):
    config = Apart(study).config
    assert len(deployments_of(config, plans(config))) == 1
    del config["network"]
    assert deployments_of(config, plans(config)) == ()
