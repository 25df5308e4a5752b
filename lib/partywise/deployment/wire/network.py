"""Parties that are processes on several machines: HTTP with mutual TLS, by the pool of `tno.mpc.communication`."""

from __future__ import annotations

import asyncio
import errno
import selectors
import socket
import time
from collections.abc import Coroutine, Mapping
from pathlib import Path
from threading import Thread
from types import ModuleType

# Any: arguments of asyncio, passed on.
from typing import TYPE_CHECKING, Any, TypeVar

from ...core.errors import PartyError
from .credential import Credential
from .inbox import Inbox
from .interface import LARGEST, split_tag
from .journal import PASSING, Journal
from .tls import check_names, client_context, own_problem, server_context

if TYPE_CHECKING:
    from .pool import FramePool

T = TypeVar("T")

# Seconds in which a peer that is sent something must take or answer something.
PATIENCE = 8.0
# Seconds that a party stays that met a wrong certificate, so that the other side meets it as well.
SHOWN = 3.0
# Seconds in which whoever is left must say so in turn: who hangs never does.
GOODBYE = 0.1
# Seconds in which whoever connects must show its certificate, and how many may be about to: of more, the oldest go.
HANDSHAKE, STRANGERS = 5.0, 256


class _Loop(asyncio.SelectorEventLoop):
    """Event loop that knows whether it has connections, and does not wait long for a goodbye."""

    def __init__(self) -> None:
        self._watched = selectors.DefaultSelector()
        self._strangers = dict[asyncio.Future[None], asyncio.Transport]()
        super().__init__(self._watched)

    def is_connected(self) -> bool:
        """Whether there is a socket in addition to the one that wakes the loop."""
        return len(self._watched.get_map()) > 1

    async def create_connection(self, *words: Any, **options: Any) -> Any:
        hasty = {"ssl_shutdown_timeout": GOODBYE} if options.get("ssl") else {}
        return await super().create_connection(*words, **hasty | options)

    async def create_server(self, *words: Any, **options: Any) -> Any:
        hasty = {"ssl_shutdown_timeout": GOODBYE, "ssl_handshake_timeout": HANDSHAKE} if options.get("ssl") else {}
        return await super().create_server(*words, **hasty | options)

    def _make_ssl_transport(
        self, rawsock: socket.socket, protocol: Any, sslcontext: Any, waiter: Any = None, **options: Any
    ) -> Any:
        """Make asyncio's transport, whose waiter ends when the other side has shown its certificate, or will not."""
        transport = super()._make_ssl_transport(rawsock, protocol, sslcontext, waiter, **options)  # type: ignore[misc]
        if options.get("server_side") and waiter is not None:
            self._strangers[waiter] = transport
            waiter.add_done_callback(self._strangers.pop)
            if len(self._strangers) > STRANGERS:
                self._strangers.pop(next(iter(self._strangers))).abort()
        return transport


