"""Every mistake in the block ``network`` ends in one sentence, in `./run` and for every party, before they connect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from config_check import check_network
from deployment_cases import STUDIES, Apart
from partywise.core.errors import ConfigError
from partywise.deployment.deployments import deployments_of
from partywise.experiment.plans import plans

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


def party(name: str, **keys: Any) -> Change:
    return lambda case: case.network["parties"].setdefault(name, {}).update(keys)


GLM, CLIENTS, LABELS, CURVES = "vertical_glm", "sliced_inverse_regression", "label_private", "functional_boosting"
TREES = "vertical_trees"
USERS = {"epsilon": 1.0, "delta": 1e-5, "unit": "user"}
MISTAKES: list[tuple[str, Change, str]] = [
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
    (GLM, party("analist", host="a", port=1), "network.parties has 'analist': did you mean analyst? allowed here:"),
    (GLM, lambda case: case.network["parties"].pop("shop"), "network.parties has the data holders bank: the grid of"),
    (GLM, party("shop", port=0), "network.parties.shop.port is 0: it must lie in [1, 65535]."),
    (GLM, party("shop", port=47111), "network.parties.shop.port is 47111 at localhost, where bank listens: give"),
    (GLM, party("shop", host="a b"), "network.parties.shop.host is 'a b': give the name or number of a machine, such"),
    (GLM, party("shop", hots="a"), "network.parties.shop.hots is unknown: did you mean host? allowed here: host, port"),
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


@pytest.mark.parametrize(("study", "change", "sentence"), MISTAKES, ids=[entry[2][:50] for entry in MISTAKES])
def test_a_mistake_is_one_sentence(study, change, sentence):
    case = Apart(study)
    change(case)
    config = case.config
    with pytest.raises(ConfigError) as found:
        check_network(config, plans(config))
    told = str(found.value)
    assert sentence in told and told.endswith(".") and "\n" not in told


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
