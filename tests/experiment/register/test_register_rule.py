"""The rule of the register: what is reproduced, what differs, what is refuted; and how printed entries are read."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan, sqrt
from pathlib import Path

import numpy as np
import pytest

from partywise.core.errors import ConfigError
from partywise.experiment.register import register
from partywise.experiment.register.numbers import Cubes, Number, values_of
from partywise.experiment.register.printed_source import Entry, Reproduction, read
from partywise.experiment.register.register import rows
from partywise.experiment.register.replicates import ratio, reduce_replicates
from partywise.experiment.register.verdict import half_unit, verdict

SENSITIVITY = "partywise.studies.label_private.register.facts:squared_sensitivity"


def entry(kind: str, printed: str, spread: str = "", spread_of: int = 0) -> Entry:
    return Entry(
        "x", "000", "a place", "a quantity", kind, printed, spread, spread_of, Reproduction(function="a:b"), {}
    )


@pytest.mark.parametrize(
    ("printed", "ours", "error", "status", "z"),
    [
        ("0.100", 0.1052, None, "reproduced", inf),  # 4.7 % beyond what prints as 0.100
        ("0.100", 0.1056, None, "differs", inf),
        ("0.100", 0.1004, None, "reproduced", 0.0),  # prints alike
        ("0.100", 0.1206, 0.0067, "reproduced", 3.0),
        ("0.100", 0.1206, 0.0066, "differs", 3.045),
        ("0.100", 0.0794, 0.0066, "differs", -3.045),
        ("336776", 336775.0, None, "reproduced", -inf),
        ("0", 0.0, None, "reproduced", 0.0),
        ("0", 1e-6, None, "differs", inf),
    ],
)
def test_a_number_agrees_within_five_percent_or_three_standard_errors(printed, ours, error, status, z):
    found = verdict(entry("value", printed), Number(ours, error, 100))
    assert found.status == status and found.z == pytest.approx(z, abs=0.001)


def test_the_brackets_of_the_source_count_over_the_root_of_its_replicates():
    found = verdict(entry("value", "1.000", "0.20", 400), Number(1.0605, 0.01, 100))
    assert found.z == pytest.approx(0.06 / sqrt(0.01**2 + 0.01**2)) and found.status == "differs"
    assert found.resolution == pytest.approx(3 * sqrt(2) * 0.01)
    assert verdict(entry("value", "1.000", "0.40", 400), Number(1.0605, 0.01, 100)).status == "reproduced"


def test_standard_errors_of_half_the_number_reproduce_nothing():
    assert verdict(entry("value", "0.100"), Number(0.12, 0.0166, 50)).status == "reproduced"
    assert verdict(entry("value", "0.100"), Number(0.12, 0.0168, 50)).status == "not reproducible"
    assert verdict(entry("value", "0.100"), Number(0.104, 0.0168, 50)).status == "reproduced"
    assert verdict(entry("value", "0.100"), Number(0.2, 0.0168, 50)).status == "differs"


def test_rounding_leaves_half_a_unit_of_the_last_digit_open():
    assert [half_unit(text) for text in ("0.650", "1.2", "12", "0.05")] == pytest.approx([5e-4, 0.05, 0, 5e-3])


@pytest.mark.parametrize(
    ("kind", "printed", "ours", "status"),
    [
        ("at_most", "1", 1.0, "reproduced"),
        ("at_most", "1", 1.001, "differs"),
        ("at_least", "0", -1e-9, "differs"),
        ("between", "20 to 100", 20.0, "reproduced"),
        ("between", "20 to 100", 100.5, "differs"),
        ("between", "20 to 100", 6.0, "differs"),
        ("at_most", "1", nan, "differs"),
        ("claimed_at_most", "1", 1.0, "reproduced"),
        ("claimed_at_most", "1", 1.001, "refuted"),
        ("claimed_at_most", "1", nan, "not reproducible"),
        ("claimed_at_least", "256", 32.0, "refuted"),
        ("claimed_at_least", "256", 256.0, "reproduced"),
        ("hidden", "0", 0.01, "refuted"),
        ("hidden", "0", 0.0, "reproduced"),
        ("hidden", "0", nan, "not reproducible"),
        ("value", "1", nan, "not reproducible"),
    ],
)
def test_a_bound_is_judged_by_the_estimate_itself(kind, printed, ours, status):
    assert verdict(entry(kind, printed), Number(ours, 10.0, 100)).status == status


@pytest.mark.parametrize(
    ("refuted", "certified", "status"),
    [(1.0, 0.5, "refuted"), (0.0, 1.0, "reproduced"), (0.0, 1.01, "not reproducible"), (nan, inf, "not reproducible")],
)
def test_a_claim_of_privacy_needs_an_attack_or_a_certificate(refuted, certified, status):
    found = Number(9.0, None, 3, further={"claim_refuted": refuted, "certified_for_claim": certified})
    assert verdict(entry("epsilon", "1"), found).status == status


def test_means_spreads_differences_and_ratios_have_their_standard_errors():
    rng = np.random.default_rng(1)
    samples = rng.gamma(4.0, size=(4000, 50))
    for how, true in (("mean", 4.0), ("sd", 2.0)):
        values, errors = np.transpose([reduce_replicates(sample, how) for sample in samples])
        assert values.mean() == pytest.approx(true, rel=0.03)
        # The standard error is that of the numbers as they scatter; of a spread, the fourth moment is noisy at n = 50.
        assert np.sqrt((errors**2).mean()) == pytest.approx(values.std(), rel=0.1)
    first, second = samples[0], samples[1] + 0.5 * samples[0]
    assert reduce_replicates(first - second, "mean")[0] == pytest.approx((first - second).mean())
    joined = ratio(first, second)
    assert joined.mean() == pytest.approx(first.mean() / second.mean())
    left_out = [np.delete(first, i).mean() / np.delete(second, i).mean() for i in range(50)]
    jackknife = sqrt(49 / 50 * np.square(left_out - np.mean(left_out)).sum())
    assert reduce_replicates(joined, "mean")[1] == pytest.approx(jackknife, rel=0.05)


def written(folder: Path, reasons: str = "", printed: str = "{epsilon}", more: str = "") -> Path:
    """A file with three entries, of n = 10 rows and three numbers of columns."""
    path = folder / "seed_999.toml"
    path.write_text(
        'document = "999"\n[[entries]]\nid = "999-{epsilon}"\neach = {epsilon = [1, 2, 3]}\n'
        f'words.n = {{ of = "epsilon", 1 = 10, 2 = 10, 3 = 10 }}\n{more}'
        f'place = "here, {{epsilon}}"\nquantity = "epsilon"\nvalue = "{printed}"\n'
        f'reproduction = {{ function = "{SENSITIVITY}", arguments = {{ n = "{{n}}", k = "{{epsilon}}" }} }}\n'
        f"{reasons}"
    )
    return path


def test_one_block_makes_an_entry_for_each_value_and_all_get_a_status(tmp_path):
    found = rows([read(written(tmp_path))], Cubes(tmp_path))
    assert [(row.id, row.printed, row.reproduction, row.status) for row in found] == [
        ("999-1", "1", "1", "reproduced"),
        ("999-2", "2", "2", "reproduced"),
        ("999-3", "3", "3", "reproduced"),
    ]


def test_rows_of_a_block_are_its_sentences(tmp_path):
    block = '[[entries]]\nid = "999-{name}-{n}"\nplace = "{name}"\nquantity = "q"\neach = {n = [1, 2]}\n'
    path = written(tmp_path, block + 'rows = [\n{name = "a"},\n{name = "b"},\n]\n')
    assert [(entry.id, entry.place) for entry in read(path).entries[3:]] == [
        ("999-a-1", "a"), ("999-a-2", "a"), ("999-b-1", "b"), ("999-b-2", "b"),
    ]  # fmt: skip


def test_an_entry_that_differs_needs_a_reason_and_names_itself(tmp_path):
    with pytest.raises(ConfigError, match=r"has no reason for 999-2 \(printed 1, ours 2, .*2 such entries"):
        rows([read(written(tmp_path, printed="1"))], Cubes(tmp_path))
    reason = '[[reasons]]\nids = ["999-*"]\ntext = "it is so"\n'
    found = rows([read(written(tmp_path, reason, printed="1"))], Cubes(tmp_path))
    assert [(row.status, row.because) for row in found] == [
        ("reproduced", ""),
        ("differs", "it is so"),
        ("differs", "it is so"),
    ]


def test_a_reason_of_a_block_is_that_of_its_entries(tmp_path):
    found = rows([read(written(tmp_path, printed="1", more='reason = "it is so"\n'))], Cubes(tmp_path))
    assert [row.because for row in found] == ["", "it is so", "it is so"]
    with pytest.raises(ConfigError, match=r"gives a reason for 999-1, 999-2, 999-3 that no entry needs"):
        rows([read(written(tmp_path, more='reason = "it is not so"\n'))], Cubes(tmp_path))


def test_a_reason_that_nothing_needs_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"gives a reason for 999-1 that no entry needs"):
        rows([read(written(tmp_path, '[[reasons]]\nids = ["999-1"]\ntext = "it is not so"\n'))], Cubes(tmp_path))


def test_a_reason_looks_up_what_it_says_would_agree(tmp_path):
    reason = '[[reasons]]\nids = ["999-*"]\ntext = "n is 10"\nalternative = {arguments = {n = 10, k = 1}}\n'
    found = rows([read(written(tmp_path, reason, printed="1"))], Cubes(tmp_path))
    assert found[1].because == "n is 10 (there 1, which agrees)"


@pytest.mark.parametrize(
    ("reasons", "more", "message"),
    [
        ("", 'colour = "red"\n', "colour is not a key of an entry"),
        ("", 'nearly = "1"\n', "nearly is not a key of an entry"),
        ("", 'at_most = "1"\n', r"it has \['value', 'at_most'\]: give what is printed under one of"),
        ('[[entries]]\nid = "999-4"\nvalue = "1"\n', "", r"'999-4': it has \['value'\]"),
        ('[[entries]]\nid = "999-4"\nreproduction = {function = "f"}\n', "", "'999-4': it has no kind"),
        ('[[entries]]\nid = "999-1"\nplace = "p"\nquantity = "q"\n', "", "two entries with the id '999-1'"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, reasons, more, message):
    with pytest.raises(ConfigError, match=message):
        read(written(tmp_path, reasons, more=more))


def test_a_cube_that_is_absent_is_no_number(tmp_path):
    cubes = Cubes(tmp_path)
    assert (
        cubes.number(Reproduction(study="label_private", configuration="config/claims.yaml", variable="log_loss"))
        is None
    )
    assert list(cubes.absent.values()) == [tmp_path / "claims" / "label_private" / "cube.nc"]


def test_a_claim_of_privacy_names_the_variable_that_its_number_is():
    """Rows named the audited bound where a bound of the ledger was larger and stood under `ours`."""

    class Answer:
        def __init__(self, **further):
            self.further = {"claim_refuted": 1.0, "certified_for_claim": 9.0, **further}

        def number(self, ours, further=()):
            return Number(2.0, 0.1, 3, further=self.further)

    source = Reproduction(study="privacy_audit", configuration="config/claims.yaml", variable="audited_lower")
    claim = replace(entry("epsilon", "1"), reproduction=source)
    for further, wanted in (
        ({"epsilon_mu_lower": 5.0, "exact_epsilon": float("nan")}, ("epsilon_mu_lower", 5.0)),
        ({"epsilon_mu_lower": 1.0, "exact_epsilon": 7.0}, ("exact_epsilon", 7.0)),
        ({"epsilon_mu_lower": float("nan"), "exact_epsilon": 1.0}, ("audited_lower", 2.0)),
    ):
        found = register.number_of(claim, Answer(**further), [])
        assert (register._variable(claim, found), found.value) == wanted


def test_a_number_that_is_subtracted_may_have_one_itself():
    """A gap at n = 1000 less that at n = 100: a - (b - (c - d))."""

    class Cells:
        def values(self, ours, variable):
            return np.array([{"vgm": 1.0, "iid": 4.0}[ours.method["mechanism"]] * ours.case["n"]]), {
                "n": ours.case["n"]
            }

    before = {"case": {"n": 100}, "minus": {"method": {"mechanism": "vgm"}}}
    minus = {"method": {"mechanism": "iid"}, "minus": before}
    source = Reproduction(case={"n": 1000}, method={"mechanism": "vgm"}, minus=minus)
    assert values_of(Cells(), source)[0] == (1000 - 4000) - (100 - 400)
    assert values_of(Cells(), source)[1] == {"n": 1000}
    over = {"case": {"n": 100}, "minus": {"method": {"mechanism": "iid"}}}
    share = replace(source, minus={"method": {"mechanism": "iid"}}, over=over)
    assert values_of(Cells(), share)[0] == pytest.approx(10)


def test_a_function_reads_the_rows_of_earlier_entries(tmp_path):
    counted = written(
        tmp_path,
        '[[entries]]\nid = "999-count"\nplace = "p"\nquantity = "q"\nvalue = "3"\n'
        'reproduction = { function = "builtins:len", rows = "999-[123]" }\n',
    )
    assert [row.reproduction for row in rows([read(counted)], Cubes(tmp_path))][-1] == "3"
