"""Methods that break their contract in one way each: what `check-method` must notice."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from config.own_method import OneStepOptions, local_features, local_sum, server_step

from partywise.experiment.study import Lazy, Protocol
from partywise.methods.logistic.model import LabelEstimate, delta_of
from partywise.privacy.accounted_values import Clear, Public
from partywise.privacy.accounting.calibration import gdp_mu
from partywise.privacy.ledger.event import Event
from partywise.privacy.mechanisms.gaussian import Gaussian
from partywise.privacy.mechanisms.release import Release, charge_and_draw
from partywise.privacy.statistics.bounded import Bounded
from partywise.privacy.statistics.records import label_dot_product


def one_step(run, summed=local_sum, features=local_features):
    trainer, measurer = run.parties
    mu = gdp_mu(run.epsilon, delta_of(run.spec))
    X = run.send(trainer, measurer, "features", features, run.fold.train)
    noisy_sum = run.send(measurer, trainer, "noisy label sum", summed, run.fold.train, X, mu, run.rng_for)
    theta = run.at(trainer.name, server_step, X, noisy_sum, run.spec.options.ridge)
    return run.assemble(lambda value: LabelEstimate(value, run.epsilon), theta)


def fit_reads_a_block(run):
    """The program itself counts labels."""
    assert len(run.parties[1].block["y"]) > 0
    return one_step(run)


def fit_uses_what_was_not_sent(run):
    """The trainer computes with the measurer's labels."""
    trainer, measurer = run.parties
    labels = run.at(measurer, lambda party: party.block["y"])
    return run.assemble(lambda value: LabelEstimate(value, run.epsilon), run.at(trainer.name, np.mean, labels))


def half_a_sum(measurer, train, X, mu, rng_for):
    bounded = label_dot_product(X, measurer.block["y"][train])
    certificate = replace(bounded.certificate, value=bounded.certificate.value / 2)
    half = Bounded(bounded.value, certificate, bounded.stratum)
    return Gaussian(mu=mu)(half, rng_for("one step"), owner=measurer.name, release_id="label sum")


def fit_halves_the_sensitivity(run):
    return one_step(run, summed=half_a_sum)


def share_told(measurer, train):
    return Public(float(measurer.block["y"][train].mean()), because="the share of ones looks harmless")


def fit_tells_the_share(run):
    run.send(run.parties[1], run.parties[0], "share", share_told, run.fold.train)
    return one_step(run)


def fit_draws_anew(run):
    """Noise without a seed: run twice, it is another."""
    return one_step(run, summed=unseeded)


def unseeded(measurer, train, X, mu, rng_for):
    bounded = label_dot_product(X, measurer.block["y"][train])
    # The generator of the system: not addressed, so not reproducible.
    rng = np.random.default_rng()
    return Gaussian(mu=mu)(bounded, rng, owner=measurer.name, release_id="label sum")


@dataclass(frozen=True)
class Client:
    """Options of a method for clients."""

    uses_epsilon = True


def fit_forgets_a_client(run):
    """Sums the records of the first client only: no pooled fit has this answer."""
    from partywise.methods.inverse_regression.model import SlicingEstimate

    one = run.parties[0]
    mean = run.send(one, "server", "mean", lambda client: Clear(client.block["X"].mean(axis=0), ("row",), client.name))
    return run.assemble(lambda value: SlicingEstimate(value[:, None], np.inf, run.epsilon, len(run.parties)), mean)


def fit_raises(run):
    raise FloatingPointError("a division by nothing")


