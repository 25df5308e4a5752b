"""Intervals of a published fit: what the statement states of them, and how a reader makes them again."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pytest

from deployment_cases import Apart, clients_of_kinds
from fixed import fixed
from partywise.__main__ import main
from partywise.core.randomness import stream
from partywise.deployment.statement.intervals import LATE, LINES, REGISTERED, interval_facts, interval_lines, law_of
from partywise.deployment.statement.statement import text_of
from partywise.methods.glm.model import GlmFacts
from partywise.methods.inverse_regression.model import SlicingFacts
from partywise.methods.inverse_regression.slices import class_slices
from partywise.models.intervals import FittedLaw, Intervals, reason_of
from partywise.models.kinds import Kind
from partywise.models.simulation import fit
from release_folders import checked, json_of, publish, sealed

# At 500, noise that a release draws hid a column in one fit of ten.
RECORDS = 2000


def case_of_kinds() -> Apart:
    """A Gaussian model of a binary, a normal and a uniform column at two parties, all declared."""
    # The shapes of these records fit well: their test, at 1 %, rejects what noise adds to it in few runs.
    case, rng = Apart("vertical_glm"), stream(8, "published intervals")
    a, b, c = rng.integers(0, 2, RECORDS), rng.standard_normal(RECORDS), rng.uniform(0, 4, RECORDS)
    y = np.clip(1 + 0.8 * a - 0.5 * b + 0.3 * c + rng.standard_normal(RECORDS), -5, 7)
    ids = [f"c{1000 + i}" for i in range(RECORDS)]
    shop = [[name, str(one), f"{two:.4f}"] for name, one, two in zip(ids, a, b, strict=True)]
    bank = [[name, f"{three:.4f}", f"{value:.4f}"] for name, three, value in zip(ids, c, y, strict=True)]
    case.files = {"shop": {"shop.csv": (("id", "a", "b"), shop)}, "bank": {"bank.csv": (("id", "c", "y"), bank)}}
    because = {"because": "by its meaning"}
    binary = {"name": "a", "bounds": [0, 1], "kind": "binary"}
    normal = {"name": "b", "bounds": [-2, 2], "kind": "normal"}
    uniform = {"name": "c", "bounds": [0, 4], "kind": "uniform"}
    case.settings |= {
        "family": "gaussian",
        "response": "y",
        "response_bounds": [-5, 7],
        "tables": [
            {"party": "shop", "file": "shop.csv", "columns": [binary | because, normal | because]},
            {"party": "bank", "file": "bank.csv", "columns": [uniform | because]},
        ],
    }
    case.network |= {"mode": "release", "rows": RECORDS, "epsilon": 8.0, "publisher": "analyst"}
    case.network |= {"trusted": {"dealer": "Statistics Office"}}
    case.grid |= {"epsilon": [8.0]}
    return case


# The case, by study; how many places have the estimate; which numbers have an interval, and of what these are.
PUBLISHED: dict[str, tuple[Callable[[], Apart], int, slice, str]] = {
    "vertical_glm": (
        case_of_kinds,
        3,
        slice(0, 4),
        "of coefficients before clipping, over records and noise; they rest on the declar",
    ),
    "sliced_inverse_regression": (
        clients_of_kinds,
        1,
        slice(1, 3),
        "of the direction of length 1 before clipping, over records and noise; they rest on columns that are normal",
    ),
}


@pytest.fixture(scope="module", params=PUBLISHED)
def study(request: pytest.FixtureRequest) -> str:
    """Whose fit is published."""
    return str(request.param)


@pytest.fixture(scope="module")
def published(study, tmp_path_factory) -> tuple[Path, Path]:
    """The released folder, and that of the run with the keys of its parties."""
    folder, case = tmp_path_factory.mktemp("published intervals"), PUBLISHED[study][0]()
    case.network |= {"mode": "release"}
    return publish(case, folder), folder


@pytest.fixture
def copied(published, tmp_path) -> Path:
    """The released folder, elsewhere."""
    return Path(shutil.copytree(published[0], tmp_path / "copy"))


def rows_of(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / "estimate.csv").read_text())))


def write_rows(folder: Path, rows: list[dict[str, str]]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    (folder / "estimate.csv").write_text(text.getvalue())


def test_the_statement_has_what_intervals_rest_on_and_the_law_that_makes_them_again(published, study):
    folder, (_, _, numbers, estimand) = published[0], PUBLISHED[study]
    facts, rows = json_of(folder, "statement.json")["intervals"], rows_of(folder)
    assert facts["numbers"] == len(rows[numbers]) and facts["kind"] == "over records and noise"
    assert facts["estimand"].startswith(estimand)
    kinds = {name: kind["kind"] for name, kind in facts["kinds"].items()}
    several = {"a": "binary 0 or 1", "b": "normal", "c": "uniform from 0 to 4"}
    assert kinds == (several if study == "vertical_glm" else dict.fromkeys("ab", "normal"))
    assert facts["kinds"]["a"]["because"] == "by its meaning" and facts["kinds_declared"] == LATE
    assert set(facts["diagnostics"]) == {"shape_test", "degrees", "clipped"}
    law = law_of({"intervals": facts})
    assert law is not None and facts["law"]["seed"] == list(law.seed) == [0, "intervals", law.name, law.draws]
    text = (folder / "statement.md").read_text()
    words = " ".join(text.split())
    assert estimand in words and f"kinds ({LATE}): a {kinds['a']}, b {kinds['b']}" in words
    for row in rows[numbers]:
        assert float(row["lower"]) < float(row["centre"]) < float(row["upper"])


def test_what_intervals_rest_on_is_next_to_them_on_the_screen_and_in_the_outcome(published, capsys):
    run = published[0].parent
    estimand = json_of(published[0], "statement.json")["intervals"]["estimand"]
    assert json_of(run, "outcome.json")["estimate"]["model"]["intervals_of"] == estimand
    assert main(["network", "result", str(run)]) == 0
    assert f"intervals: {estimand}" in capsys.readouterr().out


def test_a_reader_evaluates_the_law_once_and_does_not_search(published, study, copied, capsys, monkeypatch):
    calls = list[int]()
    original = fit.law_at

    def counted(*given: Any, **more: Any) -> fit.Fit:
        calls.append(1)
        return original(*given, **more)

    monkeypatch.setattr(fit, "law_at", counted)
    monkeypatch.setattr(fit, "_step", lambda *given: pytest.fail("a check does not search"))
    begun = process_time()
    assert checked(copied, published[1], capsys)[0] == 0
    # The specification allows 3 seconds; the law is evaluated at every place that has the estimate.
    assert process_time() - begun < 3 and len(calls) == PUBLISHED[study][1]


def moved_bound(share: float) -> Callable[[Path], None]:
    """A bound of one coefficient moves by a share of the half-width."""

    def forge(folder: Path) -> None:
        rows = rows_of(folder)
        half = (float(rows[1]["upper"]) - float(rows[1]["lower"])) / 2
        rows[1]["upper"] = repr(float(rows[1]["upper"]) + share * half)
        write_rows(folder, rows)

    return forge


def statement_field(*path: Any, to: Callable[[Any], Any]) -> Callable[[Path], None]:
    """A field of the intervals in the statement is another one."""

    def forge(folder: Path) -> None:
        told = json_of(folder, "statement.json")
        inner = told["intervals"]
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = to(inner[path[-1]])
        (folder / "statement.json").write_text(json.dumps(told))

    return forge


def without_law(folder: Path) -> None:
    told = json_of(folder, "statement.json")
    del told["intervals"]["law"]
    (folder / "statement.json").write_text(json.dumps(told))


def edited_row(**values: str) -> Callable[[Path], None]:
    """The row of one coefficient has other values."""

    def forge(folder: Path) -> None:
        rows = rows_of(folder)
        rows[1] |= values
        write_rows(folder, rows)

    return forge


def reordered(folder: Path) -> None:
    first, second, *others = rows_of(folder)
    write_rows(folder, [second, first, *others])


FORGERIES: dict[str, tuple[Callable[[Path], None], str]] = {
    "a bound": (moved_bound(1e-4), "estimate.csv is not what the program makes"),
    "the level": (edited_row(interval="90 %"), "estimate.csv is not what the program makes"),
    "an interval that is withheld": (edited_row(lower="", upper=""), "estimate.csv is not what the program makes"),
    "another order": (reordered, "estimate.csv is not what the program makes"),
    "theta": (statement_field("law", "theta", to=lambda theta: [theta[0] + 0.05, *theta[1:]]), "theta .* nearest"),
    "a nuisance of theta": (
        statement_field("law", "theta", to=lambda theta: [*theta[:-1], theta[-1] + 0.5]),
        "theta .* nearest",
    ),
    "theta of another size": (statement_field("law", "theta", to=lambda theta: theta[1:]), "theta .* numbers of"),
    "theta of text": (statement_field("law", "theta", to=lambda theta: [str(x) for x in theta]), "needs a name"),
    "few draws": (statement_field("law", "draws", to=lambda draws: 20_000), "draws, which must be"),
    "the seed": (statement_field("law", "seed", to=lambda seed: [1, *seed[1:]]), "seed of law of intervals"),
    "the law": (without_law, "law of intervals"),
    "a kind": (statement_field("kinds", "b", "kind", to=lambda kind: "uniform from -2 to 2"), "kind of b of kinds"),
    "a reason of a kind": (
        statement_field("kinds", "b", "because", to=lambda why: "it is so"),
        "because of b of kinds",
    ),
    "when kinds were declared": (statement_field("kinds_declared", to=lambda when: REGISTERED), "kinds_declared"),
    "the estimand": (statement_field("estimand", to=lambda words: words[:40]), "estimand"),
    "the test of shapes": (statement_field("diagnostics", "shape_test", to=lambda p: 0.5), "shape_test"),
    "the share of clipped records": (statement_field("diagnostics", "clipped", to=lambda share: 0.0), "clipped"),
    "a kind of no column": (
        statement_field("kinds", to=lambda kinds: kinds | {"z": kinds["b"]}),
        "another z of kinds",
    ),
    "the number of intervals": (statement_field("numbers", to=lambda n: n + 1), "numbers of intervals"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_intervals_are_found(name, published, copied, capsys):
    forge, words = FORGERIES[name]
    forge(copied)
    sealed(copied, published[1] / "certificates", json_of(copied, "statement.json"))
    code, _, complaint = checked(copied, published[1], capsys)
    assert code == 1
    assert re.search(words, complaint), complaint


def test_other_last_digits_of_bounds_pass(published, copied, capsys):
    """Another machine rounds otherwise: less than a millionth of the half-width."""
    moved_bound(1e-7)(copied)
    sealed(copied, published[1] / "certificates", json_of(copied, "statement.json"))
    assert checked(copied, published[1], capsys)[0] == 0


def facts_with(reasons: int, columns: int, length: int) -> dict[str, Any]:
    """Facts of a table with so many reasons, and of so many columns."""
    head = "name,estimate,noise_sd,lower,upper,note,centre,interval\nage,1.0,,0.5,1.5,,1.0,95 %\n"
    rows = [f"x{k},1.0,,,,later: {'reason ' * length}{k},,later\n" for k in range(reasons)]
    public = GlmFacts(
        "gaussian", tuple(f"column {k}" for k in range(columns)), kinds=(Kind(because="meaning"),) * columns
    )
    law = FittedLaw("regression", (0.0,), 40_000)
    estimand = "of coefficients before clipping, over records and noise; " + 20 * "they rest "
    intervals = Intervals(np.ones(1), np.ones(1), estimand=estimand, record_law=law)
    return json.loads(json.dumps(interval_facts((head + "".join(rows)).encode(), intervals, public, True)))


def test_kinds_of_slicing_are_those_of_its_columns_not_of_its_clients():
    clients, slices = ("north", "south"), class_slices(fixed(range(2)))
    public = SlicingFacts(clients, (60, 60), 1, 2, 1, slices, kinds_of_columns={"age": Kind(because="meaning")})
    law = FittedLaw("slices, 2, 1 columns", (0.0,), 40_000)
    facts = interval_facts(b"", Intervals(np.ones(1), np.ones(1), record_law=law), public, True)
    assert facts["kinds"] == {"age": {"kind": "normal", "because": "meaning"}}


@pytest.mark.parametrize(("reasons", "columns", "length"), [(0, 2, 1), (1, 3, 60), (4, 40, 5), (9, 400, 200)])
def test_at_most_six_lines_state_intervals_and_how_much_more_there_is(reasons, columns, length):
    facts = facts_with(reasons, columns, length)
    lines = list(interval_lines(facts))
    assert len(lines) <= LINES and max(map(len, lines)) <= 100
    text = " ".join(line.strip() for line in lines)
    assert "kinds (registered): column 0 normal" in text and (columns < 10 or "more" in lines[-1] or " more" in text)
    stated = text.count("numbers have no interval:")
    assert reasons == stated or f"for {reasons - stated} more reasons in statement.json" in text


def test_reasons_without_intervals_come_with_the_number_of_those_left_out():
    rows = "".join(f"x{k},1.0,,,,{reason_of('later', f'reason {k} ' * 20)},,later\n" for k in range(5))
    head = "name,estimate,noise_sd,lower,upper,note,centre,interval\n"
    facts = interval_facts((head + rows).encode(), None, None, False)
    lines = list(interval_lines(facts))
    assert len(lines) <= LINES and "reason 0" in lines[1] and "more reasons in statement.json" in lines[-1]
    assert "law" not in facts and "kinds" not in facts and law_of({"intervals": facts}) is None


def test_the_text_of_a_statement_has_the_lines(published):
    statement = json_of(published[0], "statement.json")
    lines = list(interval_lines(statement["intervals"]))
    assert "\n".join(lines).encode() in text_of(statement) and len(lines) <= LINES


def test_a_forged_bound_of_noisy_newton_is_found(tmp_path, capsys):
    """The law of its scores is made again at the coefficients that follow from earlier releases."""
    case = case_of_kinds()
    for row in case.files["bank"]["bank.csv"][1]:
        row[2] = str(int(float(row[2]) > 1))
    del case.settings["response_bounds"], case.network["trusted"]
    case.settings["family"] = "binomial"
    case.take_newton_steps()
    # Four times as much noise as at 20 hides a column.
    case.network["epsilon"], case.grid["epsilon"] = 20.0, [20.0]
    release = publish(case, tmp_path)
    assert json_of(release, "statement.json")["intervals"]["numbers"] == 4
    assert checked(release, tmp_path, capsys)[0] == 0
    moved_bound(1e-4)(release)
    sealed(release, tmp_path / "certificates", json_of(release, "statement.json"))
    code, _, complaint = checked(release, tmp_path, capsys)
    assert code == 1 and "estimate.csv is not what the program makes" in complaint
