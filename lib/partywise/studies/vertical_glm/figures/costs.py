"""Figure of vertical GLM: what more parties cost in bytes and in products of shares."""

from __future__ import annotations

from functools import partial

from ....experiment.plotting.layout import Axis
from ....experiment.plotting.lines import Lines
from ....experiment.plotting.shade import shade
from .shared import ends

costs_by_parties = Lines(
    "What more parties cost",
    x="parties",
    y=(Axis("bytes_measured", log=True), Axis({"secure_products": "products of\nsecret-shared numbers"}, bottom=0)),
    needs="bytes_measured",
    select=partial(ends, most=5),
    share=True,
    size=(3.2, 2.5),
    style=shade,
    none="No method that sends messages in this configuration.",
    caption="Bytes of all messages, and products of secret-shared numbers, by the number of parties. Cases with one "
    "number of parties are shown where no case has several.",
)
