"""
One budget for a cross-validation
=================================

Every fit on a fold looks at the same labels again. A budget that the fits share counts them all, and refuses the
release that would go beyond it, before its noise is drawn.
"""

import matplotlib.pyplot as plt
import numpy as np

import partywise as pw

X = pw.stream(11, "gallery", "features").uniform(size=(4000, 3))
y = pw.stream(11, "gallery", "labels").random(4000) < 1 / (1 + np.exp(3 * X[:, 1] - 4 * X[:, 0]))
folds = np.array_split(pw.stream(11, "gallery", "folds").permutation(4000), 5)

budget, spent, scores = pw.Budget(epsilon=2.5, delta=1e-5), [], []
for tau in (0.5, 2.0):
    for fold in folds:
        rest = np.setdiff1d(np.arange(4000), fold)
        model = pw.LabelPrivateLogisticRegression(epsilon=1.0, tau=tau, random_state=7, shared_budget=budget)
        try:
            scores.append(model.fit(X[rest], y[rest]).score(X[fold], y[fold]))
        except pw.BudgetExceeded:
            break
        spent.append(budget.epsilon_spent)

fig, (left, right) = plt.subplots(1, 2, figsize=(7.0, 2.9), layout="constrained")
left.step(range(1, len(spent) + 1), spent, "o-", where="mid", label="spent")
left.axhline(2.5, color="k", linestyle="--", label="budget")
left.set(xlabel="fits", ylabel="ε of one label", ylim=(0, None), xticks=range(1, len(spent) + 1))
left.legend()
right.plot(range(1, len(scores) + 1), scores, "s")
right.set(
    xlabel="fits",
    xticks=range(1, len(scores) + 1),
    ylabel="accuracy on the fold",
    title=f"{len(scores)} of 10 fits were allowed",
)
plt.show()
