"""Certificates of every wrong kind: refused in one sentence that names the party, on both sides."""

from __future__ import annotations

import hashlib
import re
import shutil
import socket
import ssl
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from network_driver import addresses, credentials, ends, posted, signers
from partywise.core.errors import ConfigError, PartyError, RefusalError, Unreachable
from partywise.deployment.wire import authority, network
from partywise.deployment.wire.credential import chain_problem, expiry_warning, weakness
from partywise.deployment.wire.network import Network
from partywise.deployment.wire.tls import (
    certificate_names,
    client_context,
    host_name,
    name_refusal,
    named_parties,
    own_problem,
    server_context,
)

NAMES = ("bank", "shop")
ITSELF = r"'bank' at \S+ cannot take 'shop': its certificate "
# Another certificate of `shop`: how it is made, what `bank` says of it, and what `shop` says of itself.
WRONG = {
    "expired": ({"begin": -3, "end": -1}, "its certificate has expired", ITSELF + "has expired"),
    "not yet valid": ({"begin": 1, "end": 3}, "its certificate is not valid yet", ITSELF + "is not valid yet"),
    "of another party": ({"shown": "bank"}, "its certificate is not that of 'shop'", ITSELF + "is not that of 'shop'"),
    "of another authority": (
        {},
        "its certificate is not of the authority in authority.pem",
        r"'bank' at \S+ is refused: its certificate is not of",
    ),
}


