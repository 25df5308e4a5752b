"""A family without a row in a table of families is refused in a sentence, and never taken for another one."""

from __future__ import annotations

import numpy as np
import pytest

from partywise.core.randomness import stream
from partywise.methods.glm.blocks import PUBLISHED
from partywise.methods.glm.noisy_statistics.submodels import LINKS
from partywise.methods.glm.records import WeightedResponse, response_of
from partywise.methods.glm.secret_shared_link.polynomials import link_of
from partywise.methods.glm.secret_shared_link.terms import MAKERS
from partywise.models.families import FAMILIES, Gamma
from partywise.studies.vertical_glm.cases import responses

PLACES = {
    "shared link": lambda family: link_of(family),
    "terms of the shared link": lambda family: MAKERS[family](
        WeightedResponse(np.ones(2), FAMILIES["gamma"]), np.zeros(2), 0
    ),
    "published blocks": lambda family: PUBLISHED[family],
    "moments": lambda family: LINKS[family],
    "records": lambda family: response_of({"y": np.ones(2)}, np.arange(2), family, "active"),
    "the study's generator": lambda family: responses(family, np.zeros(3), 1.0, stream(1, "responses")),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_unknown_family_is_named(place):
    with pytest.raises(ValueError, match=r"family 'tweedie' has no .*: use one of gaussian, "):
        PLACES[place]("tweedie")


def test_a_new_family_is_not_drawn_as_another(monkeypatch):
    monkeypatch.setitem(FAMILIES, "tweedie", Gamma())
    with pytest.raises(ValueError, match="family 'tweedie' has no draw of responses in the generator"):
        responses("tweedie", np.zeros(3), 1.0, stream(1, "responses"))
