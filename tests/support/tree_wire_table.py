"""The table "Messages and bytes" of docs/vertical_trees.md, from one run of every protocol.

``python tests/support/tree_wire_table.py`` from the folder of the project writes it into the page anew.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from partywise.experiment.data import generate
from partywise.experiment.plan import plan
from partywise.experiment.trial import execution
from partywise.federation.run import simulate
from wire_summary import replaced, row

PAGE = Path(__file__).resolve().parents[2] / "docs" / "vertical_trees.md"
BEGIN, END = "<!-- wire table: begin -->", "<!-- wire table: end -->"
DEPLOYED = {"protocol": "feature_gathering", "inference_rows": 20}
METHODS: dict[str, dict[str, Any]] = {
    "ranks": {"protocol": "feature_gathering"},
    "randomised bins, ε of a record": {"protocol": "feature_gathering", "protect": "dp"},
    "OpBoost, ε of a record": {"protocol": "feature_gathering", "protect": "op_boost"},
    "encrypted gradients": {"protocol": "label_scattering", "cipher": "sized"},
    "encrypted gradients, hidden rows": {"protocol": "label_scattering", "cipher": "sized", "hide_instances": True},
    "gradients encrypted in name": {"protocol": "label_scattering", "cipher": "identity"},
    "`tables`": {"protocol": "tables", "cipher": "sized"},
    "`local_tables`": {"protocol": "local_tables"},
    "`inference: plain`": DEPLOYED | {"inference": "plain"},
    "`inference: he`": DEPLOYED | {"inference": "he", "inference_cipher": "sized"},
    "`inference: ss`": DEPLOYED | {"inference": "ss"},
}


def block() -> dict[str, Any]:
    """160 training rows of 7 + 7 columns, two trees with two levels, keys of 2048 bits."""
    methods = {f"m{i}": entry | {"num_of_trees": 2} for i, entry in enumerate(METHODS.values())}
    grid = {"methods": list(methods), "replicates": 1, "parties": [2], "folds": 1, "epsilon": [1.0]}
    case = {"source": "generated", "settings": {"n": 200, "d": 14}, "grid": grid}
    return {"spec": {"delta": 1e-5, "unit": "features"}, "methods": methods, "cases": {"wire": case}, "figures": []}


def rows() -> list[str]:
    """Return one row per method; of inference without its training."""
    made = plan("vertical_trees", block(), 1)
    data = generate(made, "wire", [0], Path())[0]
    lines = []
    for title, method in zip(METHODS, made.methods, strict=True):
        run = execution(made, "wire", method, data)
        simulate(made.methods[method].protocol.fit, run)
        lines.append(row(title, run.channel.transcript()[1 if "inference" in METHODS[title] else 0 :]))
    return lines


def written(text: str) -> str:
    """The page with the table as it is now."""
    return replaced(text, BEGIN, END, rows())


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