@pytest.fixture(autouse=True)
def brisk(monkeypatch):
    """Stay a second where a certificate is wrong, in which the other side meets it as well."""
    monkeypatch.setattr(network, "SHOWN", 1.0)


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_certificate_ends_both_sides_in_one_sentence_within_seconds(tmp_path, kind):
    made, of_the_peer, of_itself = WRONG[kind]
    own, other = signers(2)
    credentials(tmp_path / "bank", "bank", own)
    credentials(tmp_path / "shop", "shop", other if kind == "of another authority" else own, **made)
    places, said, begun = addresses(NAMES), {}, time.monotonic()

    def party(me: str, peer: str) -> None:
        end = Network(me, places, tmp_path / me)
        try:
            while time.monotonic() - begun < 8:
                try:
                    end.put(peer, "hello", b"x")
                    break
                except Unreachable:
                    time.sleep(0.05)
        except PartyError as error:
            said[me] = error, time.monotonic() - begun
        finally:
            end.close()

    threads = [Thread(target=party, args=pair) for pair in (NAMES, NAMES[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert isinstance(said["bank"][0], RefusalError) and isinstance(said["shop"][0], RefusalError)
    assert re.match(rf"'shop' at 127.0.0.1:\d+ is refused: {of_the_peer}", str(said["bank"][0]))
    assert re.match(of_itself, str(said["shop"][0]))
    assert max(seconds for _, seconds in said.values()) < 10


def test_a_party_with_the_certificate_of_a_third_sends_nothing_in_its_name(tmp_path):
    names = ("bank", "shop", "post")
    (own,) = signers(1)
    for me in names[:2]:
        credentials(tmp_path / me, me, own, shown="post" if me == "shop" else None)
    places = addresses(names)
    with ends(tmp_path / "bank", places, "bank") as (bank,), ends(tmp_path / "shop", places, "shop") as (shop,):
        for ask in (lambda: shop.put("bank", "hello", b"x"), lambda: shop.is_there("bank")):
            with pytest.raises(
                RefusalError, match=r"'bank' at .* cannot take 'shop': its certificate is not that of 'shop'"
            ):
                ask()
        assert bank.get("post", "hello", 0.1) is None


def test_parties_of_one_host_cannot_pose_as_each_other(tmp_path):
    """A party that listens at another's port is told from it by its certificate, whatever host both have."""
    names = ("bank", "shop", "post")
    authority.make(tmp_path / "all", names)
    places = addresses(names)
    swapped = places | {"shop": places["post"], "post": places["shop"]}
    refused = pytest.raises(RefusalError, match=r"'shop' at .* is refused: its certificate is not that of 'shop'")
    with ends(tmp_path / "all", places, "bank") as (bank,), ends(tmp_path / "all", swapped, "post"), refused:
        bank.put("shop", "hello", b"x")


def test_a_stranger_without_a_certificate_of_the_authority_is_not_answered(tmp_path):
    """Not even what an answer would be; whoever has one is heard meanwhile."""
    own, other = signers(2)
    for me in NAMES:
        credentials(tmp_path / me, me, own)
    stranger = credentials(tmp_path / "stranger", "shop", other)
    expired = credentials(tmp_path / "expired", "shop", own, begin=-3, end=-1)
    old = client_context(tmp_path / "shop", "shop")
    old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_2
    places = addresses(NAMES)
    with ends(tmp_path / "bank", places, "bank") as (bank,), ends(tmp_path / "shop", places, "shop") as (shop,):
        nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        for context in (client_context(stranger, "shop"), client_context(expired, "shop"), nobody, old):
            with pytest.raises(OSError):
                posted(places["bank"], context, b"\x00\x01xframe")
        shop.put("bank", "x", b"own")
        assert bank.get("shop", "x", 1) == b"own"


def test_a_key_that_others_can_read_is_refused(tmp_path):
    authority.make(tmp_path, NAMES)
    (tmp_path / "bank.key").chmod(0o640)
    with pytest.raises(PermissionError, match=r"bank.key can be read by others than its owner: chmod 600 bank.key"):
        Network("bank", addresses(NAMES), tmp_path)


@pytest.mark.parametrize("name", ["authority.pem", "bank.pem", "bank.key"])
def test_a_file_that_is_missing_or_none_is_named(tmp_path, name):
    authority.make(tmp_path, NAMES)
    kept = (tmp_path / name).read_bytes()
    (tmp_path / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"has no file {name}"):
        Network("bank", addresses(NAMES), tmp_path)
    (tmp_path / name).write_bytes(b"nothing")
    (tmp_path / name).chmod(0o600)
    with pytest.raises(ConfigError, match=rf"{name} holds no (certificate|private key) in PEM: put the file there"):
        Network("bank", addresses(NAMES), tmp_path)
    (tmp_path / name).write_bytes(kept)
    shutil.copy(tmp_path / "shop.key", tmp_path / "bank.key")
    with pytest.raises(
        ConfigError, match=r"authority.pem, bank.pem and bank.key are not an authority, certificate and its key"
    ):
        Network("bank", addresses(NAMES), tmp_path)


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(tmp_path):
    authority.make(tmp_path, NAMES)
    key = serialization.load_pem_private_key((tmp_path / "bank.key").read_bytes(), None)
    locked = serialization.BestAvailableEncryption(b"secret")
    forms = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    (tmp_path / "bank.key").write_bytes(key.private_bytes(*forms, locked))
    with pytest.raises(ValueError, match=r"and its key \(it has a password\)"):
        Network("bank", addresses(NAMES), tmp_path)


def test_certificates_hold_for_the_days_that_were_asked_for(tmp_path):
    authority.make(tmp_path, ("bank",), days=2)
    context = server_context(tmp_path, "bank")
    (signer,) = context.get_ca_certs()
    kept = ssl.cert_time_to_seconds(signer["notAfter"]) - time.time()
    assert 2 * 86400 - 60 < kept <= 2 * 86400
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {
        "authority.pem": 0o644,
        "authority.key": 0o600,
        "bank.pem": 0o644,
        "bank.key": 0o600,
    }


def test_names_that_dns_does_not_know_are_names_of_certificates_all_the_same(tmp_path):
    names = ("client 1", "client_1", "Client-1", "client-1", "x--a", "klinik süd", "café", "a" * 63)
    assert len({host_name(name) for name in names}) == len(names)
    assert host_name("client-1") == "client-1" and host_name("klinik süd") == "x--klinik-20s-c3-bcd"
    authority.make(tmp_path, [name for name in names if name != "Client-1"])
    for name in set(names) - {"Client-1"}:
        assert own_problem(server_context(tmp_path, name), client_context(tmp_path, name), name, tmp_path) is None


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        (["a/b"], "it names files"),
        ([".a"], "it names files"),
        (["Authority"], "do not use 'authority'"),
        (["a\nb"], "control characters"),
        (["=a"], "a spreadsheet takes"),
        ([" "], "give a name"),
        (["a" * 65], "a certificate has room for 64 characters"),
        (["ü" * 25], "a certificate has room"),
        (["bank", "bank"], "are the same"),
        (["bank", "Bank"], "differ in capitals alone"),
        ([], "give a name at least"),
    ],
)
def test_names_that_no_certificate_can_have_are_refused_before_anything_is_written(tmp_path, names, sentence):
    with pytest.raises(ValueError, match=sentence):
        authority.make(tmp_path / "new", names)
    assert not (tmp_path / "new").exists()


def test_an_authority_is_not_made_over_another(tmp_path):
    authority.make(tmp_path, NAMES)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(FileExistsError, match=r"holds authority.pem already: name a new folder"):
        authority.make(tmp_path, ("post",))
    with pytest.raises(ValueError, match="more than 0 days"):
        authority.make(tmp_path / "new", NAMES, days=0)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


HOSTS = {
    "bank": "b.example",
    "shop": "localhost",
    "post": "localhost",
    "hill": "10.0.0.7",
    "north": "south",
    "south": "x",
}


@pytest.mark.parametrize(
    ("names", "parties"),
    [
        (["bank"], ["bank"]),
        (["Org 4711", "B.example."], ["bank"]),
        (["b.example", "bank", "other.example"], ["bank"]),
        (["10.0.0.7"], ["hill"]),
        # Two parties are on one machine, whose name is neither's; a host that is the name of another is that other's.
        (["localhost"], []),
        (["south"], ["south"]),
        (["north", "south"], ["north", "south"]),
        (["bank", "10.0.0.7"], ["bank", "hill"]),
        (["*.example", "example", "b.example.org", ""], []),
        ([], []),
    ],
)
def test_a_certificate_names_parties_by_any_of_its_names(names, parties, tmp_path):
    """By common name and alternative names alike; never by a pattern."""
    made = shown(tmp_path, *names)
    assert named_parties(certificate_names(made), HOSTS) == parties
    for party in HOSTS:
        assert (name_refusal(made, party, HOSTS) == "") == (parties == [party])
    if len(parties) == 2:
        assert f"names '{parties[0]}' and '{parties[1]}': one certificate, one party" in name_refusal(
            made, parties[0], HOSTS
        )


def shown(folder: Path, *names: str, signer: Any = None, file: str = "shown") -> x509.Certificate:
    """A certificate of an organisation: its common name, if any, is the first, and all others are alternative ones."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name) for name in names[:1] if name])
    signing = (None, key) if signer is None else signer
    issuer = subject if signer is None else signer[0].subject
    built = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    built = built.serial_number(7).not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(hours=1))
    if alternatives := [alternative(name) for name in names[1:] if name]:
        built = built.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    made = built.sign(signing[1], hashes.SHA256())
    if signer is not None:
        folder.mkdir(exist_ok=True)
        authority.write(folder, "authority", *signer)
        authority.write(folder, file, made, key)
    return made


def alternative(name: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(name)) if name[0].isdigit() else x509.DNSName(name)


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        (("vm-4711", "shop"), ""),
        (("", "localhost"), ""),
        (("shop", "cluster.example"), ""),
        (("shop", "bank"), "its certificate names 'bank' and 'shop': one certificate, one party"),
        (
            ("vm-4711", "vm-4711.example"),
            r"its certificate is not that of 'shop' \(it is of vm-4711, vm-4711.example\)",
        ),
    ],
)
def test_a_party_is_known_by_any_name_of_its_certificate_and_signs_by_it(names, refused, tmp_path):
    """The host of the one party that is there names it; a certificate of two is taken for neither."""
    (own,) = signers(1)
    shown(tmp_path / "shop", *names, signer=own, file="shop")
    credentials(tmp_path / "bank", "bank", own)
    places = addresses(NAMES)
    places["shop"] = "localhost", places["shop"][1]
    with ends(tmp_path / "bank", places, "bank") as (bank,), ends(tmp_path / "shop", places, "shop") as (shop,):
        if refused:
            with pytest.raises(RefusalError, match=refused):
                bank.put("shop", "x", b"there")
            with pytest.raises(RefusalError, match=refused):
                shop.put("bank", "x", b"back")
            return
        bank.put("shop", "x", b"there")
        shop.put("bank", "x", b"back")
        assert (shop.get("bank", "x", 1), bank.get("shop", "x", 1)) == (b"there", b"back")
        signed = shop.credential.sign(b"words")
        assert bank.credential.problem("shop", b"words", signed) == ""
        assert bank.credential.problem("bank", b"words", signed) == "is signed with the certificate of another party"


@pytest.mark.parametrize("where", ["bank", "shop"])
def test_a_certificate_that_is_named_by_its_digest_is_the_only_one(where, tmp_path):
    """Whoever holds the key of the authority can make another one of that name."""
    (own,) = signers(1)
    for me in NAMES:
        credentials(tmp_path / me, me, own)
    places = addresses(NAMES)
    der = ssl.PEM_cert_to_DER_cert((tmp_path / "shop" / "shop.pem").read_text())
    right, wrong = {"shop": hashlib.sha256(der).hexdigest()}, {"shop": "0" * 64}
    refused = "its certificate is not the one that network.certificates has of 'shop': put that one back"
    at_bank = ends(tmp_path / "bank", places, "bank", pins=right)
    with at_bank as (bank,), ends(tmp_path / "shop", places, "shop", pins=right) as (shop,):
        bank.put("shop", "x", b"there")
        shop.put("bank", "x", b"back")
    at_bank = ends(tmp_path / "bank", places, "bank", pins=wrong if where == "bank" else None)
    at_shop = ends(tmp_path / "shop", places, "shop", pins=wrong if where == "shop" else None)
    with at_bank as (bank,), at_shop as (shop,):
        if where == "bank":
            with pytest.raises(RefusalError, match=refused):
                bank.put("shop", "x", b"there")
        with pytest.raises(RefusalError, match=refused):
            shop.put("bank", "x", b"back")


def test_where_others_reach_a_party_need_not_be_where_it_listens(tmp_path):
    """A forwarded port: what comes to one of this machine goes to another."""
    authority.make(tmp_path, NAMES)
    places, inside = addresses(NAMES), addresses(["inside"])["inside"]
    with socket.create_server(places["shop"]) as outside:
        forwarding = Thread(target=forward, args=(outside, inside), daemon=True)
        forwarding.start()
        with ends(tmp_path, places, "bank") as (bank,), ends(tmp_path, places, "shop", listen=inside) as (shop,):
            bank.put("shop", "x", b"there")
            shop.put("bank", "x", b"back")
            assert (shop.get("bank", "x", 1), bank.get("shop", "x", 1)) == (b"there", b"back")


def forward(outside: socket.socket, inside: tuple[str, int]) -> None:
    """Carry bytes between who connects to a socket and an address."""

    def carry(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(2**16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def connect(one: socket.socket) -> None:
        with one, suppress(OSError), socket.create_connection(inside) as other:
            back = Thread(target=carry, args=(other, one), daemon=True)
            back.start()
            carry(one, other)
            back.join()

    with suppress(OSError):
        while True:
            Thread(target=connect, args=(outside.accept()[0],), daemon=True).start()


def test_what_ends_soon_is_told_with_date_and_remedy(tmp_path):
    """Within 30 days and a third of its time, or before the run must have ended."""
    now = datetime.now(UTC)
    for days, told in ((29, ""), (9.9, "9 days and 21 hours"), (0.9, "0 days and 21 hours")):
        (own,) = signers(1)
        folder = credentials(tmp_path / str(days), "shop", own, begin=days - 30, end=days)
        (folder / "authority.pem").unlink()
        found = expiry_warning(folder, "shop", now)
        assert bool(told) == bool(found)
        if told:
            assert f"shop.pem ends on {now + timedelta(days=days):%Y-%m-%d %H:%M} UTC, in {told}: ask for a" in found
            assert found.endswith("(python -m partywise network certificates --request shop)")
    assert "shop.pem ends on" in expiry_warning(tmp_path / "29", "shop", now + timedelta(days=29.1))
    (own,) = signers(1)
    credentials(tmp_path / "over", "shop", own, begin=-3, end=-1)
    assert f"ended on {now - timedelta(days=1):%Y-%m-%d %H:%M} UTC (the clock here shows" in expiry_warning(
        tmp_path / "over", "shop", now
    )
    assert expiry_warning(tmp_path / "nowhere", "shop", now) == ""


def test_a_request_leaves_the_key_where_it_is_made_and_its_certificate_makes_a_connection(tmp_path):
    hosts = {"bank": "127.0.0.1", "klinik süd": "localhost"}
    for name, host in hosts.items():
        asked = authority.request(tmp_path / name, name, host)
        assert {path.suffix for path in (tmp_path / name).iterdir()} == {".key", ".csr"}
        assert (tmp_path / name / f"{name}.key").stat().st_mode & 0o777 == 0o600
        signed = authority.sign(tmp_path / "office", asked, hosts, days=2)
        for path in (signed, tmp_path / "office" / "authority.pem"):
            shutil.copy(path, tmp_path / name)
    assert not list((tmp_path / "office").glob("[!a]*.key"))
    ((bank, at_bank), (south, at_south)) = addresses(list(hosts)).items()
    places = {bank: at_bank, south: ("localhost", at_south[1])}
    with ends(tmp_path / bank, places, bank) as (one,), ends(tmp_path / south, places, south) as (other,):
        one.put(south, "x", b"there")
        assert other.get(bank, "x", 1) == b"there"
    # A renewal is of the same key, and of nobody else's.
    before = (tmp_path / "office" / "bank.pem").read_bytes(), (tmp_path / "bank" / "bank.key").read_bytes()
    again = authority.sign(tmp_path / "office", authority.request(tmp_path / "bank", "bank", "127.0.0.1"), hosts)
    assert again.read_bytes() != before[0] and (tmp_path / "bank" / "bank.key").read_bytes() == before[1]
    with pytest.raises(PartyError, match=r"bank.csr has another key than .*bank.pem: ask bank whether that is theirs"):
        authority.sign(tmp_path / "office", authority.request(tmp_path / "mallory", "bank", "127.0.0.1"), hosts)
    assert again.read_bytes() == (tmp_path / "office" / "bank.pem").read_bytes()


@pytest.mark.parametrize(
    ("name", "host", "words"),
    [
        ("mallory", "127.0.0.1", "it names mallory, 127.0.0.1, and the parties are bank, shop"),
        ("bank", "s.example", "it names 'bank' and 'shop': one certificate, one party"),
    ],
)
def test_a_request_of_a_stranger_or_for_two_parties_is_not_signed(name, host, words, tmp_path):
    asked = authority.request(tmp_path / "mine", name, host)
    hosts = {"bank": "b.example", "shop": "s.example"}
    with pytest.raises(PartyError, match=rf"{name}.csr is not signed: {words}"):
        authority.sign(tmp_path / "office", asked, hosts)
    asked.write_bytes(b"nothing")
    with pytest.raises(PartyError, match="is not a request for a certificate"):
        authority.sign(tmp_path / "office", asked, hosts)
    assert not (tmp_path / "office").exists()


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: rsa.generate_private_key(65537, 1024), "an RSA key of 1024 bits, fewer than 2048"),
        (lambda: rsa.generate_private_key(65537, 2048), ""),
        (lambda: ec.generate_private_key(ec.SECP256R1()), ""),
        (lambda: ec.generate_private_key(ec.SECP384R1()), ""),
        (lambda: ec.generate_private_key(ec.SECP256K1()), "a key of the curve secp256k1"),
        (ed25519.Ed25519PrivateKey.generate, ""),
        (ed448.Ed448PrivateKey.generate, "a key of a kind that is not used here"),
    ],
)
def test_keys_that_are_short_or_unusual_sign_nothing(made, words):
    found = weakness(made().public_key())
    assert found.startswith(words) and bool(found) == bool(words)


def pem(*certificates: x509.Certificate) -> str:
    return "".join(one.public_bytes(serialization.Encoding.PEM).decode() for one in certificates)


def kit(name: str, issuer: authority.Signer | None, *extensions: tuple[x509.ExtensionType, bool], days=(-2, 9)) -> Any:
    """A certificate with these extensions alone, as kits of others have them; its own issuer without one."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    by, signing = (subject, key) if issuer is None else (issuer[0].subject, issuer[1])
    begin, end = (now + timedelta(days=day) for day in days)
    built = x509.CertificateBuilder(by, subject, key.public_key(), 7, begin, end)
    for extension, critical in extensions:
        built = built.add_extension(extension, critical)
    return built.sign(signing, hashes.SHA256()), key


def usage(sign: bool) -> tuple[x509.KeyUsage, bool]:
    names = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign")
    rest = dict.fromkeys((*names, "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(digital_signature=not sign, key_cert_sign=sign, **rest), True


def ca(path_length: int | None = None) -> tuple[x509.BasicConstraints, bool]:
    return x509.BasicConstraints(True, path_length), False


UNKNOWN = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3"), b""), True


@pytest.mark.parametrize("plain", [False, True], ids=["own authority", "kit without key usage"])
def test_a_leaf_certificate_is_no_authority(plain):
    """Whoever has a certificate could sign for anybody: a chain needs CA flags, and each link its dates."""
    begin, end = (datetime.now(UTC) + timedelta(days=day) for day in (-2, 9))
    signer = kit("root", None, ca()) if plain else authority.new_authority(begin, end)
    leaf = kit("place", signer) if plain else authority.certificate("place", signer, begin, end)
    forged = kit("owner", leaf) if plain else authority.certificate("owner", leaf, begin, end)
    now, root = datetime.now(UTC), pem(signer[0])
    assert chain_problem(pem(leaf[0]), root, now) == "" == chain_problem(pem(leaf[0]), root)
    why = "is not of the authority in authority.pem .*basicConstraints.cA must be asserted in a CA certificate"
    assert re.search(why, chain_problem(pem(forged[0], leaf[0]), root, now))
    other = kit("root", None, ca()) if plain else authority.new_authority(begin, end)
    assert "is not of the authority in authority.pem" in chain_problem(pem(leaf[0]), pem(other[0]), now)
    assert "did not hold at" in chain_problem(pem(leaf[0]), root, now + timedelta(days=20))
    assert chain_problem("nothing", root, now) == "has a certificate that cannot be read"


@pytest.mark.parametrize(
    ("root", "between", "dates", "why"),
    [
        ([ca()], [ca()], (-2, 9), ""),
        ([ca(1)], [ca(0), usage(True)], (-2, 9), ""),
        ([ca(0)], [ca()], (-2, 9), "path length constraint violated"),
        ([ca()], [], (-2, 9), "cA must be asserted"),
        ([], [ca()], (-2, 9), "cA must be asserted"),
        ([ca()], [ca(), usage(False)], (-2, 9), "keyCertSign must be asserted"),
        (
            [ca()],
            [ca(), (x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3"), b""), True)],
            (-2, 9),
            "understood",
        ),
        ([ca()], [ca()], (-2, -1), "did not hold"),
    ],
)
def test_a_kit_that_states_no_key_usage_needs_flags_lengths_and_dates(root, between, dates, why):
    signer = kit("root", None, *root)
    middle = kit("middle", signer, *between, days=dates)
    leaf = kit("owner", middle)
    found = chain_problem(pem(leaf[0], middle[0]), pem(signer[0]), datetime.now(UTC))
    assert (why in found) if why else found == ""
    stranger = kit("middle", None, ca())
    assert "issued by another" in chain_problem(pem(leaf[0], stranger[0]), pem(signer[0]), datetime.now(UTC)) or why
