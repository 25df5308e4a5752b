"""Penalties of one's own: as arguments, as lists and files of a configuration, and what names them afterwards."""

from __future__ import annotations

import re

import numpy as np
import pytest
import yaml

import partywise as pw
from partywise.core.checks import Matrix
from partywise.core.errors import ConfigError
from partywise.core.randomness import stream
from partywise.deployment.publication.release_folder import _plain
from partywise.experiment.configuration.sweep import in_title
from partywise.experiment.plans import plans, read_configuration
from partywise.experiment.results.labels import method_labels
from partywise.methods.functional.boosting import fit_boosting
from partywise.methods.functional.moments import CurveSums, corrected_moments
from partywise.methods.functional.options import LocalOptions
from partywise.methods.functional.paths import Penalties

Q, P = 5, 2
RNG = stream(1, "own penalties")
X = RNG.normal(size=(200, P, Q)) / 5
Y = X[:, 0] + 0.1 * RNG.normal(size=(200, Q))
PLAIN = {"noise": "none", "lambda_s": 0.3, "lambda_t": 0.2, "max_steps": 20, "penalty_scale": "none"}


def fitted(protocol: str = "boosting", **options: object) -> np.ndarray:
    return pw.FunctionalBoosting(protocol, parties=2, random_state=7, **PLAIN | options).fit(X, Y).coef_


def by_hand(omega_x: np.ndarray) -> np.ndarray:
    """The path on these penalties, without an estimator, a protocol or options that name a penalty."""
    flat, halves = X.reshape(200, -1), [np.arange(200) % 2 == half for half in (0, 1)]
    sums = [CurveSums.of(flat[rows], Y[rows]) for rows in halves]
    moments = [corrected_moments(part, np.zeros((P * Q, P * Q))) for part in (sums[0] + sums[1], *sums)]
    penalties = Penalties(omega_x, np.zeros((Q, Q)))
    return fit_boosting(*moments, ((0,), (1,)), penalties, LocalOptions(**PLAIN)).B.reshape(P, Q, Q)


def test_an_identity_is_the_penalty_that_is_made_by_hand():
    zero, eye = np.zeros((Q, Q)), np.eye(Q)
    wanted = by_hand(np.stack([eye, eye]))
    for omega_x in (eye, [eye, eye], eye.tolist(), np.stack([eye, eye])):
        assert np.abs(fitted(omega_x=omega_x, omega_y=zero) - wanted).max() <= 1e-12
    of_each = fitted(omega_x=[3 * eye, eye], omega_y=zero)
    assert np.abs(of_each - by_hand(np.stack([3 * eye, eye]))).max() <= 1e-12
    assert np.abs(of_each - wanted).max() > 1e-6


def test_a_side_without_a_matrix_keeps_its_penalty():
    """``penalty: none`` is zero on the side that it is left to, and has nothing to say where both are given."""
    assert np.array_equal(
        fitted(omega_x=np.eye(Q), penalty="none"), fitted(omega_x=np.eye(Q), omega_y=np.zeros((Q, Q)))
    )
    with pytest.raises(ValueError, match=r"^penalty is 'none': it is read with a side without omega_x or omega_y only"):
        fitted(omega_x=np.eye(Q), omega_y=np.eye(Q), penalty="none")


@pytest.mark.parametrize("protocol", ["boosting", "published", "central", "moments", "roundwise"])
def test_every_protocol_names_a_wrong_matrix(protocol):
    options = {} if protocol == "moments" else {"s": 0.1, "radius": "public"}
    options |= {"radius_value": 1.0} | ({"response_radius": 1.0, "epsilon": 8.0} if protocol == "moments" else {})
    model = pw.FunctionalBoosting(protocol, parties=2, random_state=7, **options)
    for omega_x, message in (
        (np.triu(np.ones((Q, Q))), r"omega_x\[0\] is not symmetric"),
        ([np.eye(Q), -np.eye(Q)], r"omega_x\[1\] is not positive semidefinite"),
        ([np.eye(Q)] * 3, "omega_x holds 3 penalties: give one, or one for each of 2 predictors"),
        (np.eye(3), r"omega_x has shape \(3, 3\)"),
    ):
        with pytest.raises(ValueError, match=message):
            model.set_params(omega_x=omega_x).fit(X, Y)


def test_the_baseline_has_no_penalty_of_its_own():
    with pytest.raises(TypeError, match="'omega_x' is not a parameter of FunctionalBoosting with protocol='baseline'"):
        pw.FunctionalBoosting("baseline", omega_x=np.eye(Q))


