"""The published rounds: pooled steps, a view that holds every row's direction, and a ledger that says so."""

from __future__ import annotations

import numpy as np
import pytest

from linear_driver import fitted, rows
from partywise.audits.attacks.messages import directions_seen
from partywise.methods.linear.options import LinearCertifiedOptions, LinearPooledOptions, LinearPublishedOptions
from partywise.methods.linear.protocols import certified, pooled, published
from pipeline import ROOT

X, LABELS, _ = rows(120, 4)


@pytest.mark.parametrize("groups", [[[0, 1], [2, 3]], [[3], [0, 2], [1]], [[0], [1], [2], [3], []]])
def test_federation_equals_pooled_steps(groups):
    found, _ = fitted(published.fit, X, LABELS, groups, LinearPublishedOptions())
    expected, _ = fitted(pooled.fit, X, LABELS, groups, LinearPooledOptions(intercept=False))
    assert np.abs(found.coefficients - expected.coefficients).max() < 1e-12
    assert np.abs(found.path.coefficients - expected.path.coefficients).max() < 1e-12
    assert found.coefficients[0] == 0 and found.path.rounds.tolist() == list(range(0, 31, 3))


def test_the_key_holder_sees_the_direction_of_every_row():
    found, run = fitted(published.fit, X, LABELS, [[0, 1], [2, 3]], LinearPublishedOptions())
    drawn = found.batches[0]
    seen = [value for message, value in run.channel.view("server") if message.name == "gradient rows"]
    assert len(seen) == 30 and len(drawn) == 50
    # No coefficient yet: the residual is half the label.
    np.testing.assert_allclose(seen[0], -(LABELS[drawn] - 0.5)[:, None] * X[drawn], rtol=1e-12)
    assert directions_seen(seen[0], X[drawn]).sum() == 50
    assert directions_seen(found.key_holder_view, X[drawn]).sum() == 50
    assert directions_seen(found.key_holder_view, X[found.batches[2]]).sum() == 0
    # A feature that is known to be positive tells the labels too.
    positive = X[drawn, 0] > 0
    assert np.array_equal(seen[0][positive, 0] < 0, LABELS[drawn][positive] == 1)


def test_every_view_costs_infinity():
    _, run = fitted(published.fit, X, LABELS, [[0, 1], [2, 3]], LinearPublishedOptions(total_round_num=1))
    for view, unit in (("server", "label"), ("server", "features"), ("passive 1", "label"), ("active", "features")):
        assert run.channel.ledger.total(view, unit, 1e-5).epsilon_certified == np.inf
    names = [message.name for message in run.channel.messages]
    assert names == [
        "coefficients",
        "coefficients",
        "batch",
        "partial residual",
        "residual",
        "gradient rows of a party",
        "gradient rows",
    ]


def test_the_wire_table_of_the_page_is_that_of_a_run():
    """docs/vertical_linear.md, two parties with seven columns each."""
    page = (ROOT / "docs" / "vertical_linear.md").read_text(encoding="utf-8")
    table = page.partition("## Messages")[2].partition("\n## ")[0]
    written = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in table.splitlines() if "|" in line]
    X, y, _ = rows(60, 14)
    groups = [list(range(7)), list(range(7, 14))]
    measured = []
    for name, fit, options in (
        ("published", published.fit, LinearPublishedOptions(total_round_num=1)),
        ("certified", certified.fit, LinearCertifiedOptions(cipher="sized", total_round_num=1)),
    ):
        _, run = fitted(fit, X, y, groups, options)
        for message in run.channel.messages:
            shape = "x".join(map(str, message.shape)) or "-"
            measured.append(
                (name, message.sender, message.receiver, message.name, message.kind, shape, str(message.bytes))
            )
    for name, ends, *rest in written[2:]:
        sender, receiver, *_ = ends.split(", ")
        receivers = ("passive 1", "active") if receiver == "each party" else (receiver,)
        for one in receivers:
            measured.remove((name, sender, one, *rest))
    assert len(written) > 10 and not measured
