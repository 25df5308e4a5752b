"""A wire tap over TLS, of every method that release mode accepts: peers keep what their links return.

Nothing that crosses closed is readable, and what every party paid is what the union of all accounts charges.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deployment_driver import Notes, threads
from every_protocol import fits, generated, planned
from network_driver import addresses, ends
from partywise.deployment.outcomes.joint_results import union
from partywise.deployment.session.link import SessionLink
from partywise.deployment.wire import authority
from partywise.experiment.cells import execution
from partywise.federation.account.rows import SentMessage
from partywise.federation.channel import Channel
from partywise.federation.cipher import Cipher
from partywise.federation.exchanges.homomorphic import ciphertexts, paillier
from partywise.federation.exchanges.residues import Ring
from partywise.federation.parties import Party
from partywise.federation.run import Run
from partywise.federation.secure_streams import SecureStreams
from partywise.privacy.ledger.event import UNNAMED, Event
from release_table import written

LEAST_KEY = 2048


def accepted() -> list[tuple[str, str, str, bool]]:
    """Study, case and method of what runs, and whether it needs another cipher than the shipped one."""
    modes = {names: mode for names, (_, mode, *_) in written().items()}
    found: dict[tuple[str, str], tuple[str, str, str, bool]] = {}
    for study, case, method in fits():
        mode = modes.get((study, method), "")
        if mode.startswith(("runs", "no noise")):
            found.setdefault((study, method), (study, case, method, "paillier" in mode))
    return list(found.values())


@dataclass
class Tap:
    """What crossed, and what was closed before: the codecs of every plaintext."""

    heard: list[tuple[str, Any]] = field(default_factory=list)
    plain: set[bytes] = field(default_factory=set)

    def encrypted(self, values: list[Any], public: Any) -> None:
        """Integers that are about to be closed, or were opened: as they would stand in a stand-in, and in 8 bytes."""
        self.plain.add(ciphertexts.to_content(values).tobytes())
        self.plain |= {int(v).to_bytes(8, "little", signed=True) for v in values if 2**24 < abs(v) < 2**62}
        self.plain |= {int(v).to_bytes(8, "big", signed=True) for v in values if 2**24 < abs(v) < 2**62}

    def encoded(self, residues: np.ndarray) -> None:
        """Numbers in the ring, before they are masked."""
        if residues.size > 1:
            self.plain.add(residues.tobytes())

    def readable(self) -> list[str]:
        """Names of messages that show a plaintext."""
        numbers = np.frombuffer(b"".join(plain for plain in self.plain if len(plain) == 8), np.uint64)
        short = [plain for plain in self.plain if len(plain) < 8]
        found = []
        for name, payload in self.heard:
            content = payload if isinstance(payload, Cipher) else getattr(payload, "value", None)
            if isinstance(content, Cipher) and isinstance(content.content, np.ndarray):
                data = content.content.tobytes()
                shown = (len(data) > 8 and data in self.plain) or holds_any(data, numbers)
                found += [name] * (shown or any(plain in data for plain in short))
        return found


def holds_any(data: bytes, numbers: np.ndarray) -> bool:
    """Whether any of some numbers of eight bytes stands in the data, at whatever byte it begins."""
    starts = range(min(8, len(data) - 7))
    words = (np.frombuffer(data, np.uint64, (len(data) - start) // 8, start) for start in starts)
    return any(np.isin(some, numbers).any() for some in words)


@pytest.fixture
def tap(monkeypatch) -> Tap:
    tapped = Tap()
    get, room, encoded = SessionLink.get, paillier.require_room, Ring.encode

    def kept(self, step, sender, receiver, name):
        payload = get(self, step, sender, receiver, name)
        tapped.heard.append((name, payload))
        return payload

    def seen(values, public):
        tapped.encrypted(values, public)
        return room(values, public)

    def residues(self, *given):
        made = encoded(self, *given)
        tapped.encoded(made)
        return made

    monkeypatch.setattr(SessionLink, "get", kept)
    monkeypatch.setattr(paillier, "require_room", seen)
    monkeypatch.setattr(Ring, "encode", residues)
    return tapped


@pytest.fixture(scope="module")
def certificates(tmp_path_factory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("tapped") / "certificates"
    names = {name for study, case, method, _ in accepted() for name in started(study, case, method, False).names}
    authority.make(folder, sorted(names))
    yield folder


def started(study: str, case: str, method: str, paillier: bool, *, real: bool = True) -> Run:
    """A run of a small case with secret randomness; with a real cipher where that is asked for."""
    plan = planned(study)
    given = plan.cases[case].parties[0], 0, plan.epsilons(case, method)[0], generated(study, case)
    run = execution(plan, case, method, *given)
    if paillier:
        run.spec = replace(run.spec, options=replace(run.spec.options, cipher="paillier", key_size=LEAST_KEY))
    more: dict[str, Any] = {"epsilon": run.epsilon, "fold": run.fold, "spec": run.spec, "real": real}
    extra = run.names[len(run.parties) :]
    return Run(run.parties, rng_for=SecureStreams(run.rng_for), extra=extra, **more)


def apart(folder: Path, make: Callable[[], Run], fit: Any) -> tuple[Channel, dict[str, Notes]]:
    """Every place a thread with connections of its own, and only its own block; the union of what they wrote down."""
    names, holders = make().names, {party.name for party in make().parties}
    runs = {}
    for me in names:
        run = make()
        run.parties = tuple(p if p.name == me else Party(p.name, p.role, {}, p.columns) for p in run.parties)
        runs[me] = run
    accounts = {name: Notes(name) for name in names}
    assert holders <= set(names)
    with warnings.catch_warnings(), ends(folder, addresses(names), *names) as made:
        warnings.simplefilter("ignore")
        found = threads(fit, runs, dict(zip(names, made, strict=True)), account=accounts, patience=60.0)
    for one in found.values():
        if isinstance(one, BaseException):
            raise one
    rows = [row for notes in accounts.values() for row in notes.rows]
    return union(names, rows), accounts


def check_accounts(channel: Channel, accounts: dict[str, Notes], holders: set[str]) -> None:
    """What every party paid is what the union charges it for: values in the clear, and the noise on its data.

    Noise on the data of some parties that nobody owns is charged to every view, and paid by those whose data it is of.
    """
    rows, unowned = channel.ledger.rows, Counter[tuple[Any, Any]]()
    for name, notes in accounts.items():
        paid = {event.release_id for event in notes.paid if event.mechanism == "none"}
        sent = {m.event for m in channel.messages if m.sender == name and m.kind == "clear" and m.event}
        assert paid == {row.release_id for row in rows if row.mechanism == "none" and f"/{name}>" in row.release_id}
        assert sent <= paid | {row.release_id for row in rows if row.mechanism == "post_processing"}
        if name in holders:
            drawn = [event for event in notes.paid if event.mechanism != "none"]
            owned = counted(event for event in drawn if event.owner != UNNAMED)
            assert owned == counted(row for row in rows if name in (row.owner, *row.owners)), name
            unowned |= counted(event for event in drawn if event.owner == UNNAMED)
    assert unowned == counted(row for row in rows if row.owner == UNNAMED)


def counted(events: Iterable[Event]) -> Counter[tuple[Any, Any]]:
    """How often a mechanism was applied at a privacy profile."""
    kept = [one for one in events if one.profile is not None and one.mechanism not in ("post_processing", "budget")]
    return Counter((one.mechanism, one.profile) for one in kept)


def test_every_method_that_the_page_accepts_is_tapped():
    """An empty list would be a test without a case; that the page is what the code accepts is tested beside it."""
    accepting = [mode for _, mode, *_ in written().values() if not mode.startswith("refused")]
    assert len({(study, method) for study, _, method, _ in accepted()}) == len(accepting) >= 30


def one_of_each_protocol() -> Iterator[Any]:
    """The first accepted method of every protocol; the others are part of `./run test --long`."""
    seen = set()
    for study, case, method, other in accepted():
        program = planned(study).methods[method].protocol.fit
        marks = pytest.mark.statistical if program in seen else []
        yield pytest.param((study, case, method, other), marks=marks, id=f"{study}/{case}/{method}")
        seen.add(program)


@pytest.mark.parametrize("fit", list(one_of_each_protocol()))
def test_nothing_that_crosses_closed_is_readable_and_accounts_are_the_union(fit, tap, certificates):
    study, case, method, other = fit
    program = planned(study).methods[method].protocol.fit
    channel, accounts = apart(certificates, lambda: started(study, case, method, other), program)
    assert tap.readable() == []
    assert all(payload.closes or not payload.made_of for _, payload in tap.heard if isinstance(payload, Cipher))
    holders = {party.name for party in started(study, case, method, other).parties}
    check_accounts(channel, accounts, holders)
    sizes = {row.step: row.size for notes in accounts.values() for row in notes.rows if isinstance(row, SentMessage)}
    assert sum(sizes.values()) == channel.bytes_total


def test_a_number_is_found_at_every_byte_of_a_message():
    data, rest = np.random.default_rng(3).bytes(40), np.frombuffer(bytes(8), np.uint64)
    for length in range(8, 41):
        for start in range(length - 7):
            assert holds_any(data[:length], np.frombuffer(data[start : start + 8], np.uint64))
    assert not holds_any(data, rest) and not holds_any(data[:7], np.frombuffer(data[:8], np.uint64))


@pytest.mark.parametrize("real", [False, True])
def test_a_cipher_that_closes_nothing_is_read_charged_and_counted(tap, certificates, real):
    """Sized gradients of trees: 320 of 320 labels were read, paid with nothing, and counted 50 times."""
    study, case, method = "vertical_trees", "generated", "certified_tables"
    program = planned(study).methods[method].protocol.fit
    channel, accounts = apart(certificates, lambda: started(study, case, method, False, real=real), program)
    assert tap.readable(), "the tap reads what is open"
    sent = next(message for message in channel.messages if message.name == "gradients")
    epsilon = channel.ledger.total("passive 1", "label", 1e-5).epsilon_certified
    paid = [event for event in accounts["active"].paid if event.mechanism == "none"]
    if real:
        content = next(payload for name, payload in tap.heard if name == "gradients").value.content
        assert (sent.kind, sent.bytes) == ("clear", content.nbytes) and epsilon == np.inf
        assert {unit for event in paid for unit in event.unit.split(";")} == {"features", "label"}
    else:
        assert sent.kind == "cipher" and epsilon == 0 and not paid
        assert sent.bytes > 20 * next(payload for name, payload in tap.heard if name == "gradients").content.nbytes
