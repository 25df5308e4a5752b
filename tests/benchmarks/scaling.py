"""How cost grows over parties, records, columns, cells, messages and rows of a ledger: docs/scaling.md.

    python tests/benchmarks/scaling.py                  the stated limits: 10,000 clients and a ledger of a million rows
    python tests/benchmarks/scaling.py one CURVE SIZE   one measurement, in this process
    python tests/benchmarks/scaling.py measure [CURVE]  all, each in a process of its own: docs/measured/scaling.csv

CPU seconds are those of the work itself, without the start of Python and imports; the memory is the peak of the whole
process.  Fails above 400 MB or an exponent of 1.1 for clients, and above 10 s for the total of a ledger.
"""

from __future__ import annotations

from _timing import ROOT

# isort: split

import csv
import math
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from partywise.core.randomness import stream
from partywise.experiment.cells import run
from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan
from partywise.federation.channel import Channel
from partywise.federation.parties import Party
from partywise.privacy.accounted_values import Public
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms.release import Release

TABLE = ROOT / "docs" / "measured" / "scaling.csv"
FIELDS = ("curve", "what", "size", "cpu_seconds", "peak_mb", "wire_mb")
CLIENTS, CLIENTS_MB, EXPONENT = 10_000, 400, 1.1
ROWS, ROWS_SECONDS, DELTA = 1_000_000, 10.0, 1e-5
DISTRIBUTION: dict[str, Any] = {
    "mechanism": "gaussian",
    "unit": "row",
    "depends_on": frozenset({"label", "features"}),
    "mu": 0.01,
}
# What one measurement gives: what was done, its CPU seconds, and megabytes on the wire where anything crossed.
Measured = Iterator[tuple[str, float, float | None]]

# The certified method of each study: its unit, options, source, settings, keys of records and columns, parties.
STUDIES: dict[str, tuple[str, dict[str, Any], str, dict[str, Any], tuple[str, str], int]] = {
    "functional_boosting": (
        "features",
        {"protocol": "moments", "max_steps": 20},
        "simulated",
        {"n": 1000, "p": 10, "n_basis_x": 8, "n_basis_y": 8},
        ("n", "p"),
        2,
    ),
    "sliced_inverse_regression": (
        "row",
        {"protocol": "certified"},
        "simulated",
        {"model": "II", "n": 1000, "p": 10, "clients": 10},
        ("n", "p"),
        10,
    ),
    "label_private": (
        "label",
        {"protocol": "walr", "noise": "auto"},
        "generated",
        {"n": 1000, "k": 10},
        ("n", "k"),
        2,
    ),
    "vertical_trees": (
        "features",
        {"protocol": "tables", "cipher": "sized"},
        "generated",
        {"n": 1000, "d": 10},
        ("n", "d"),
        2,
    ),
    "vertical_linear": (
        "row",
        {"protocol": "certified", "cipher": "sized", "total_round_num": 6},
        "generated",
        {"n": 1000, "d": 10},
        ("n", "d"),
        2,
    ),
    "vertical_glm": ("row", {"protocol": "moments"}, "generated", {"n": 1000, "p": 10}, ("n", "p"), 2),
    # Its generator has six covariates, or none: `covariates` grows them.
    "federated_survival": ("row", {"protocol": "scores"}, "generated", {"n": 1000}, ("n", ""), 2),
    # Rows are those of a client.
    "framework_filters": (
        "row",
        {"protocol": "row_gradients"},
        "generated",
        {"clients": 2, "rows": 1000, "features": 10},
        ("rows", "features"),
        2,
    ),
}


def planned(study: str, parties: int, **changes: Any) -> Plan:
    """One cell of the certified method of a study, with other settings."""
    unit, options, source, settings, _, _ = STUDIES[study]
    grid = {"methods": ["certified"], "replicates": 1, "parties": [parties], "folds": 1, "epsilon": [1.0]}
    case = {"source": source, "settings": settings | changes, "grid": grid}
    spec = {"unit": unit} | ({} if study == "sliced_inverse_regression" else {"delta": DELTA})
    return plan(study, {"spec": spec, "methods": {"certified": options}, "cases": {"grown": case}, "figures": []}, 1)


def fitted(study: str, parties: int, **changes: Any) -> Measured:
    """One cell as a job computes it: data, fit, ledger, totals."""
    made = planned(study, parties, **changes)
    begun = time.process_time()
    with warnings.catch_warnings():
        # A delta that is too large for few records is said of every cell; here nothing is published.
        warnings.simplefilter("ignore", UserWarning)
        data = generate(made, "grown", [0], ROOT / "resources")
        (cell,) = run(made, "grown", "certified", parties, [0], [0], data)
    yield study, time.process_time() - begun, cell.scalars["bytes_measured"] / 1e6


def parties(size: int) -> Measured:
    """Study 001 with that many clients of 500 records each."""
    return fitted("sliced_inverse_regression", size, n=500, clients=size)


