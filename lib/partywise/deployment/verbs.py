"""Verbs of a distributed run."""

from __future__ import annotations

import argparse
import csv
import json
import logging
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.errors import (
    AccountError,
    CertificationError,
    ConfigError,
    CubeError,
    DataMissing,
    ModelError,
    PartyError,
    PolicyError,
)
from ..federation.account.interface import RELEASE
from ..privacy.rounding import upward

if TYPE_CHECKING:
    from ..experiment.plan import Plan
    from .deployments import Deployment
    from .outcomes.joint_results import JointResults
    from .site.policy import SitePolicy
    from .start import Connect

PARTY = """exit code: 0 the run has ended here, and all others have what they need to end; 1 it has not; the sentence
on standard error states the reason; with --dry-run 1 where the run would be refused

The same command goes on with a run that was interrupted.  After the end of a run it pays nothing: it answers peers that
were late for `patience` seconds, and reports that the run has ended; --again begins a new one.  Every run has a folder
of its own in --into, by the first 12 digits of its id.

All parties are started with the same configuration, each with its own file.  The account (ledger.jsonl) lies with the
data, in the folder --data, and is one for all configurations and runs: what was paid stays paid.  A place without data
has its account in the folder --into."""


CHECK = """exit code: 0 all holds, 1 something does not, 2 all holds, and the signers are not vouched for
(give --authority, or --fingerprint of every owner)"""


Words = Sequence[str]
OnConfiguration = Callable[[Mapping[str, object], argparse.Namespace], int]


def party_verb(parser: argparse.ArgumentParser, words: Words) -> int:
    """Run one party of a configuration."""
    add_shared(parser, me=True)
    parser.add_argument("--data", type=Path, help="where paths of own files begin (default: here, or as in --site)")
    parser.add_argument(
        "--site", type=Path, help="what the organisation allows (default: site.yaml in --data, where there is one)"
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="contact no party and pay nothing: print what would cross, be paid and be left",
    )
    parser.add_argument(
        "--model", type=Path, help="this party's part of the model, with network.score (default: model.json in --data)"
    )
    parser.add_argument("--into", type=Path, help="default results/NAME/parties/ME, by the name of the configuration")
    parser.add_argument(
        "--account",
        type=Path,
        help="file or folder of the account over all runs on these data (default: ledger.jsonl in --data, or in "
        "--into for a place without data); another one knows nothing of what was paid",
    )
    parser.add_argument(
        "--listen",
        metavar="HOST[:PORT]",
        help="where this party itself listens, if others reach it at another host or port (default: listen of "
        "site.yaml, or host and port of the configuration)",
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="begin a new run, which pays anew, where one of this configuration has ended (default: state that it has, "
        "and answer peers that were late)",
    )
    parser.add_argument("--verbose", action="store_true", help="a line with its time for every message")
    parser.epilog = PARTY
    return with_configuration("party", party, parser.parse_args(words))


def certificates_verb(parser: argparse.ArgumentParser, words: Words) -> int:
    """Make or sign certificates for the parties of a configuration."""
    add_shared(parser)
    parser.add_argument("--into", type=Path, default=Path("certificates"), help="default certificates")
    parser.add_argument(
        "--request", metavar="NAME", help="make no authority: the key of this party, which stays, and NAME.csr"
    )
    parser.add_argument(
        "--sign", metavar="FILE", type=Path, nargs="+", help="sign such requests, by the authority in --into"
    )
    parser.add_argument("--days", type=float, default=30, help="how long certificates hold (default 30)")
    return with_configuration("certificates", certificates, parser.parse_args(words))


def register_verb(parser: argparse.ArgumentParser, words: Words) -> int:
    """Sign which fit of a configuration is about to be run."""
    add_shared(parser, me=True)
    parser.add_argument("--into", type=Path, default=Path("registration"), help="default registration")
    return with_configuration("register", register, parser.parse_args(words))


