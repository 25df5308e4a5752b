"""One session between processes: who takes part and that all run the same, until all are done or all know why not.

hello: digests of the configuration and of the library's code, a random nonce, facts that parties must have alike, and
the platform, whose differences are reported. ready: digests of all hellos, the id of the session, a digest of them,
and a salt for its receiver alone. Then one or more runs, one after the other, each with an id of its own. done, of each
run: as many steps as all parties, and how the account of each ends then, signed where parties have certificates. abort:
the one sentence that ended the session. A party that waits watches the others (`watch`).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import TypedDict

from ...core.errors import PartyError, RefusalError, Unreachable
from ...federation.account.interface import PartyAccount
from ...federation.account.rows import KnownEnd
from ...federation.identity import join_parts
from ..wire.credential import statement
from ..wire.interface import LONG, Transport, printable
from ..wire.journal import Journal
from .last_frames import run_id
from .platforms import differences, platform_of_process
from .watch import LOG, LONGEST, PULSE, QUIET, Watch, abort_notice, place_of, read_notice

# Peers that are told at a time why the run is over.
AT_ONCE = 32
# Packages in which everybody computes what all can compute, and draws what all may know.
BESIDE = ("numpy", "scipy")
SALT = re.compile("[0-9a-f]{64}")


class Hello(TypedDict):
    """First notice of a party: its name, and what all parties must have alike."""

    party: str
    configuration: str
    library: str
    nonce: str
    facts: dict[str, str]
    platform: dict[str, str]
    account: str
    ends: dict[str, list[KnownEnd]]


# What may differ when a party goes on: the account has grown since it said hello.
GROWING = ("account", "ends")


class Session:
    """One party's side of a session: the state that all its runs share.

    configuration : digest of what all parties share
    patience : seconds after which a party that has not come, or that neither sends nor waits itself, is missing, more
        than any party computes between two messages (`partywise.deployment.session.watch`)
    facts : digests that all parties that state them must have alike, such as one of the order of the records
    same_platform : whether a party whose platform differs is refused (`partywise.deployment.session.platforms`) or
        warned
    journal : that of the transport, with which a party that was killed takes its place again
    account : that of the party, peers that saw an end of it that it has lost are right (`PartyAccount.holds`)

    Once the parties have met: ``id``, ``platforms`` (how they differ, in one sentence), ``accounts`` (their ids by
    party) and ``untold``, the peers that nothing has reached yet and that may come until ``meet_by``.
    """

    def __init__(
        self,
        transport: Transport,
        configuration: str,
        *,
        patience: float = 60.0,
        facts: Mapping[str, str] | None = None,
        same_platform: bool = False,
        journal: Journal | None = None,
        deadline: float = math.inf,
        account: PartyAccount | None = None,
    ) -> None:
        self.watch = Watch(transport, patience, returning=journal is not None, deadline=deadline)
        self.transport, self.id = transport, ""
        self._journal, self._account = journal, account
        if journal is not None and journal.is_agreed and (agreed := journal.choice("session")):
            self.watch.run = run_id(agreed, 0)
        self.me, self.peers = transport.me, transport.peers
        self.platforms, self._same_platform = "", same_platform
        self.untold, self.meet_by = list(self.peers), monotonic() + patience
        self.accounts = dict[str, str]()
        # Of frames by sender and receiver, one of whom is this party: nobody else knows them (`frame_digest`).
        secret = self.choose("salt", lambda: secrets.token_hex(32))
        self.salts = {(self.me, peer): _salt_for(peer, secret) for peer in self.peers}
        self._said: dict[str, dict[str, object]] = {}
        self._digests = dict[str, str]()
        self._hello: Hello = {
            "party": self.me,
            "configuration": configuration,
            "library": library_digest(),
            "nonce": self.choose("nonce", lambda: secrets.token_hex(16)),
            "facts": dict(facts or {}),
            "platform": platform_of_process(),
            "account": "" if account is None else account.id,
            "ends": {} if account is None else {peer: account.known_ends(peer) for peer in sorted(self.peers)},
        }

    def choose(self, name: str, make: Callable[[], str]) -> str:
        """Return this party's choice in this session: made once, even if its process is killed and another goes on."""
        return make() if self._journal is None else self._journal.choose(name, make)

    def begin(self) -> str:
        """Meet all parties and agree on the session; return its id. PartyError: who did not come, or what differs."""
        first_hello: Hello = json.loads(self.choose("hello", lambda: json.dumps(self._hello)))
        before, now = ({k: v for k, v in hello.items() if k not in GROWING} for hello in (first_hello, self._hello))
        if before != now:
            raise PartyError(
                f"{self.me!r} cannot go on with its run: its list of records, or what it runs on, is another than it "
                "was."
            )
        self._hello = first_hello
        hellos = self._exchange_hellos()
        self._compare_platforms(hellos)
        lines = sorted(f"{peer} {digest}" for peer, digest in self._digests.items())
        self.id = hashlib.sha256("\n".join([self._hello["configuration"], *lines]).encode()).hexdigest()
        self.accounts = {self.me: self._hello["account"]} | {
            peer: printable(hello.get("account", ""), LONGEST) for peer, hello in hellos.items()
        }
        self.choose("session", lambda: self.id)
        salts = {peer: {"salt": self.salts[self.me, peer]} for peer in self.peers}
        notices = self.say_and_hear("ready", {"hellos": self._digests, "session": self.id}, salts)
        self.salts |= {(peer, self.me): _salt_of(peer, notice) for peer, notice in notices.items()}
        self.watch.start_clock()
        LOG.info("all parties are there: session %s", self.id[:12])
        return self.id

    def run(self, number: int) -> SessionRun:
        """Return one of the session's runs, by its number from 0."""
        return SessionRun(self, number)

    def abort(self, sentence: str, *, over: bool = True, agreed: bool = True) -> None:
        """Report to all peers that are not gone why the session has ended, for good or until all start again.

        Before all have met, peers that nothing has reached yet get the report when they come (`tell_end`). If this
        party has not ``agreed``, the session of its hello has begun nowhere: it is over for every peer with that hello.
        A peer with another hello of this party may have a run that is to go on.
        """
        sentence = self.watch.notice or sentence
        left = self.meet_by - monotonic()
        names = [peer for peer in self.peers if left > 0 or peer not in self.untold]

        def tell(peer: str) -> str:
            notice = abort_notice(sentence, over=over and (agreed or peer not in self.untold))
            with suppress(PartyError):
                self.transport.put(peer, "abort", notice)
                return peer
            return ""

        # Together: one that hangs takes seconds, in which the others would not know.
        with ThreadPoolExecutor(min(AT_ONCE, len(self.peers) or 1)) as tellers:
            known = list(tellers.map(tell, names))
        # Whoever heard it from another leaves those that come much later to that one.
        late = [peer for peer in self.untold if peer not in (*known, self.watch.author)]
        notice = abort_notice(sentence, over=over and agreed)
        tell_end(self.transport, late, notice, min(left, QUIET) if self.watch.notice else left)

    def _exchange_hellos(self) -> dict[str, dict[str, object]]:
        """Return the hello of every peer, after ours has reached it."""
        hello = json.dumps(self._hello).encode()
        hellos, looked = dict[str, dict[str, object]](), monotonic()
        self._digests = {self.me: hashlib.sha256(hello).hexdigest()}
        while self.untold or len(hellos) < len(self.peers):
            for peer in tuple(self.untold):
                if self._send_hello(peer, hello):
                    self.untold.remove(peer)
            missing = [peer for peer in self.peers if peer not in hellos]
            for position, peer in enumerate(missing):
                data = self.watch.poll(peer, "hello", self.watch.pulse / 5 if position == 0 else 0.0)
                if data is not None:
                    hellos[peer] = read_notice(peer, "hello", data)
                    self._check(peer, hellos[peer])
                    self._digests[peer] = hashlib.sha256(data).hexdigest()
            self.watch.raise_aborts()
            if monotonic() > looked + self.watch.pulse:
                looked = monotonic()
                self.watch.say(sorted({*self.untold, *missing}), "hello")
                self._still([peer for peer in self.peers if peer in hellos or peer not in self.untold])
            if monotonic() > self.meet_by:
                late = sorted({*self.untold, *missing})
                if not missing:
                    raise PartyError(
                        f"{late[0]!r} is there, but nothing of {self.me!r} reached it within "
                        f"patience={self.watch.patience:g} s: correct its host and port in the configuration, or its "
                        "firewall."
                    )
                raise PartyError(
                    f"{late[0]!r} has not come within patience={self.watch.patience:g} s: {self.me!r} waits for "
                    f"{', '.join(late)}; start every party."
                )
        return hellos

    def _still(self, there: list[str]) -> None:
        """Raise PartyError if one of the parties that have come is gone again."""
        gone = self.watch.find_missing(there[0], there) if there else ""
        if gone:
            raise self.watch.lost_sight(gone, "hello")

    def _send_hello(self, peer: str, hello: bytes) -> bool:
        try:
            self.transport.put(peer, "hello", hello)
        except Unreachable:
            return False
        except RefusalError:
            # Whoever refuses it says why to all.
            self.watch.raise_aborts(wait=self.watch.pulse)
            raise
        return True

    def _check(self, peer: str, hello: Mapping[str, object]) -> None:
        """Raise PartyError if a peer does not run the same."""
        my_hello = self._hello
        if hello.get("party") != peer:
            raise PartyError(f"{peer!r} claims to be {printable(hello.get('party'), 80)!r}: one certificate, one name.")
        for name, mine, remedy in (
            ("configuration", my_hello["configuration"], "give all parties the same file"),
            ("library", my_hello["library"], "install the same versions of partywise, numpy and scipy everywhere"),
        ):
            if hello.get(name) != mine:
                raise PartyError(
                    f"{peer!r} has another {name} ({printable(hello.get(name), 12)}) than {self.me!r} "
                    f"({mine[:12]}): {remedy}."
                )
        facts = hello.get("facts")
        if not isinstance(facts, dict) or not isinstance(hello.get("nonce"), str):
            raise PartyError(f"{peer!r} sent a hello without facts or nonce: it is not a party of this version.")
        for name in sorted({*facts} & {*my_hello["facts"]}):
            if facts[name] != my_hello["facts"][name]:
                raise PartyError(
                    f"{peer!r} has another {name} than {self.me!r}: their digests differ, so compare the files."
                )
        self._check_account(peer, hello.get("ends"))

    def _check_account(self, peer: str, ends: object) -> None:
        """Raise PartyError if a peer saw an end of this party's account that the account no longer has."""
        seen_ends = ends.get(self.me) if isinstance(ends, dict) else None
        if self._account is None or not self._account.id or not isinstance(seen_ends, list):
            return
        for end in seen_ends:
            if not isinstance(end, dict) or end.get("account") != self._account.id:
                continue
            rows, digest = end.get("rows"), end.get("digest")
            if not isinstance(rows, int) or not isinstance(digest, str) or not self._account.holds(rows, digest):
                raise PartyError(
                    f"the account of {self.me!r} lacks rows that {peer!r} saw at the end of a run "
                    f"({printable(rows, LONG)} rows, digest {printable(digest, 12)}): it is an older copy, and what it "
                    f"lacks was paid; put back the newest ledger.jsonl of {self.me!r}."
                )

    def _compare_platforms(self, hellos: Mapping[str, Mapping[str, object]]) -> None:
        """Keep how platforms differ; PartyError if they must not."""
        every: dict[str, Mapping[str, object]] = {**hellos, self.me: self._hello}
        self.platforms = differences({name: hello.get("platform") for name, hello in every.items()})
        if self.platforms and self._same_platform:
            raise PartyError(
                f"the platforms of the parties differ, and same_platform is true: {self.platforms}; install the same, "
                "or let last bits differ."
            )

    def say_and_hear(
        self, tag: str, notice: Mapping[str, object], per_peer: Mapping[str, Mapping[str, object]] | None = None
    ) -> dict[str, dict[str, object]]:
        """Send a notice to all peers, with an addition for each, and wait for the same from all; return their notices.

        A peer that has sent its notice need not be there any longer.
        """
        self._said = {}
        for peer in self.peers:
            self.watch.put(peer, tag, json.dumps({**notice, **(per_peer or {}).get(peer, {})}).encode())
        waiting, since = list(self.peers), dict.fromkeys(self.peers, monotonic())
        while waiting:
            waits = (self.watch.pulse, *(0.0 for _ in waiting[1:]))
            heard = [peer for peer, wait in zip(waiting, waits, strict=True) if self._same(peer, tag, notice, wait)]
            waiting = [peer for peer in waiting if peer not in heard]
            if waiting and not heard:
                waiting = self._late(waiting, since, tag, notice)
        return self._said

    def _late(self, waiting: list[str], since: dict[str, float], tag: str, notice: Mapping[str, object]) -> list[str]:
        """Look around and return the peers that are still waited for; PartyError if one of them will not come."""
        gone = self.watch.find_missing(waiting[0], waiting)
        if gone and not self._same(gone, tag, notice, 0.0):
            raise self.watch.lost_sight(gone, tag)
        left = []
        for peer in waiting:
            at = self.watch.waits_at(peer)
            if peer != gone and (at is None or at <= place_of(tag)):
                left.append(peer)
                since[peer] = since[peer] if at is None else monotonic()
            elif peer != gone and not self._same(peer, tag, notice, 0.0):
                raise self.watch.loss_error(peer, tag)
        self.watch.say(left, tag)
        self.watch.tell(tag)
        silent = self.watch.find_silent(since, left)
        # As of who is gone: what it said may have come since this party looked, and is known to have come there.
        if silent and not self._same(silent, tag, notice, 0.0):
            raise self.watch.silence_error(silent, tag)
        return [peer for peer in left if peer != silent]

    def _same(self, peer: str, tag: str, notice: Mapping[str, object], wait: float) -> bool:
        """Whether a peer has sent the same notice; PartyError if it sent another one."""
        data = self.watch.poll(peer, tag, wait)
        if data is None:
            return False
        answer = read_notice(peer, tag, data)
        for name, value in notice.items():
            if name == "hellos" and isinstance(theirs := answer.get(name), dict):
                _check_hellos(theirs, self._digests, peer, self.me, self.watch)
            if answer.get(name) != value:
                raise PartyError(
                    f"{peer!r} has {name} {printable(answer.get(name), 80)} at {tag!r}, {self.me!r} has {value}."
                )
        self._said[peer] = answer
        return True


