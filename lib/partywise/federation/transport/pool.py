"""The pool of `tno.mpc.communication` whose clients are known by the names in their certificates, and send raw bytes.

The package's own pool takes a client for who has a certificate of some issuer and number, reads bodies without a
bound, and packs objects; here a client is who has a certificate of the authority with its name, sizes are bounded
before anything is read, and a packet is a tag and the bytes of a frame.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, cast

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientConnectorSSLError,
    ClientError,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
    web,
)

from ...errors import PartyError, Refused, Unreachable
from .inbox import Inbox
from .tls import common_name, host_name, reason


@contextmanager
def _without(name: str) -> Iterator[None]:
    """A package looks absent inside, unless somebody has imported it before."""
    known = name in sys.modules
    sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    try:
        yield
    finally:
        if not known:
            del sys.modules[name]


# Its serialiser of data frames is optional and not used here: importing pandas would take longer than all the rest.
with _without("pandas"):
    from tno.mpc.communication import HttpCommunicator, HttpConnection, Packer, Pool

__all__ = ["FramePool", "NamedCommunicator", "NamedConnection"]

# Bytes of the length of a tag, and of the longest tag.
LENGTH, TAG = 2, 200
# Bytes that are handed to TLS at once: the loop turns in between.
CHUNK = 2**18
# Seconds until a connection is there or not; until who is asked whether it lives has answered, and else is reached.
CONNECT, ANSWER, REACH = 3.0, 0.6, 0.3
# Characters of a peer's answer that are shown.
SHOWN = 400


class FramePacker(Packer):
    """A packet: two bytes with the length of the tag, the tag, and the frame as it is."""

    def pack(self, content: Any, msg_id: str) -> bytes:
        """The packet of one frame."""
        tag = msg_id.encode()
        if len(tag) > TAG:
            raise ValueError(f"tag={msg_id!r} has more than {TAG} bytes: shorten it.")
        return b"".join((len(tag).to_bytes(LENGTH, "big"), tag, content))

    def pack_multiple(self, content: Any, msg_ids: Iterable[str]) -> tuple[bytes, ...]:
        """One packet for each tag."""
        return tuple(self.pack(content, tag) for tag in msg_ids)

    def unpack(self, packet: bytes) -> tuple[str, bytes]:
        """Tag and frame."""
        end = LENGTH + int.from_bytes(packet[:LENGTH], "big")
        return packet[LENGTH:end].decode(), packet[end:]


class NamedConnection(HttpConnection):
    """The way to one party, which is known by its name and found at an address."""

    def __init__(self, name: str, host: str, port: int) -> None:
        self.name = name
        super().__init__(host, port)

    def _determine_network_id(self) -> str:
        return self.name

    async def setup(self, server_port: int) -> None:
        """Open the session; its connections stay open between frames."""
        timeout = ClientTimeout(total=None, sock_connect=CONNECT)
        connector = TCPConnector(limit=8, keepalive_timeout=30)
        self._session = ClientSession(connector=connector, cookie_jar=DummyCookieJar(), timeout=timeout)

    def __str__(self) -> str:
        return f"{self.name!r} at {self.addr}:{self.port}"


class NamedCommunicator(HttpCommunicator):
    """Server and clients of one party, for TLS with certificates of both sides and for nothing else.

    inbox : where frames go that are not refused; patience : seconds in which a peer must take or answer something
    problem : why nobody takes this party's own certificate, if so
    """

    def __init__(
        self,
        address: tuple[str, int],
        contexts: tuple[ssl.SSLContext, ssl.SSLContext],
        inbox: Inbox,
        patience: float,
        problem: str | None,
    ) -> None:
        host, port = address
        server, client = contexts
        super().__init__(addr=host, port=port, ssl_server_context=server, ssl_client_context=client)
        self.inbox, self.patience, self.problem = inbox, patience, problem
        # Whether somebody was refused for a certificate, or this party for its own.
        self.mistaken = False
        self._tls: dict[str, Any] = {"ssl": client}

    async def _initialize(self) -> None:
        app = web.Application(client_max_size=1)
        app.router.add_post("/", self._post_handler)
        app.router.add_get("/", self._get_handler)
        # A body that is refused is read on for a moment, so that its sender sees the answer.
        self._runner = web.AppRunner(
            app, access_log=None, auto_decompress=False, lingering_time=2.0, shutdown_timeout=1.0
        )
        await self._runner.setup()
        self._site = web.TCPSite(self._runner, self.addr, self.port, ssl_context=self.ssl_server_context)
        for connection in self._connections.values():
            await connection.setup(self.port)
        await self._site.start()

    async def _get_handler(self, request: web.Request) -> web.Response:  # type: ignore[override]
        """Whoever has the certificate of a party hears that this one is there."""
        self._sender(request)
        return web.Response()

    async def _post_handler(self, request: web.Request) -> web.Response:
        """Give a frame to the pool, or answer why not."""
        sender = self._sender(request)
        try:
            await self.receive_handler(sender, await self._packet(request, sender))
        except Refused as error:
            raise web.HTTPConflict(text=str(error)) from error
        return web.Response()

    def _sender(self, request: web.Request) -> str:
        """The party whose certificate was shown."""
        transport = cast(asyncio.Transport, request.transport)
        name = common_name(transport.get_extra_info("peercert"))
        if name not in self._connections:
            raise web.HTTPForbidden(text=f"{name!r} is none of the parties {self.inbox.peers} of {self.inbox.me!r}.")
        return name

    async def _packet(self, request: web.Request, sender: str) -> bytes:
        """A packet whose size is admitted before it is read."""
        size, content = request.content_length, request.content
        if size is None or size < LENGTH or "Content-Encoding" in request.headers:
            raise web.HTTPBadRequest(text=f"{sender!r} sent no frame: its size is not said, or it is not raw.")
        try:
            begin = await content.readexactly(LENGTH)
            length = int.from_bytes(begin, "big")
            if length > min(TAG, size - LENGTH):
                raise web.HTTPBadRequest(text=f"{sender!r} sent no frame: its tag has {length} bytes.")
            tag = await content.readexactly(length)
            self.inbox.admit(sender, tag.decode(), size - LENGTH - length)
            rest = await content.readexactly(size - LENGTH - length)
        except (asyncio.IncompleteReadError, UnicodeDecodeError) as error:
            raise web.HTTPBadRequest(text=f"{sender!r} sent no frame: it was cut off or has no tag.") from error
        return b"".join((begin, tag, rest))

    async def _send(self, recipient: HttpConnection, packet: bytes) -> None:
        """Post a packet once; a second time would be a replay."""
        if self.problem and not await self.answers(cast(NamedConnection, recipient).name):
            raise Unreachable(f"{recipient} does not answer: start it, or correct host and port.")
        progress = [monotonic()]
        post = asyncio.ensure_future(self._posted(cast(NamedConnection, recipient), packet, progress))
        try:
            while not post.done():
                left = progress[0] + self.patience - monotonic()
                if left <= 0:
                    raise PartyError(f"{recipient} has taken nothing for {self.patience:g} seconds: it hangs.")
                await asyncio.wait({post}, timeout=left)
            await post
        finally:
            post.cancel()

    async def _posted(self, recipient: NamedConnection, packet: bytes, progress: list[float]) -> None:
        head = {"Content-Length": str(len(packet)), "Content-Type": "application/octet-stream"}
        try:
            post = recipient.session.post(
                _url(recipient), data=_chunks(packet, progress), headers=head, **self._shown(recipient)
            )
            async with post as answer:
                await _check(answer, recipient)
        except (ClientError, OSError, TimeoutError) as error:
            raise self._said(error, recipient) from error

    async def answers(self, name: str) -> bool:
        """Whether the process of a party lives; `PartyError` if somebody else answers, or its address is none.

        One that computes without a pause answers late; its port is open all the same.
        """
        connection = cast(NamedConnection, self._connections[name])
        try:
            timeout = ClientTimeout(total=ANSWER)
            get = connection.session.get(_url(connection), timeout=timeout, **self._shown(connection))
            async with get as answer:
                if self.problem:
                    raise self._known(connection)
                await _check(answer, connection)
        except TimeoutError:
            return await _open(connection)
        except (ClientError, OSError) as error:
            said = self._said(error, connection)
            if isinstance(said, Refused) or isinstance(error, ClientConnectorDNSError):
                raise said from error
            return False
        return True

    def _shown(self, connection: HttpConnection) -> dict[str, Any]:
        """What a request needs for the other side to be the party of that name."""
        return self._tls | {"server_hostname": host_name(cast(NamedConnection, connection).name)}

    def _known(self, recipient: HttpConnection) -> Refused:
        """What a party with a wrong certificate knows of itself."""
        self.mistaken = True
        return Refused(f"{recipient} cannot take {self.inbox.me!r}: {self.problem}.", self.inbox.me)

    def _said(self, error: Exception, recipient: NamedConnection) -> PartyError:
        """What became of a request, in one sentence."""
        if isinstance(error, ClientConnectorCertificateError | ClientConnectorSSLError):
            self.mistaken = True
            cause = getattr(error, "certificate_error", None) or error.os_error
            return Refused(f"{recipient} is refused: {reason(cause, recipient.name)}.", recipient.name)
        if isinstance(error, ClientConnectorDNSError):
            return Unreachable(f"{recipient}: this host is not known here; correct host, or the name service.")
        if isinstance(error, ClientConnectorError | TimeoutError):
            return Unreachable(f"{recipient} does not answer: start it, or correct host and port.")
        if self.problem:
            return self._known(recipient)
        return Unreachable(f"{recipient} closed the connection before it said that it had all: it has ended.")


class FramePool(Pool):
    """A pool whose frames go to an inbox."""

    def __init__(self, name: str, communicator: NamedCommunicator) -> None:
        super().__init__(name, communicator, FramePacker())
        self.inbox = communicator.inbox

    async def _receive_handler(self, sender_name: str, packet: bytes) -> None:
        tag, frame = self.packer.unpack(packet)
        self.inbox.arrived(sender_name, tag, frame)


def _url(connection: HttpConnection) -> str:
    host = f"[{connection.addr}]" if ":" in connection.addr else connection.addr
    return f"https://{host}:{connection.port}/"


async def _open(connection: NamedConnection) -> bool:
    """Whether the port of a party is open."""
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(connection.addr, connection.port), REACH)
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True


async def _chunks(packet: bytes, progress: list[float]) -> AsyncIterator[memoryview]:
    view = memoryview(packet)
    for begin in range(0, len(packet), CHUNK):
        progress[0] = monotonic()
        yield view[begin : begin + CHUNK]
    progress[0] = monotonic()


async def _check(answer: Any, recipient: HttpConnection) -> None:
    """`Refused` with what a peer says, unless it took the request."""
    text = (await answer.content.read(SHOWN)).decode(errors="replace")
    if answer.status != web.HTTPOk.status_code:
        plain = "".join(letter if letter.isprintable() else " " for letter in text)
        raise Refused(f"{recipient} refuses what came: {plain or answer.reason}", cast(NamedConnection, recipient).name)