class Network:
    """One party's end of the connections to all others, over a network.

    addresses : host and port of every party, this one included, which listens there
    certificates : folder with ``authority.pem``, ``ME.pem`` and ``ME.key`` (`partywise.deployment.wire.authority.make`)
    largest : bytes of the largest frame that is read
    patience : seconds in which a peer must take or answer something while it is sent a frame
    listen : host and port on which to listen where others connect elsewhere, behind a router that translates addresses,
        in a container, or where a port is forwarded
    pins : SHA-256 of the certificate of a party by its name, another one is refused under any name
    journal : keeps what comes and what was delivered, so that another process can take the place of this one

    TLS 1.3 with certificates of both sides, of one authority. A client is the one party that its certificate names, and
    a server must be the party that is looked for, wherever it is (`tls.named_parties`): two parties of one machine
    cannot pose as each other. A client without a certificate of the authority never gets as far as a request. A key
    that others can read is refused. `put` returns when the receiver's process has the frame. `is_there` and `put` raise
    `RefusalError` if the server that answers is not that party.
    """

    def __init__(
        self,
        me: str,
        addresses: Mapping[str, tuple[str, int]],
        certificates: Path | str,
        *,
        largest: int = LARGEST,
        patience: float = PATIENCE,
        listen: tuple[str, int] | None = None,
        pins: Mapping[str, str] | None = None,
        journal: Journal | None = None,
    ) -> None:
        _check_addresses(me, addresses)
        folder, hosts = Path(certificates), {name: host for name, (host, _) in addresses.items()}
        server, client = server_context(folder, me), client_context(folder, me, hosts, pins)
        pools = _pools()
        self.credential = Credential(folder, me, journal, hosts)
        self.me, self.peers = me, tuple(name for name in addresses if name != me)
        self.inbox, self._journal = Inbox(me, self.peers, largest, journal), journal
        host, port = listen or addresses[me]
        self._open = True
        self._loop = _Loop()
        self._own = pools.ConnectionContext(me, client, patience, own_problem(server, client, me, folder))
        self._ways = {name: pools.NamedConnection(name, *addresses[name], self._own) for name in self.peers}
        self._pool: FramePool = pools.FramePool(
            me, pools.NamedCommunicator((host, port), server, self._own, self.inbox, hosts, pins or {})
        )
        for name, way in self._ways.items():
            self._pool.add_client(name, way)
        self._thread = Thread(target=self._loop.run_forever, name=f"network of {me}", daemon=True)
        self._thread.start()
        try:
            self._run_to_end(self._pool.initialize())
        except OSError as error:
            self.close()
            raise _unheard(me, host, port, error) from error

    def put(self, receiver: str, tag: str, data: bytes) -> None:
        """Send a frame as `partywise.deployment.wire.interface.Transport.put` does."""
        self._check_peer(receiver)
        if self._journal is None or tag in PASSING:
            self._ask(self._pool.send(receiver, data, tag))
        elif not self._journal.is_delivered(receiver, tag):
            sent = data if split_tag(tag)[1] == "message" else self._journal.notice(receiver, tag, data)
            self._ask(self._pool.send(receiver, sent, tag))
            self._journal.deliver(receiver, tag)

    def get(self, sender: str, tag: str, wait: float) -> bytes | None:
        """Return a frame as `partywise.deployment.wire.interface.Transport.get` does."""
        return self.inbox.get(sender, tag, wait)

    def is_there(self, peer: str) -> bool:
        """Whether the process of a peer seems to live; `RefusalError` if another party answers in its place.

        False if no process listens any longer, or the host does not answer; one that hangs is there, and silent.
        """
        self._check_peer(peer)
        there: bool = self._ask(self._ways[peer].answers())
        return there

    def close(self) -> None:
        """Stop listening and give back all connections; a second time does nothing."""
        if not self._open:
            return
        self._open = False
        if self._own.mistaken:
            time.sleep(SHOWN)
        self._run_to_end(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        await self._pool.shutdown()
        end = time.monotonic() + 5 * GOODBYE
        while self._loop.is_connected() and time.monotonic() < end:
            await asyncio.sleep(0.005)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
        await self._loop.shutdown_default_executor()

    def _ask(self, question: Coroutine[object, None, T]) -> T:
        if not self._open:
            question.close()
            raise PartyError(f"{self.me!r} has left the network: its end was closed.")
        return self._run_to_end(question)

    def _run_to_end(self, question: Coroutine[object, None, T]) -> T:
        """Run a coroutine in the loop's thread and return its value."""
        return asyncio.run_coroutine_threadsafe(question, self._loop).result()

    def _check_peer(self, name: str) -> None:
        if name not in self.peers:
            raise ValueError(f"party {name!r} is not a peer of {self.me!r}; its peers are {self.peers}.")


def _check_addresses(me: str, addresses: Mapping[str, tuple[str, int]]) -> None:
    check_names(tuple(addresses))
    if me not in addresses:
        raise ValueError(f"me={me!r} has no address; {tuple(addresses)} have: give it host and port.")
    for name, (host, port) in addresses.items():
        if not isinstance(host, str) or not host or isinstance(port, bool) or not isinstance(port, int):
            raise ValueError(f"address {host!r}, {port!r} of {name!r}: give a host as text and a port as a number.")
        if not 0 < port < 2**16:
            raise ValueError(f"port={port} of {name!r} must be from 1 to {2**16 - 1}.")
    if len(set(addresses.values())) < len(addresses):
        raise ValueError(f"addresses of {tuple(addresses)}: two have one host and port; give each its own.")


def _unheard(me: str, host: str, port: int, error: OSError) -> PartyError:
    """Return the error of a party that cannot listen at an address."""
    if isinstance(error, socket.gaierror):
        why = "this host is not known here; correct host, or the name service"
    elif error.errno == errno.EADDRINUSE:
        why = "another process listens there; end it, or choose another port"
    elif error.errno == errno.EACCES:
        why = "ports below 1024 need permission; choose a higher one"
    elif error.errno == errno.EADDRNOTAVAIL:
        why = "this machine has no such address; give the one to listen on"
    else:
        why = error.strerror or str(error)
    return PartyError(f"{me!r} cannot listen at {host}:{port}: {why}.")


def _pools() -> ModuleType:
    """Import the module that needs the extra ``network``; ImportError with the remedy if it is absent."""
    try:
        from . import pool
    except ImportError as error:
        raise ImportError(
            f"a network of parties needs the package {error.name or 'tno.mpc.communication'}: "
            "pip install 'partywise[network]'."
        ) from error
    return pool
