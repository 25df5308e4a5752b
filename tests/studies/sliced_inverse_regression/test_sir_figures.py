"""Tables and figures of sliced inverse regression from a small cube made in this process."""

from __future__ import annotations

import csv
import re

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from partywise.core.randomness import stream
from partywise.data import tables
from partywise.data.column_facts import ColumnFacts
from partywise.experiment.tables.templates import TypesetTable, save_table
from partywise.studies.sliced_inverse_regression import cases
from partywise.studies.sliced_inverse_regression.figures import angles as slicing_angles
from partywise.studies.sliced_inverse_regression.figures import marks as slicing_marks
from partywise.studies.sliced_inverse_regression.figures import tables as slicing_tables
from partywise.studies.sliced_inverse_regression.figures.tables import RULE
from partywise.studies.sliced_inverse_regression.study import STUDY
from relabel import content, relabelled
from small_cube import computed

METHODS = {
    "sir": {"protocol": "reference", "clipped": False},
    "fsir_iid": {"protocol": "published", "mechanism": "iid", "title": "FSIR-IID as published"},
    "fsir_vgm": {"protocol": "published", "mechanism": "vgm", "title": "FSIR-VGM as published"},
    "cert": {"protocol": "certified", "calibrate": "each", "title": "certified"},
    "cert_whiten": {"protocol": "whitened", "calibrate": "each"},
    "iid_equal": {"protocol": "certified", "calibrate": "claims", "second": "mirrored"},
    "cert_equal": {"protocol": "certified", "calibrate": "claims"},
    "whiten_equal": {"protocol": "whitened", "calibrate": "claims"},
    "lda_iid": {"protocol": "published", "mechanism": "iid", "estimator": "lda"},
    "lda_vgm": {"protocol": "published", "mechanism": "vgm", "estimator": "lda"},
    "sir_real": {"protocol": "reference", "clipped": False, "kernel": "classical", "top": 2},
    "iid_real": {"protocol": "published", "mechanism": "iid", "centre": True, "top": 2},
    "vgm_real": {
        "protocol": "published",
        "mechanism": "vgm",
        "centre": True,
        "top": 2,
        "title": "FSIR-VGM as published",
    },
    "cert_screened": {
        "protocol": "certified",
        "calibrate": "claims",
        "max_size": 4,
        "title": "certified, screened by {screening}",
    },
}
FIGURES = {"table_1", "table_2", "table_3", "table_4", "angle_by_size", "angle_by_clients", "activity", "flights"}
FIGURES |= {"noise_levels"}
# Of records of a reader, which have a configuration and tests of their own.
OWN = {"projected_records", "separation_by_epsilon"}
FLAGGED = {
    ("table12_i_n1000", "fsir_iid"): 1,
    ("table12_i_n1000", "cert"): 0,
    ("table12_i_n1500", "fsir_iid"): 0,
    ("table34_v_p500", "fsir_vgm"): 1,
    ("table34_v_p500", "cert"): 0,
    ("size_i_n100", "cert_equal"): 0,
}
ACTIVITY = {"dataset": "activity", "screen": True, "n_directions": 2, "delta_power": 1.5}


def case(source, settings, methods, parties, replicates=2, epsilon=(1.0,)):
    grid = {"methods": methods, "replicates": replicates, "parties": parties, "folds": 1, "epsilon": list(epsilon)}
    return {"source": source, "settings": settings, "grid": grid}


def block():
    table = ["fsir_iid", "fsir_vgm", "cert", "cert_whiten"]
    low = {"clients": 10, "row": 1000}
    sizes = ["sir", "fsir_iid", "fsir_vgm", "cert", "iid_equal", "cert_equal", "whiten_equal"]
    real = ["sir_real", "iid_real", "vgm_real"]
    return {
        "methods": METHODS,
        "cases": {
            "table12_i_n1000": case("simulated", {"model": "I", "n": 1000} | low, table, [1, 10], epsilon=(1.0, 2.0)),
            "table12_i_n1500": case("simulated", {"model": "I", "n": 1500} | low, table, [1, 10]),
            "table34_v_p500": case(
                "simulated",
                {"model": "V", "n": 1000, "p": 500, "active": 5, "row": 500, "clients": 10},
                table[:3],
                [1, 10],
                epsilon=(1.0, 2.0),
            ),
            "size_i_n100": case("simulated", {"model": "I", "n": 100, "clients": 1}, sizes, [1], 3),
            "size_i_n400": case("simulated", {"model": "I", "n": 400, "clients": 1}, sizes, [1], 3),
            "clients_n100": case(
                "simulated",
                {"model": "I", "n": 100, "clients": 4, "epsilon_second": 3.0},
                [*sizes, "lda_iid", "lda_vgm"],
                [2, 4],
            ),
            "activity": case("dataset", ACTIVITY | {"n_shown": 5}, [*real, "cert_screened"], [3], 1),
            "flights": case("dataset", {"dataset": "flights", "n": 200, "n_shown": 50}, [*real, *sizes[-3:]], [4], 1),
        },
    }


