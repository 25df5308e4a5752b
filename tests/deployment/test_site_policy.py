"""The policy of a site: each key lets through what it lists, and refuses everything else in one sentence."""

from __future__ import annotations

import os
import shutil
from argparse import Namespace
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from deployment_cases import STUDIES, Apart
from deployment_processes import Parties
from partywise.__main__ import main
from partywise.core.documents import TIME
from partywise.core.errors import ConfigError, PolicyError
from partywise.deployment.deployments import deployments_of
from partywise.deployment.part import NOBODY, LocalRun, parts, whole
from partywise.deployment.site.policy import SiteAccount, SitePolicy, cap_spendings, policy_of
from partywise.deployment.start import PartyStart, prepare
from partywise.deployment.verbs import connect_directly
from partywise.experiment.plans import plans, read_configuration
from partywise.federation.account import account as account_module
from partywise.federation.account.account import Account
from partywise.federation.account.chain import Row, line_of
from partywise.federation.account.reading import opened_account
from partywise.methods.filters.certified import CertifiedFilter
from partywise.privacy.ledger.event import Event
from pipeline import ROOT
from site_files import KINDS, policy, site_of, write_site

SITE = Path("config/example_data/network/site.yaml")
CLIENTS, GLM, LABELS, TREES = "sliced_inverse_regression", "vertical_glm", "label_private", "vertical_trees"


def refused_if(refused: bool, words: str) -> AbstractContextManager[Any]:
    """A policy that refuses with these words, or lets through."""
    return pytest.raises(PolicyError, match=words) if refused else nullcontext()


def read(case: Apart, me: str, folder: Path, **changed: Any) -> LocalRun:
    """A party's part of its case under a site, as `running` makes and checks it."""
    case.write(folder)
    found = policy(folder / me, site_of(case, me, **changed))
    # What was read before is read again.
    whole(case.deployment(), NOBODY, Path())
    with found.reading():
        own = parts((case.deployment(),), "c" * 64, me, found.folder)[0]
    found.check_records(own, me)
    return own


@pytest.mark.parametrize("study", STUDIES)
def test_a_site_that_lists_what_a_case_reads_lets_it_through_and_each_column_is_needed(study, tmp_path):
    case = Apart(study)
    deployment = case.deployment()
    for me in case.names:
        read(case, me, tmp_path)
        policy(tmp_path / me, site_of(case, me)).check_deployment(deployment, me, "")
        for file in site_of(case, me)["files"]:
            for column in file["columns"]:
                less = [one for one in file["columns"] if one != column]
                files = [one | {"columns": less} if one == file else one for one in site_of(case, me)["files"]]
                if column == "week":  # weeks are held out together where `fold_block` names them
                    read(case, me, tmp_path, files=files)
                    continue
                with pytest.raises(PolicyError, match=f"the column is '{column}' of {file['file']}, and files lists"):
                    read(case, me, tmp_path, files=files)


def test_the_site_of_the_example_lets_its_party_take_part(monkeypatch):
    monkeypatch.chdir(ROOT)
    file = Path("config/network_clients.example.yaml")
    config = read_configuration(file)
    (deployment,), found = deployments_of(config, plans(config)), policy_of(SITE, None, None)
    found.check_configuration(config, file)
    found.check_deployment(deployment, "north", "")
    with found.reading():
        found.check_records(parts((deployment,), "c" * 64, "north", found.folder)[0], "north")


def test_patterns_of_columns_are_those_of_the_shell(tmp_path):
    read(Apart("functional_boosting"), "upstream", tmp_path, files=[{"file": "gauge.csv", "columns": ["day", "h*"]}])


def test_files_that_are_not_listed_and_paths_that_lead_out_of_the_data_folder(tmp_path):
    outside = tmp_path / "secret.csv"
    for file, words in (
        ("other.csv", "the file is 'other.csv', and files lists north.csv"),
        ("../secret.csv", "a path of the configuration is '../secret.csv', which leads out of"),
        (str(outside), "which leads out of"),
        ("link.csv", "a path of the configuration is 'link.csv', which leads out of"),
        ("linked/secret.csv", "which leads out of"),
    ):
        case = Apart(CLIENTS)
        case.write(tmp_path)
        shutil.copy(tmp_path / "north" / "north.csv", outside)
        for link, target in (("link.csv", outside), ("linked", tmp_path)):
            if not (tmp_path / "north" / link).is_symlink():
                os.symlink(target, tmp_path / "north" / link)
        case.settings["tables"][0]["file"] = file
        listed = [{"file": name, "columns": ["*"]} for name in ("north.csv", "link.csv", "linked/secret.csv")]
        with pytest.raises(PolicyError, match=words):
            read(case, "north", tmp_path, files=listed if "link" in file else listed[:1])
    case.settings["tables"][0]["file"] = "./north.csv"
    read(case, "north", tmp_path)


