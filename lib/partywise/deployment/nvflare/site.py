"""Components of an NVFlare job: its server waits for all, each site runs one party of the shared configuration.

The job names the configuration and no path, no account and no code. What is the site's own is in its startup kit, in
``local/partywise.yaml`` (`SiteSettings`).
"""

from __future__ import annotations

import argparse
import logging
import math
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from time import sleep, time
from typing import TextIO

from nvflare.apis.client import Client
from nvflare.apis.controller_spec import ClientTask, Task
from nvflare.apis.engine_spec import EngineSpec
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.apis.workspace import Workspace

from ...core.checks import check_fields
from ...core.documents import now
from ...core.errors import ConfigError, JobEndedError, Unreachable
from ...experiment.configuration.build import build
from ...experiment.plans import read_configuration, read_file
from ...experiment.results.folder import result_name
from ...federation.identity import Identity
from ..session.party import refusal
from ..settings import KEY, NetworkSettings, digest
from ..site.policy import NAME as POLICY
from ..verbs import party, tell_others
from ..wire.credential import Credential
from ..wire.interface import Transport
from ..wire.journal import Journal
from ..wire.relay import Relay
from ..wire.tls import AUTHORITY, site_name
from .job import lateness

SETTINGS, OUTPUT, TASK = "partywise.yaml", "partywise.log", "party"
# Seconds between two looks at who has ended; that the others have when one has not ended well.
PULSE, GRACE = 0.2, 20.0
# Files of a startup kit: who it is, its key, and who says so.
KIT = {"{me}.pem": "client.crt", "{me}.key": "client.key", f"{AUTHORITY}.pem": "rootCA.pem"}
# Topic of NVFlare's messages that carry the requests of a run, and the key of their bytes.
TOPIC, DATA = "partywise", "data"


@dataclass(frozen=True, kw_only=True)
class SiteSettings:
    """Keys of ``local/partywise.yaml``; paths begin in the folder of the startup kit.

    data : folder of own files with ``site.yaml``, without which nothing is run here
    into : folder of results, one for each configuration in it; with the account, at a place without data
    """

    data: str
    into: str = "partywise"

    def __post_init__(self) -> None:
        check_fields(self)


class PartyExecutor(Executor):  # type: ignore[misc]
    """Executor that runs the party of this site, by the shared configuration in the folder of the job's own one.

    The site refuses the job after the time ``not_after``; ``again`` begins a new run where one of this configuration
    has ended.
    """

    def __init__(self, configuration: str, not_after: str = "", again: bool = False) -> None:
        super().__init__()
        self._configuration, self._not_after, self._again = configuration, not_after, again

    def execute(self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal) -> Shareable:
        """Run the party to its end; the reply states only whether it went well.

        NVFlare's own logs may be sent to the server, so the party's output goes to a file that only the site has.
        """
        root = Path(fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT).get_root_dir())
        (root / OUTPUT).touch(0o600)
        with (root / OUTPUT).open("a", encoding="utf-8") as output, _redirect_output(output):
            print(f"{now()} job {fl_ctx.get_job_id()}", flush=True)
            try:
                ended = self._run(fl_ctx, abort_signal)
            except (ConfigError, ImportError, OSError, ValueError) as error:
                print(f"party: {error}")
                ended = 1
            except Exception:
                traceback.print_exc()
                ended = 1
        return make_reply(ReturnCode.EXECUTION_RESULT_ERROR if ended else ReturnCode.OK)

    def _run(self, fl_ctx: FLContext, ended: Signal) -> int:
        workspace: Workspace = fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT)
        job, root = fl_ctx.get_job_id(), Path(workspace.get_root_dir())
        file = Path(workspace.get_app_config_dir(job)) / self._configuration
        config = read_configuration(file)
        sites = {site_name(name): name for name in build(NetworkSettings, config.get(KEY), KEY).parties}
        if (site := fl_ctx.get_identity_name()) not in sites:
            raise ConfigError(f"this site is {site!r}: the configuration has the sites {', '.join(sites)}.")
        me, settings = sites[site], _settings(Path(workspace.get_site_config_dir()) / SETTINGS)
        carrier = JobCarrier(fl_ctx.get_engine(), {name: site for site, name in sites.items()}, ended)

        def connect(network: NetworkSettings, me: str, certificates: Path, journal: Journal | None) -> Transport:
            credential = Credential(certificates, me, journal, {name: site for site, name in sites.items()})
            identity = Identity(job, digest(config), network.certificates or {}, credential)
            peers = [name for name in sites.values() if name != me]
            patience, largest = network.patience, network.largest_message
            return Relay(me, peers, carrier, identity, largest=largest, patience=patience, journal=journal)

        with certificates_of(Path(workspace.get_startup_kit_dir()), me) as certificates:
            words = argparse.Namespace(
                config=file,
                me=me,
                data=None,
                model=None,
                site=root / settings.data / POLICY,
                certificates=certificates,
                into=root / settings.into / result_name(config, file),
                account=None,
                dry_run=False,
                again=self._again,
                verbose=False,
            )
            if late := lateness(self._not_after, now()):
                print(f"party: {late}.")
                tell_others(config, words, refusal(me), connect)
                return 1
            if not words.site.is_file():
                # Jobs come by themselves: without a policy nothing is run.
                print(f"party: {words.site} is missing: write there what this site consents to (docs/network.md).")
                tell_others(config, words, refusal(me), connect)
                return 1
            return party(config, words, connect)


