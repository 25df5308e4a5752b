"""A project of NVFlare whose sites are the parties of a case, and what must be true when its jobs have ended."""

from __future__ import annotations

import json
from contextlib import chdir
from pathlib import Path

import yaml

from deployment_cases import Apart
from nvflare_project import SERVER, Project
from partywise.deployment.deployments import Deployment
from partywise.deployment.outcomes.joint_results import join_results
from partywise.deployment.outcomes.run_files import last_run
from partywise.deployment.session.outcome import commitment_to, outcomes
from partywise.experiment.cells import execution, run
from partywise.experiment.data import generate
from partywise.federation.account.account import FILE
from partywise.federation.account.reading import opened_account, paid_events, runs_of
from partywise.federation.run import Run, simulate
from site_files import site_of, write_site

CONFIGURATION = "mine"


class CaseProject(Project):
    """A project whose sites are the parties of a case, each with its own file and policy, and its job."""

    def __init__(self, python: Path, folder: Path, case: Apart) -> None:
        super().__init__(python, folder, case.names)
        self.case = case
        case.network["parties"] = dict.fromkeys(case.names)
        self.whole = case.write(folder)
        for name in case.names:
            write_site(folder / name, site_of(case, name))
            self.settle(name, folder / name)
        (folder / f"{CONFIGURATION}.yaml").write_text(yaml.safe_dump(case.config, sort_keys=False), encoding="utf-8")
        self.say("-m", "partywise", "network", "nvflare-job", f"{CONFIGURATION}.yaml", "--into", "job", "--again")

    def said(self, name: str) -> str:
        """What a party has said in all its jobs."""
        return (self.kit(self.sites[name]) / "partywise.log").read_text(encoding="utf-8")

    def results(self, name: str) -> Path:
        """The folder of a party's results."""
        return self.kit(self.sites[name]) / "partywise" / CONFIGURATION

    def account(self, name: str) -> Path:
        """The file of a party's account."""
        return (self.folder / name if name in self.case.files else self.results(name)) / FILE

    def model(self) -> object:
        """What the owner of all data takes home of the same fit."""
        found = self.case.deployment()
        network = found.network
        with chdir(self.whole):
            data = generate(found.plan, network.case, [0], "resources")
            cells = run(found.plan, network.case, network.method, found.n_parties, [0], [network.fold], data)
        (report,) = (one.owner_report for one in cells if one.coords["epsilon"] == found.epsilon)
        assert report is not None
        return report.model

    def fresh_run(self, fit: Deployment) -> Run:
        """A run of all data in one process, not used yet."""
        network = fit.network
        with chdir(self.whole):
            data = generate(fit.plan, network.case, [0], "resources")[0]
            return execution(fit.plan, network.case, network.method, fit.n_parties, network.fold, fit.epsilon, data)

    def check_ended(self, times: int = 1) -> None:
        """After so many jobs that have ended: results, ledger, accounts and journals are those of the simulation."""
        fits = self.case.deployments()
        for fit in fits:
            self._check_fit(fit, fit.label if len(fits) > 1 else "")
        for name in self.case.names:
            rows = opened_account(self.account(name)).rows
            assert len({*runs_of(rows)}) == sum(row.kind == "ended" for row in rows) == times * len(fits), name
            paid = [(owner, event.release_id) for owner, event in paid_events(rows)]
            assert len(paid) == len(set(paid)), f"{name} paid twice"
            assert not self.account(name).with_suffix(".journal").exists()

    def _check_fit(self, fit: Deployment, folder: str) -> None:
        program, names = fit.plan.methods[fit.network.method].protocol.fit, self.case.names
        reference = self.fresh_run(fit)
        simulate(program, reference)
        authority = self.kit(SERVER) / "startup" / "rootCA.pem"
        runs = {name: last_run(self.results(name) / folder) for name in names}
        found = join_results(list(runs.values()), authority)
        assert found.channel.ledger.digest == reference.channel.ledger.digest
        assert len(found.channel.ledger.rows) == len(reference.channel.ledger.rows)
        for name, outcome in outcomes(program, self.fresh_run(fit)).items():
            salt = json.loads((runs[name] / "outcome.json").read_text(encoding="utf-8"))["salt"]
            assert found.records[name].outcome == commitment_to(outcome.digest, salt), name
