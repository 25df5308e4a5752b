"""Which methods run with secret randomness, by trying all: ``python tests/support/release_table.py`` writes it."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

from every_protocol import fits, generated, planned
from partywise.experiment.cells import execution
from partywise.experiment.deployment.rehearsal import floating_point, open_ciphers
from partywise.federation.run import simulate
from partywise.federation.secure_streams import SecureStreams

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "release_mode.md"
HEAD = """# Methods that can release

With `mode: release` in the block `network`, everything secret (noise, keys, masks, shares) comes from the operating
system. Noise that is drawn in floating point has no such source (its low bits tell more than its law), and some methods
draw their batches by a generator with a seed: they are for experiments and are refused in one sentence, before anybody
connects where a rehearsal on made-up records shows it, else at the first draw. So is a method whose cipher stands for
one in experiments and closes nothing (`cipher: sized`), or that gives records to an assumed functionality.

This table is made by `python tests/support/release_table.py` and tested: every method of the default configuration was
tried. A method without noise runs, and what it costs is infinite.

| study | method | protocol | with `mode: release` |
|---|---|---|---|
"""


def outcome(study: str, case: str, method: str) -> str:
    """What a method does with secret randomness."""
    plan = planned(study)
    chosen = plan.cases[case]
    epsilon = plan.epsilons(case, method)[0]
    run = execution(plan, case, method, chosen.parties[0], 0, epsilon, generated(study, case))
    run.rng_for, run.channel.real = SecureStreams(run.rng_for), True
    if schemes := open_ciphers(run.spec.options):
        key, scheme = schemes[0]
        return f"refused: `{key}: {scheme}` closes nothing; take `{key}: paillier`"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            simulate(plan.methods[method].protocol.fit, run)
    except Exception as error:
        if floating_point(error) is None:
            raise
        return "refused: draws without a secret source"
    noise = [event for event in run.channel.ledger.rows if event.law is not None and event.mechanism != "none"]
    return "runs" if any(event.sampler == "secure" for event in noise) else "runs, without noise"


def page() -> str:
    """The whole page."""
    logging.getLogger("partywise").setLevel(logging.ERROR)
    rows: dict[tuple[str, str], str] = {}
    for study, case, method in fits():
        if study != "privacy_audit":
            rows.setdefault((study, method), outcome(study, case, method))
    lines = [
        f"| {study} | {method} | {planned(study).methods[method].protocol_name} | {told} |"
        for (study, method), told in rows.items()
    ]
    return HEAD + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
