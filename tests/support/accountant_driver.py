"""A small study with one more file in the room of accountants: ``python accountant_driver.py FOLDER``.

A process of its own, because accountants are looked up where totals are imported.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from partywise.privacy import accountants

accountants.__path__.append(str(Path(__file__).with_name("accountants")))

from gathered import gather, make_blocks, table  # noqa: E402
from partywise.experiment.results.cube import open_cube  # noqa: E402
from partywise.privacy.ledger.event import Event  # noqa: E402
from partywise.privacy.ledger.ledger import Ledger  # noqa: E402
from toy import toy_plan  # noqa: E402


def totals() -> dict[str, dict[str, float]]:
    """Epsilons of a Gaussian of mu = 2, and of a profile that the accountant does not know."""

    def total(**profile: float) -> dict[str, float]:
        told = {"unit": "row", "depends_on": frozenset({"features"}), "audience": ("*",), "certificate": "of a test"}
        event = Event(release_id="r", owner="a", mechanism="gaussian", **told, **profile)
        return dict(Ledger([event]).total((), "row", 1e-5).epsilons)

    return {"gaussian": total(mu=2.0), "pure": total(epsilon=1.0)}


def main(folder: Path) -> None:
    plan = toy_plan(one={"methods": ("noisy",), "replicates": 1, "parties": (1,), "folds": 2, "epsilon": (1.0, 4.0)})
    out = gather(plan, make_blocks(plan, folder), folder / "gathered")
    with open_cube(out / "cube.nc") as cube:
        found = {name: cube[name].values.ravel().tolist() for name in ("mu_total", "epsilon_tenfold")}
        meaning = cube["epsilon_tenfold"].attrs["long_name"]
    told = {name: table(out / f"{name}.csv") for name in ("dictionary", "summary", "ledger_totals")}
    text = (out / "summary.txt").read_text(encoding="utf-8")
    json.dump({"totals": totals(), "cube": found, "meaning": meaning, "tables": told, "text": text}, sys.stdout)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
