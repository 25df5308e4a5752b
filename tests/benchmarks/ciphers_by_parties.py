"""CPU seconds of methods on real ciphers by the number of parties and the length of keys, on one thread.

160 training rows of 14 columns, `label_scattering` with two trees and `tables`.  Prints the median of three fits each,
keys included; with ``--figure FILE`` also draws them.  Fails when a fit at 2048 bits and two parties takes more than 4
CPU seconds.
"""

from __future__ import annotations

import _timing  # noqa: F401

# isort: split

import sys
import time
from pathlib import Path

import numpy as np

from partywise.experiment.data import generate
from partywise.experiment.plan import Plan, plan
from partywise.experiment.trial import execution
from partywise.federation.run import simulate

PARTIES, KEYS, REPEATS, LIMIT = (2, 3, 5, 7), (2048, 3072), 3, 4.0
METHODS = {
    "label_scattering": {"protocol": "label_scattering", "num_of_trees": 2},
    "tables": {"protocol": "tables"},
}


def planned() -> Plan:
    """One case, a method for each protocol and key."""
    methods = {f"{name}_{bits}": entry | {"key_size": bits} for name, entry in METHODS.items() for bits in KEYS}
    grid = {"methods": list(methods), "replicates": 1, "parties": list(PARTIES), "folds": 1, "epsilon": [1.0]}
    cases = {"ciphers": {"source": "generated", "settings": {"n": 200, "d": 14}, "grid": grid}}
    spec = {"delta": 1e-5, "unit": "features"}
    return plan("vertical_trees", {"spec": spec, "methods": methods, "cases": cases, "figures": []}, 1)


def seconds(made: Plan, method: str, parties: int, data: object) -> float:
    """Median CPU time of a fit."""
    times = []
    for seed in range(REPEATS):
        run = execution(made, "ciphers", method, data, seed, count=parties)
        begun = time.process_time()
        simulate(made.methods[method].protocol.fit, run)
        times.append(time.process_time() - begun)
    return float(np.median(times))


def drawn(found: dict[str, list[float]], file: str) -> None:
    """The medians by the number of parties, as a picture."""
    from partywise.experiment.plotting.style import BLUE, MARKERS, RED, legend_below, panels

    figure, (ax,) = panels(1, 1, 4.6, 3.2)
    colors = dict(zip(METHODS, (RED, BLUE), strict=True))
    for number, (method, values) in enumerate(found.items()):
        name, bits = method.rsplit("_", 1)
        style = {"color": colors[name], "marker": MARKERS[number], "linestyle": "-" if bits == str(KEYS[0]) else "--"}
        ax.plot(PARTIES, values, label=f"{name}, {bits} bits", **style)
    ax.set(xlabel="parties", ylabel="CPU seconds of a fit", ylim=(0, None))
    ax.set_xticks(PARTIES)
    legend_below(figure, [ax], 2)
    figure.suptitle(f"160 rows, 14 columns, real ciphers; median of {REPEATS} fits", fontsize=9.5)
    figure.savefig(file, dpi=150)


def main() -> int:
    """Print the table; 1 if a limit is missed."""
    made = planned()
    data, found = generate(made, "ciphers", [0], Path())[0], dict[str, list[float]]()
    for method in made.methods:
        found[method] = [seconds(made, method, parties, data) for parties in PARTIES]
        print(f"{method:24}", *(f"K={k}: {value:.2f} s" for k, value in zip(PARTIES, found[method], strict=True)))
    if "--figure" in sys.argv:
        drawn(found, sys.argv[sys.argv.index("--figure") + 1])
    worst = max(values[0] for method, values in found.items() if method.endswith(str(KEYS[0])))
    print(f"worst of 2048 bits, two parties: {worst:.2f} s (limit {LIMIT:g})")
    return int(worst > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
