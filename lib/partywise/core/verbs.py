"""The verbs of the project, one row each: ``./run``, ``partywise``, help and docs/configuration.md are made from it.

A new verb is a row of `VERBS` and its function, which takes a parser with the verb's name and purpose, and its words.
The standard library is enough for it: before there is an environment, ``./run`` asks it which one a call needs
(``python -m partywise.core.verbs WORDS``).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .project import IN_CLONE, command

if TYPE_CHECKING:
    import argparse

# Environments as ./run sets them up: from the lock of a run, of tests, of a run and of parties, of other frameworks;
# the one that is there; or none.
RUN, TEST, NETWORK, FRAMEWORKS, PRESENT, NONE = "run", "test", "network", "frameworks", "present", "none"
HELP, VERSION = ("-h", "--help"), ("-v", "--version")
COLUMN = 36


class UnknownVerb(LookupError):
    """A call names no verb; the message is one sentence for people."""


@dataclass(frozen=True)
class Verb:
    """A row of the table.

    name : one word; for a verb below another one two words, of which the second may be an option (``test --long``)
    arguments, purpose : of its line of help
    function : file below workflow/, or module:name in the package; empty if verbs below it have one, or the one above
    page : Markdown of its row in docs/configuration.md, where that states more than the purpose
    environment : that ./run sets up for it
    is_about_clone : whether it needs a clone of the project
    """

    name: str
    arguments: str
    purpose: str
    function: str = ""
    page: str = ""
    environment: str = RUN
    is_about_clone: bool = False

    @property
    def short_name(self) -> str:
        """The word by which its messages begin: the last one, without options."""
        return self.name.partition(" -")[0].rpartition(" ")[2]

    @property
    def is_script(self) -> bool:
        """Whether the function is a program of its own in the folder workflow."""
        return self.function.endswith(".py")

    @property
    def needs_pipeline(self) -> bool:
        """Whether its program imports what the extra `pipeline` brings."""
        return self.is_script and self.environment in (RUN, NETWORK, PRESENT)


VERBS = (
    Verb(
        "run",
        "[--configfile FILE]",
        "run a configuration (default config.yaml) or resume it; other words go to Snakemake",
        "launch.py",
    ),
    Verb(
        "summary",
        "[STUDY]",
        "print the tables of the last run as text; --folder results/NAME for another run",
        "verbs/summary.py",
    ),
    Verb(
        "report",
        "[--configfile FILE]",
        "write the report of the last run as one file, results/NAME/report.html",
        "verbs/report.py",
        "write the [report](reading_results.md#the-report) of the last run as one file, `results/NAME/report.html`",
    ),
    Verb(
        "compare",
        "A B",
        "compare two cubes or folders of results, to the last bit (1 if they differ)",
        "commands:compare",
        "[compare](reading_results.md#verification-and-comparison) two cubes or folders of results, to the last bit",
    ),
    Verb(
        "compare --findings",
        "A B",
        "list findings that differ: means, by standard errors; epsilons; keys",
        "experiment.differences.verb:compare_findings",
    ),
    Verb(
        "compare --reference",
        "[FOLDER]",
        "findings of a run (default results/default) against the stored reference",
        "experiment.differences.verb:compare_reference",
    ),
    Verb(
        "compare --recompute",
        "CUBE",
        "compute a random sample of a cube's cells anew and compare (--cells, --seed)",
        "commands:compare_recomputed",
    ),
    Verb("provenance", "CUBE", "print the configuration and revision that made a cube", "commands:provenance"),
    Verb(
        "claims",
        "",
        "write every printed number of the sources next to ours: results/claims/claims.html",
        "experiment.register.verb:claims",
        "write the [claims register](artifact_appendix.md#main-results-and-claims), every printed number next to ours: "
        "`results/claims/claims.html`",
    ),
    Verb(
        "crate",
        "[NAME]",
        "pack a finished run as an RO-Crate for archives (docs/publish_a_result.md)",
        "verbs/crate.py",
        "pack a finished run as an [RO-Crate](publish_a_result.md#a-crate-of-any-run) for archives",
    ),
    Verb(
        "clean",
        "[NAME]",
        "remove results, of one configuration or all, after listing them (data sets stay)",
        "verbs/clean.py",
        "remove results, of one configuration or all, after listing them (`--yes`: without a question); data sets stay",
        PRESENT,
    ),
    Verb(
        "design",
        "FILE",
        "epsilon, records or precision of a study before its data: results/design/NAME",
        "experiment.design.verb:design",
        "which [epsilon, number of records or precision](python.md#design-before-data) a study can have, before its "
        "data: `results/design/NAME`",
    ),
    Verb(
        "check-data",
        "FILE...",
        "check data files without a fit and draft a configuration (docs/your_own_data.md)",
        "commands:check_data",
        "check data files without a fit, and [draft](your_own_data.md#from-files-to-a-draft) a configuration",
    ),
    Verb(
        "check-method",
        "ADDRESS",
        "check a method of your own against the contract of a protocol (docs/own_method.md)",
        "commands:check_method",
        "check a [method of your own](own_method.md) against the contract of a protocol",
    ),
    Verb(
        "score",
        "MODEL TABLE --into FILE",
        "predict each record of a table by a saved model (docs/python.md)",
        "commands:score",
        "predict each record of a table by a [saved model](python.md#saved-fits-and-scoring)",
    ),
    Verb(
        "from-source",
        "FILE",
        "translate a configuration of document 003 into one that runs here",
        "commands:from_source",
        "translate a [configuration of document 003](#configurations-of-document-003) into one that runs here",
    ),
    Verb("network", "VERB", "run as one party of several organisations, and read what a run left", environment=NONE),
    Verb(
        "network party",
        "--config FILE --me NAME",
        "run one party of the block `network`, with its own file",
        "deployment.verbs:party_verb",
        environment=NETWORK,
        page="run [one party](network.md) of the block `network`, with its own file (`--dry-run`: without the others)",
    ),
    Verb(
        "network certificates",
        "--config FILE",
        "a test authority and a certificate for every party, or a request, or signatures",
        "deployment.verbs:certificates_verb",
        environment=NETWORK,
        page="a test authority and a [certificate for every party](network.md#certificates); `--request`, `--sign`",
    ),
    Verb(
        "network align",
        "--config FILE --me NAME",
        "write the records of this party that all parties have, before columns are fitted",
        "deployment.verbs:align_verb",
        environment=NETWORK,
    ),
    Verb(
        "network status",
        "[FOLDER]",
        "the runs of a party: which has not ended, what it paid, how to end it",
        "deployment.site.accounts:status",
        environment=NETWORK,
    ),
    Verb(
        "network give-up",
        "RUN [FOLDER]",
        "end a run that cannot continue: state what it paid, remove its journal",
        "deployment.site.accounts:give_up",
        environment=NETWORK,
    ),
    Verb(
        "network union",
        "FOLDER...",
        "check the folders of all parties: one transcript, ledger and certified total",
        "deployment.verbs:union",
        environment=NETWORK,
        page="check the folders of all parties: one transcript, ledger and certified total; `--results` makes "
        "[cube, figures and report](network_reference.md#figures-and-tables-of-a-distributed-run) possible",
    ),
    Verb(
        "network ledger",
        "FOLDER...",
        "the accounts of parties: chain, what was paid by unit, budget left",
        "deployment.site.accounts:ledger",
        environment=NETWORK,
    ),
    Verb(
        "network result",
        "FOLDER",
        "what a party has of the estimate: names, numbers, noise and intervals",
        "deployment.verbs:result",
        environment=NETWORK,
    ),
    Verb(
        "network nvflare-job",
        "FILE --into FOLDER",
        "a job by which NVFlare runs the parties of a network",
        "deployment.nvflare.job:nvflare_job",
        environment=NETWORK,
        page="a job by which [NVFlare](network.md#nvflare) runs the parties of a network",
    ),
    Verb(
        "publish",
        "VERB",
        "sign what is about to be run, check a published folder, draft its public entry",
        environment=NONE,
    ),
    Verb(
        "publish register",
        "--config FILE --me NAME",
        "sign, before any data are opened, which fit is about to be run",
        "deployment.verbs:register_verb",
        environment=NETWORK,
    ),
    Verb(
        "publish check-release",
        "FOLDER",
        "check a published folder without data",
        "deployment.verbs:check_release",
        environment=NETWORK,
    ),
    Verb(
        "publish registry",
        "FOLDER",
        "draft the entry of a published folder in the public registry of deployments",
        "verbs/registry.py",
        "draft the entry of a [published folder](publish_a_result.md#checks-of-the-folder) in the public registry",
    ),
    Verb(
        "demo",
        "[CASE]",
        "run real data of two studies by four processes each, against the simulation",
        "verbs/demo.py",
        "[distributed runs](network.md) on real data of two studies, each by four processes, next to the simulation",
        NETWORK,
    ),
    Verb(
        "test",
        "",
        "run the tests; other words go to pytest (-n 0: one process, for a debugger)",
        "verbs/test.py",
        environment=TEST,
        is_about_clone=True,
    ),
    Verb(
        "test --long",
        "",
        "statistical and exhaustive checks, with replicate counts and standard errors",
        environment=TEST,
        is_about_clone=True,
    ),
    Verb(
        "test --system",
        "",
        "checks on system packages (Debian, root): Slurm, a browser, R, a full disk, kills",
        environment=TEST,
        is_about_clone=True,
    ),
    Verb(
        "test --frameworks",
        "",
        "compare layers of Flower, NVFlare and pfl with the restated ones (--write: store)",
        environment=FRAMEWORKS,
        is_about_clone=True,
    ),
    Verb(
        "check",
        "",
        "linters, types and spelling, counts of the library, and the points of --artifact",
        "verbs/check.py",
        environment=TEST,
        is_about_clone=True,
    ),
    Verb(
        "check --artifact",
        "[--write]",
        "the fifteen points asked of an artifact of PETS; --write: the pages made of facts",
        "verbs/artifact.py",
        "the fifteen points of artifact reviewers of PETS; `--write` writes the pages made of facts, this table too, "
        "and `--images results/default` takes the images of pages from a finished run",
        is_about_clone=True,
    ),
    Verb(
        "bench",
        "",
        "benchmarks: ratios measured side by side in one run",
        "verbs/bench.py",
        environment=TEST,
        is_about_clone=True,
    ),
    Verb(
        "docs",
        "",
        "build the site of the pages without a network: docs/_build/html/index.html",
        "verbs/docs.py",
        "build all pages as a site without a network: `docs/_build/html/index.html`",
        TEST,
        True,
    ),
    Verb(
        "lock",
        "",
        "resolve the dependencies anew into the five files in locks/ (needs uv)",
        "verbs/lock.py",
        environment=NONE,
        is_about_clone=True,
    ),
)
# Verbs of earlier versions, and what to type now.
RENAMED = {
    "long": "test --long",
    "system": "test --system",
    "frameworks": "test --frameworks",
    "pets": "check --artifact",
    "diff": "compare --findings",
    "reference": "compare --reference",
    "verify": "compare --recompute",
    "demo-network": "demo",
    "registry": "publish registry",
    "register": "publish register",
    "check-release": "publish check-release",
    "party": "network party",
    "certificates": "network certificates",
    "union": "network union",
    "ledger": "network ledger",
    "result": "network result",
    "nvflare-job": "network nvflare-job",
}


def row(name: str) -> Verb:
    """The row of a verb by its whole name."""
    return next(verb for verb in VERBS if verb.name == name)


def first_level(in_clone: bool = IN_CLONE) -> list[Verb]:
    """Verbs of one word that can be called here."""
    return [verb for verb in VERBS if " " not in verb.name and (in_clone or not verb.is_about_clone)]


def below(name: str) -> dict[str, Verb]:
    """Verbs below another one, by their second words."""
    return {verb.name.removeprefix(f"{name} "): verb for verb in VERBS if verb.name.startswith(f"{name} ")}


def find(words: Sequence[str]) -> tuple[Verb, list[str]]:
    """The row of a call and the words that are left for it; :class:`UnknownVerb` where there is none."""
    name, rest = words[0], list(words[1:])
    if name in RENAMED:
        raise UnknownVerb(f"{name!r} is now {RENAMED[name]!r}: type {command(RENAMED[name])}.")
    if name not in [verb.name for verb in VERBS]:
        raise UnknownVerb(correction(name, [verb.name for verb in first_level()]))
    verb, inner = row(name), below(name)
    if verb.is_about_clone and not IN_CLONE:
        raise UnknownVerb(f"{name!r} is about a clone of the project, and this is an installed package.")
    if not verb.function:
        if not rest:
            raise UnknownVerb(f"{command(name)} needs one of its verbs: {', '.join(inner)}.")
        if rest[0] in HELP:
            return verb, rest
        if rest[0] not in inner:
            raise UnknownVerb(correction(rest[0], list(inner), name))
        return inner[rest[0]], rest[1:]
    modes = [mode for mode in inner if any(word.partition("=")[0] == mode for word in rest)]
    if len(modes) > 1:
        raise UnknownVerb(f"{command(name)} takes one of {' and '.join(modes)}, not both.")
    if not modes:
        return verb, rest
    mode = inner[modes[0]]
    if not mode.function:
        return replace(mode, function=verb.function), rest
    pairs = [word.partition("=") if word.startswith(f"{modes[0]}=") else (word, "", word) for word in rest]
    return mode, [value for option, sign, value in pairs if sign or option != modes[0]]


def correction(word: str, names: Sequence[str], above: str = "") -> str:
    """The sentence about a word that is not a verb, with the nearest one, by its present name or an earlier one."""
    from difflib import get_close_matches

    meant = {name: f"{above} {name}".strip() for name in names} | ({} if above else RENAMED)
    near = get_close_matches(word, meant, 1)
    question = "".join(f"did you mean {command(meant[name])}? " for name in near)
    screen = command(above) if above else command().removesuffix(" run")
    return f"unknown command {word!r}: {question}{screen} --help lists all."


def help_text(in_clone: bool = IN_CLONE) -> str:
    """One screen: every verb of the first level, and options that make another verb of it."""
    program = "./run" if in_clone else "partywise"
    lines = [f"usage: {program} VERB [words]      ({program} VERB --help: the words of a verb)"]
    lines += ["       ./run [words of run]"] * in_clone
    lines += [""]
    for verb in first_level(in_clone):
        lines.append(_line(verb, f"{program} {verb.name} {verb.arguments}"))
        modes = [mode for name, mode in below(verb.name).items() if name.startswith("-")]
        lines += [_line(mode, f"{program} {mode.name} {mode.arguments}") for mode in modes]
    return "\n".join(lines)


def group_help(verb: Verb) -> str:
    """The verbs below one that has no function of its own."""
    lines = [_line(inner, f"{command(inner.name)} {inner.arguments}") for inner in below(verb.name).values()]
    return "\n".join([f"usage: {command(verb.name)} VERB [words]", "", verb.purpose, "", *lines])


def _line(verb: Verb, call: str) -> str:
    call = call.strip()
    return f"{call:<{COLUMN}} {verb.purpose}" if len(call) < COLUMN else f"{call}\n{'':{COLUMN}} {verb.purpose}"


def new_parser(name: str) -> argparse.ArgumentParser:
    """A parser of the words of a verb, which knows how it is called and what it is for."""
    import argparse

    modes = [_line(mode, f"{command(mode.name)} {mode.arguments}") for mode in below(name).values()]
    form = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(
        prog=command(name), description=row(name).purpose, epilog="\n".join(modes) or None, formatter_class=form
    )


def page_rows() -> list[tuple[str, str]]:
    """Command and meaning of every verb that has a function, as docs/configuration.md shows them."""
    return [
        (f"./run {verb.name} {verb.arguments}".strip(), verb.page or verb.purpose)
        for verb in VERBS
        if verb.function or " --" in verb.name
    ]


def asks_snakemake(word: str) -> bool:
    """Whether ``./run WORD`` is the main job with an option, a file or a rule."""
    endings = (".yaml", ".yml", ".json")
    is_rule = re.fullmatch("[a-z].*_.*", word) is not None
    return word.startswith(("-", "results")) or "/" in word or word.endswith(endings) or is_rule or not word


def plan(words: Sequence[str]) -> tuple[str, bool]:
    """The environment that ``./run WORDS`` needs, and whether its verb is left out."""
    if words and words[0] in ("help", *HELP, *VERSION):
        return NONE, False
    if not words or (asks_snakemake(words[0]) and words[0] not in RENAMED):
        return RUN, True
    verb, rest = find(words)
    # The words of a verb are shown without the environments that take long to set up.
    shows_help = any(word in HELP for word in rest) and verb.environment in (TEST, FRAMEWORKS)
    return RUN if shows_help else verb.environment, False


if __name__ == "__main__":
    try:
        environment, is_run = plan(sys.argv[1:])
        print(f"{environment} run" if is_run else environment)
    except UnknownVerb as reason:
        print(reason, file=sys.stderr)
        sys.exit(2)