def small_table(classes: int):
    """Clients with six features, the first of which moves with the response."""
    rng, facts = stream(7, "clients", classes), ColumnFacts(None, (-1.0, 1.0), "a test")
    count, size = (10, 200) if classes else (11, 220)
    y = rng.integers(0, classes, count * size).astype(float) if classes else 30 * rng.standard_normal(count * size)
    X = 0.3 * rng.standard_normal((count * size, 6))
    X[:, 0] += (y - y.mean()) / (3 * y.std())
    return tables.Table(
        X=X,
        y=y,
        client=np.repeat(np.arange(count), size),
        names=np.array([f"x{j}" for j in range(6)]),
        clients=tuple(f"holder {k}" for k in range(count)),
        column_facts=(facts,) * 6,
    )


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch, pytest.warns(UserWarning, match="total delta"):
        patch.setattr(cases, "read_table", lambda name, *_: small_table(7 if name == "activity" else 0))
        return computed("sliced_inverse_regression", block(), 3, tmp_path_factory.mktemp("sir_figures"))


def words(figure) -> str:
    """All text of a figure, or title and notes of a table."""
    if isinstance(figure, TypesetTable):
        return "\n".join([figure.title, *figure.notes])
    texts = [text.get_text() for place in (figure, *figure.axes) for text in place.texts]
    texts += [figure._suptitle.get_text()] if figure._suptitle else []
    texts += [figure._supxlabel.get_text()] if getattr(figure, "_supxlabel", None) else []
    texts += [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return "\n".join([*texts, *(ax.get_title() for ax in figure.axes), *(ax.get_ylabel() for ax in figure.axes)])


def repeated(cube, count):
    """The cube with so many replicates, its first two in turn."""
    return cube.isel(replicate=np.resize([0, 1], count)).assign_coords(replicate=range(count))


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_every_figure_draws(cube, name):
    assert set(STUDY.figures) == FIGURES | OWN
    figure = STUDY.figures[name](cube)
    assert "in this configuration" not in words(figure)
    assert isinstance(figure, TypesetTable) == (STUDY.figures[name].output == "table") == name.startswith("table")
    for ax in () if isinstance(figure, TypesetTable) else figure.axes:
        assert not ax.axison or ax.get_xlabel() or ax.get_ylabel() or ax.get_title() or ax.lines or ax.collections


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_a_figure_without_its_cases_says_so(cube, name):
    other = cube.isel(case=[list(cube["case"].values).index("size_i_n100")])
    if name in ("angle_by_size", "noise_levels"):
        other = cube.isel(case=[list(cube["case"].values).index("flights")])
    if "example_case" in other:
        other = other.isel(example_fit=[])
    assert "in this configuration" in words(STUDY.figures[name](other))


def test_a_table_holds_what_the_cube_holds(cube):
    found = slicing_marks.entries(cube, 1.0, high=False)
    keys = {(e.n, e.row, e.method, e.clients) for e in found}
    assert len(found) == len(keys) == 16 and {e.row for e in found} == {1000} and {e.n for e in found} == {1000, 1500}
    chosen = next(e for e in found if (e.n, e.method, e.clients) == (1000, "fsir_vgm", 10))
    losses = cube["loss"].sel(case="table12_i_n1000", method_label="fsir_vgm", parties=10, epsilon=1.0).values
    losses = losses[np.isfinite(losses)]
    assert (chosen.mean, chosen.replicates) == (losses.mean(), 2)
    assert chosen.se == pytest.approx(abs(losses[0] - losses[1]) / 2)
    assert (chosen.paper, chosen.bracket) == (0.500, 0.15)
    rows = slicing_tables.table_1(cube).rows
    key = {"method": "FSIR-VGM as published", "records per client": 1000, "clients K": 10}
    (row,) = [row for row in rows if key.items() <= row.items()]
    shown = (row["ours"], row["theirs"], row["bracket of theirs"], row["replicates"])
    assert shown == (round(chosen.mean, 4), 0.5, 0.15, 2)
    assert row["difference"] == pytest.approx(chosen.mean - 0.5, abs=1e-4)
    assert row["SE of difference"] == pytest.approx(np.sqrt(0.155**2 / 2 + 0.15**2 / 400 + 9e-8), abs=1e-4)
    assert len(rows) == 16 and len({tuple(row) for row in rows}) == 1
    assert [e.paper for e in found if e.method == "cert"] == pytest.approx([np.nan] * 4, nan_ok=True)


def test_no_published_row_stands_without_its_certified_epsilon(cube):
    for name in ("table_1", "table_3"):
        found = STUDY.figures[name](cube)
        published = [row for row in found.rows if row["verdict"]]
        assert {row["certified ε"] for row in published} == {np.inf}
        assert {row["claimed ε"] for row in published} <= {2, 3}
        assert "Fitted to these cells: FSIR-IID as published: aggregation kernel" in words(found)
    assert "row 1000 read as n = 1500" in words(slicing_tables.table_1(cube))
    own = [row for row in slicing_tables.table_1(cube).rows if row["method"] == "certified"]
    assert {round(row["certified ε"], 2) for row in own} == {1.39} and {row["claimed ε"] for row in own} == {2}


@pytest.mark.parametrize("replicates", [2, 29, 30])
@pytest.mark.parametrize("name", ["table_1", "table_3"])
def test_every_printed_cell_has_a_verdict_by_the_rule_under_the_table(cube, name, replicates):
    found = STUDY.figures[name](repeated(cube, replicates))
    judged = [row["verdict"] for row in found.rows if row["theirs"] != ""]
    assert len(judged) == (8 if name == "table_1" else 4) and set(judged) <= set(slicing_marks.VERDICTS)
    assert all(row["verdict"] == "" for row in found.rows if row["theirs"] == "")
    assert "no verdict" not in words(found).lower() and found.notes[0] == RULE
    counted = sum(int(number) for number in re.findall(r"of (\d+) cells\.", words(found)))
    assert counted == len(judged)


def test_a_table_becomes_a_page_and_rows(cube, tmp_path):
    """With the numbers of the cube in full in the rows, byte for byte the same on every call."""
    made, texts = slicing_tables.table_3(cube), []
    for _ in range(2):
        save_table(made, tmp_path / "table.html", tmp_path / "table.csv")
        texts.append([(tmp_path / name).read_text(encoding="utf-8") for name in ("table.html", "table.csv")])
    (page, rows), again = texts
    assert [page, rows] == again and page.count("<tr>") == 1 + len(made.rows) == rows.count("\n")
    read = list(csv.DictReader(rows.splitlines()))
    assert [float(row["ours"]) for row in read] == [row["ours"] for row in made.rows]
    assert {"ours", "theirs", "difference", "SE of difference", "verdict"} <= set(read[0])


def test_a_claim_at_a_delta_of_one_over_n_is_marked(cube):
    """Two releases at 1000^(-1.1) add up to more than 1/1000; at 1500 they do not; a certified total never does."""
    found = slicing_tables.table_1(cube)
    marked = {(row["method"], row["records per client"]) for row in found.rows if row["claimed δ"]}
    assert marked == {("FSIR-IID as published", 1000), ("FSIR-VGM as published", 1000)}
    assert "add up to it (n = 1000)" in words(found)
    flag = cube["delta_exceeds_1_over_n"].sel(replicate=0, fold=0, epsilon=1.0)
    at = {(name, method): int(flag.sel(case=name, method_label=method).max()) for name, method in FLAGGED}
    assert at == FLAGGED
    assert float(cube["delta"].sel(case="table12_i_n1000").max()) == 1000**-1.1
    assert float(cube["delta_claimed"].sel(case="table34_v_p500", method_label="fsir_vgm").max()) == 3 * 1000**-1.1


def test_twins_stand_at_one_certified_epsilon(cube):
    for method in ("iid_equal", "cert_equal", "whiten_equal"):
        for case_name, total in (("size_i_n400", 2.0), ("clients_n100", 4.0), ("flights", 2.0)):
            assert slicing_angles.price(cube, case_name, method, "epsilon_certified") == pytest.approx(total, rel=1e-6)
    for name in ("angle_by_size", "angle_by_clients", "flights"):
        assert "FSIR-VGM as published: ε = ∞, claimed" in words(STUDY.figures[name](cube))
    assert "certified methods at ε = 2" in words(STUDY.figures["angle_by_size"](cube))


def test_noise_that_was_drawn_lies_on_its_formula(cube):
    left, right = STUDY.figures["noise_levels"](cube).axes
    lines = {line.get_gid() or line.get_label(): line.get_xydata() for line in left.lines}
    pairs = {"FSIR-IID as published": "IID as its printed tables suggest (fitted)"}
    pairs |= {"FSIR-VGM as published": "floor of algorithm 2", "certified": "the same at its share of δ"}
    for method, formula in pairs.items():
        drawn = lines[method]
        expected = dict(lines[formula])
        assert len(drawn) >= 4
        assert [sd for _, sd in drawn] == pytest.approx([expected[n] for n, _ in drawn], rel=1e-9)
    # Seed 001 at n = 1000, p = 10, R = 1, epsilon 1, each to its last printed digit.
    sds = {label: dict(points)[1000] for label, points in lines.items() if label not in pairs}
    found = [sds["proposition 2"], sds["floor of algorithm 2"], sds["exact Gaussian level"]]
    assert found == pytest.approx([0.0250, 0.0258, 0.0175], abs=5e-5)
    costs = [dict(line.get_xydata()).get(1000) for line in right.lines[:4]]
    assert costs[1:] == pytest.approx([0.66, 0.64, 1.0], abs=5e-3)


def drawn(figure, label):
    """Line of a method in the first panel that has it, and the ends of its bars (2, places)."""
    ax = next(ax for ax in figure.axes if label in ax.get_legend_handles_labels()[1])
    lines = [line for line in ax.get_lines() if line.get_label() == label]
    bars = [one for one in ax.collections if np.array_equal(one.get_color()[0][:3], to_rgb(lines[0].get_color()))]
    return lines[0], np.array([path.vertices[:, 1] for path in bars[0].get_paths()]).T


def test_bars_hold_the_middle_of_the_replicates(cube):
    figure = STUDY.figures["angle_by_size"](cube)
    line, bars = drawn(figure, "certified")
    angles = cube["angle"].sel(case="size_i_n400", method_label="cert").values
    angles = angles[np.isfinite(angles)]
    assert line.get_xdata() == pytest.approx([100, 400], rel=0.15) and line.get_ydata()[1] == pytest.approx(
        angles.mean()
    )
    assert bars[:, 1].tolist() == [angles.min(), angles.max()]
    assert "bars: from the least to the largest" in words(figure)
    many = repeated(cube, 20)
    spread = cube["angle"].sel(case="size_i_n400", method_label="cert", replicate=[0, 1]).values
    spread = np.tile(spread[np.isfinite(spread)], 10)
    figure = STUDY.figures["angle_by_size"](many)
    assert drawn(figure, "certified")[1][:, 1] == pytest.approx(np.quantile(spread, [0.05, 0.95]))
    assert "over 20 replicates, bars: 5 % to 95 %" in words(figure)


def test_a_person_costs_more_than_a_window(cube):
    at = {"case": "activity", "method_label": "cert_screened"}
    window, person = (float(cube[n].sel(at).max()) for n in ("epsilon_certified", "epsilon_user"))
    assert window == pytest.approx(3.0, rel=1e-6) and person > 60 * window
    assert "for a person" in words(STUDY.figures["activity"](cube))
    assert cube["record_coordinates"].dims == ("example_fit", "record_shown", "direction")


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_a_figure_does_not_know_labels(cube, name):
    """Other labels of cases and methods, the same picture."""
    drawn = content(STUDY.figures[name](cube))
    assert content(STUDY.figures[name](relabelled(cube))) == drawn


def test_a_screened_panel_says_how_its_columns_were_screened(cube):
    """Titles name options in force: a picture of signs cannot be called one of votes."""
    text = words(STUDY.figures["activity"](cube))
    assert "certified, screened by signs" in text and "votes" not in text