def test_paths_of_studies_and_registrations_and_modules_of_others_are_refused_before_they_are_read(tmp_path):
    case, file = Apart(CLIENTS), tmp_path / "mine.yaml"
    found = policy(tmp_path / "north", site_of(case, "north"))

    def check(config: dict[str, Any]) -> None:
        file.write_text(yaml.safe_dump(config))
        found.check_configuration(config, file)

    check(case.config)
    check(case.config | {"studies": {CLIENTS: "studies/a.yaml"}})
    for name in ("../a.yaml", "/etc/a.yaml"):
        for block in (name, {"file": name}):
            with pytest.raises(
                PolicyError, match=r"study sliced_inverse_regression of the configuration is '.*a.yaml'"
            ):
                check(case.config | {"studies": {CLIENTS: block}})
    with pytest.raises(PolicyError, match=r"network.registration of the configuration is '../theirs'"):
        check(case.config | {"network": case.network | {"registration": "../theirs"}})
    for block in ({"address": "theirs:STUDY"}, {"cases": {"own": {"source": "theirs:SOURCE"}}}):
        with pytest.raises(PolicyError, match=r"the configuration has (address|source): theirs:S"):
            check(case.config | {"studies": {"x": block}})
    case.method = {"protocol": "theirs:PROTOCOL"}
    with pytest.raises(PolicyError, match="methods does not list that module"):
        check(case.config)
    listed = [{"study": CLIENTS, "protocols": ["theirs:PROTOCOL"]}]
    policy(tmp_path / "north", site_of(case, "north", methods=listed)).check_configuration(case.config, file)


def test_methods_modes_and_who_publishes(tmp_path):
    case = Apart(CLIENTS)
    deployment = case.deployment()
    for changed, words in (
        ({"modes": ["release"]}, "network.mode is 'experiment', and modes lists release"),
        ({"methods": []}, "network.method is 'certified' of sliced_inverse_regression, and methods does not list it"),
        ({"methods": [{"study": GLM, "protocols": ["moments"]}]}, "methods does not list it"),
    ):
        with pytest.raises(PolicyError, match=words):
            policy(tmp_path, site_of(case, "north", **changed)).check_deployment(deployment, "north", "")
    closed = policy(tmp_path, site_of(case, "north", receivers=[{"party": "server", "kinds": ["cipher"]}]))
    closed.check_deployment(deployment, "north", "north")
    with pytest.raises(PolicyError, match="'server' would receive a release, and receivers gives it cipher"):
        closed.check_deployment(deployment, "north", "server")


def test_too_few_records_and_too_many_columns(tmp_path):
    read(Apart(CLIENTS), "north", tmp_path, min_records=80, largest_p_over_n=0.025)
    with pytest.raises(PolicyError, match="80 own records train, and min_records is 81; bring more records"):
        read(Apart(CLIENTS), "north", tmp_path, min_records=81)
    with pytest.raises(PolicyError, match="2 columns on 80 own records that train are more than largest_p_over_n"):
        read(Apart(CLIENTS), "north", tmp_path, largest_p_over_n=0.024)
    # Columns of all parties: two indicators and a number of the shop, a number of the bank.
    read(Apart(GLM), "bank", tmp_path, largest_p_over_n=4 / 60)
    with pytest.raises(PolicyError, match="4 columns on 60 own records"):
        read(Apart(GLM), "bank", tmp_path, largest_p_over_n=3.9 / 60)


@pytest.mark.parametrize("level", ["x", "y", "z"])
@pytest.mark.parametrize("study", [GLM, TREES, LABELS])
def test_a_level_of_a_category_needs_enough_records(study, level, tmp_path):
    """The first level too, which has no indicator of its own; a level that nobody has is none."""
    others = [one for one in "xyz" if one != level]
    for count, refused in ((0, False), (1, True), (2, True), (3, False)):
        case = Apart(study)
        ((file, (header, rows)),) = case.files["shop"].items()
        place = header.index("kind" if study == LABELS else "c")
        for i, row in enumerate(rows):
            row[place] = level if i < count else others[i % 2]
        with refused_if(refused, f"of {file} is '{level}' in {count} records, and min_cell asks for 3; join"):
            read(case, "shop", tmp_path)


