"""Tables and figures of sliced inverse regression from a small cube made in this process."""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from partywise.datasets.curves import Scale
from partywise.datasets.tables import ClientTable
from partywise.experiment.blocks import read_block, write_block
from partywise.experiment.cells import generate, run
from partywise.experiment.plan import plan
from partywise.experiment.results.provenance import config_json
from partywise.randomness import stream
from partywise.studies.sliced_inverse_regression import cases
from partywise.studies.sliced_inverse_regression.figures import angles as slicing_angles
from partywise.studies.sliced_inverse_regression.figures import marks as slicing_marks
from partywise.studies.sliced_inverse_regression.figures import tables as slicing_tables
from partywise.studies.sliced_inverse_regression.study import STUDY
from relabel import content, relabelled
from small_cube import assemble

METHODS = {
    "sir": {"protocol": "reference", "clipped": False},
    "fsir_iid": {"protocol": "published", "mechanism": "iid", "title": "FSIR-IID as published"},
    "fsir_vgm": {"protocol": "published", "mechanism": "vgm", "title": "FSIR-VGM as published"},
    "cert": {"protocol": "certified", "title": "certified"},
    "cert_whiten": {"protocol": "whitened"},
    "iid_equal": {"protocol": "certified", "calibrate": "total", "second": "mirrored"},
    "cert_equal": {"protocol": "certified", "calibrate": "total"},
    "whiten_equal": {"protocol": "whitened", "calibrate": "total"},
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
        "calibrate": "total",
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
PUBLISHED = ("fsir", "lda", "iid_real", "vgm_real")


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
            "activity": case("activity", {"least": 20, "most": 60, "shown": 5}, [*real, "cert_screened"], [3], 1),
            "flights": case("flights", {"n": 200, "shown": 50}, [*real, *sizes[-3:]], [4], 1),
        },
    }


def small_table(classes: int):
    """Clients with six features, the first of which moves with the response."""
    rng, scale = stream(7, "clients", classes), Scale("1", 0.0, 1.0, "a test")
    count, size = (3, 50) if classes else (4, 220)
    y = rng.integers(0, classes, count * size).astype(float) if classes else 30 * rng.standard_normal(count * size)
    X = 0.3 * rng.standard_normal((count * size, 6))
    X[:, 0] += (y - y.mean()) / (3 * y.std())
    return ClientTable(
        X=X.astype(np.float32),
        y=y,
        client=np.repeat(np.arange(count), size),
        names=np.array([f"x{j}" for j in range(6)]),
        clients=tuple(f"holder {k}" for k in range(count)),
        classes=tuple("abcdefg")[:classes],
        scales=(scale,) * 6,
        sha256={},
        notes=(),
    )