def grown(axis: int, study: str, size: int) -> Measured:
    """The certified method of a study with so many records (axis 0) or columns (axis 1)."""
    keys, count = STUDIES[study][4:]
    return fitted(study, count, **{keys[axis]: size})


def covariates(size: int) -> Measured:
    """Certified scores of 1000 records with so many covariates by the estimator: data, fit, ledger, totals."""
    from partywise.methods.survival.cox import FederatedCox

    begun, rng = time.process_time(), stream(1, "covariates")
    X = rng.uniform(-1, 1, size=(1000, size))
    model = FederatedCox(epsilon=1.0, delta=DELTA, horizon=2.0, centre=np.zeros(size), scale=np.ones(size))
    model.fit(X, rng.exponential(np.exp(-0.5 * X[:, 0])), parties=2, rng=1)
    yield "federated_survival", time.process_time() - begun, sum(row["bytes"] for row in model.transcript_) / 1e6


def certified_tables(axis: int, size: int) -> Measured:
    """Tables of so many records of the made-up cohort (axis 0), or of so many columns of four levels, by the estimator.

    A cell would add the numbers of the population, which a process computes once from a million records.
    """
    from partywise.methods.epidemiology.cohort import cohort_questions, draw_cohort
    from partywise.methods.epidemiology.estimator import FederatedEpidemiology
    from partywise.methods.epidemiology.questions import Questions

    begun, rng = time.process_time(), stream(1, "certified tables")
    if axis == 0:
        frame, questions = draw_cohort(size, rng), cohort_questions()
    else:
        levels = {f"column {k}": range(4) for k in range(size)}
        frame = {"arm": rng.integers(2, size=1000)} | {name: rng.integers(4, size=1000) for name in levels}
        questions = Questions(by="arm", levels={"arm": range(2)}, table_one=levels, complete=frame)
    model = FederatedEpidemiology(questions, epsilon=1.0, delta=DELTA).fit(frame, parties=2, rng=1)
    model.answers()
    yield "federated_epidemiology", time.process_time() - begun, sum(row["bytes"] for row in model.transcript_) / 1e6