def test_bounds_that_leave_one_person_apart_are_an_indicator(tmp_path):
    """Another organisation chooses the bounds: ages clipped at the oldest but one tell one record from all others."""
    for bounds, refused in (([20, 80], False), ([79.5, 80], True), ([20, 20.5], True)):
        case = Apart(CLIENTS)
        for row, age in zip(
            case.files["north"]["north.csv"][1], [20, 80, *range(30, 70), *range(30, 70)], strict=False
        ):
            row[1] = str(age)
        case.settings["columns"][0]["bounds"] = bounds
        with refused_if(refused, r"age of north.csv has one value in all records but 1, and min_cell asks for 3"):
            read(case, "north", tmp_path)


def test_a_label_that_one_person_has_is_refused_among_the_records_that_train(tmp_path):
    case = Apart(GLM)
    for i, row in enumerate(case.files["bank"]["bank.csv"][1]):
        row[2] = str(int(i < 2))
    with pytest.raises(PolicyError, match="of y has one value in all records but 2, and min_cell asks for 3"):
        read(case, "bank", tmp_path)
    read(case, "bank", tmp_path, min_cell=2)


def test_bins_and_slices_are_cells(tmp_path):
    """Another organisation chooses edges as well."""
    case = Apart(TREES)
    a = sorted(float(row[1]) for row in case.files["shop"]["shop.csv"][1])
    for above, refused in ((3, False), (2, True)):
        case.settings["tables"][0]["columns"][0]["edges"] = [0.0, (a[-above - 1] + a[-above]) / 2]
        with refused_if(refused, r"a of shop.csv is 'above' in 2 records, and min_cell asks for 3"):
            read(case, "shop", tmp_path)
    case = Apart(CLIENTS)
    lowest = sorted(float(row[3]) for row in case.files["north"]["north.csv"][1])
    case.settings["edges"] = [(lowest[0] + lowest[1]) / 2, 450]
    with pytest.raises(PolicyError, match=r"the response is 'up to .*' in 1 records, and min_cell asks for 3"):
        read(case, "north", tmp_path)
    del case.settings["edges"]
    case.settings["levels"] = ["low", "middle", "high"]
    for high, refused in ((3, False), (2, True)):
        for i, row in enumerate(case.files["north"]["north.csv"][1]):
            row[3] = "high" if i < high else ["low", "middle"][i % 2]
        with refused_if(refused, r"flow of north.csv is 'high' in 2 records"):
            read(case, "north", tmp_path)