def align_verb(parser: argparse.ArgumentParser, words: Words) -> int:
    """Run one party of an alignment."""
    add_shared(parser, me=True)
    parser.add_argument("--data", type=Path, help="where paths of own files begin (default: here, or as in --site)")
    parser.add_argument("--site", type=Path, help="what the organisation allows (default: site.yaml in --data)")
    parser.add_argument("--into", type=Path, help="folder of the new file (default results/NAME/aligned/ME)")
    parser.add_argument("--listen", metavar="HOST[:PORT]", help="where this party itself listens, if elsewhere")
    parser.add_argument("--again", action="store_true", help="align anew, where an alignment has ended")
    parser.add_argument("--verbose", action="store_true", help="a line with its time for every message")
    parser.set_defaults(dry_run=False)
    return _align(parser.parse_args(words))


def _check_folder(args: argparse.Namespace, deployment: Deployment) -> None:
    """Raise ConfigError unless the folder of a data holder's own files is there."""
    if args.me in deployment.holders and args.data is not None and not args.data.is_dir():
        what = "a file" if args.data.exists() else "not there"
        raise ConfigError(f"--data is {args.data}: it is {what}; name the folder with the files of this party.")


def check_release(parser: argparse.ArgumentParser, words: Words) -> int:
    """Check a published folder."""
    parser.add_argument("folder", type=Path, help="the folder release that a party wrote")
    parser.add_argument("--authority", type=Path, help="authority.pem that you have from the owners of the data")
    parser.add_argument(
        "--fingerprint", action="append", default=[], metavar="NAME=SHA256", help="of an owner's certificate; repeat it"
    )
    parser.epilog = CHECK
    args = parser.parse_args(words)
    from .publication.check_release import check_release

    return check_release(args.folder, args.authority, args.fingerprint)


def result(parser: argparse.ArgumentParser, words: Words) -> int:
    """Print what a party has of the estimate, or why it has none."""
    parser.add_argument("folder", type=Path, help="what --into was, or the folder of one fit in it")
    args = parser.parse_args(words)
    from .screen import result as lines

    print("\n".join(lines(args.folder)))
    return 0


def union(parser: argparse.ArgumentParser, words: Words) -> int:
    """Print what all parties wrote down of each run, and keep it with the results where they are named."""
    parser.add_argument("folders", type=Path, nargs="+", help="what --into was of every party, or one fit in each")
    parser.add_argument(
        "--authority", type=Path, help="authority.pem that must have issued what accounts are signed with"
    )
    parser.add_argument("--transcript", type=Path, help="write the rows of the whole transcript to this file")
    parser.add_argument(
        "--results",
        type=Path,
        help="results/NAME of the shared configuration: keep the fit there, and ./run --configfile takes it as it is",
    )
    args = parser.parse_args(words)
    from .outcomes.kept_runs import runs_in

    try:
        runs = runs_in(args.folders)
        if args.transcript is not None and len(runs) > 1:
            raise PartyError(f"--transcript is of one run, and these folders hold {len(runs)}: name those of one.")
        for folders in runs:
            _union(folders, args)
    except (AccountError, CertificationError, CubeError, PartyError) as error:
        print(f"union: {error}", file=sys.stderr)
        return 1
    return 0


def add_shared(parser: argparse.ArgumentParser, *, me: bool = False) -> None:
    """Add the words that name the shared configuration, and which party of it is meant, with its certificates."""
    parser.add_argument("--config", type=Path, required=True, help="the configuration that all parties share")
    if me:
        parser.add_argument("--me", required=True, help="name of this party, as the block `network` has it")
        parser.add_argument("--certificates", type=Path, default=Path("certificates"), help="default certificates")