class SessionRun:
    """One run of a session, as one party sees it; its number and the session's id make its own ``id``."""

    def __init__(self, session: Session, number: int) -> None:
        self.id = run_id(session.id, number)
        self.me, self.credential, self.platforms = session.me, session.transport.credential, session.platforms
        self._session, self._prefix = session, f"{number}/" if number else ""

    def choose(self, name: str, make: Callable[[], str]) -> str:
        """Return this party's choice in this run, as `Session.choose`."""
        return self._session.choose(self._prefix + name, make)

    def put(self, receiver: str, tag: str, data: bytes) -> None:
        """Hand a frame of this run to a peer; errors as of `Watch.put`."""
        self._session.watch.put(receiver, self._prefix + tag, data)

    def get(self, sender: str, tag: str) -> bytes:
        """Return the frame of a peer in this run; errors as of `Watch.get`."""
        return self._session.watch.get(sender, self._prefix + tag)

    def digest(self, sender: str, receiver: str, frame: bytes) -> str:
        """Return the digest of a frame that the accounts of both ends hold (`frame_digest`)."""
        return frame_digest(self._session.salts[sender, receiver], frame)

    def hear(self, tag: str, notice: Mapping[str, object]) -> dict[str, dict[str, object]]:
        """Send a notice of this party to all others; return theirs by name."""
        to_all = dict.fromkeys(self._session.peers, notice)
        return self._session.say_and_hear(f"{self._prefix}{tag}", {"run": self.id}, to_all)

    def end(self, steps: int, head: tuple[int, str]) -> dict[str, dict[str, object]]:
        """Wait until all parties are done after ``steps``; ``head`` is the end of this party's account (rows, digest).

        By party, this one included: ``rows``, ``digest``, ``certificate`` and ``signature``, which are empty where
        parties have no certificates. PartyError if a party is not done, took another number of steps, or signed
        something else.
        """
        my_head: dict[str, object] = {"rows": head[0], "digest": head[1], "certificate": "", "signature": ""}
        if self.credential is not None:
            my_head |= self.credential.sign(statement(self.id, self.me, my_head))
        notice = {"run": self.id, "steps": steps}
        to_all = {peer: {"head": my_head} for peer in self._session.peers}
        answers = self._session.say_and_hear(f"{self._prefix}done", notice, to_all)
        heads = {self.me: my_head} | {peer: self._head(peer, answer.get("head")) for peer, answer in answers.items()}
        return {name: head | {"account": self._session.accounts[name]} for name, head in heads.items()}

    def _head(self, peer: str, end: object) -> dict[str, object]:
        """Read the end of a peer's account; RefusalError unless it is signed when parties have certificates."""
        kinds = {"rows": int, "digest": str, "certificate": str, "signature": str}
        if not isinstance(end, dict) or any(type(end.get(name)) is not kind for name, kind in kinds.items()):
            raise RefusalError(
                f"{peer!r} ends without the end of its account: it is not a party of this version.", peer, "done"
            )
        head = {name: end[name] for name in kinds}
        problem = self.credential and self.credential.problem(peer, statement(self.id, peer, head), head)
        if problem:
            raise RefusalError(f"the end of the account of {peer!r} {problem}.", peer, "done")
        return head