def test_a_cell_has_so_many_persons_where_one_has_several_records(tmp_path):
    case = Apart(CLIENTS)
    case.write(tmp_path)
    smokers = sum(row[2] == "yes" for row in case.files["north"]["north.csv"][1])
    for least, refused in ((smokers // 2, False), (smokers // 2 + 1, True)):
        found = policy(tmp_path / "north", site_of(case, "north", min_cell=least))
        found.check_deployment(case.deployment(), "north", "")
        whole(case.deployment(), NOBODY, Path())
        with refused_if(refused, "smoker of"), found.reading():
            parts((case.deployment(),), "c" * 64, "north", found.folder)[0]


def event(mu: float, name: str) -> Event:
    """A Gaussian release about rows."""
    owns = frozenset({"label", "features"})
    return Event(name, "north", "gaussian", "row", owns, mu=mu, audience=("server",), certificate="exact")


def days_ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).strftime(TIME)


def test_caps_count_what_the_account_paid_in_their_days_and_keep_it_where_they_refuse(tmp_path, monkeypatch):
    """mu squared of .04 a run: one fits into epsilon 1 and two into 1.2; what is older than its days counts no more."""
    cap = {"unit": "row", "epsilon": 1.0, "delta": 1e-5, "days": 30}
    keys = site_of(Apart(CLIENTS), "north", epsilon=[cap, {"unit": "row", "epsilon": 1.2, "delta": 1e-5}])
    found = policy(tmp_path, keys)

    def pay(run: str, days: float) -> None:
        monkeypatch.setattr(account_module, "now", lambda: days_ago(days))
        with SiteAccount(tmp_path / "ledger.jsonl", found, party="north") as account:
            account.began(run, "c" * 64)
            account.charge(event(0.2, run))
            account.record_end("done")

    pay("a", 31)
    pay("b", 29)
    with pytest.raises(PolicyError, match=r"site.yaml forbids it: the cap epsilon\[0\] of 30 days: gaussian 'c' costs"):
        pay("c", 0)
    keys["epsilon"][0]["days"] = 28
    found = policy(tmp_path, keys)
    with pytest.raises(PolicyError, match=r"the cap epsilon\[1\]: gaussian 'd' costs"):
        pay("d", 0)
    keys["epsilon"] = [cap | {"epsilon": 3.0}]
    found = policy(tmp_path, keys)
    pay("e", 0)


def undated(path: Path) -> None:
    """Write an account anew as an earlier version did where a site had no cap: without the time of the last run."""
    rows = opened_account(path).rows
    last = max(row.number for row in rows if row.kind == "time")
    lines, previous = [], "0" * 64
    for number, row in enumerate(row for row in rows if row.number != last):
        # The payment is a row earlier then.
        fields = row.fields | (
            {"kept": [one - 1 for one in row.fields["kept"]]} if row.kind == "ended" and number > last else {}
        )
        line, written = line_of(number, previous, row.kind, row.run, fields)
        previous = written.digest
        lines.append(line)
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize("earlier", [False, True])
def test_what_was_paid_at_an_unknown_time_counts(tmp_path, monkeypatch, earlier):
    """Also after a run whose time is known, and long ago."""
    monkeypatch.setattr(account_module, "now", lambda: days_ago(400))
    for run in (*(["z"] if earlier else []), "a"):
        with Account(tmp_path / "ledger.jsonl", party="north") as account:
            account.began(run, "c" * 64)
            account.charge(event(0.2, run))
            account.record_end("done")
    undated(tmp_path / "ledger.jsonl")
    monkeypatch.undo()
    cap = {"unit": "row", "epsilon": 1.0, "delta": 1e-5, "days": 1}
    found = policy(tmp_path, site_of(Apart(CLIENTS), "north", epsilon=[cap]))
    with SiteAccount(tmp_path / "ledger.jsonl", found, party="north") as account:
        account.began("b", "c" * 64)
        with pytest.raises(PolicyError, match=r"is spent: .* in run a"):
            account.charge(event(0.2, "b"))


def test_what_is_paid_without_a_cap_by_a_filter_or_after_a_late_restart_has_its_time(tmp_path, monkeypatch):
    """A cap of 30 days counts payments of today, whoever made them, of a run that began 60 days ago."""
    path = tmp_path / "ledger.jsonl"
    monkeypatch.setattr(account_module, "now", lambda: days_ago(60))
    with Account(path, party="north") as account:
        account.began("a", "c" * 64)
        account.charge(event(0.1, "old"))
    monkeypatch.undo()
    with Account(path, party="north") as account:
        account.began("a", "c" * 64, again=True)
        account.charge(event(0.1, "old"), event(0.2, "resumed"))
        account.record_end("done")
    with Account(path, party="north") as account:
        account.began("b", "c" * 64)
        account.charge(event(0.3, "without a cap"))
        account.record_end("done")
    made = CertifiedFilter(1.0, mu=0.4, unit="row", budget=(9.0, 1e-5), owner="north", account=path)
    made.release(np.ones((2, 1)))
    cap = {"unit": "row", "epsilon": 9.0, "delta": 1e-5, "days": 30}
    (spending,) = cap_spendings(
        policy(tmp_path, site_of(Apart(CLIENTS), "north", epsilon=[cap])).site, rows(path), "north"
    )
    assert spending.amount_spent == pytest.approx(0.2**2 + 0.3**2 + 0.4**2)


def rows(path: Path) -> tuple[Row, ...]:
    return opened_account(path).rows


def test_caps_refuse_experiments_and_more_rows_of_a_person_than_the_site_says(tmp_path):
    case = Apart(CLIENTS)
    cap = {"unit": "user", "epsilon": 1.0, "delta": 1e-5, "rows_per_user": 1}
    with pytest.raises(PolicyError, match="'experiment', which costs infinity, and epsilon has a cap"):
        policy(tmp_path, site_of(case, "north", epsilon=[cap])).check_deployment(case.deployment(), "north", "")
    case.network["mode"] = "release"
    with pytest.raises(PolicyError, match=r"rows_per_user of the case is 2, and of epsilon\[0\] 1"):
        policy(tmp_path, site_of(case, "north", epsilon=[cap])).check_deployment(case.deployment(), "north", "")
    more = [cap | {"rows_per_user": 2}]
    policy(tmp_path, site_of(case, "north", epsilon=more)).check_deployment(case.deployment(), "north", "")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"file": []}, "file is unknown: did you mean files"),
        ({"modes": ["open"]}, r"modes\[0\] is 'open': it must be one of experiment, release"),
        ({"files": [{"file": "a.csv"}]}, r"files\[0\].columns is missing: give a list of text"),
        ({"files": [{"file": "a.csv", "columns": []}] * 2}, "files has 'a.csv' twice: list it once"),
        ({"methods": [{"study": "glm", "protocols": ["moments"]}]}, r"methods\[0\].study is 'glm': allowed here"),
        ({"methods": [{"study": GLM, "protocols": ["moment"]}]}, r"methods\[0\].protocols has 'moment': did you mean"),
        ({"receivers": [{"party": "a", "kinds": ["all"]}]}, r"receivers\[0\].kinds\[0\] is 'all': it must be one of"),
        ({"min_cell": 0}, "min_cell is 0: it must be at least 1"),
        ({"min_records": 2.5}, "min_records is 2.5: it must be a whole number"),
        ({"largest_p_over_n": 0}, "largest_p_over_n is 0.0: it must be a positive finite number"),
        ({"epsilon": [{"unit": "user", "epsilon": 1.0, "delta": 1e-5}]}, r"epsilon\[0\].rows_per_user is None with"),
        ({"epsilon": [{"unit": "row", "epsilon": 1.0}]}, r"epsilon\[0\].delta is missing"),
    ],
)
def test_what_is_wrong_with_a_site_is_told_with_file_key_value_and_remedy(changed, words, tmp_path):
    with pytest.raises(ConfigError, match=f"site.yaml: {words}"):
        policy(tmp_path, site_of(Apart(CLIENTS), "north", **changed))
    keys = site_of(Apart(CLIENTS), "north")
    del keys["receivers"]
    with pytest.raises(ConfigError, match=r"site.yaml: receivers is missing"):
        policy(tmp_path, keys)