def with_configuration(name: str, verb: OnConfiguration, args: argparse.Namespace) -> int:
    """Run a verb of a configuration with a block `network`; 1 with a sentence where it cannot be run."""
    from ..experiment.plans import read_configuration

    try:
        return verb(read_configuration(args.config), args)
    except (AccountError, CubeError, ConfigError, DataMissing, ModelError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1


def _align(args: argparse.Namespace) -> int:
    """Run one party of an alignment and print which file it wrote."""
    from ..experiment.configuration.build import choices
    from ..experiment.plans import plans, read_configuration
    from ..experiment.results.folder import RESULTS, result_name
    from ..federation.account.account import FILE
    from .aligning import NAME, align, check_places
    from .running import PartyRunError, end_in_a_sentence
    from .session.party import own_error, refusal
    from .settings import digest
    from .site.policy import policy_of
    from .start import PartyStart

    config = read_configuration(args.config)
    deployment, *_ = deployments_in_file(config, plans(config), args.config)
    if args.me not in deployment.names:
        raise ConfigError(f"--me is {args.me!r}: {choices(args.me, deployment.names)}.")
    check_places(deployment)
    _check_folder(args, deployment)
    policy = policy_of(args.site, args.data, None)
    connect = connect_directly(config, args, policy)
    into = args.into or Path(RESULTS) / result_name(config, args.config) / "aligned" / args.me
    data = args.data or Path() if policy is None else policy.folder
    # Its own digest: who aligns meets nobody who fits.
    shared, folders = digest({NAME: dict(config)}), (data, args.certificates, into, into / "account" / FILE)
    start = PartyStart((deployment,), shared, args.me, *folders, b"", policy, connect, again=args.again)
    with log_lines(args.verbose):
        try:
            if policy is not None:
                policy.check_configuration(config, args.config)
                policy.check_deployment(deployment, args.me, "")
            lines = end_in_a_sentence(start, align)
        except PolicyError as error:
            return end_with_error(config, args, error, refusal(args.me), connect)
        except PartyRunError as error:
            # Who goes on is waited for.
            quiet = start.journal.exists() or isinstance(error.__cause__, ConfigError | PartyError)
            return end_with_error(config, args, error, "" if quiet else own_error(args.me), connect)
    print("\n".join(lines))
    return 0


def party(config: Mapping[str, object], args: argparse.Namespace, connect: Connect | None = None) -> int:
    """Run one party and print its last screen; inform its peers if the policy of its site forbids it.

    connect : its end of the connections to all others, by default one of its own over the network
    """
    from .session.party import refusal
    from .site.policy import policy_of

    with log_lines(args.verbose):
        direct = connect is None
        connect = connect or connect_directly(config, args, None)
        try:
            policy = policy_of(args.site, args.data, args.account)
        except ConfigError as error:
            return end_with_error(config, args, error, refusal(args.me), connect)
        if direct:
            connect = connect_directly(config, args, policy)
        try:
            if policy is not None:
                policy.check_configuration(config, args.config)
            return _party(config, args, policy, connect)
        except PolicyError as error:
            return end_with_error(config, args, error, refusal(args.me), connect)


def connect_directly(config: Mapping[str, object], args: argparse.Namespace, policy: SitePolicy | None) -> Connect:
    """Return a party's own end of the network; ``--listen``, or else its site, may set where it listens."""
    from .settings import KEY, listen_address
    from .start import connect

    text, where = args.listen, "--listen"
    if text is None and policy is not None:
        text, where = policy.site.listen, f"{policy.path}: listen"
    if text is None:
        return connect
    port = 0
    with suppress(LookupError, TypeError, ValueError):
        port = int(config[KEY]["parties"][args.me]["port"])  # type: ignore[index]
    return partial(connect, listen=listen_address(text, where, port))


def end_with_error(
    config: Mapping[str, object], args: argparse.Namespace, error: Exception, sentence: str, connect: Connect
) -> int:
    """Print why a party does not take part, and send its peers a sentence if they have had none; empty for none."""
    print(f"party: {error}", file=sys.stderr, flush=True)
    is_told = any(getattr(exception, "is_told", False) for exception in (error, error.__cause__))
    if sentence and not (is_told or args.dry_run):
        tell_others(config, args, sentence, connect)
    return 1


def _party(config: Mapping[str, object], args: argparse.Namespace, policy: SitePolicy | None, connect: Connect) -> int:
    """Run one party under a policy, as `party`."""
    from ..core.documents import encode_json
    from ..experiment.plans import plans
    from ..experiment.results.folder import RESULTS, result_name
    from .running import EndReport, PartyRunError, dry_run, run
    from .screen import SEEDED, end_screen, foresight, screen
    from .session.party import own_error
    from .settings import digest
    from .start import PartyStart
    from .wire.credential import expiry_warning

    deployments = deployments_in_file(config, plans(config), args.config)
    _check_folder(args, deployments[0])
    data = args.data or Path() if policy is None else policy.folder
    into = args.into or Path(RESULTS) / result_name(config, args.config) / "parties" / args.me
    folders = data, args.certificates, into, args.account
    shared, network = (deployments, digest(config), args.me), deployments[0].network
    try:
        published = encode_json(dict(config)) if network.mode == RELEASE else b""
    except ValueError:
        raise ConfigError(
            f"{args.config} has a number that is not finite, such as epsilon .inf of a grid: what mode 'release' "
            "publishes has none; leave it out."
        ) from None
    start = PartyStart(*shared, *folders, published, policy, connect, args.model, args.again)
    if network.mode == "experiment":
        print(f"WARNING: {SEEDED}.", file=sys.stderr)
    try:
        if args.dry_run:
            seen = dry_run(start)
            print("\n".join(foresight(start, seen)))
            return int(seen.refused)
        until = datetime.now(UTC) + timedelta(seconds=network.patience + (network.deadline or 0))
        with suppress(ImportError):
            if warning := expiry_warning(args.certificates, args.me, until):
                print(f"WARNING: {warning}.", file=sys.stderr)
        report = run(start)
    except PartyRunError as error:
        # Whoever goes on with a run is waited for; what is wrong with the shared configuration is seen by all.
        goes_on = start.journal.exists()
        keeps_quiet = goes_on or isinstance(error.__cause__, ConfigError | PartyError)
        return end_with_error(config, args, error, "" if keeps_quiet else own_error(args.me), connect)
    lines = end_screen(start, report) if isinstance(report, EndReport) else screen(start, report)
    print("\n".join(lines))
    return 0


@contextmanager
def log_lines(verbose: bool) -> Iterator[None]:
    """Print lines of the run with their times on standard error."""
    from .session.watch import LOG

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.DEBUG if verbose else logging.INFO)
    try:
        yield
    finally:
        LOG.removeHandler(handler)


