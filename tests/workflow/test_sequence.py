"""Sequence diagrams: folding loses nothing, rounds are loops, many parties that do the same share a line."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from _sequence.drawing import FOLDED, KINDS, draw, lifelines
from _sequence.folding import fold_rows
from _sequence.steps import FIELDS, Arrow, Loop, transcript_rows
from _sequence.wording import lines, numbered_list, series, totals

NAMES = ("client 1", "client 2", "client 3", "server")
SVG = "{http://www.w3.org/2000/svg}"


def row(sender, receiver, name, kind="release", argument="gaussian, mu = 0.5", shape="3", size=24):
    return dict(zip(FIELDS, (sender, receiver, name, kind, argument, shape, size), strict=True))


# Of random rows: what each column may be.
COLUMNS = (
    NAMES[:3],
    ("server", "client 4"),
    ("a 0", "a 1", "a 2", "b", "round 1 of 2, x0", "round 2 of 2, x1", "01", "1.5"),
    tuple(KINDS),
    ("key: client 1", "key: client 2", "mu = 0.5", "mu = 1e-05", "mu = inf", "k = 2, x 3"),
    ("", "3", "2x3"),
    (0, 8),
)


def test_steps_give_back_every_row_in_order():
    """Rows at random, from few values so that much repeats, and the same rows over again."""
    rng, loops = np.random.default_rng(15), 0
    for _ in range(300):
        narrow = [values[: rng.integers(1, len(values) + 1)] for values in COLUMNS]
        rows = [row(*(values[rng.integers(len(values))] for values in narrow)) for _ in range(rng.integers(20))]
        rows *= int(rng.integers(1, 4))
        steps = fold_rows(rows, (*NAMES, "client 4"))
        assert transcript_rows(steps) == rows
        loops += sum(isinstance(step, Loop) for step in steps)
    assert loops > 100


def rounds(count):
    """A server's state to all clients, and a score of each back."""
    rows = []
    for k in range(count):
        rows += [row("server", client, f"state {k}", "public", "free", "", 8) for client in NAMES[:3]]
        rows += [row(client, "server", f"score {k + 1}") for client in NAMES[:3]]
    return rows


def test_rounds_are_one_loop_whose_numbers_grow():
    (loop,) = fold_rows(rounds(20), NAMES)
    assert isinstance(loop, Loop) and loop.times == 20 and len(loop.body) == 2
    assert numbered_list([loop]).splitlines() == [
        "1. repeat 20 times, k = 0 ... 19:",
        r"   1. server to client 1 ... client 3: **state \[k\]**; public (free), 8 bytes each",
        r"   2. client 1 ... client 3 to server: **score \[k+1\]**; release (gaussian, mu = 0.5), 24 bytes each",
    ]
    assert totals([loop]) == "120 messages, 1,920 bytes"


def test_a_round_that_skips_a_number_or_changes_its_kind_is_no_part_of_the_loop():
    rows = [row("client 1", "server", f"score {k}") for k in (0, 1, 2, 4)]
    rows += [row("client 1", "server", "score 5", kind="clear")]
    steps = fold_rows(rows, NAMES)
    assert [type(step) for step in steps] == [Loop, Arrow, Arrow] and steps[0].times == 3
    assert transcript_rows(steps) == rows


def test_loops_stand_in_loops_and_letters_count_each():
    rows = [
        row(f"client {party}", "server", f"part {part} of {party}, round {k}")
        for k in range(3)
        for party in (1, 2)
        for part in (1, 2, 3)
    ]
    (outer,) = fold_rows(rows, NAMES)
    assert (outer.times, outer.body[0].times, outer.body[0].body[0].times) == (3, 2, 3)
    assert transcript_rows([outer]) == rows
    *_, last = lines([outer])
    assert (last.number, last.title, last.sender) == ("1.1.1.1", "part [i] of [j], round [k]", "client [j]")
    assert last.senders == ("client 1", "client 2")


