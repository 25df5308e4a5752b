"""All verbs, as ``python -m partywise`` and as the command ``partywise``.

``run``: a configuration, from data to figures; ``report``, ``summary``, ``clean``: of the results of runs;
``registry``: a published folder as a draft for the public registry; ``crate``: a finished run for archives;
``demo-network``: parties as processes, tried;
``provenance``: the configuration and revision that made a cube; ``verify``: some of its cells computed anew;
``compare``: two cubes, or two folders of results, to the last bit; ``diff``: what they find differently;
``check-data``: tables as they come told without a fit, and a configuration drafted for them;
``score``: the records of a table scored by a saved model;
``claims``: every printed number of the sources beside ours, from the cubes that there are;
``reference``: unpack the reference results and tell what a run finds differently;
``ledger``: whether the account of a party is whole, what it paid, and what is left of its budget;
``check-method``: the contract of a method of your own;
``from-source``: a configuration of vertical trees or linear models as its own program reads it, in the words of ours;
``party``: one party of a run whose parties are processes of their own; ``certificates``: who they are to each other;
``nvflare-job``: a job by which NVFlare runs them;
``network``: runs between parties that have not ended, and the records that all parties have;
``result``: what a party has of the estimate in the end; ``union``: what all of them wrote down, together;
``register``: sign what is about to be run, before data are opened;
``check-release``: a published result, checked without data.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from . import __version__
from .project import THREADS, VERBS, become, command, exit_code

# Before numpy, which other modules load, sets up its threads.
os.environ.update({name: "1" for name in THREADS if name not in os.environ})

from .errors import AccountError, ConfigError, CubeError, DataMissing, ModelError
from .experiment.configuration.build import choices
from .experiment.deployment.verbs import add_apart, certificates, check, network, party, register, result, union
from .experiment.differences.reference import add_reference, reference
from .experiment.differences.verb import add_diff, diff
from .experiment.register.verb import add_claims, claims
from .federation.account.verb import add_ledger, ledger

# Columns of a table that a person may name to `check-data`.
ROLES = {
    "response": "that is explained; of follow-up, how long it lasted",
    "party": "that names the client of a row",
    "event": "that says how follow-up ended",
    "id": "that says which record a row is",
    "person": "that names the person behind a row",
}
SHOWN = ("source", "git_commit", "lock_sha256", "code_sha256", "config_sha256", "software_versions")


def nvflare_job(config: Mapping[str, object], given: argparse.Namespace) -> int:
    """Write a job for NVFlare; what it needs is loaded then."""
    from .experiment.deployment.nvflare.job import nvflare_job

    return nvflare_job(config, given)


# Verbs of a configuration with a block `network`.
APART = {"party": party, "certificates": certificates, "register": register, "nvflare-job": nvflare_job}


def main(words: Sequence[str] | None = None) -> int:
    """Run a verb; 0 when all is well, 1 when cells differ, 2 when a cube cannot be used."""
    return exit_code(lambda: _main(sys.argv[1:] if words is None else words))


def _main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="partywise", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"partywise {__version__}")
    verbs = parser.add_subparsers(dest="verb", required=True)
    provenance_verb = verbs.add_parser("provenance", help="what made a cube")
    provenance_verb.add_argument("cube", type=Path)
    verify_verb = verbs.add_parser("verify", help="compute a random sample of cells anew")
    verify_verb.add_argument("cube", type=Path)
    verify_verb.add_argument("--cells", type=int, default=10, help="number of cells to compute anew (default 10)")
    verify_verb.add_argument("--seed", type=int, default=0, help="chooses the cells")
    compare_verb = verbs.add_parser("compare", help="two cubes or folders of results, to the last bit")
    compare_verb.add_argument("first", type=Path)
    compare_verb.add_argument("second", type=Path)
    compare_verb.add_argument("--common", action="store_true", help="what only one of them holds is no difference")
    for name in VERBS:
        verbs.add_parser(name, add_help=False)
    data_verb = verbs.add_parser("check-data", help="tables told without a fit, and a configuration drafted for them")
    data_verb.add_argument("files", nargs="+", help="tables as they come: CSV, Parquet or Arrow files")
    for role, what in ROLES.items():
        data_verb.add_argument(f"--{role}", metavar="COLUMN", help=f"column {what}")
    data_verb.add_argument("--me", metavar="PARTY", help="draft the part of this party, from its own file alone")
    data_verb.add_argument("--study", help="draft this study alone; by default all that the files suit")
    data_verb.add_argument("--into", type=Path, help="file for the draft; by default it is printed")
    score_verb = verbs.add_parser("score", help="a prediction for each record of a table, by a saved model")
    score_verb.add_argument("model", type=Path, help="file that save of an estimator wrote")
    score_verb.add_argument("table", help="new records, with the columns of the model by their names")
    score_verb.add_argument("--into", type=Path, required=True, help="CSV file for ids and predictions")
    score_verb.add_argument("--id", help="column of ids; by default records are called by their rows")
    score_verb.add_argument("--keys", type=Path, help="how the table is written, and levels of its categories, as YAML")
    add_diff(verbs)
    add_claims(verbs)
    add_reference(verbs)
    add_ledger(verbs)
    add_apart(verbs)
    check_verb = verbs.add_parser("check-method", help="whether a method of your own keeps the contract of a protocol")
    check_verb.add_argument(
        "address", help="my_package.my_module:NAME of a protocol or a study, or my_package.my_module for its PROTOCOL"
    )
    check_verb.add_argument("--study", help="study whose data it takes, where the protocol names none")
    check_verb.add_argument("--options", default="", help='keys beside `protocol`, as YAML, such as "ridge: 0.1"')
    source_verb = verbs.add_parser("from-source", help="a configuration of seed 003 as one that runs here")
    source_verb.add_argument("file", type=Path, help="the YAML file of its own program")
    if words and not words[0].startswith("-") and words[0] not in verbs.choices:
        print(f"partywise: {words[0]!r} is not a verb: {choices(words[0], verbs.choices)}.", file=sys.stderr)
        return 2
    if words and words[0] in VERBS:
        return become(words[0], words[1:])
    given = parser.parse_args(words)
    try:
        if given.verb == "check-method":
            return check_method(given.address, given.study, given.options)
        if given.verb == "from-source":
            return translate(given.file)
        if given.verb == "check-data":
            from .check_data import check_data
            from .datasets.own.drafts.parts import Roles

            return check_data(
                given.files, Roles(**{role: getattr(given, role) for role in (*ROLES, "me")}), given.study, given.into
            )
        if given.verb == "score":
            from .scoring import score

            return score(given.model, given.table, given.into, given.keys, given.id)
        if given.verb == "diff":
            return diff(given.first, given.second, given.only_changed, given.csv)
        if given.verb == "claims":
            return claims(given.results, given.write)
        if given.verb == "reference":
            return reference(given.run, given.archive, given.pack)
        if given.verb == "ledger":
            return ledger(given.folder, given.delta, given.digest, given.against)
        if given.verb in APART:
            from .experiment.plans import read_configuration

            return APART[given.verb](read_configuration(given.config), given)
        if given.verb == "network":
            return network(given)
        if given.verb == "union":
            return union(given)
        if given.verb == "result":
            return result(given)
        if given.verb == "check-release":
            return check(given)
        if given.verb == "compare":
            return compare(given.first, given.second, given.common)
        return provenance(given.cube) if given.verb == "provenance" else verify(given.cube, given.cells, given.seed)
    except ModuleNotFoundError as error:
        print(f"partywise {given.verb} needs {error.name}: pip install 'partywise[pipeline]'.", file=sys.stderr)
        return 2
    except (AccountError, CubeError, ConfigError, DataMissing, ModelError) as error:
        print(f"{given.verb}: {error}", file=sys.stderr)
        return 1 if given.verb in APART else 2


def provenance(path: Path) -> int:
    """Print revision, lock and versions as comments, then the configuration as a file that makes the cube again."""
    import yaml

    from .experiment.results.cube import open_cube
    from .experiment.results.verify import configuration

    cube = open_cube(path)
    for name in SHOWN:
        print(f"# {name}: {cube.attrs[name]}")
    print(f"# Check out that revision, save this text as again.yaml and run {command()} --configfile again.yaml")
    print(yaml.safe_dump(configuration(cube), sort_keys=False, default_flow_style=None, width=110), end="")
    return 0


def check_method(address: str, study: str | None, options: str) -> int:
    """Try a method on the small cases of its study and print what it keeps; 1 when a check fails."""
    import yaml

    from .experiment.trial import report, try_method

    try:
        keys = yaml.safe_load(options) or {}
    except yaml.YAMLError as error:
        raise ConfigError(f"--options is {options!r}: it is not valid YAML ({error}).") from None
    if not isinstance(keys, dict):
        raise ConfigError(f'--options is {options!r}: give keys and values, as in "ridge: 0.1, rounds: 5" in braces.')
    outcomes = list(try_method(address, study, keys))
    print(report(outcomes))
    failed = sum(bool(one.failures) for one in outcomes)
    verdict, count = ("breaks", failed) if failed else ("keeps", len(outcomes))
    print(f"{address} {verdict} its contract on {count} of {len(outcomes)} cases.")
    return 1 if failed else 0


def translate(path: Path) -> int:
    """Print what a configuration of the source reads as here: what changed as comments, then a file that runs."""
    import yaml

    from .experiment.plans import plans
    from .trees.source_config import from_source

    try:
        found = from_source(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read ({error.strerror}): name the YAML file of the source's program."
        ) from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} is not valid YAML: {error}") from None
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from None
    config = found.configuration()
    plans(config)
    head = f"# Save this text as mine.yaml and run {command()} --configfile mine.yaml"
    print("\n".join([head, *found.comments()]))
    print(yaml.safe_dump(config, sort_keys=False, default_flow_style=None, width=110), end="")
    return 0


def verify(path: Path, count: int, seed: int) -> int:
    """Compute a random sample of cells anew and compare every number with the cube."""
    from .experiment.results.cube import open_cube
    from .experiment.results.verify import compare, plan_of, recompute, sample

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
            print(f"    {item.variable}: {item.stored_value!r} in the cube, {item.recomputed_value!r} now")
    print(f"{len(chosen) - bad} of {len(chosen)} cells came out the same.")
    return 1 if bad else 0


def compare(first: Path, second: Path, common: bool) -> int:
    """Print what two cubes, or the cubes of two folders, do not have in common, and every number that moved."""
    from .experiment.results.compare import compare_results

    reports = dict(compare_results(first, second))
    for name, report in reports.items():
        print("\n".join([f"{name}: {report.verdict(common)}", *(f"    {line}" for line in report.lines)]))
    shared = any(report.cells for report in reports.values())
    return 0 if shared and all(report.equal(common) for report in reports.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
