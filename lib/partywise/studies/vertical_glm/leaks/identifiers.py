"""Seed 004 under audit: hashes of identifiers, and lists that are blinded by all parties."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ....alignment.identifiers import hash_identifiers
from ....audits.attacks.messages import attack_ids, dictionary_attack, sha256_digest
from ....audits.exposure import Exposure, Task
from ....audits.pairs import ClearPair
from ....audits.worlds import AuditData, World
from ....core.randomness import Rng
from ....federation.exchanges.common_tokens import local_order
from ....federation.exchanges.psi import local_exponent, local_first, local_last, local_points, points_of
from ....federation.parties import Party
from ....privacy.accounted_values import Clear
from ..claims import ExchangeSettings


def replaced_identifier(settings: ExchangeSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """Distinct identifiers, numbers that are kept as labels, of which one is another; features are absent."""
    drawn = rng_for("identifiers").permutation(settings.population)[: settings.n + 1].astype(float)
    y = np.repeat(drawn[None], 4, axis=0)
    y[1::2, 0] = drawn[-1]
    return AuditData(np.zeros((4, settings.n, settings.p)), y[:, :-1])


def hashes(task: Task[ExchangeSettings]) -> Exposure:
    """SHA-256 of identifiers, inverted by hashing the whole identifier scheme."""
    names = identifiers(task.worst[0])
    sent = hash_identifiers(names)
    recovered = dictionary_attack(sent, (f"PATIENT_{i:05d}" for i in range(task.settings.population)))
    right = sum(recovered.get(digest) == name for digest, name in zip(sent, names, strict=True))
    payload = Clear(sent, units=("row",), owner=task.owner)
    pairs = task.pairs(lambda data, neighbour: ClearPair(_hashes(data), _hashes(neighbour)))
    return Exposure({0: payload}, pairs, {"recovered_share": right / len(sent), "recovered_entries": right})


def intersection(task: Task[ExchangeSettings]) -> Exposure:
    """The list as the matcher has it after the exponents of both parties, against a dictionary of nothing but it.

    That entries agree with those of the other party, who has all identifiers of the first world, stays disclosed.
    """
    names = identifiers(task.worst[0])
    owner, other = Party(task.owner, "active", {}), Party("other party", "passive", {})
    points = local_points(owner, names, local_order(owner, names, task.rng_for))
    closed = local_first(owner, points, local_exponent(owner, task.rng_for))
    payload = local_last(other, closed, local_exponent(other, task.rng_for), task.owner)
    seen = [row.tobytes() for row in payload.value]
    # Whatever anybody can compute of an identifier without an exponent.
    tried = [attack_ids(seen, names, names, digest) for digest in (_point, _digest)]
    common = set(names)

    def n_common(world: World) -> float:
        return float(len(common & set(identifiers(world))))

    pairs = task.pairs(lambda data, neighbour: ClearPair(n_common(data), n_common(neighbour)))
    numbers = {"recovered_share": max(tried), "recovered_entries": round(max(tried) * len(names))}
    return Exposure({0: payload}, pairs, numbers)


def _point(name: str) -> bytes:
    return bytes(points_of([name])[0].tobytes())


def _digest(name: str) -> bytes:
    return bytes.fromhex(sha256_digest(name))


def identifiers(world: World) -> list[str]:
    """Identifiers in the scheme of the source, such as PATIENT_00042."""
    return [f"PATIENT_{int(number):05d}" for number in world.y]


def _hashes(world: World) -> np.ndarray:
    return np.array(hash_identifiers(identifiers(world)))
