"""The tables "what crosses, as what" of docs/vertical_glm.md, from one run of every protocol of the study.

``python tests/support/glm_wire_table.py`` from the folder of the project writes them into the page anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.trial import execution
from partywise.federation.run import simulate

PAGE = Path(__file__).resolve().parents[2] / "docs" / "vertical_glm.md"
BEGIN, END = "<!-- wire tables: begin -->", "<!-- wire tables: end -->"
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
# Masks, products and releases are named by what they serve and numbered by steps; parties are numbered too.
SERVING = re.compile(r", (observed|majorant|in the end|optimum|evaluation|step).*")
NUMBERED = re.compile(r"(?<!passive) \d+(, \d+)*$| None$")
TITLES = ("from, to", "what", "as what", "messages", "bytes in all")


def block() -> dict[str, Any]:
    """All protocols on aligned records, and one of them on unaligned ones."""
    after = {title: {"protocol": "block_svd"} | entry for title, entry in ALIGNMENTS.items()}
    methods = {name_of(title): entry for title, entry in (METHODS | after).items()}
    cases = {}
    for case, titles, more in (("wire", METHODS, {}), ("ids", ALIGNMENTS, {"records": "unaligned"})):
        grid = {"methods": [name_of(title) for title in titles], "parties": [2], "folds": 1, "epsilon": [1.0]}
        cases[case] = {"source": "generated", "settings": SETTINGS | more, "grid": grid | {"replicates": 1}}
    return {"spec": {"delta": 1e-5, "unit": "row"}, "methods": methods, "cases": cases, "figures": []}


def name_of(title: str) -> str:
    """Label of a method in the configuration."""
    return re.sub(r"\W+", "_", title.lower()).strip("_")


def lines() -> list[str]:
    """A table for each protocol: messages of one kind from one place to another are one row."""
    made, found = plan("vertical_glm", block(), 1), []
    for case, titles in (("wire", METHODS), ("ids", ALIGNMENTS)):
        data = generate(made, case, [0], Path())[0]
        for title in titles:
            run = execution(made, case, name_of(title), data)
            simulate(made.methods[name_of(title)].protocol.fit, run)
            rows = [row for row in run.channel.transcript() if case == "wire" or row["name"] != AFTER]
            found += [f"### {title}", "", "| " + " | ".join(TITLES) + " |", "|---" * len(TITLES) + "|"]
            found += [*_table(rows), ""]
    return found[:-1]


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    for (sender, receiver, name, kind), sizes in _grouped(rows).items():
        cells = (f"{sender}, {receiver}", name, kind, str(len(sizes)), f"{sum(sizes):,}".replace(",", " "))
        yield "| " + " | ".join(cells) + " |"


def _grouped(rows: list[dict[str, Any]]) -> Mapping[tuple[str, str, str, str], list[int]]:
    groups: dict[tuple[str, str, str, str], list[int]] = {}
    for row in rows:
        name = NUMBERED.sub("", SERVING.sub("", row["name"]))
        argument = row["argument"]
        kind = f"{row['kind']} ({argument})" if argument else row["kind"]
        groups.setdefault((row["sender"], row["receiver"], name, kind), []).append(row["bytes"])
    return groups


def written(text: str) -> str:
    """The page with the tables as they are now."""
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    return head + "\n".join([BEGIN, *lines(), END]) + tail


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