def test_where_a_site_is_found(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert policy_of(None, None, None) is None and policy_of(None, Path("north"), None) is None
    keys = site_of(Apart(CLIENTS), "north")
    path = write_site(tmp_path / "north", keys)
    assert policy_of(None, Path("north"), None).path == Path("north/site.yaml")
    assert policy_of(path, None, Path("elsewhere")).folder == tmp_path / "north"
    elsewhere = write_site(tmp_path / "rules", keys | {"data": "../north"})
    assert policy_of(elsewhere, Path("north"), None).folder.resolve() == tmp_path / "north"
    with pytest.raises(ConfigError, match=r"--data is rules: the data folder of .*site.yaml is .*north; leave --data"):
        policy_of(elsewhere, Path("rules"), None)
    write_site(tmp_path / "north", keys | {"epsilon": [{"unit": "row", "epsilon": 1.0, "delta": 1e-5}]})
    with pytest.raises(ConfigError, match=r"--account is elsewhere: the caps epsilon of .* leave it out"):
        policy_of(path, None, Path("elsewhere"))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"modes": ["release"]}, "site.yaml forbids it: network.mode is 'experiment', and modes lists release"),
        ({"min_cell": 20}, "site.yaml forbids it: smoker of north.csv is 'yes' in"),
        ({"receivers": []}, "site.yaml forbids it: 'server' would receive a release, and receivers gives it nothing"),
        ({"modes": ["open"]}, "site.yaml: modes[0] is 'open': it must be one of experiment, release"),
    ],
)
def test_others_hear_that_a_site_refuses_and_nothing_else(changed, words, tmp_path):
    """Before a file is opened, when it is read, and when messages are foreseen; and of a file that cannot be read."""
    case = Apart(CLIENTS)
    case.network["patience"] = 20
    case.write(tmp_path)
    write_site(tmp_path / "north", site_of(case, "north", **changed))
    told = Parties(case, tmp_path).all()
    assert {one.code for one in told.values()} == {1}
    assert f"party: north/{words}" in told["north"].err
    for name in ("south", "server"):
        (line,) = [line for line in told[name].err.splitlines() if line.startswith("party: ")]
        assert "'north' refuses by the policy of its site." in line and words not in told[name].err
    # Nothing was paid for what may not be sent.
    assert not (tmp_path / "north" / "ledger.jsonl").exists()