def tell_others(config: Mapping[str, object], args: argparse.Namespace, sentence: str, connect: Connect) -> None:
    """Report to all peers why this party does not take part, as far as they can be reached."""
    from ..experiment.configuration.build import build
    from .session.session import tell_end
    from .session.watch import abort_notice
    from .settings import KEY, NetworkSettings

    with suppress(ImportError, OSError, ValueError, PartyError, KeyboardInterrupt):
        network = build(NetworkSettings, config.get(KEY), KEY)
        with closing(connect(network, args.me, args.certificates, None)) as transport:
            tell_end(transport, transport.peers, abort_notice(sentence, over=False), network.patience)


def certificates(config: Mapping[str, object], args: argparse.Namespace) -> int:
    """Make a test authority for the parties of a configuration, or ask one for a certificate, or sign."""
    from ..experiment.configuration.build import choices
    from ..experiment.plans import plans
    from .wire import authority
    from .wire.credential import Credential

    # What a release needs of them can be written down only when they are there.
    block = config.get("network")
    if isinstance(block, Mapping):
        keys = {key: value for key, value in block.items() if key not in ("budget", "data_version")}
        config = {**config, "network": {**keys, "mode": "experiment"}}
    deployment, *_ = deployments_in_file(config, plans(config), args.config)
    if args.request is not None and args.request not in deployment.hosts:
        raise ConfigError(f"--request is {args.request!r}: {choices(args.request, deployment.names)}.")
    signed = [args.into / f"{name}.pem" for name in deployment.names]
    try:
        if args.request is not None:
            path = authority.request(args.into, args.request, deployment.hosts[args.request])
            print(
                f"{path}: send it to the operator of the authority, and put the {args.request}.pem and authority.pem "
                f"that come back into {args.into}. The key, {args.request}.key, stays here and is kept secret."
            )
            return 0
        if args.sign:
            signed = [authority.sign(args.into, file, deployment.hosts, args.days) for file in args.sign]
        else:
            authority.make(args.into, deployment.names, args.days)
    except (OSError, ValueError, ImportError, PartyError) as error:
        print(f"certificates: {error}", file=sys.stderr)
        return 1
    print(
        f"{args.into}: signed {', '.join(path.name for path in signed)}. Send each back, with authority.pem; "
        "a holder of authority.key can be any party."
        if args.sign
        else f"{args.into}: authority.pem, and NAME.pem with NAME.key of {', '.join(deployment.names)}. Give each "
        "party authority.pem and its own two files; a holder of authority.key can be any of them."
    )
    print("Their SHA-256, for the block network of the configuration:\n  certificates:")
    for path in signed:
        print(f"    {json.dumps(path.stem)}: {Credential.fingerprint(path.read_text(encoding='ascii'))}")
    return 0