def block(**option: object) -> dict:
    settings = {"n": 60, "p": 2, "n_basis_x": 5, "n_basis_y": 5, "active": [0], "singular_values": [1.0]}
    grid = {"methods": ["fit"], "replicates": 1, "parties": [2], "folds": 2, "epsilon": [8.0]}
    return {
        "methods": {"fit": {"protocol": "boosting", "max_steps": 5} | option},
        "cases": {"case": {"source": "simulated", "settings": settings, "grid": grid}},
        "figures": [],
    }


def planned(folder, **option: object):
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump({"root_seed": 1, "studies": {"functional_boosting": block(**option)}}))
    return plans(read_configuration(path), [path])["functional_boosting"]


def test_lists_and_files_of_a_configuration_are_the_same_matrices(tmp_path):
    own = np.diag(np.arange(5.0)) + 0.1
    np.savetxt(tmp_path / "own.csv", own, delimiter=",", fmt="%.17g")
    np.savez(tmp_path / "own.npz", own, 2 * own)
    one, several = (planned(tmp_path, omega_x={"file": name}) for name in ("own.csv", "own.npz"))
    assert one.methods["fit"].options.omega_x == Matrix.of("omega_x", own) == LocalOptions(omega_x=own).omega_x
    assert several.methods["fit"].options.omega_x == Matrix.of("omega_x", [own, 2 * own])
    listed = planned(tmp_path, omega_x=own.tolist())
    # What a job depends on has the numbers, wherever they were written.
    assert listed.plain["methods"] == one.plain["methods"] != several.plain["methods"]


def test_a_file_of_a_study_names_files_next_to_itself(tmp_path):
    inner = tmp_path / "inner"
    inner.mkdir()
    np.savetxt(inner / "own.csv", np.eye(5), delimiter=",")
    (inner / "study.yaml").write_text(yaml.safe_dump(block(omega_y={"file": "own.csv"})))
    path = tmp_path / "main.yaml"
    path.write_text(yaml.safe_dump({"root_seed": 1, "studies": {"functional_boosting": {"file": "inner/study.yaml"}}}))
    for config, files in ((read_configuration(path), ()), (yaml.safe_load(path.read_text()), [path])):
        made = plans(config, files)["functional_boosting"]
        assert made.methods["fit"].options.omega_y == Matrix.of("omega_y", np.eye(5))


@pytest.mark.parametrize(
    ("option", "content", "message"),
    [
        ({"omega_x": {"file": "no.csv"}}, None, r"methods\.fit\.omega_x is 'no\.csv': .* holds no matrix of numbers"),
        ({"omega_x": {"file": "own.csv"}}, "1,a\n", r"omega_x is 'own\.csv': .* holds no matrix of numbers"),
        ({"omega_x": {"file": "own.txt"}}, "1\n", r"omega_x is 'own\.txt': name a CSV file with one matrix"),
        ({"omega_x": {"file": "own.npz"}}, "1\n", r"omega_x is 'own\.npz': .* holds no matrix of numbers"),
        ({"omega_x": [[1.0, 2.0], [3.0]]}, None, r"methods\.fit\.omega_x is .*: it must be rows of numbers"),
        ({"omega_x": 3.0}, None, r"methods\.fit\.omega_x is 3\.0: it must be rows of numbers"),
        ({"omega_x": np.eye(4).tolist()}, None, r"fit, whose omega_x is 4 x 4: .* need 5 x 5 or 2 x 5 x 5\."),
        ({"omega_y": [np.eye(5).tolist()]}, None, r"fit, whose omega_y is 1 x 5 x 5: .* need 5 x 5\."),
        ({"s": {"file": "own.csv"}}, "1\n", r"methods\.fit\.s is \[\[1\.0\]\]: it must be|methods\.fit\.s\[0\] is"),
    ],
)
def test_what_is_no_matrix_is_named_before_any_job(tmp_path, option, content, message):
    if content is not None:
        (tmp_path / next(iter(option.values()))["file"]).write_text(content)
    with pytest.raises(ConfigError, match=message):
        planned(tmp_path, **option)


def test_titles_cubes_and_statements_name_a_matrix_by_its_digest(tmp_path):
    own = np.diag(np.arange(5.0))
    made = planned(tmp_path, omega_x=own.tolist())
    options = made.methods["fit"].options
    words = f"matrix 5 x 5, sha256 {options.omega_x.digest}"
    assert re.fullmatch("[0-9a-f]{64}", options.omega_x.digest)
    assert in_title(options.omega_x) == _plain(options)["omega_x"] == words
    assert method_labels(made, ["fit"])["method_omega_x"].values.tolist() == [words]
    other = planned(tmp_path, omega_x=(2 * own).tolist()).methods["fit"].options
    assert other.omega_x.digest != options.omega_x.digest and _plain(options)["omega_y"] is None
