"""Ledgers, transcripts, totals, runs and estimators say in a line what they are, and make tables."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas
import pytest

import partywise as pw
from partywise.federation.payloads import Transcript, TranscriptRow
from partywise.privacy.ledger.total import MEANINGS
from pipeline import ROOT, environment


@pytest.fixture(scope="module")
def fitted():
    X = pw.stream(1, "records").uniform(-1, 1, size=(300, 3))
    edges = np.linspace(-0.5, 0.5, 3)
    return pw.SlicedInverseRegression(epsilon=2.0, delta=1e-4, edges=edges).fit(X, X[:, 0], parties=2, rng=7)


def test_tables_have_a_row_for_each_release_message_and_adversary(fitted):
    spent, sent, worst = (one.to_frame() for one in (fitted.ledger_, fitted.transcript_, fitted.privacy_))
    assert spent["release_id"].tolist() == [row.release_id for row in fitted.ledger_.rows]
    assert spent.astype(object).where(spent.notna(), None).to_dict("records") == fitted.ledger_.to_rows()
    assert sent.to_dict("records") == list(fitted.transcript_) and sent["step"].tolist() == list(range(len(sent)))
    assert list(worst) == list(MEANINGS) and len(worst) == 1
    assert worst["epsilon_certified"].item() == fitted.privacy_.epsilon_certified


def test_tables_without_rows_have_their_columns(fitted):
    assert list(pw.Ledger().to_frame()) == list(fitted.ledger_.to_frame())
    assert list(Transcript().to_frame()) == list(TranscriptRow.__annotations__) == list(fitted.transcript_[0])


def test_without_pandas_it_is_told_what_to_install(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    for one in (fitted.ledger_, fitted.transcript_, fitted.privacy_):
        with pytest.raises(ImportError, match=r"to_frame needs the package pandas: pip install 'partywise\[figures\]'"):
            one.to_frame()
    assert pandas.__name__ == "pandas"


def test_texts_are_short_and_hold_the_numbers(fitted):
    assert repr(fitted.ledger_) == "Ledger of 4 rows about data of client 1, client 2: 4 released"
    assert repr(pw.Ledger()) == "Ledger of 0 rows"
    size = sum(row["bytes"] for row in fitted.transcript_)
    assert repr(fitted.transcript_) == f"Transcript of 4 messages of 2 senders, {size} bytes"
    assert repr(fitted.privacy_).startswith("epsilon 2 at delta 0.0001 for one row (replace_one), mu ")
    assert repr(fitted.privacy_).endswith(": 4 releases seen by server; trust: nobody")


def test_a_ledger_says_what_is_open_and_what_is_closed():
    X = pw.stream(1, "records").normal(size=(60, 2))
    model = pw.VerticalGLM("gaussian", parties=[[0], [1]]).fit(X, X[:, 0] + pw.stream(1, "e").normal(size=60), rng=7)
    kinds = [row.mechanism for row in model.ledger_.rows]
    text = repr(model.ledger_)
    assert f"{kinds.count('none')} in the clear" in text and f"{kinds.count('cipher')} closed" in text
    assert "not all proved" in repr(model.privacy_)


def test_an_estimator_shows_what_was_given_and_no_array(fitted):
    text = repr(fitted)
    assert text == (
        "SlicedInverseRegression(protocol='certified', epsilon=2.0, delta=0.0001, edges=array of shape (3,))"
    )
    cuts = [np.arange(40.0)] * 9
    assert "public_edges=list of 9" in repr(pw.VerticalBoosting(epsilon=1.0, public_edges=cuts))


def test_a_run_and_an_alignment_say_who_took_part():
    parties = [pw.Party(f"client {k}", "client", {"X": np.zeros((500, 3))}) for k in (1, 2)]
    assert repr(parties[0]) == "Party(name='client 1', role='client', columns=())", "records are nobody else's business"
    spec = SimpleNamespace(options=None)
    run = pw.Run(parties, epsilon=1.0, fold=None, rng_for=pw.Streams(7), spec=spec, extra=("server",))
    assert repr(run) == "Run of client 1, client 2, server at epsilon 1: 0 messages sent"
    met = pw.align({"a": ["x", "y"], "b": ["y", "z"]}, "hmac", rng=3)
    assert repr(met).startswith("Alignment of 1 records of a, b: Ledger of ") and "array" not in repr(met)


def test_nothing_is_drawn_or_tabulated_before_it_is_asked_for():
    """Where the extra is missing, the sentence says so; and a plot leaves the backend of a notebook alone."""
    code = """
import sys
import partywise as pw
pw.Ledger(), pw.plot
assert not {"matplotlib", "xarray", "pandas"} & set(sys.modules), sorted(sys.modules)
import matplotlib
matplotlib.use("svg")
pw.plot.privacy_curve, pw.plot.coefficients, pw.plot.epsilon_against_error
assert matplotlib.get_backend() == "svg" and "sklearn" not in sys.modules
"""
    alone = """
import sys
import partywise as pw
sys.modules["matplotlib"] = sys.modules["netCDF4"] = None
for ask in (lambda: pw.plot.privacy_curve, lambda: pw.open_cube):
    try:
        ask()
    except ImportError as error:
        assert "pip install 'partywise[figures]'" in str(error), error
    else:
        raise AssertionError(ask)
"""
    path = {"PYTHONPATH": str(ROOT / "lib")}
    for text in (code, alone):
        done = subprocess.run([sys.executable, "-c", text], env=environment() | path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