@pytest.fixture(scope="module")
def cube(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sir_figures")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cases, "_flights", lambda folder: small_table(0))
        patch.setattr(cases, "_watch", lambda folder, window, step: small_table(7))
        made, parts = plan("sliced_inverse_regression", block(), 3), []
        for name, entry in made.cases.items():
            data = generate(made, name, range(entry.replicates), folder)
            for method in entry.methods:
                n = 50 if name == "activity" else entry.settings.n
                small = method.startswith(PUBLISHED) and entry.settings.claimed_delta >= 1 / n
                with pytest.warns(UserWarning, match="total delta") if small else contextlib.nullcontext():
                    cells = run(made, name, method, entry.parties, range(entry.replicates), [0], data)
                write_block(folder / "block.npz", cells)
                parts += read_block(folder / "block.npz")
    return assemble(made, parts).assign_attrs(config_json=config_json(made))


@pytest.fixture(autouse=True)
def closed():
    """Figures of a test are closed after it."""
    yield
    plt.close("all")


def words(figure) -> str:
    """All text of a figure."""
    texts = [text.get_text() for ax in figure.axes for text in ax.texts]
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
    for ax in figure.axes:
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
    text = words(slicing_tables.table_1(repeated(cube, 30)))
    again = next(e for e in slicing_marks.entries(repeated(cube, 30), 1.0, high=False) if e.case == chosen.case)
    assert f"{again.mean:.3f} ({slicing_tables._error(again.se)})" in text and "0.500 (0.15)" in text
    assert [e.paper for e in found if e.method == "cert"] == pytest.approx([np.nan] * 4, nan_ok=True)


def test_no_published_column_stands_without_its_certified_epsilon(cube):
    for name in ("table_1", "table_3"):
        text = words(STUDY.figures[name](cube))
        assert re.search("[23]†? / ∞", text) and "certified" in text
        assert "Fitted to these cells: FSIR-IID as published: aggregation kernel" in text
    assert "row 1000 read as n = 1500" in words(slicing_tables.table_1(repeated(cube, 30)))
    assert "2 / 1.39" in words(slicing_tables.table_1(cube))


@pytest.mark.parametrize("replicates", [2, 29, 30])
def test_few_replicates_are_no_verdict(cube, replicates):
    """Below 30 replicates a table has no z, no mark, no coloured cell and no count, and says so in one sentence."""
    found = repeated(cube, replicates)
    figure = slicing_tables.table_1(found)
    text, (ax,) = words(figure), figure.axes
    judged = len([e for e in slicing_marks.entries(found, 1.0, high=False) if e.paper > 0]) if replicates == 30 else 0
    assert len(ax.patches) == judged == len(re.findall(r"z[=≈<>]", text))
    assert ("not reproduced" in text) == ("of 2 cells" in text) == (replicates == 30)
    assert (f"No verdict on cells of {replicates} replicates, fewer than 30" in text) == (replicates < 30)
    assert f"our mean over {replicates} replicates" in text
    assert len(re.findall(r"[+−]\d+\.\d b", text)) == (8 if replicates < 30 else 0)


def test_few_and_many_replicates_in_one_table(cube):
    """Each cell by its own number: the count is over those that are judged."""
    both = repeated(cube, 30)
    few = (both["case"] == "table12_i_n1500") & (both["replicate"] >= 5)
    text = words(slicing_tables.table_1(both.assign(loss=both["loss"].where(~few))))
    assert "our mean over 5 to 30 replicates" in text and "No verdict on cells of 5 replicates" in text
    assert len(re.findall(r"z[=≈<>]", text)) == 4 == len(re.findall(r"[+−]\d+\.\d b", text))
    assert "of 2 cells" in text and "read as n = 1500:" not in text


def test_a_claim_at_a_delta_of_one_over_n_is_marked(cube):
    """Two releases at 1000^(-1.1) add up to more than 1/1000; at 1500 they do not; a certified total never does."""
    text = words(slicing_tables.table_1(cube))
    assert "2† / ∞" in text and "2 / ∞" in text and "2† / 1" not in text
    assert "add up to 1/n or more (n = 1000)" in text
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
    lines = {line.get_label(): line.get_xydata() for line in left.lines}
    pairs = {"FSIR-IID as published": "IID as its printed tables suggest (fitted)"}
    pairs |= {"FSIR-VGM as published": "floor of algorithm 2", "certified": "the same at its share of δ"}
    for method, formula in pairs.items():
        drawn = lines[f"drawn: {method}"]
        expected = dict(lines[formula])
        assert len(drawn) >= 4
        assert [sd for _, sd in drawn] == pytest.approx([expected[n] for n, _ in drawn], rel=1e-9)
    # Seed 001 at n = 1000, p = 10, R = 1, epsilon 1, each to its last printed digit.
    sds = {label: dict(points)[1000] for label, points in lines.items() if not label.startswith("drawn")}
    found = [sds["proposition 2"], sds["floor of algorithm 2"], sds["exact Gaussian level"]]
    assert found == pytest.approx([0.0250, 0.0258, 0.0175], abs=5e-5)
    costs = [dict(line.get_xydata()).get(1000) for line in right.lines[:4]]
    assert costs[1:] == pytest.approx([0.66, 0.64, 1.0], abs=5e-3)


def test_bars_hold_the_middle_of_the_replicates(cube):
    line, bars = slicing_angles.along_cases(cube, [(100, "size_i_n100"), (400, "size_i_n400")], "cert")
    angles = cube["angle"].sel(case="size_i_n400", method_label="cert").values
    angles = angles[np.isfinite(angles)]
    assert line.x.tolist() == [100, 400] and line.mean[1] == pytest.approx(angles.mean())
    assert bars[:, 1].tolist() == [angles.min(), angles.max()]
    assert "bars: from the least to the largest" in words(STUDY.figures["angle_by_size"](cube))
    many = repeated(cube, 20)
    spread = cube["angle"].sel(case="size_i_n400", method_label="cert", replicate=[0, 1]).values
    spread = np.tile(spread[np.isfinite(spread)], 10)
    bars = slicing_angles.along_cases(many, [(400, "size_i_n400")], "cert")[1]
    assert bars[:, 0] == pytest.approx(np.quantile(spread, [0.05, 0.95]))
    assert "over 20 replicates, bars: 5 % to 95 %" in words(STUDY.figures["angle_by_size"](many))


def test_a_person_costs_more_than_a_window(cube):
    at = {"case": "activity", "method_label": "cert_screened"}
    window, person = (float(cube[n].sel(at).max()) for n in ("epsilon_certified", "epsilon_user"))
    assert window == pytest.approx(3.0, rel=1e-6) and person > 60 * window
    assert "for a person" in words(STUDY.figures["activity"](cube))
    assert cube["projected"].dims == ("example_fit", "record_shown", "direction")


@pytest.mark.parametrize(("z", "text"), [(1.24, "z=+1.2 ="), (-9.94, "z=−9.9 "), (191.4, "z>+10 "), (-20.4, "z<−10 ")])
def test_a_z_beyond_ten_is_shown_as_that(cube, z, text):
    found = slicing_marks.entries(repeated(cube, 30), 1.0, high=False)
    entry = next(e for e in found if e.method == "fsir_vgm")
    other = replace(entry, paper=0.5, bracket=0.2, se=0.03)
    spread = replace(other, mean=1.5).z
    assert slicing_tables.difference(replace(other, mean=0.5 + z / spread)).startswith(text)


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_a_figure_does_not_know_labels(cube, name):
    """Other labels of cases and methods, the same picture."""
    drawn = content(STUDY.figures[name](cube))
    assert content(STUDY.figures[name](relabelled(cube))) == drawn


def test_a_screened_panel_says_how_its_columns_were_screened(cube):
    """Titles name options in force: a picture of signs cannot be called one of votes."""
    text = words(STUDY.figures["activity"](cube))
    assert "certified, screened by signs" in text and "votes" not in text