LABEL = "label_private"
RAISES = Protocol(OneStepOptions, Lazy("broken_methods:fit_raises"), study="functional_boosting")
READS_A_BLOCK = Protocol(OneStepOptions, Lazy("broken_methods:fit_reads_a_block"), study=LABEL)
USES_WHAT_WAS_NOT_SENT = Protocol(OneStepOptions, Lazy("broken_methods:fit_uses_what_was_not_sent"), study=LABEL)
HALVES_THE_SENSITIVITY = Protocol(OneStepOptions, Lazy("broken_methods:fit_halves_the_sensitivity"), study=LABEL)
TELLS_THE_SHARE = Protocol(OneStepOptions, Lazy("broken_methods:fit_tells_the_share"), study=LABEL)
DRAWS_ANEW = Protocol(OneStepOptions, Lazy("broken_methods:fit_draws_anew"), study=LABEL)
FORGETS_A_CLIENT = Protocol(
    Client, Lazy("broken_methods:fit_forgets_a_client"), extra=("server",), study="sliced_inverse_regression"
)


def law_of_his_own(share, mechanism="scaled_noise"):
    """A label sum whose noise is so much of what its event states, under a distribution of its own name."""

    def summed(measurer, train, X, mu, rng_for):
        bounded, rng = label_dot_product(X, measurer.block["y"][train]), rng_for("one step")
        scale = share * bounded.certificate.value / mu

        def draw():
            return bounded.value + scale * rng.standard_normal(bounded.value.shape)

        terms = {"release_id": "label sum"}
        return charge_and_draw(bounded, {"mu": mu}, mechanism, draw, measurer.name, terms, rng, preset=True)

    return summed


def fit_states_a_mechanism_of_its_own(run):
    return one_step(run, summed=law_of_his_own(1.0))


def fit_draws_a_twentieth_of_its_own_noise(run):
    return one_step(run, summed=law_of_his_own(0.05))


def fit_draws_no_noise_of_its_own(run):
    return one_step(run, summed=law_of_his_own(0.0))


def written_by_hand(measurer, train, X, mu, rng_for):
    value = np.array(label_dot_product(X, measurer.block["y"][train]).value)
    event = Event("label sum", measurer.name, "gaussian", "label", {"label", "features"}, mu=mu, relation="label_flip")
    return Release(value, event)


def fit_writes_a_release_by_hand(run):
    return one_step(run, summed=written_by_hand)


def two_sums(measurer, train, X, mu, rng_for):
    """Releases of all and of the first two entries, from one address: the first two have one noise."""
    y, half = measurer.block["y"][train], mu / np.sqrt(2)
    whole, part = (label_dot_product(X[:, :count], y) for count in (X.shape[1], 2))
    made = Gaussian(mu=half)(part, rng_for("one step"), owner=measurer.name, release_id="two entries")
    return Gaussian(mu=half)(whole, rng_for("one step"), owner=measurer.name, release_id="label sum"), made


def fit_shares_noise_in_part(run):
    trainer, measurer = run.parties
    mu = gdp_mu(run.epsilon, delta_of(run.spec))
    X = run.send(trainer, measurer, "features", local_features, run.fold.train)
    names = ("noisy label sum", "noisy two entries")
    sums, _ = run.gather([measurer], trainer, names, two_sums, run.fold.train, X, mu, run.rng_for)
    theta = run.at(trainer.name, lambda X, s, ridge: server_step(X, s[0], ridge), X, sums, run.spec.options.ridge)
    return run.assemble(lambda value: LabelEstimate(value, run.epsilon), theta)


OWN_MECHANISM = Protocol(OneStepOptions, Lazy("broken_methods:fit_states_a_mechanism_of_its_own"), study=LABEL)
TWENTIETH = Protocol(OneStepOptions, Lazy("broken_methods:fit_draws_a_twentieth_of_its_own_noise"), study=LABEL)
NO_NOISE = Protocol(OneStepOptions, Lazy("broken_methods:fit_draws_no_noise_of_its_own"), study=LABEL)
BY_HAND = Protocol(OneStepOptions, Lazy("broken_methods:fit_writes_a_release_by_hand"), study=LABEL)
SHARES_NOISE = Protocol(OneStepOptions, Lazy("broken_methods:fit_shares_noise_in_part"), study=LABEL)
