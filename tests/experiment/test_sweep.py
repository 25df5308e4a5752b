"""Sweeps: one entry of a configuration stands for a product of cases; what they are and what is refused."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import numpy as np
import pytest

from partywise.core.errors import ConfigError
from partywise.experiment.plan import Plan, plan
from partywise.experiment.plotting.select import coordinate_of, having
from partywise.experiment.results.assemble import header_of
from partywise.experiment.results.columns import CubeColumns
from partywise.experiment.results.cube import open_cube, write_cube
from partywise.experiment.results.provenance import config_json, global_attributes
from pipeline import ROOT

STUDY = "sliced_inverse_regression"
AT = f"studies.{STUDY}.cases"
BLOCK: dict[str, Any] = {
    "spec": {"unit": "row"},
    "methods": {
        "plain": {"protocol": "certified"},
        "mirrored": {"protocol": "certified", "second": "mirrored", "title": "all {rounds} rounds, {second}"},
        "open": {"protocol": "reference", "clipped": False, "top": 5},
    },
    "grid": {"methods": ["plain"], "replicates": 2, "parties": [1], "folds": 1, "epsilon": [1.0]},
    "cases": {
        "simulated": {"settings": {"model": "I", "n": 300}},
        "grown": {
            "source": "simulated",
            "settings": {"clients": 4},
            "sweep": {"model": ["I", "II"], "size": [{"n": 500, "row": 500}, {"n": 1500, "row": 1000}]},
            "name": "table_{model}_n{n}",
            "title": "model {model}, n = {n}, {clients} clients",
            "grid": {"epsilon": [2.0, 4.0], "methods": ["mirrored", "open"]},
        },
    },
}


def block(**cases: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(BLOCK) | ({"cases": copy.deepcopy(cases)} if cases else {})


def made(**cases: dict[str, Any]) -> Plan:
    return plan(STUDY, block(**cases), 7)


def swept(**keys: Any) -> dict[str, Any]:
    return {"source": "simulated", "settings": {"model": "I"}} | keys


def test_a_sweep_is_the_product_of_its_lists():
    found = made()
    assert list(found.cases) == ["simulated", "table_i_n500", "table_i_n1500", "table_ii_n500", "table_ii_n1500"]
    case = found.cases["table_ii_n1500"]
    assert (case.settings.model, case.settings.n, case.settings.row, case.settings.clients) == ("II", 1500, 1000, 4)
    assert (case.group, case.source_name, case.title) == ("grown", "simulated", "model II, n = 1500, 4 clients")
    assert case.epsilon == (2.0, 4.0) and case.methods == ("mirrored", "open")
    assert (case.replicates, case.parties, case.folds) == (2, (1,), 1)
    alone = found.cases["simulated"]
    assert (alone.group, alone.title, alone.methods) == ("simulated", "simulated", ("plain",))


def test_a_swept_case_is_the_case_that_could_be_typed():
    """The parts of its jobs are the same."""
    typed = {
        "table_i_n500": swept(settings={"model": "I", "n": 500}, grid=BLOCK["grid"]),
        "table_i_n900": swept(settings={"model": "I", "n": 900}, grid=BLOCK["grid"]),
    }
    one = made(**typed)
    other = made(t=swept(sweep={"n": [500, 900]}, name="table_{model}_n{n}", title="n = {n}"))
    for case in typed:
        assert one.part({case: ["plain"]}) == other.part({case: ["plain"]})


@pytest.mark.parametrize(
    ("sweep", "names"),
    [
        ({"n": [500, 1000]}, ["g_500", "g_1000"]),
        ({"model": ["IV"], "n": [500, 1000]}, ["g_iv_500", "g_iv_1000"]),
        ({"radius": [0.5, 2.0]}, ["g_0_5", "g_2"]),
        ({"size": [{"n": 500, "row": 1}, {"n": 900, "row": 1}]}, ["g_500", "g_900"]),
        ({"n": [{"row": 1, "n": 500}, {"row": 1, "n": 900}]}, ["g_500", "g_900"]),
        ({"size": {"few": {"n": 500}, "many": {"n": 900, "row": 1}}}, ["g_few", "g_many"]),
    ],
)
def test_the_name_of_a_case_joins_its_sweep_and_its_values(sweep, names):
    settings = {"model": "I"} if "model" not in sweep else {}
    assert list(made(g=swept(settings=settings, sweep=sweep)).cases) == names


def test_a_sweep_without_source_has_the_source_of_its_name():
    found = made(simulated={"settings": {"model": "I"}, "sweep": {"n": [500]}})
    assert plan(**found.part({"simulated_500": ["plain"]}), complete=False).cases["simulated_500"].settings.n == 500


def test_a_cube_keeps_the_configuration_as_it_was_written():
    """In its order, which names cases."""
    found = made(simulated={"sweep": {"n": [500, 900], "model": ["II", "I"]}})
    kept = json.loads(config_json(found))
    assert kept.pop("root_seed") == 7 and kept.pop("study") == STUDY
    again = plan(STUDY, kept, 7)
    assert list(again.cases) == ["simulated_500_ii", "simulated_500_i", "simulated_900_ii", "simulated_900_i"]
    assert again.cases == found.cases and again.methods == found.methods


def test_a_title_is_no_part_of_a_job():
    titled = block()
    titled["methods"]["plain"]["title"] = "another title"
    titled["cases"]["grown"]["title"] = "other"
    one, other = plan(STUDY, titled, 7), made()
    assert one.part({"table_i_n500": ["mirrored"]}) == other.part({"table_i_n500": ["mirrored"]})
    assert other.methods["plain"].title == "plain" and other.methods["mirrored"].title == "all 2 rounds, mirrored"


BROKEN: list[tuple[dict[str, Any], str]] = [
    (swept(sweeps={}), f"{AT}.g.sweeps is unknown: did you mean sweep?"),
    (swept(sweep=[]), f"{AT}.g.sweep is []: a block of keys is needed here."),
    (swept(sweep={}), f"{AT}.g.sweep is empty: give at least one list"),
    (swept(sweep={"n": []}), f"{AT}.g.sweep.n is empty: give at least one value."),
    (swept(sweep={"n": 500}), f"{AT}.g.sweep.n is 500: it must be a list of values or of blocks, or blocks by name."),
    (swept(sweep={"size": [{}]}), f"{AT}.g.sweep.size[0] is empty: give the settings that move together."),
    (swept(sweep={"size": {"a": 3}}), f"{AT}.g.sweep.size.a is 3: a block of keys is needed here."),
    (swept(sweep={"m": [500]}), f"{AT}.g[g_500].settings.m is unknown: "),
    (swept(sweep={"n": [500, "x"]}), f"{AT}.g[g_x].settings.n is 'x': it must be a whole number."),
    (swept(sweep={"model": ["I"]}), f"{AT}.g.sweep.model sweeps model, which is under settings too: keep one of them."),
    (
        swept(sweep={"n": [500], "size": [{"n": 4, "row": 4}]}),
        f"{AT}.g.sweep.size sweeps n, which {AT}.g.sweep.n sweeps too: keep one.",
    ),
    (
        swept(sweep={"n": [500, 500]}),
        f"{AT}.g makes the case 'g_500' twice: its name must distinguish its swept settings",
    ),
    (swept(sweep={"n": [500, 900]}, name="g_{model}"), f"{AT}.g makes the case 'g_i' twice"),
    (swept(sweep={"n": [500]}, name="other"), f"{AT}.other makes the case 'other', which {AT}.g makes too: give one"),
    (
        swept(sweep={"radius": [-1.0]}),
        f"{AT}.g makes the name 'g_-1': a name has a-z, 0-9 and _, a letter first; gi",
    ),
    (
        swept(sweep={"n": [500]}, name="{n}"),
        f"{AT}.g.name makes the name '500': a name has a-z, 0-9 and _, a letter fi",
    ),
    (swept(sweep={"n": [500]}, name="g_{m}"), f"{AT}.g.name is 'g_{{m}}': {{m}} is unknown: allowed here: model, n."),
    (swept(sweep={"n": [500]}, name="g_{n"), f"{AT}.g.name is 'g_{{n': braces go around the name of a setting"),
    (swept(sweep={"n": [500]}, name=3), f"{AT}.g.name is 3: it must be text (put quotes around it)."),
    (swept(name="h"), f"{AT}.g.name is 'h': a case without sweep has the name of its key."),
    (swept(title=""), f"{AT}.g.title is '': give text."),
    (swept(title="a\nb"), f"{AT}.g.title is 'a\\nb': give text."),
    (swept(title="{k}"), f"{AT}.g.title is '{{k}}': {{k}} is unknown: "),
    (
        swept(sweep={"n": list(range(101)), "p": list(range(100))}),
        f"{AT}.g.sweep makes 10100 cases: it may make at mos",
    ),
    (swept(grid={"methods": ["plane"]}), f"{AT}.g.grid.methods lists 'plane': did you mean plain?"),
]


@pytest.mark.parametrize(("case", "sentence"), BROKEN, ids=[sentence[len(AT) :] for _, sentence in BROKEN])
def test_a_broken_sweep_is_told_in_one_sentence(case, sentence):
    with pytest.raises(ConfigError) as told:
        made(g=case, other={"source": "simulated", "settings": {"model": "I"}})
    assert str(told.value).startswith(sentence), str(told.value)
    assert str(told.value).endswith(".") and "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"grid": {"fold": 1}}, f"studies.{STUDY}.grid.fold is unknown: did you mean folds?"),
        ({"grid": 3}, f"studies.{STUDY}.grid is 3: a block of keys is needed here."),
        ({"grid": {"folds": 1}}, f"{AT}.simulated.grid.methods is missing: give a list of texts"),
        ({"grid": {**BLOCK["grid"], "folds": 0}}, f"{AT}.simulated.grid.folds is 0: it must lie in [1, 100]."),
        (
            {"methods": {"plain": {"protocol": "certified", "title": 3}}},
            "studies.*methods.plain.title is 3: give text.",
        ),
        (
            {"methods": {"plain": {"protocol": "certified", "title": "{s}"}}},
            "studies.*plain.title is '{s}': {s} is unkno",
        ),
    ],
)
def test_broken_defaults_and_titles_are_told_in_one_sentence(change, sentence):
    with pytest.raises(ConfigError) as told:
        plan(STUDY, block() | change, 7)
    first, _, rest = sentence.partition("*")
    assert str(told.value).startswith(first) and rest in str(told.value), str(told.value)


def labelled(found: Plan, tmp_path):
    """The coordinates of a cube as they are read back from a file."""
    cube = header_of(found, CubeColumns(found), [])
    cube.attrs = global_attributes(found, code_sha256="0" * 64, root=ROOT)
    write_cube(tmp_path / "cube.nc", cube)
    return open_cube(tmp_path / "cube.nc")


def test_swept_settings_and_options_are_coordinates(tmp_path):
    cube = labelled(made(), tmp_path)
    assert cube["case_group"].values.tolist() == ["simulated"] + ["grown"] * 4
    assert cube["case_source"].values.tolist() == ["simulated"] * 5
    assert cube["case_title"].values[-1] == "model II, n = 1500, 4 clients"
    assert cube["case_n"].values.tolist() == [300, 500, 1500, 500, 1500]
    assert cube["case_n"].dtype == np.float64
    assert cube["case_model"].values.tolist() == ["I", "I", "I", "II", "II"]
    # Not given in the first case: the default that is in force, or nothing.
    assert cube["case_clients"].values.tolist() == [100, 4, 4, 4, 4]
    assert math.isnan(cube["case_row"].values[0]) and cube["case_row"].values[2] == 1000
    assert "case_radius" not in cube.coords
    assert cube["case"].values[cube["case_row"].values == 1000].tolist() == ["table_i_n1500", "table_ii_n1500"]
    assert cube["method_protocol"].values.tolist() == ["certified", "certified", "reference"]
    assert [coordinate_of(cube, "case", "table_i_n1500", name) for name in ("model", "row", "nothing")] == [
        "I",
        1000,
        None,
    ]
    assert (
        coordinate_of(cube, "case", "simulated", "row") is None
        and coordinate_of(cube, "method", "plain", "clipped") is None
    )
    assert having(cube, "case", model="II", n=1500) == ["table_ii_n1500"] and having(cube, "case", nothing=1) == []
    assert cube["method_second"].values.tolist() == ["goe", "mirrored", ""]
    assert cube["method_clipped"].values.tolist() == ["", "", "false"]
    assert np.isnan(cube["method_top"].values).tolist() == [True, True, False]
    # In force and not given, but telling the protocols apart.
    assert cube["method_slices"].values.tolist() == ["public", "public", "quantile"]
    assert "method_norm" not in cube.coords
    assert cube["method_claims"].values.tolist() == [0, 0, 0]
    assert all(cube[name].attrs["long_name"] and cube[name].attrs["units"] for name in cube.coords)


def test_titles_with_signs_beyond_ascii_survive_the_file(tmp_path):
    found = block()
    found["methods"]["plain"]["title"] = "noise s = 0.2 √J, N(0, s²M⁻¹) at ρ"
    cube = labelled(plan(STUDY, found, 7), tmp_path)
    assert cube["method_title"].values[0] == "noise s = 0.2 √J, N(0, s²M⁻¹) at ρ"
