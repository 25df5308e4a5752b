"""The verbs of cubes, data files and methods: each takes a parser with its name and purpose, and its words."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .core.errors import ConfigError
from .core.project import command

# Columns of a table that a person may name to `check-data`.
ROLES = {
    "response": "that is explained; of follow-up, how long it lasted",
    "party": "that names the client of a row",
    "event": "that says how follow-up ended",
    "id": "that says which record a row is",
    "person": "that names the person behind a row",
}
SHOWN = ("source", "git_commit", "lock_sha256", "code_sha256", "config_sha256", "software_versions")


def compare(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Print what two cubes, or the cubes of two folders, do not have in common, and every number that moved."""
    parser.add_argument("first", type=Path)
    parser.add_argument("second", type=Path)
    parser.add_argument("--common", action="store_true", help="what only one of them holds is not a difference")
    options = parser.parse_args(words)
    from .experiment.results.compare import compare_results

    reports = dict(compare_results(options.first, options.second))
    for name, report in reports.items():
        print("\n".join([f"{name}: {report.verdict(options.common)}", *(f"    {line}" for line in report.lines)]))
    shared = any(report.cells for report in reports.values())
    return 0 if shared and all(report.equal(options.common) for report in reports.values()) else 1


def compare_recomputed(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Compute a random sample of cells anew and compare every number with the cube."""
    parser.add_argument("cube", type=Path)
    parser.add_argument("--cells", type=int, default=10, help="number of cells to compute anew (default 10)")
    parser.add_argument("--seed", type=int, default=0, help="chooses the cells")
    options = parser.parse_args(words)
    from .experiment.cells import recompute
    from .experiment.results.cube import open_cube
    from .experiment.results.verify import compare, plan_of, sample

    if options.cells < 1:
        print(f"--cells is {options.cells}: it must be at least 1.", file=sys.stderr)
        return 2
    cube = open_cube(options.cube)
    plan, n_different = plan_of(cube), 0
    addresses = sample(cube, options.cells, options.seed)
    for address in addresses:
        name = ", ".join(f"{key} {value}" for key, value in address.items())
        different = compare(cube, recompute(plan, address, "resources"))
        n_different += bool(different)
        print(f"{'differs' if different else 'same'}: {name}")
        for item in different:
            print(f"    {item.variable}: {item.stored_value!r} in the cube, {item.recomputed_value!r} now")
    print(f"{len(addresses) - n_different} of {len(addresses)} cells came out the same.")
    return 1 if n_different else 0


def provenance(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Print revision, lock and versions as comments, then the configuration as a file that makes the cube again."""
    parser.add_argument("cube", type=Path)
    options = parser.parse_args(words)
    import yaml

    from .experiment.results.cube import open_cube
    from .experiment.results.verify import configuration

    cube = open_cube(options.cube)
    for name in SHOWN:
        print(f"# {name}: {cube.attrs[name]}")
    print(f"# Check out that revision, save this text as again.yaml and run {command()} --configfile again.yaml")
    print(yaml.safe_dump(configuration(cube), sort_keys=False, default_flow_style=None, width=110), end="")
    return 0


def check_data(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Check tables as they come, and draft a configuration for them."""
    parser.add_argument("files", nargs="+", help="tables as they come: CSV, Parquet or Arrow files")
    for role, meaning in ROLES.items():
        parser.add_argument(f"--{role}", metavar="COLUMN", help=f"column {meaning}")
    parser.add_argument("--me", metavar="PARTY", help="draft the part of this party, from its own file alone")
    parser.add_argument("--study", help="draft this study alone; by default all that the files suit")
    parser.add_argument("--into", type=Path, help="file for the draft; by default it is printed")
    options = parser.parse_args(words)
    from .check_data import check_data
    from .data.own.drafts.parts import Roles

    roles = Roles(**{role: getattr(options, role) for role in (*ROLES, "me")})
    return check_data(options.files, roles, options.study, options.into)


def score(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Score the records of a table by a saved model."""
    parser.add_argument("model", type=Path, help="file that save of an estimator wrote")
    parser.add_argument("table", help="new records, with the columns of the model by their names")
    parser.add_argument("--into", type=Path, required=True, help="CSV file for ids and predictions")
    parser.add_argument("--id", help="column of ids; by default records are called by their rows")
    parser.add_argument("--keys", type=Path, help="how the table is written, and levels of its categories, as YAML")
    options = parser.parse_args(words)
    from .scoring import score

    return score(options.model, options.table, options.into, options.keys, options.id)


def check_method(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Try a method on the small cases of its study and print what it keeps; 1 when a check fails."""
    parser.add_argument(
        "address", help="my_package.my_module:NAME of a protocol or a study, or my_package.my_module for its PROTOCOL"
    )
    parser.add_argument("--study", help="study whose data it takes, where the protocol names none")
    parser.add_argument("--options", default="", help='keys next to `protocol`, as YAML, such as "ridge: 0.1"')
    options = parser.parse_args(words)
    import yaml

    from .experiment.trial import report, try_method

    try:
        keys = yaml.safe_load(options.options) or {}
    except yaml.YAMLError as error:
        raise ConfigError(f"--options is {options.options!r}: it is not valid YAML ({error}).") from None
    if not isinstance(keys, dict):
        raise ConfigError(
            f'--options is {options.options!r}: give keys and values, as in "ridge: 0.1, rounds: 5" in braces.'
        )
    outcomes = list(try_method(options.address, options.study, keys))
    print(report(outcomes))
    failed = sum(bool(outcome.failures) for outcome in outcomes)
    verdict, count = ("breaks", failed) if failed else ("keeps", len(outcomes))
    print(f"{options.address} {verdict} its contract on {count} of {len(outcomes)} cases.")
    return 1 if failed else 0


def from_source(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Print what a configuration of the source reads as here: what changed as comments, then a file that runs."""
    parser.add_argument("file", type=Path, help="the YAML file of its own program")
    path = parser.parse_args(words).file
    import yaml

    from .experiment.plans import plans
    from .methods.trees.source_config import from_source

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ConfigError(f"{path} is not a block of keys: name the YAML file of the source's program.")
        translated = from_source(content)
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}): name the YAML file of the source's program."
        ) from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} is not valid YAML: {' '.join(str(error).split())}; correct that place.") from None
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    config = translated.configuration()
    plans(config)
    head = f"# Save this text as mine.yaml and run {command()} --configfile mine.yaml"
    print("\n".join([head, *translated.comments()]))
    print(yaml.safe_dump(config, sort_keys=False, default_flow_style=None, width=110), end="")
    return 0
