"""
What was sent, and what it cost
===============================

The transcript and the ledger of a fit: every message with its bytes, and the total of the server's view after each
release. The other hospitals hold other people, so that their releases add nothing for a record of the first. ``python
-m partywise network ledger`` reads the account of parties that ran apart in the same way.
"""

import matplotlib.pyplot as plt

import partywise as pw

X = pw.stream(12, "gallery", "records").uniform(-1, 1, size=(6000, 4))
y = X[:, 0] + 0.2 * pw.stream(12, "gallery", "noise").normal(size=6000)
model = pw.SlicedInverseRegression(epsilon=2.0, edges=(-0.8, 0.0, 0.8)).fit(X, y, parties=3, rng=7)
sizes = {}
for row in model.transcript_:
    sizes[row["sender"], row["name"]] = sizes.get((row["sender"], row["name"]), 0) + row["bytes"]
readings = list(model.ledger_.odometer("server", "row", delta=1e-5))

fig, (left, right) = plt.subplots(1, 2, figsize=(7.0, 3.0), layout="constrained")
left.barh([f"{sender}: {name}" for sender, name in sizes], sizes.values())
left.set(xlabel="bytes", title="What was sent")
right.step(range(1, len(readings) + 1), [reading.epsilon for reading in readings], "o-", where="post")
right.set(xlabel="releases that the server has read", ylabel="ε of one record", ylim=(0, None))
plt.show()