class PartyController(Controller):  # type: ignore[misc]
    """Controller that lets every site run its party, and waits for all."""

    def __init__(self, sites: list[str]) -> None:
        super().__init__()
        self._sites, self._ended, self._end = sites, dict[str, str](), math.inf

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Do nothing: there is nothing to prepare."""

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Do nothing: nothing is left."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        """Run the job of the server: start all sites, wait for them, and fail if one has not ended well."""
        task = Task(name=TASK, data=Shareable(), result_received_cb=self._note)
        self.broadcast(task=task, targets=self._sites, min_responses=len(self._sites), fl_ctx=fl_ctx)
        while self.get_num_standing_tasks() and not abort_signal.triggered and time() < self._end:
            sleep(PULSE)
        answers = [f"{site}: {self._ended.get(site, 'no answer')}" for site in self._sites]
        self.log_info(fl_ctx, "; ".join(answers))
        if any(self._ended.get(site) != ReturnCode.OK for site in self._sites):
            self.system_panic(f"the run has not ended for all ({'; '.join(answers)}): look at the sites' logs", fl_ctx)

    def process_result_of_unknown_task(
        self, client: Client, task_name: str, client_task_id: str, result: Shareable, fl_ctx: FLContext
    ) -> None:
        """Ignore an answer that the controller does not wait for."""

    def _note(self, client_task: ClientTask, fl_ctx: FLContext) -> None:
        code = client_task.result.get_return_code()
        self._ended[client_task.client.name] = code
        if code != ReturnCode.OK:
            # The others hear of it from the party itself, unless it never came as far.
            self._end = min(self._end, time() + GRACE)


def _settings(file: Path) -> SiteSettings:
    """Read the site's own settings; ConfigError if its file is missing."""
    if not file.is_file():
        raise ConfigError(f"{file} is missing: name there the folder `data` with own files and {POLICY}.")
    return build(SiteSettings, read_file(file), str(file))


@contextmanager
def _redirect_output(output: TextIO) -> Iterator[None]:
    """Send stdout, stderr and the log to one file, inside the block."""
    logger, handler = logging.getLogger("partywise"), logging.StreamHandler(output)
    handler.setLevel(logging.WARNING)
    logger.addHandler(handler)
    before, logger.propagate = logger.propagate, False
    try:
        with redirect_stdout(output), redirect_stderr(output):
            yield
    finally:
        logger.propagate = before
        logger.removeHandler(handler)


@contextmanager
def certificates_of(kit: Path, me: str) -> Iterator[Path]:
    """Yield a folder with the certificate of a startup kit under the names that a run looks for."""
    with tempfile.TemporaryDirectory() as folder:
        for name, file in KIT.items():
            (Path(folder) / name.format(me=me)).symlink_to((kit / file).resolve())
        yield Path(folder)


class JobCarrier:
    """Carrier between the processes of all sites in one job: asks others, and lets them be answered.

    engine : that of the job's process at this site
    sites : site of every party by the party's name
    ended : triggered when NVFlare ends the job, as an administrator may
    """

    def __init__(self, engine: EngineSpec, sites: Mapping[str, str], ended: Signal) -> None:
        self._engine, self._sites, self._ended = engine, dict(sites), ended
        self._answer: Callable[[bytes], bytes] | None = None
        engine.register_aux_message_handler(topic=TOPIC, message_handle_func=self._handle)

    def ask(self, peer: str, data: bytes, seconds: float) -> bytes | None:
        """Return a peer's answer as `partywise.deployment.wire.relay.Carrier.ask`."""
        site = self._sites[peer]
        with self._engine.new_context() as context:
            answers = self._engine.send_aux_request(
                targets=[site],
                topic=TOPIC,
                request=Shareable({DATA: data}),
                timeout=seconds,
                fl_ctx=context,
                optional=True,
            )
        answer = answers.get(site)
        code = ReturnCode.ERROR if answer is None else answer.get_return_code()
        if code == ReturnCode.TIMEOUT:
            return None
        if code != ReturnCode.OK or not isinstance(answer.get(DATA), bytes):
            raise Unreachable(f"{peer!r} does not answer: its site {site!r} has no process in this job ({code}).")
        return bytes(answer[DATA])

    def serve(self, answer: Callable[[bytes], bytes] | None) -> None:
        """Let requests be answered as `partywise.deployment.wire.relay.Carrier.serve`."""
        self._answer = answer

    def require_open(self) -> None:
        """Raise JobEndedError as `partywise.deployment.wire.relay.Carrier.require_open`."""
        if self._ended.triggered:
            raise JobEndedError("NVFlare ended the job: its server reports which site did not go on; submit it again.")

    def _handle(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:
        answer, data = self._answer, request.get(DATA)
        if answer is None or not isinstance(data, bytes):
            return make_reply(ReturnCode.SERVICE_UNAVAILABLE)
        reply = make_reply(ReturnCode.OK)
        reply[DATA] = answer(data)
        return reply
