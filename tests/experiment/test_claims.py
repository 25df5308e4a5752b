"""Claims are found by reference: one object in one file is all that a claim takes."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from math import inf, isnan
from pathlib import Path

import pytest

import toy_claim
from artifact import bibliography
from audit_driver import cell
from partywise.core.errors import ConfigError
from partywise.experiment import claims
from partywise.experiment.claims import Claim, all_claims
from partywise.experiment.plan import plan
from partywise.experiment.study import available, load
from partywise.studies.functional_boosting.claims import CLAIMS
from pipeline import ROOT, environment

TOY = "toy_claim:CLAIM"
# Documents with printed tables of records, which claim nothing about privacy.
PRINTED = {"tableone", "statsmodels_tables", "berkeley", "nhefs_table", "mgus2"}


def test_claims_live_in_the_folders_of_studies():
    folders = {module.split(".")[2] for module in claims.modules()}
    assert len(folders) > 5 and folders <= set(available())
    claimed = {claim.document.key for claim in all_claims().values()}
    cited = {document for study in folders for document in bibliography.document_keys(load(study).references)}
    assert cited - PRINTED == claimed <= set(bibliography.documents()), "each document has claims in its study"
    assert all(claim.correction is not None for claim in all_claims().values())
    assert list(all_claims()) == [
        claim.name for claim in sorted(all_claims().values(), key=lambda one: one.document.key)
    ]


def test_a_claim_from_outside_the_package_is_audited_like_the_others():
    bad, good = (cell(TOY, {"n": 30}, variant).scalars for variant in ("published", "corrected"))
    assert bad["epsilon_claimed"] == 0 and bad["certified_for_claim"] == bad["audited_lower"] == inf
    assert bad["claim_refuted"] and bad["title"] == "sum of 30 numbers" and bad["source_document"] == "toy"
    assert good["certified_for_claim"] == pytest.approx(1.0) and not good["claim_refuted"]
    assert 0 < good["epsilon_mu_lower"] <= good["certified_for_claim"] == pytest.approx(good["exact_epsilon"])


def test_a_file_of_claims_in_the_package_is_found_without_another_edit(tmp_path):
    lib = tmp_path / "lib"
    shutil.copytree(ROOT / "lib", lib, ignore=shutil.ignore_patterns("__pycache__"))
    folder = lib / "partywise" / "studies" / "toy_document"
    folder.mkdir()
    text = Path(toy_claim.__file__).read_text().replace("CLAIM = Claim(", "CLAIMS = (Claim(")
    text = text.replace('"toy_claim:', '"partywise.studies.toy_document.claims:')
    (folder / "__init__.py").touch()
    (folder / "claims.py").write_text(text + ",)\n")
    code = f"import sys; sys.path.insert(0, {str(lib)!r}); from partywise.experiment.study import load;"
    code += "s = load('privacy_audit').sources['toy_sum']; print(s.title_for(s.settings()))"
    done = subprocess.run([sys.executable, "-c", code], env=environment(), capture_output=True, text=True)
    assert done.stdout == "sum of 400 numbers\n", done.stderr


def test_a_name_stands_for_one_claim(monkeypatch):
    monkeypatch.setattr("partywise.studies.functional_boosting.claims.CLAIMS", (*CLAIMS, CLAIMS[0]))
    with pytest.raises(ValueError, match=r"name is 'covariance' in partywise\.studies\.functional_boosting\.claims"):
        all_claims()


def test_what_a_claim_says_of_a_release():
    said = {states: replace(CLAIMS[0], states=states) for states in claims.STATES}
    assert said["epsilon"].epsilon("published", 2.0) == 2.0 and said["free"].epsilon("published", 2.0) == 0
    assert isnan(said["none"].epsilon("published", 2.0)) and said["none"].epsilon("corrected", 2.0) == 2.0
    assert isnan(replace(CLAIMS[0], correction_states="none").epsilon("corrected", 2.0))
    with pytest.raises(ValueError, match="states is 'nothing': it must be one of epsilon, free, none"):
        replace(CLAIMS[0], states="nothing")


def test_a_correction_that_there_is_not_is_no_variant():
    lone = replace(toy_claim.CLAIM, correction=None)
    assert isinstance(lone, Claim) and lone.form("published").message == "sum" and len(lone.fits) == 1
    with pytest.raises(ValueError, match="variant is 'corrected': no mechanism corrects toy_sum"):
        lone.form("corrected")


def test_an_address_that_is_no_source_is_named():
    grid = {"methods": ["a"], "replicates": 1, "parties": [1], "folds": 1, "epsilon": [1.0]}
    block = {"methods": {"a": {"protocol": "audit"}}, "cases": {"one": {"source": "toy_claim:ones", "grid": grid}}}
    with pytest.raises(ConfigError, match=r"cases\.one\.source is 'toy_claim:ones': that is a function, give a Source"):
        plan("privacy_audit", block, 1)