def test_what_was_not_foreseen_is_refused_when_it_is_sent(tmp_path):
    """Data may steer a method to a message that made-up records did not need."""
    keys = site_of(Apart(CLIENTS), "north", receivers=[{"party": "server", "kinds": ["release"]}])
    with SiteAccount(tmp_path / "ledger.jsonl", policy(tmp_path, keys), party="north") as account:
        account.began("a", "c" * 64)
        clear = {"kind": "Clear", "value": 0, "units": ["row"]}
        with pytest.raises(PolicyError, match="'server' would receive a clear, and receivers gives it release"):
            account.record_sent(0, "server", "x", clear, (), 8)
        assert [row.kind for row in account.rows()] == ["account", "time", "began"]


def test_where_a_party_listens_is_its_own_business(tmp_path):
    """Of the command line first, then of its site; the port of the configuration where none is said."""
    case = Apart(CLIENTS)
    case.network["parties"]["north"]["port"] = 47

    def listens(text: str | None, site: SitePolicy | None) -> object:
        made = connect_directly(case.config, Namespace(listen=text, me="north"), site)
        return made.keywords["listen"] if isinstance(made, partial) else None

    for text, found in (("0.0.0.0:8443", ("0.0.0.0", 8443)), ("[::]:1", ("::", 1)), ("host", ("host", 47))):
        site = policy(tmp_path, site_of(case, "north", listen=text))
        assert listens(None, site) == found
        assert listens("10.0.0.1:9", site) == ("10.0.0.1", 9)
    assert listens(None, None) is None and listens(None, policy(tmp_path, site_of(case, "north"))) is None
    for text in (":80", "a:b", "a:70000", "a:0", "a b", "::1", ""):
        with pytest.raises(ConfigError, match=r"--listen is '.*': give HOST or HOST:PORT of this machine, such as"):
            listens(text, None)
        with pytest.raises(ConfigError, match=r"site.yaml: listen is '.*': give HOST or HOST:PORT"):
            policy(tmp_path, site_of(case, "north", listen=text))


def test_parties_under_sites_that_allow_a_run_end_it_well(tmp_path):
    case = Apart(CLIENTS)
    case.network["mode"] = "release"
    case.write(tmp_path)
    for name in case.names:
        caps = [{"unit": "user", "epsilon": 2.2, "delta": 1e-2, "days": 365, "rows_per_user": 2}]
        receivers = [{"party": one, "kinds": KINDS} for one in case.names if one != name]
        write_site(tmp_path / name, site_of(case, name, receivers=receivers, epsilon=caps))
    parties = Parties(case, tmp_path)
    parties.succeeded()
    assert main(["network", "union", *(str(tmp_path / "out" / name) for name in case.names)]) == 0
    again = parties.all(more=["--again"])
    assert {one.code for one in again.values()} == {1}
    errors = " ".join(one.err for one in again.values())
    assert "site.yaml forbids it: " in errors and "site.yaml epsilon[0] (epsilon = 2.2, " in errors
    assert "REFUSES this run: mu squared 0" in errors


@pytest.mark.parametrize(
    ("study", "protocol", "places"),
    [
        (GLM, "joint", {"analyst", "dealer"}),
        (GLM, "bcd", {"analyst"}),
        (GLM, "correlation", {"analyst", "dealer"}),
        (GLM, "block_svd", {"analyst"}),
        ("vertical_linear", "exact", set()),
    ],
)
def test_sums_without_noise_ask_for_cells_without_a_site(study, protocol, places, tmp_path):
    """One person's indicator is that person's record in an exact sum; the owner is told the column and the count."""
    for count, refused in ((1, True), (2, True), (3, False)):
        case = exact_case(study, protocol, places, count)
        case.write(tmp_path)
        start = PartyStart((case.deployment(),), "c" * 64, "shop", tmp_path / "shop", tmp_path, tmp_path)
        words = rf"party 'shop': column '.*z.*' has one value in all records but {count}.*need 3.*min_cell"
        with refused_if(refused, words):
            prepare(start)


def exact_case(study: str, protocol: str, places: set[str], count: int) -> Apart:
    """A case whose level z so many persons have."""
    case = Apart(study)
    case.method = {"protocol": protocol}
    case.network.pop("epsilon", None)
    parties = case.network["parties"]
    case.network["parties"] = {name: parties[name] for name in (*case.files, *sorted(places))}
    ((_, (header, rows)),) = case.files["shop"].items()
    for i, row in enumerate(rows):
        row[header.index("c")] = "z" if i < count else "xy"[i % 2]
    return case