def planning(size: int) -> Measured:
    """The plan of a study of that many cells in 100 cases, its jobs, and the places of its cells in the cube."""
    from partywise.experiment.batches import blocks
    from partywise.experiment.results.columns import Places

    begun = time.process_time()
    cases = {
        f"case_{k}": {"source": "simulated", "settings": {"n": 1000 + k, "p": 10, "clients": 100}} for k in range(100)
    }
    grid = {"methods": ["certified"], "replicates": size // 2000, "folds": 1, "epsilon": [0.5, 1.0, 2.0, 4.0]}
    block = {"methods": {"certified": {"protocol": "certified"}}, "cases": cases, "figures": []}
    batch = {"replicates_per_job": 50, "parties_per_job": 5}
    made = plan(
        "sliced_inverse_regression", {**block, "grid": grid | {"parties": [5, 10, 20, 50, 100]}, "batch": batch}, 1
    )
    jobs, places = blocks(made), Places(made)
    assert made.n_cells == len(places.cells) == size
    yield "planning", time.process_time() - begun, None
    print(f"{len(jobs)} jobs", file=sys.stderr)


def gathering(size: int) -> Measured:
    """Blocks of that many cells gathered into a cube with all its tables; the memory is that of this step."""
    driver = [sys.executable, str(ROOT / "tests" / "support" / "growth_driver.py"), "dense", str(size)]
    paths = [str(ROOT / folder) for folder in ("lib", "workflow", "tests/support")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        driver, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(done.stdout.strip(), file=sys.stderr)
    yield "gathering", spent, None


def messages(kind: str, size: int) -> Measured:
    """That many messages of 100 numbers from four clients to a server: public, or releases with their rows."""
    clients = [Party(f"client {k}", "client", {}) for k in range(4)]
    channel, value = Channel(clients, ("server",)), np.zeros(100)
    begun = time.process_time()
    for number in range(size):
        owner = clients[number % 4].name
        if kind == "public":
            channel.send(owner, "server", "statistic", Public(value, because="a constant"))
        else:
            event = Event(f"release {number}", owner, stratum=f"clients/{owner}", **DISTRIBUTION)
            channel.send(owner, "server", "statistic", Release(value, event))
    yield f"{kind} messages", time.process_time() - begun, channel.bytes_total / 1e6


def ledger(owners: int, size: int) -> Measured:
    """A ledger of that many rows: made and appended, totalled for one view and for all default views, hashed."""
    names = [f"client {k}" for k in range(owners)]
    made, begun = Ledger(), time.process_time()
    for number in range(size):
        owner = names[number % owners]
        made.append(Event(f"release {number}", owner, stratum=f"clients/{owner}", **DISTRIBUTION))
    yield "rows made and appended", time.process_time() - begun, None
    for what, work in (
        ("total of one view", lambda: made.total("server", "row", DELTA)),
        ("worst of all default views", lambda: made.worst_total([*names, "server"], "row", DELTA)),
        ("hash chain", lambda: made.digest),
    ):
        begun = time.process_time()
        work()
        yield what, time.process_time() - begun, None


RECORDS, LONG = (1000, 3162, 10_000, 31_623, 100_000), ("functional_boosting",)
COLUMNS = (6, 12, 25, 50, 100)
CURVES: dict[str, tuple[Callable[[int], Measured], tuple[int, ...]]] = {
    "parties": (parties, (100, 316, 1000, 3162, 10_000)),
    # Records of functional boosting are curves of every predictor and the response, whole in memory.
    **{f"records/{study}": (partial(grown, 0, study), RECORDS[: 4 if study in LONG else 5]) for study in STUDIES},
    **{
        f"columns/{study}": (partial(grown, 1, study) if STUDIES[study][4][1] else covariates, COLUMNS)
        for study in STUDIES
    },
    "records/federated_epidemiology": (partial(certified_tables, 0), RECORDS),
    "columns/federated_epidemiology": (partial(certified_tables, 1), COLUMNS),
    "cells/planning": (planning, (10_000, 100_000, 1_000_000)),
    "cells/gathering": (gathering, (20_000, 60_000)),
    "messages/public": (partial(messages, "public"), (10_000, 100_000, 1_000_000)),
    "messages/release": (partial(messages, "release"), (10_000, 100_000, 1_000_000)),
    "ledger/4": (partial(ledger, 4), (10_000, 100_000, 1_000_000)),
    "ledger/10000": (partial(ledger, 10_000), (10_000, 100_000, 1_000_000)),
}


def one(curve: str, size: int) -> list[dict[str, Any]]:
    """One measurement in this process: rows of the table."""
    found = list(CURVES[curve][0](size))
    # Kilobytes on Linux.
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
    given = (
        (curve, what, size, f"{cpu:.4g}", f"{peak:.0f}", "" if wire is None else f"{wire:.4g}")
        for what, cpu, wire in found
    )
    return [dict(zip(FIELDS, row, strict=True)) for row in given]


def apart(curve: str, size: int) -> list[dict[str, str]]:
    """One measurement in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "one", curve, str(size)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return list(csv.DictReader(done.stdout.splitlines()))


def written(rows: list[dict[str, Any]], file: Any) -> None:
    """Rows as a CSV table."""
    table = csv.DictWriter(file, FIELDS, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    file.flush()


def measure(chosen: list[str]) -> int:
    """Measure curves anew, all or those whose name begins as asked; the others stay as they stand in the table."""
    kept = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines())) if TABLE.exists() else []
    found: dict[str, list[dict[str, str]]] = {}
    for row in kept:
        found.setdefault(row["curve"], []).append(row)
    for curve, (_, sizes) in CURVES.items():
        if not chosen or any(curve.startswith(word) for word in chosen):
            found[curve] = [row for size in sizes for row in apart(curve, size)]
            print(*(",".join(row.values()) for row in found[curve]), sep="\n")
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        written([row for curve in CURVES for row in found.get(curve, ())], file)
    return 0


def exponent(few: dict[str, Any], many: dict[str, Any]) -> float:
    """Power of the size by which CPU time grows between two measurements."""
    spent = float(many["cpu_seconds"]) / float(few["cpu_seconds"])
    return math.log(spent) / math.log(int(many["size"]) / int(few["size"]))


def limits() -> int:
    """Measure what is promised and print it; 1 if a promise is not kept."""
    (few,), (many,) = apart("parties", CLIENTS // 10), apart("parties", CLIENTS)
    power, peak = exponent(few, many), float(many["peak_mb"])
    print(f"{CLIENTS:,} clients of study 001: {many['cpu_seconds']} CPU s, {peak:.0f} MB, exponent {power:.2f}")
    missed = peak > CLIENTS_MB or power > EXPONENT
    for curve in ("ledger/4", "ledger/10000"):
        for row in apart(curve, ROWS):
            print(f"{curve}, {ROWS:,} rows: {row['what']} {row['cpu_seconds']} CPU s, {row['peak_mb']} MB")
            missed |= row["what"] in ("total of one view", "worst of all default views") and (
                float(row["cpu_seconds"]) > ROWS_SECONDS
            )
    print(f"limits {CLIENTS_MB} MB, exponent {EXPONENT}, {ROWS_SECONDS:.0f} s a total: {'MISSED' if missed else 'met'}")
    return int(missed)


def main(words: list[str]) -> int:
    """The verb in the first word; the stated limits without one."""
    if words[:1] == ["one"]:
        written(one(words[1], int(words[2])), sys.stdout)
        return 0
    return measure(words[1:]) if words[:1] == ["measure"] else limits()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
