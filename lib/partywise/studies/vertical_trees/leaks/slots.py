"""Noisy histograms under audit: gradients in the clear next to the hessians of pairs, and the masks that hide them.

Everything is the protocol's own except the gradients, which are given, and the cipher, whose substitute computes the
same integers.  The attacker is the key holder: it reads all slots of what it decrypts.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ....audits.exposure import AttackedPair, Exposure, Task
from ....audits.pairs import CHUNK, ClearPair, GaussianPair
from ....audits.worlds import AuditData, World
from ....core.randomness import Rng
from ....federation.cipher import Cipher
from ....federation.exchanges.homomorphic import paillier
from ....federation.exchanges.homomorphic.paillier_keys import PrivateKey, generate_key
from ....federation.exchanges.homomorphic.slots import merge_slots
from ....federation.folds import Spec
from ....federation.parties import Party
from ....methods.trees.histograms.assemble import integers_of
from ....methods.trees.histograms.plan import HistogramPlan, histogram_plan
from ....methods.trees.histograms.slots import open_slots, read
from ....methods.trees.model import TreeColumn, TreeFacts
from ....methods.trees.options import TablesOptions
from ....methods.trees.protocols.tables import local_histograms, local_sums
from ....privacy.accounted_values import Public
from ....privacy.mechanisms.random import integer_noise
from ..claims import SlotSettings
from ..study import TreeConstants

OPTIONS = TablesOptions(cipher="sized")
# The place of an audit that gets what is sent.
RECEIVER = "server"


def moved_record(settings: SlotSettings, spec: object, rng_for: Rng, resources: Path) -> AuditData:
    """All features of a record with the largest gradient move past every edge; ordinarily those of any record.

    Labels are gradients, which belong to the receiver and are the same in all worlds.
    """
    rng = rng_for("records")
    x = np.repeat(rng.random((1, settings.n, settings.n_features)), 4, axis=0)
    y = np.repeat(rng.uniform(-0.9, 0.9, (1, settings.n)), 4, axis=0)
    x[0, 0], x[1, 0], x[3, 1] = 0.0, 1.0, rng.random(settings.n_features)
    y[:, 0] = 1.0
    return AuditData(x, y)


@dataclass(frozen=True)
class TablesPair(GaussianPair):
    """Tables with integer noise, as the key holder has them: the entries that differ, in the units of the certificate.

    units : what a step of every entry is worth
    """

    units: np.ndarray | None = None

    def scores(self, rng: np.random.Generator, draws: int, world: int) -> np.ndarray:
        """Log-likelihood ratios (up to a constant) of releases in one world, noise by the mechanism's sampler."""
        assert self.units is not None and not isinstance(self.noise, np.ndarray)
        value = np.asarray((self.first, self.second)[world])
        step = max(1, CHUNK // value.size)
        parts = []
        for start in range(0, draws, step):
            count = min(step, draws - start)
            noise = [integer_noise(rng, self.noise / unit, count, "rounded") * unit for unit in self.units.tolist()]
            parts.append(self._score(value + np.stack(noise, axis=1)))
        return np.concatenate(parts)


def slots_published(task: Task[SlotSettings]) -> Exposure:
    """The sums of gradients over pair cells come back with those of hessians, which have all the noise."""
    return _exposure(task, masked=False)


def slots_corrected(task: Task[SlotSettings]) -> Exposure:
    """The sums with a mask on every gradient of a pair cell: what is left are tables with their noise."""
    return _exposure(task, masked=True)


def _exposure(task: Task[SlotSettings], masked: bool) -> Exposure:
    plan, private = _plan(task), _key(task)
    share, owner = plan.share(task.owner), _owner(task, task.worst[0])
    units = share.cells.units(share.ratio)

    def integers(world: World) -> list[int]:
        """Return the sums of an owner, without noise."""
        return paillier.decrypt(private, _sums(task, plan, private, world)[0])

    def pair_of(data: World, neighbour: World) -> AttackedPair:
        if not masked:
            # No noise is in these slots.
            return ClearPair(*(np.array(open_slots(integers(w), share, plan), dtype=float) for w in (data, neighbour)))
        first, second = (read(integers(world), share, plan) * units for world in (data, neighbour))
        # One entry stays where none moved, as in worlds that only look different.
        moved = (first != second) | (np.arange(len(first)) == 0)
        return TablesPair(first[moved], second[moved], plan.sigma, units=units[moved])

    sums = _sums(task, plan, private, task.worst[0])
    reply = local_histograms(owner, private.public, sums, plan, RECEIVER, masked, task.rng_for)
    readable = [
        abs(x) <= task.settings.n << 32 for x in open_slots(paillier.decrypt(private, reply.value), share, plan)
    ]
    numbers = {
        "noise_sd": plan.sigma,
        "recovered_share": float(np.mean(readable)),
        "recovered_entries": int(np.sum(readable)),
    }
    return Exposure({0: reply}, task.pairs(pair_of), numbers)


def _plan(task: Task[SlotSettings]) -> HistogramPlan:
    """The public plan of one owner of features next to the party with the gradients."""
    settings = task.settings
    cuts = Public(np.arange(1, settings.n_bins) / settings.n_bins, because="equal parts of [0, 1], a setting")
    columns = tuple(TreeColumn(f"x{j}", cuts) for j in range(settings.n_features))
    facts = TreeFacts(columns, "CrossEntropyLoss")
    spec = Spec(OPTIONS, TreeConstants(delta=task.delta), None, facts)
    return histogram_plan(spec, [(task.owner, tuple(range(settings.n_features)))], settings.n, task.epsilon)


def _key(task: Task[SlotSettings]) -> PrivateKey:
    return generate_key(OPTIONS.key_size, task.rng_for("key"), kind=OPTIONS.cipher)


def _owner(task: Task[SlotSettings], world: World) -> Party:
    return Party(task.owner, "passive", {"X": world.x}, tuple(range(task.settings.n_features)))


def _sums(task: Task[SlotSettings], plan: HistogramPlan, private: PrivateKey, world: World) -> tuple[Cipher, int]:
    """Return the sums that an owner makes of encrypted gradients, in any world."""
    slots = merge_slots(integers_of(world.y, plan), plan.bits)
    records = paillier.encrypt(private, slots, task.rng_for("gradients"), key_holder=RECEIVER)
    train = np.ones(len(world.x), dtype=bool)
    return local_sums(_owner(task, world), train, private.public, records, plan)
