"""Which methods can run with secret randomness is on a page that was made by trying them."""

from __future__ import annotations

import pytest

from partywise.experiment.apart.rehearsal import floating_point
from partywise.privacy.mechanisms.random import SecureRandom
from release_table import PAGE, page


def test_the_page_of_methods_that_can_release_is_what_trying_them_gives():
    assert PAGE.read_text(encoding="utf-8") == page()


def test_only_what_secret_randomness_lacks_counts():
    for draw, why in (("normal", "draws by 'normal', which has no secret source"), ("__class__.x", None)):
        with pytest.raises(AttributeError) as found:
            getattr(SecureRandom() if why else object(), draw)
        assert floating_point(found.value) == why
    assert floating_point(TypeError("a sum of text")) is None
