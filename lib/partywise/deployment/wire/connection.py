"""Connection to one party over HTTP: it must show the certificate of its name, and is sent a frame once."""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic
from typing import TypedDict

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientConnectorSSLError,
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
)

from ...core.errors import NoRoomError, PartyError, RefusalError, Unreachable
from .interface import printable
from .tls import host_name, reason

__all__ = ["ConnectionContext", "HttpCommunicator", "HttpConnection", "NamedConnection", "Packer", "Packet", "Pool"]


@contextmanager
def _without(*names: str) -> Iterator[None]:
    """Make packages look absent inside, unless they were imported before."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


# Its serialisers of data frames and tensors are optional and not used here: importing their packages would take longer
# than all the rest.
with _without("pandas", "torch"):
    from tno.mpc.communication import HttpCommunicator, HttpConnection, Packer, Pool


# Bytes that are handed to TLS at once: the loop turns in between.
CHUNK = 2**18
# Seconds until a connection is there or not; until who is asked whether it lives has answered, and else is reached.
CONNECT, ANSWER, REACH = 3.0, 0.6, 0.3
# Characters of a peer's answer that are shown; the status of one who took what came, of one whose disk is full, and of
# one who has not taken what came before.
SHOWN, TAKEN, FULL, AHEAD = 400, 200, 503, 429


@dataclass
class ConnectionContext:
    """Settings and state that all connections of a party share.

    me : its name; context : what it shows and asks for; patience : seconds in which a peer must take something
    problem : why peers refuse its certificate, if so; mistaken : whether a wrong certificate was met, also its own
    """

    me: str
    context: ssl.SSLContext
    patience: float
    problem: str | None
    mistaken: bool = False


@dataclass(frozen=True)
class Packet:
    """Bytes of one request, kept where they are: a frame may be as large as memory allows."""

    head: bytes
    frame: bytes

    def __len__(self) -> int:
        return len(self.head) + len(self.frame)


class Request(TypedDict):
    """Address and TLS arguments of every request to one party."""

    url: str
    ssl: ssl.SSLContext
    server_hostname: str


class NamedConnection(HttpConnection):
    """Connection to one party, which is known by its name and found at an address."""

    def __init__(self, name: str, host: str, port: int, context: ConnectionContext) -> None:
        self.name, self.own = name, context
        super().__init__(host, port)
        address = f"[{host}]" if ":" in host else host
        self._request: Request = {
            "url": f"https://{address}:{port}/",
            "ssl": context.context,
            "server_hostname": host_name(name),
        }

    def _determine_network_id(self) -> str:
        return self.name

    def __str__(self) -> str:
        return f"{self.name!r} at {self.addr}:{self.port}"

    async def setup(self, server_port: int) -> None:
        """Open the session; its connections stay open between frames."""
        timeout = ClientTimeout(total=None, sock_connect=CONNECT)
        connector = TCPConnector(limit=8, keepalive_timeout=30)
        self._session = ClientSession(connector=connector, cookie_jar=DummyCookieJar(), timeout=timeout)

    async def post(self, packet: Packet) -> None:
        """Send a packet once; a second time would be a replay."""
        if self.own.problem and not await self.answers():
            raise self._absent()
        progress = [monotonic()]
        posted = asyncio.ensure_future(self._post(packet, progress))
        try:
            while not posted.done():
                left = progress[0] + self.own.patience - monotonic()
                if left <= 0:
                    raise PartyError(f"{self} has taken nothing for {self.own.patience:g} seconds: it hangs.")
                await asyncio.wait({posted}, timeout=left)
            await posted
        finally:
            posted.cancel()

    async def _post(self, packet: Packet, progress: list[float]) -> None:
        head = {"Content-Length": str(len(packet)), "Content-Type": "application/octet-stream"}
        try:
            request = self.session.post(data=_chunks(packet, progress), headers=head, **self._request)
            async with request as answer:
                await self._check(answer)
        except (ClientError, OSError, TimeoutError) as error:
            raise await self._explain(error) from error

    async def answers(self) -> bool:
        """Whether the process of the party lives; `PartyError` if another answers, or its address is none.

        One that computes without a pause answers late; its port is open all the same.
        """
        try:
            async with self.session.get(timeout=ClientTimeout(total=ANSWER), **self._request) as answer:
                if self.own.problem:
                    raise self._certificate_error()
                await self._check(answer)
        except TimeoutError:
            return await self._open()
        except (ClientError, OSError) as error:
            explanation = await self._explain(error)
            if isinstance(explanation, RefusalError) or isinstance(error, ClientConnectorDNSError):
                raise explanation from error
            return False
        return True

    async def _open(self) -> bool:
        """Whether the port of the party is open."""
        try:
            _, writer = await asyncio.wait_for(asyncio.open_connection(self.addr, self.port), REACH)
        except (OSError, TimeoutError):
            return False
        writer.close()
        return True

    async def _check(self, answer: ClientResponse) -> None:
        """Raise `RefusalError` with the party's answer, unless it took the request."""
        text = (await answer.content.read(SHOWN)).decode(errors="replace")
        if answer.status == FULL:
            raise Unreachable(f"{self} cannot keep what comes: its output states the reason.")
        if answer.status == AHEAD:
            raise NoRoomError(f"{self} has not taken what came before.")
        if answer.status != TAKEN:
            raise RefusalError(f"{self} refuses what came: {printable(text, SHOWN) or answer.reason}", self.name)

    async def _explain(self, error: Exception) -> PartyError:
        """Return the error that describes what became of a request."""
        if isinstance(error, ClientConnectorCertificateError | ClientConnectorSSLError):
            self.own.mistaken = True
            cause = getattr(error, "certificate_error", None) or error.os_error
            return RefusalError(f"{self} is refused: {reason(cause, await self._read_certificate())}.", self.name)
        if isinstance(error, ClientConnectorDNSError):
            return Unreachable(f"{self}: this host is not known here; correct host, or the name service.")
        if isinstance(error, ClientConnectorError | TimeoutError):
            return self._absent()
        if self.own.problem:
            return self._certificate_error()
        return Unreachable(f"{self} closed the connection before it confirmed that it had all: it has ended.")

    async def _read_certificate(self) -> bytes:
        """Return the certificate shown at the address of the party, unchecked: it only dates an error message."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with suppress(OSError, TimeoutError):
            to = asyncio.open_connection(self.addr, self.port, ssl=context)
            _, writer = await asyncio.wait_for(to, ANSWER)
            certificate = writer.get_extra_info("ssl_object").getpeercert(True)
            writer.transport.abort()
            return ssl.DER_cert_to_PEM_cert(certificate).encode()
        return b""

    def _certificate_error(self) -> RefusalError:
        """Return the error of a party that has a wrong certificate itself."""
        self.own.mistaken = True
        return RefusalError(f"{self} cannot take {self.own.me!r}: {self.own.problem}.", self.own.me)

    def _absent(self) -> Unreachable:
        return Unreachable(f"{self} does not answer: start it, or correct host and port.")


async def _chunks(packet: Packet, progress: list[float]) -> AsyncIterator[memoryview]:
    for part in (memoryview(packet.head), memoryview(packet.frame)):
        for begin in range(0, len(part), CHUNK):
            progress[0] = monotonic()
            yield part[begin : begin + CHUNK]
    progress[0] = monotonic()
