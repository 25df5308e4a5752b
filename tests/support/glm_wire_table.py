"""The table "Messages and bytes" of docs/vertical_glm.md, from one run of every protocol of the study.

``python tests/support/glm_wire_table.py`` from the folder of the project writes it into the page anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.trial import execution
from partywise.federation.run import simulate
from wire_summary import replaced, row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "vertical_glm.md"
BEGIN, END = "<!-- wire table: begin -->", "<!-- wire table: end -->"
# 200 records, 2 + 3 columns.
SETTINGS = {"family": "binomial", "n": 200, "p": 5}
METHODS: dict[str, dict[str, Any]] = {
    "Block SVD, as published": {"protocol": "block_svd"},
    "Correlation": {"protocol": "correlation"},
    "Block coordinate descent, three sweeps": {"protocol": "bcd", "max_sweeps": 3},
    "Joint, Newton": {"protocol": "joint"},
    "Joint, L-BFGS": {"protocol": "joint", "solver": "lbfgs"},
    "Joint, L-BFGS, shared link": {"protocol": "joint", "solver": "lbfgs", "link": "shared"},
    "`moments`": {"protocol": "moments", "dealer": "dealer"},
    "`noisy_newton`": {"protocol": "noisy_newton"},
    "`noisy_gradient`": {"protocol": "noisy_gradient"},
    "`noisy_predictor`": {"protocol": "noisy_predictor", "cipher": "sized"},
    "Reference": {"protocol": "reference"},
}
ALIGNMENTS: dict[str, dict[str, Any]] = {
    "Alignment by `psi`": {"alignment": "psi"},
    "Alignment by `hmac`": {"alignment": "hmac"},
    "Alignment by `sha256`, as published": {"alignment": "sha256"},
}
# Sends one kind of message when records are aligned, which is left out.
AFTER = "scores U D"
LABELS = {title: f"m{i}" for i, title in enumerate([*METHODS, *ALIGNMENTS])}


def block() -> dict[str, Any]:
    """All protocols on aligned records, and one of them on unaligned ones."""
    after = {title: {"protocol": "block_svd"} | entry for title, entry in ALIGNMENTS.items()}
    cases = {}
    for case, titles, more in (("wire", METHODS, {}), ("ids", ALIGNMENTS, {"records": "unaligned"})):
        grid = {"methods": [LABELS[title] for title in titles], "parties": [2], "folds": 1, "epsilon": [1.0]}
        cases[case] = {"source": "generated", "settings": SETTINGS | more, "grid": grid | {"replicates": 1}}
    methods = {LABELS[title]: entry for title, entry in (METHODS | after).items()}
    return {"spec": {"delta": 1e-5, "unit": "row"}, "methods": methods, "cases": cases, "figures": []}


def rows() -> list[str]:
    """Return one row for each protocol and each way to align records."""
    made, lines = plan("vertical_glm", block(), 1), []
    for case, titles in (("wire", METHODS), ("ids", ALIGNMENTS)):
        data = generate(made, case, [0], Path())[0]
        for title in titles:
            run = execution(made, case, LABELS[title], data)
            simulate(made.methods[LABELS[title]].protocol.fit, run)
            lines.append(row(title, (m for m in run.channel.transcript() if case == "wire" or m["name"] != AFTER)))
    return lines


def written(text: str) -> str:
    """The page with the table as it is now."""
    return replaced(text, BEGIN, END, rows())


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
