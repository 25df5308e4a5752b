"""Pool of `tno.mpc.communication` whose clients are known by the names in their certificates, and send raw bytes.

The package's own pool takes a client for who has a certificate of some issuer and number, reads bodies without a
bound, and packs objects; here a client is who has a certificate of the authority that names it and no other, sizes are
bounded before anything is read, and a packet is a tag and the bytes of a frame.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Iterable, Mapping
from time import monotonic
from typing import cast

from aiohttp import StreamReader, web

from ...core.errors import NoRoomError, RefusalError
from .connection import ConnectionContext, HttpCommunicator, HttpConnection, NamedConnection, Packer, Packet, Pool
from .inbox import Inbox
from .tls import named_parties, peer_names, pin_refusal

LOGGER = logging.getLogger(__name__)
LOGGER.addHandler(logging.NullHandler())
# Bytes of the length of a tag, and of the longest tag.
LENGTH, TAG = 2, 200
# Seconds that who sends a frame is kept waiting for room before it is told to come again.
ROOM = 1.0


class FramePacker(Packer):
    """Packer: two bytes with the length of the tag, the tag, and the frame as it is."""

    def pack(self, content: bytes, msg_id: str) -> Packet:  # type: ignore[override]
        """Return the packet of one frame."""
        tag = msg_id.encode()
        if len(tag) > TAG:
            raise ValueError(f"tag={msg_id!r} has more than {TAG} bytes: shorten it.")
        return Packet(len(tag).to_bytes(LENGTH, "big") + tag, content)

    def pack_multiple(self, content: bytes, msg_ids: Iterable[str]) -> tuple[Packet, ...]:  # type: ignore[override]
        """One packet for each tag."""
        return tuple(self.pack(content, tag) for tag in msg_ids)

    def unpack(self, packet: Packet) -> tuple[str, bytes]:  # type: ignore[override]
        """Return tag and frame of a packet."""
        return packet.head[LENGTH:].decode(), packet.frame


class NamedCommunicator(HttpCommunicator):
    """Server of one party, and its ways to the others; for TLS with certificates of both sides and for nothing else.

    address : where it listens; server : what it shows and asks for there; inbox : where frames go that are not refused
    hosts, pins : of all parties, by name, as of `tls.client_context`
    """

    def __init__(
        self,
        address: tuple[str, int],
        server: ssl.SSLContext,
        context: ConnectionContext,
        inbox: Inbox,
        hosts: Mapping[str, str],
        pins: Mapping[str, str],
    ) -> None:
        host, port = address
        super().__init__(addr=host, port=port, ssl_server_context=server, ssl_client_context=context.context)
        self.inbox, self._hosts, self._pins = inbox, hosts, pins

    async def _initialize(self) -> None:
        app = web.Application(client_max_size=1)
        app.router.add_post("/", self._post_handler)
        app.router.add_get("/", self._get_handler)
        # What a stranger sends is no news for whoever runs a party: answered, and logged where a log is asked for.
        # A body that is refused is read on for a moment, so that its sender sees the answer.
        self._runner = web.AppRunner(
            app, access_log=None, logger=LOGGER, auto_decompress=False, lingering_time=2.0, shutdown_timeout=1.0
        )
        await self._runner.setup()
        self._site = web.TCPSite(self._runner, self.addr, self.port, ssl_context=self.ssl_server_context)
        for connection in self._connections.values():
            await connection.setup(self.port)
        await self._site.start()

    async def _get_handler(self, request: web.Request) -> web.Response:  # type: ignore[override]
        """Answer a client with the certificate of a party that this party is there."""
        self._sender(request)
        return web.Response()

    async def _post_handler(self, request: web.Request) -> web.Response:
        """Give a frame to the pool, or answer why not."""
        sender = self._sender(request)
        try:
            await self.receive_handler(sender, await self._packet(request, sender))  # type: ignore[arg-type]
        except RefusalError as error:
            raise web.HTTPConflict(text=str(error)) from error
        except NoRoomError as error:
            raise web.HTTPTooManyRequests(text=str(error)) from error
        except OSError as error:
            raise web.HTTPServiceUnavailable(text="it cannot be kept here") from error
        return web.Response()

    def _sender(self, request: web.Request) -> str:
        """Return the party whose certificate was shown."""
        transport = cast(asyncio.Transport, request.transport)
        certificate = transport.get_extra_info("ssl_object").getpeercert(True)
        names = peer_names(certificate)
        parties = named_parties(names, self._hosts)
        if len(parties) > 1:
            raise web.HTTPForbidden(text=f"a certificate names {' and '.join(map(repr, parties))}: it is of no party.")
        if not parties or parties[0] not in self._connections:
            listed = ", ".join(map(repr, names))
            raise web.HTTPForbidden(
                text=f"{listed:.200} is none of the parties {self.inbox.peers} of {self.inbox.me!r}."
            )
        if why := pin_refusal(certificate, parties[0], self._pins):
            raise web.HTTPForbidden(text=f"{parties[0]!r} is refused: {why}.")
        return parties[0]

    async def _packet(self, request: web.Request, sender: str) -> Packet:
        """Read a packet whose size is admitted before it is read."""
        size, content = request.content_length, request.content
        if size is None or size < LENGTH or "Content-Encoding" in request.headers:
            raise web.HTTPBadRequest(text=f"{sender!r} sent no frame: its size is not stated, or it is not raw.")
        try:
            begin = await content.readexactly(LENGTH)
            length = int.from_bytes(begin, "big")
            if length > min(TAG, size - LENGTH):
                raise web.HTTPBadRequest(text=f"{sender!r} sent no frame: its tag has {length} bytes.")
            tag = await content.readexactly(length)
            rest = size - LENGTH - length
            end = monotonic() + ROOM
            while not self.inbox.await_room(sender, tag.decode(), rest, 0.0) and monotonic() < end:
                await asyncio.sleep(0.01)
            with self.inbox.reading(sender, tag.decode(), rest):
                return Packet(begin + tag, await _whole(content, rest))
        except (asyncio.IncompleteReadError, UnicodeDecodeError) as error:
            raise web.HTTPBadRequest(text=f"{sender!r} sent no frame: it was cut off or has no tag.") from error

    async def _send(self, recipient: HttpConnection, packet: Packet) -> None:  # type: ignore[override]
        await cast(NamedConnection, recipient).post(packet)


async def _whole(content: StreamReader, size: int) -> bytes:
    """Read that many bytes as they come, into one buffer: memory never has more of them than the frame."""
    frame = bytearray(size)
    view, at = memoryview(frame), 0
    while at < size:
        block = await content.read(size - at)
        if not block:
            raise asyncio.IncompleteReadError(bytes(view[:0]), size)
        view[at : at + len(block)] = block
        at += len(block)
    # Whoever takes it reads it only.
    return cast(bytes, frame)


class FramePool(Pool):
    """Pool whose frames go to an inbox."""

    def __init__(self, name: str, communicator: NamedCommunicator) -> None:
        super().__init__(name, communicator, FramePacker())
        self.inbox = communicator.inbox

    async def _receive_handler(self, sender_name: str, packet: Packet) -> None:  # type: ignore[override]
        tag, frame = self.packer.unpack(packet)  # type: ignore[arg-type]
        self.inbox.keep(sender_name, tag, frame)
