"""Requests between processes of one NVFlare job, by its server: NVFlare's auxiliary messages carry them.

Each site has one connection outward, to the server, which hands on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from nvflare.apis.engine_spec import EngineSpec
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal

from ....core.errors import JobEndedError, Unreachable

TOPIC, DATA = "partywise", "data"


class JobCarrier:
    """Asks the processes of other sites in the same job, and lets theirs be answered.

    Parameters
    ----------
    engine : EngineSpec
        That of the job's process at this site.
    sites : mapping of str to str
        Name of every party's site by that of the party.
    ended : Signal
        Triggered when NVFlare ends the job, as an administrator may.
    """

    def __init__(self, engine: EngineSpec, sites: Mapping[str, str], ended: Signal) -> None:
        self._engine, self._sites, self._ended = engine, dict(sites), ended
        self._answer: Callable[[bytes], bytes] | None = None
        engine.register_aux_message_handler(topic=TOPIC, message_handle_func=self._handle)

    def ask(self, peer: str, data: bytes, seconds: float) -> bytes | None:
        """As `partywise.deployment.wire.relay.relay.Carrier.ask`."""
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
        """As `partywise.deployment.wire.relay.relay.Carrier.serve`."""
        self._answer = answer

    def require_open(self) -> None:
        """As `partywise.deployment.wire.relay.relay.Carrier.require_open`."""
        if self._ended.triggered:
            raise JobEndedError("NVFlare ended the job: its server says which site did not go on; submit it again.")

    def _handle(self, topic: str, request: Shareable, fl_ctx: FLContext) -> Shareable:
        answer, data = self._answer, request.get(DATA)
        if answer is None or not isinstance(data, bytes):
            return make_reply(ReturnCode.SERVICE_UNAVAILABLE)
        reply = make_reply(ReturnCode.OK)
        reply[DATA] = answer(data)
        return reply
