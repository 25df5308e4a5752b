"""
Linking records without showing them
====================================

Three lists of identifiers, partly of the same people. Each list passes every other party, which multiplies it by a
secret; the analyst compares what it cannot open. Bytes grow with the lists, and no message shows an identifier.
"""

import matplotlib.pyplot as plt

import partywise as pw

sizes, common, received = [20, 40, 80, 160], [], []
for size in sizes:
    people = {
        "hospital": [f"P-{i:04d}" for i in range(size)],
        "insurer": [f"P-{i:04d}" for i in range(size // 2, size + size // 2)],
        "registry": [f"P-{i:04d}" for i in range(0, 2 * size, 2)],
    }
    alignment = pw.align(people, rng=pw.Streams(7))
    common.append(alignment.n)
    received.append(alignment.received_bytes)

fig, ax = plt.subplots(figsize=(7.0, 3.4), layout="constrained")
ax.plot(sizes, [bytes_by_party["analyst"] for bytes_by_party in received], "o-", label="analyst")
ax.plot(sizes, [bytes_by_party["hospital"] for bytes_by_party in received], "s--", label="each of the three parties")
ax.set(xlabel="identifiers in each list (and people in common)", ylabel="bytes received", ylim=(0, None))
ax.set_xticks(sizes, [f"{size}\n({n})" for size, n in zip(sizes, common, strict=True)])
ax.legend()
plt.show()