@pytest.mark.parametrize("outer", [1, 3])
@pytest.mark.parametrize("times", [2, 4])
def test_what_the_last_round_lacks_stands_in_the_loop_and_says_so(times, outer):
    """A round of eight messages, the fourth only where another one follows, over again in an outer loop."""
    rows = [
        row("client 1", "server", f"part {'abcdefgh'[k]} of round {r}, run {run}", size=8 * (r + run + k))
        for run in range(outer)
        for r in range(times)
        for k in range(8)
        if k != 3 or r < times - 1
    ]
    (loop,) = fold_rows(rows, NAMES)
    inner = loop if outer == 1 else loop.body[0]
    assert (inner.times, len(inner.body), inner.skipped) == (times, 8, (3,))
    assert transcript_rows([loop]) == rows
    said = [line.details.endswith(", not the last time") for line in lines([loop]) if line.kind]
    assert said == [k == 3 for k in range(8)]


def test_a_round_that_lacks_too_much_is_none():
    rows = [row("client 1", "server", name) for name in "abcdefghabcde"]
    assert not any(isinstance(step, Loop) for step in fold_rows(rows, NAMES))


def test_equal_messages_are_counted_and_sizes_and_distributions_are_spans():
    rows = [row("client 1", "server", "moments")] * 11
    rows += [row(f"client {k}", "server", "sums", argument=f"gaussian, mu = 0.{k}", size=k * 8) for k in (1, 2, 3)]
    first, second = lines(fold_rows(rows, NAMES))
    assert (first.title, first.details) == ("11 x moments", "(gaussian, mu = 0.5), 24 bytes each")
    assert second.details == "(gaussian, mu = 0.1 to 0.3), 8 to 24 bytes each"
    assert transcript_rows(fold_rows(rows, NAMES)) == rows


def test_everyone_to_the_others_is_one_step():
    rows = [row(a, b, f"columns of {a}") for a in NAMES[:3] for b in NAMES[:3] if a != b]
    loop, arrow = lines(fold_rows(rows, NAMES))
    assert loop.title == "repeat for client [k], k = 1 ... 3"
    assert (arrow.sender, arrow.receiver) == ("client [k]", "the others of client 1 ... client 3")
    assert transcript_rows(fold_rows(rows, NAMES)) == rows


def test_many_parties_that_do_the_same_share_a_line_and_others_do_not():
    names = (*(f"client {k}" for k in range(1, 41)), "server")
    rows = [row(name, "server", "moments", size=8) for name in names[:-1]]
    columns = lifelines(names, names[:-1], list(lines(fold_rows(rows, names))))
    assert [(one.label, len(one.names), one.holds) for one in columns] == [
        ("client 1 ... client 40", 40, True),
        ("server", 1, False),
    ]
    odd = [*rows, row("client 7", "server", "one more")]
    assert len(lifelines(names, names[:-1], list(lines(fold_rows(odd, names))))) == 41
    few = names[: FOLDED - 1]
    assert len(lifelines(few, few, [])) == FOLDED - 1


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["server"], "server"),
        (["a 1", "a 2"], "a 1 and a 2"),
        (["a 1", "a 2", "a 3", "b"], "a 1 ... a 3 and b"),
        (["a 1", "a 3", "b 4"], "a 1, a 3 and b 4"),
    ],
)
def test_a_series_of_names_is_short(names, said):
    assert series(names) == said


def test_a_picture_tells_kinds_by_dashes_and_by_words_and_escapes_what_it_shows():
    rows = [row("client 1", "server", f"<{kind}> & x", kind=kind) for kind in KINDS]
    root = ET.fromstring(draw(fold_rows(rows, NAMES), NAMES, NAMES[:3], "a < b"))
    assert root.find(f"{SVG}title").text == "a < b"
    texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
    for kind in KINDS:
        assert sum(f"<{kind}> & x" in text and f" {kind} (" in text for text in texts) == 1
    looks = {
        (line.get("stroke-dasharray"), line.get("stroke-width"))
        for line in root.iter(f"{SVG}path")
        if line.get("stroke-width") and line.get("stroke") != "#FFFFFF"
    }
    assert len(looks) == len(KINDS)
    assert "no data" in texts and texts.count("no data") == 1
