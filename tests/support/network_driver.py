"""Ends of a network on this machine: free ports, certificates of every wrong kind, and who has a program of its own."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

# Loaded once for all forks: it takes most of the time of a short one.
import partywise.deployment.wire.pool  # noqa: F401
from partywise.deployment.wire import authority
from partywise.deployment.wire.network import Network

HOST = "127.0.0.1"


def addresses(names: Sequence[str]) -> dict[str, tuple[str, int]]:
    """A free port of this machine for each name."""
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.socket()) for _ in names]
        for one in taken:
            one.bind((HOST, 0))
        return {name: (HOST, one.getsockname()[1]) for name, one in zip(names, taken, strict=True)}


@contextmanager
def ends(folder: Path, places: dict[str, tuple[str, int]], *here: str, **options: Any) -> Iterator[list[Network]]:
    """The ends of some parties in this process, all with the certificates of one folder."""
    with ExitStack() as stack:
        made = []
        for name in here:
            made.append(Network(name, places, folder, **options))
            stack.callback(made[-1].close)
        yield made


def credentials(
    folder: Path, me: str, signer: Any, shown: str | None = None, *, begin: float = -1, end: float = 1
) -> Path:
    """A folder with an authority and the certificate of a party: in whose name, and from which day to which."""
    folder.mkdir()
    now = datetime.now(UTC)
    authority.write(folder, "authority", *signer)
    made = authority.certificate(shown or me, signer, now + timedelta(days=begin), now + timedelta(days=end))
    authority.write(folder, me, *made)
    return folder


def signers(count: int) -> list[Any]:
    """As many authorities, of one name of the kind."""
    now = datetime.now(UTC)
    return [authority.new_authority(now - timedelta(days=9), now + timedelta(days=9)) for _ in range(count)]


def posted(place: tuple[str, int], context: ssl.SSLContext | None, body: bytes, **headers: str) -> tuple[int, str]:
    """What somebody with a program of its own is answered, who checks nothing; OSError if it is not let in."""
    if context is None:
        plain = http.client.HTTPConnection(*place, timeout=5)
    else:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        plain = http.client.HTTPSConnection(*place, timeout=5, context=context)
    try:
        plain.request("POST", "/", body=body, headers=headers)
        answer = plain.getresponse()
        return answer.status, answer.read().decode()
    except http.client.HTTPException as error:
        raise ConnectionError(str(error)) from error
    finally:
        plain.close()


def said(place: tuple[str, int], context: ssl.SSLContext, begin: bytes, patience: float = 2.0) -> str:
    """What somebody is answered who sends the beginning of a request and then waits."""
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(socket.create_connection(place, timeout=patience)) as connection:
        connection.sendall(begin)
        return connection.recv(10_000).decode()