def frame_digest(salt: str, frame: bytes) -> str:
    """Salted SHA-256 of a frame: without the salt of sender and receiver, guesses of its value cannot be tested."""
    digest = hashlib.sha256(join_parts("partywise frame 1", salt))
    # A frame may be large, and a network has it as a bytearray: it is neither copied nor written as text.
    digest.update(frame)
    return digest.hexdigest()


def _salt_for(peer: str, secret: str) -> str:
    """Return the salt of frames to a peer: as secret as ``secret``, and no hint to the salts of others."""
    return hashlib.sha256(join_parts("partywise salt 1", secret, peer)).hexdigest()


def _salt_of(peer: str, notice: Mapping[str, object]) -> str:
    """Return the salt of frames from a peer; RefusalError if it sent none."""
    salt = notice.get("salt")
    if not isinstance(salt, str) or not SALT.fullmatch(salt):
        raise RefusalError(f"{peer!r} is ready without a salt: it is not a party of this version.", peer, "ready")
    return salt


def tell_end(transport: Transport, names: Sequence[str], notice: bytes, patience: float) -> None:
    """Report to some peers why this party does not take part, to each when it comes, during ``patience`` seconds.

    No longer than until one of them has it from another party, which reports it to the rest.
    """
    untold, since, quiet = list(names), monotonic(), QUIET
    while untold and monotonic() < since + patience:
        if monotonic() > since + quiet:
            quiet = math.inf
            sentence = printable(json.loads(notice)["sentence"], LONGEST)
            LOG.info("notifying %s for %.0f s (Ctrl-C ends that): %s", ", ".join(untold), patience - QUIET, sentence)
        for peer in tuple(untold):
            with suppress(Unreachable):
                with suppress(RefusalError):
                    transport.put(peer, "abort", notice)
                untold.remove(peer)
        with suppress(RefusalError):
            if any(transport.get(peer, "abort", min(PULSE / 10, patience / 40)) for peer in untold):
                return


def _check_hellos(theirs: Mapping[str, object], digests: Mapping[str, str], peer: str, me: str, watch: Watch) -> None:
    """Raise PartyError if a party sent another hello to a peer than to this party."""
    for name, digest in digests.items():
        if theirs.get(name) != digest:
            raise PartyError(
                f"{name!r} sent another hello to {peer!r} than to {me!r}: it began anew, or two processes have its "
                f"name{watch.remedy(name)}."
            )


@cache
def library_digest() -> str:
    """SHA-256 of the library's code, names and bytes of all its modules, and of the versions of its numerical packages.

    A generator of another version may draw other batches from the same seed, and no party would notice.
    """
    root, total = Path(__file__).parents[2], hashlib.sha256()
    for name in BESIDE:
        total.update(f"{name} {version(name)}\n".encode())
    for path in sorted(root.rglob("*.py")):
        code = path.read_bytes()
        total.update(f"{path.relative_to(root).as_posix()} {len(code)}\n".encode() + code)
    return total.hexdigest()
