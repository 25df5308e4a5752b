"""
A forest plot of a release
==========================

Three hospitals release one set of noisy tables. The odds ratio of each release, crude and over strata, has an interval
that counts sampling and noise, and is wider where epsilon is smaller.
"""

import matplotlib.pyplot as plt
import numpy as np

import partywise as pw

rng = pw.stream(3, "gallery", "tables")
stage = rng.choice(["I", "II", "III"], size=4000)
arm = rng.integers(2, size=4000)
died = rng.random(4000) < 0.1 + 0.06 * arm + 0.1 * (stage == "III")
frame = {"arm": np.array(["usual", "new"])[arm], "died": np.array(["no", "yes"])[died.astype(int)], "stage": stage}

questions = pw.Questions(
    levels={"arm": ["usual", "new"], "died": ["no", "yes"], "stage": ["I", "II", "III"]},
    cross=[("arm", "died", "stage")],
    complete=["arm", "died", "stage"],
)
releases = {}
for epsilon in (1.0, 2.0, 4.0):
    model = pw.FederatedEpidemiology(questions, epsilon=epsilon, parties=3, random_state=7).fit(frame)
    strata = model.mantel_haenszel("arm", "died", "stage") | model.standardise("arm", "died", "stage")
    releases[f"ε = {epsilon:g}"] = model.two_by_two("arm", "died") | strata

pw.plot.forest(releases, ratios=True)
plt.show()
