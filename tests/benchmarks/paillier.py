"""Paillier encryption against phe, and label scattering with real ciphers, at 2048 bits.

Against phe: pairs of runs side by side, medians of their ratios.  Encryption of 400 integers by the key holder, and by
everybody; sums of 400 ciphertexts over 50 bins of 7 columns; decryption.  Additions are compared with phe's of the
same integers, where both spend most of the time in one product modulo n^2, and of gradients as its users have them,
encrypted floats whose exponents have to be aligned.  Fails below 25 times phe's encryption or 2 times its addition of
gradients.  Label scattering: CPU seconds of fits of 14 generated columns at two parties, which fail above 2 s (200
rows, 2 trees) and 20 s (2000 rows, 10 trees), or if a tree differs from the pooled one of the same integers.  One tree
at the size of a9a fails above 0.3 of the time that it takes where every column is summed by itself, or if a byte
differs; ``--base CHECKOUT`` compares with an earlier commit instead.
"""

from __future__ import annotations

from _timing import ROOT, cpu_seconds

# isort: split

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
from phe import paillier as phe

from partywise.core.randomness import stream
from partywise.federation.exchanges.homomorphic import paillier
from partywise.federation.exchanges.homomorphic.ciphertexts import take
from partywise.federation.exchanges.homomorphic.paillier_keys import generate_key
from partywise.methods.trees.protocols.label_scattering import fit
from scattering_driver import make_run, pooled

BITS, COUNT, PAIRS = 2048, 400, 9
# phe is slow: so many encryptions and decryptions stand for the others.
FEW = 10
REQUIRED = {"encryption, key holder": 25.0, "addition, gradients": 2.0}
FITS = {(200, 2): 2.0, (2000, 10): 20.0}
SHARE = 0.3


def ratios() -> dict[str, tuple[float, float]]:
    """For every operation our rate a second, and the median over pairs of phe's time to ours."""
    key = generate_key(BITS, stream(1, "key"), kind="paillier")
    theirs = phe.PaillierPublicKey(int(key.public.modulus))
    private = phe.PaillierPrivateKey(theirs, int(key.p), int(key.q))
    values = [int(value) for value in stream(1, "values").integers(-(2**62), 2**62, COUNT)]
    cipher = paillier.encrypt(key, values, stream(1, "first"), key_holder="active")
    numbers = [theirs.encrypt(value) for value in values[:FEW]] * (COUNT // FEW)
    gradients = [theirs.encrypt(float(value)) for value in stream(1, "gradients").uniform(-1, 1, COUNT // FEW)] * FEW
    groups = stream(1, "groups").integers(0, 50, (7, COUNT))
    paillier.rerandomise(key.public, cipher, stream(1, "tables"))

    def summed(terms: list) -> None:
        for row in groups.tolist():
            totals: dict[int, object] = {}
            for group, term in zip(row, terms, strict=True):
                totals[group] = totals[group] + term if group in totals else term

    def closed(form) -> Callable[[], object]:
        return lambda: paillier.encrypt(form, values, stream(1, "again"), key_holder="active")

    slow = numbers[:FEW]
    few, added = take(cipher, np.arange(FEW)), paillier.additions(groups)

    def ours() -> object:
        return paillier.sums(key.public, cipher, groups, 50)

    operations = {
        "encryption, key holder": (closed(key), COUNT, lambda: [theirs.encrypt(v) for v in values[:FEW]], FEW),
        "encryption, public": (closed(key.public), COUNT, lambda: [theirs.encrypt(v) for v in values[:FEW]], FEW),
        "addition, integers": (ours, added, lambda: summed(numbers), added),
        "addition, gradients": (ours, added, lambda: summed(gradients), added),
        "decryption": (lambda: paillier.decrypt(key, few), FEW, lambda: [private.decrypt(c) for c in slow], FEW),
    }
    found = {}
    for name, (work, many, other, fewer) in operations.items():
        pairs = [(cpu_seconds(work) / many, cpu_seconds(other) / fewer) for _ in range(PAIRS)]
        found[name] = 1 / float(np.median([one for one, _ in pairs])), float(np.median([b / a for a, b in pairs]))
    return found


def fitted(n: int, trees: int) -> float:
    """CPU seconds of one fit, whose trees are those of the pooled integers."""
    run = make_run(2, n=n, d=14, n_bins=50, key_size=BITS, num_of_trees=trees)
    estimates = []
    cpu = cpu_seconds(lambda: estimates.append(fit(run)))
    for one, other in zip(estimates[0].ensemble.trees, pooled(run).trees, strict=True):
        np.testing.assert_array_equal(one.feature, other.feature)
        np.testing.assert_array_equal(one.value, other.value)
    return cpu


def wide(base: Path | None) -> list[str]:
    """Print the time of one tree of 123 indicators, here and as before; the requirements that are missed."""
    script = str(Path(__file__).with_name("_wide.py"))
    before = [sys.executable, script, str(ROOT), "alone"]
    if base is not None:
        before = [str(base / ".venv" / "bin" / "python"), script, str(base)]
    commands = [sys.executable, script, str(ROOT)], before
    now, then = (json.loads(subprocess.run(c, check=True, capture_output=True, text=True).stdout) for c in commands)
    share = now["seconds"] / then["seconds"]
    name = "columns alone" if base is None else base.name
    print(f"32561 x 123, one tree: {now['seconds']:.1f} s, {share:.3f} of the {then['seconds']:.1f} s of {name}")
    missed = [f"{share:.2f} of the time of {name}"] if share > SHARE else []
    return missed + [key for key in ("bytes", "digest") if now[key] != then[key]]


def main() -> int:
    """Print all tables; 1 when a limit is missed."""
    missed = wide(Path(sys.argv[2]) if sys.argv[1:2] == ["--base"] else None)
    if sys.argv[1:]:
        print("missed:", ", ".join(missed) or "nothing")
        return int(bool(missed))
    print(f"{'operation, ' + str(BITS) + ' bits':28s}{'a second':>12s}{'times phe':>12s}")
    for name, (rate, ratio) in ratios().items():
        print(f"{name:28s}{rate:12.0f}{ratio:12.1f}")
        missed += [name] if ratio < REQUIRED.get(name, 0.0) else []
    print(f"\n{'label scattering':28s}{'CPU s':>12s}{'at most':>12s}")
    for (n, trees), limit in FITS.items():
        cpu = fitted(n, trees)
        print(f"{f'{n} rows, {trees} trees':28s}{cpu:12.2f}{limit:12.1f}")
        missed += [f"{n} rows"] if cpu > limit else []
    if missed:
        print("missed:", ", ".join(missed))
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
