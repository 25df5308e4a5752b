"""The verbs on finished cubes: what made one (``provenance``), and whether it can be made again (``verify``).

./run provenance results/functional_boosting/cube.nc
./run verify results/functional_boosting/cube.nc --cells 20
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from library import share_library

share_library()

from partywise.errors import ConfigError, CubeError, DataMissing
from partywise.experiment.results.cube import open_cube
from partywise.experiment.verify import compare, configuration, plan_of, recompute, sample

SHOWN = ("source", "git_commit", "lock_sha256", "code_sha256", "config_sha256", "software_versions")


def main(words: Sequence[str]) -> int:
    """Run a verb; 0 when all is well, 1 when cells differ, 2 when the cube cannot be used."""
    parser = argparse.ArgumentParser(prog="./run", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name in ("provenance", "verify"):
        verb = verbs.add_parser(name)
        verb.add_argument("cube", type=Path)
        if name == "verify":
            verb.add_argument("--cells", type=int, default=10, help="number of cells to compute anew (default 10)")
            verb.add_argument("--seed", type=int, default=0, help="chooses the cells")
    given = parser.parse_args(words)
    try:
        return provenance(given.cube) if given.verb == "provenance" else verify(given.cube, given.cells, given.seed)
    except (CubeError, ConfigError, DataMissing) as error:
        print(f"{given.verb}: {error}", file=sys.stderr)
        return 2


def provenance(path: Path) -> int:
    """Print revision, lock and versions as comments, then the configuration as a file that makes the cube again."""
    cube = open_cube(path)
    for name in SHOWN:
        print(f"# {name}: {cube.attrs[name]}")
    print("# Check out that revision, save this text as again.yaml and say ./run --configfile again.yaml")
    print(yaml.safe_dump(configuration(cube), sort_keys=False, default_flow_style=None, width=110), end="")
    return 0


def verify(path: Path, count: int, seed: int) -> int:
    """Compute a random sample of cells anew and compare every number with the cube."""
    if count < 1:
        print(f"--cells is {count}: it must be at least 1.", file=sys.stderr)
        return 2
    cube = open_cube(path)
    made, bad = plan_of(cube), 0
    chosen = sample(cube, count, seed)
    for where in chosen:
        name = ", ".join(f"{key} {value}" for key, value in where.items())
        different = compare(cube, recompute(made, where, "resources"))
        bad += bool(different)
        print(f"{'differs' if different else 'same'}: {name}")
        for item in different:
            print(f"    {item.variable}: {item.stored!r} in the cube, {item.found!r} now")
    print(f"{len(chosen) - bad} of {len(chosen)} cells came out the same.")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