def register(config: Mapping[str, object], args: argparse.Namespace) -> int:
    """Sign digests of a configuration and of the library: no data are opened."""
    from ..experiment.plans import plans
    from .session.session import library_digest
    from .settings import digest
    from .statement import files
    from .wire.credential import Credential

    deployment, *_ = deployments_in_file(config, plans(config), args.config)
    if args.me not in deployment.holders:
        raise ConfigError(f"--me is {args.me!r}: data holders register, {', '.join(deployment.holders)}.")
    path = args.into / f"{args.me}.json"
    try:
        signed = files.register(Credential(args.certificates, args.me), args.me, digest(config), library_digest())
        args.into.mkdir(parents=True, exist_ok=True)
        path.write_bytes(signed)
    except (OSError, ValueError, ImportError, PartyError) as error:
        print(f"register: {error}", file=sys.stderr)
        return 1
    print(f"{path}: {args.me} registered configuration {digest(config)[:12]}; give the file to all other parties.")
    return 0


def _union(folders: Sequence[Path], args: argparse.Namespace) -> None:
    """Print what all parties wrote down of one run."""
    from .outcomes.joint_results import join_results
    from .outcomes.kept_runs import keep_run

    joint = join_results(folders, args.authority)
    record, channel = next(iter(joint.records.values())), joint.channel
    print(
        f"run {record.run}: {record.study}, {record.case}, {record.method}, mode {record.mode}; parties "
        f"{', '.join(record.names)}"
    )
    print(f"transcript: {len(channel.messages)} messages, {channel.bytes_total:,} bytes")
    print(f"ledger: {len(channel.ledger)} rows, digest {channel.ledger.digest}")
    print(f"accounts: what each party sent was paid, received and {joint.heads}")
    print(certified(joint))
    for name, party_record in joint.records.items():
        print(f"outcome of {name}: {party_record.outcome}")
    if args.transcript is not None:
        rows = channel.transcript()
        with args.transcript.open("w", newline="", encoding="utf-8") as handle:
            writer = csv.DictWriter(handle, list(rows[0]) if rows else ["step"], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
        print(f"all rows: {args.transcript}")
    if args.results is not None:
        print(f"kept: {keep_run(folders, args.results)}; ./run with the shared configuration takes it as it is")


def certified(joint: JointResults) -> str:
    """State what a run certifies, in one sentence."""
    record, total = next(iter(joint.records.values())), joint.total
    view = f"at delta {record.delta:g}, for the worst coalition ({total.view_worst}); trust: {total.trust}"
    if record.mode == RELEASE:
        return f"certified for the unit {record.unit}: epsilon {upward(total.epsilon_certified)} {view}"
    return (
        f"certified for the unit {record.unit}: epsilon {math.inf} (mode {record.mode}: all parties know the seeds of "
        f"all noise); with mode {RELEASE} the same releases cost epsilon {upward(total.epsilon_certified)} {view}"
    )


def deployments_in_file(config: Mapping[str, object], plans: Mapping[str, Plan], file: Path) -> tuple[Deployment, ...]:
    """Return the fits of the block of a file, at least one."""
    from .deployments import deployments_of

    deployments = deployments_of(config, plans)
    if not deployments:
        raise ConfigError(
            f"{file} has no block network: state there which fits are run and where the parties are (docs/network.md)."
        )
    return deployments
