"""Put all blocks of one study into its cube; write ledger, wire table, summary and timings next to it."""

from partywise.experiment.results.sources import load_by_content

load_by_content(snakemake.params.sources)

from pathlib import Path

from partywise.experiment.collect import collect
from partywise.experiment.jobs import gather, log_to
from partywise.experiment.plan import plan
from partywise.experiment.results.provenance_record import as_planned, digests_before, write_record

log = log_to(snakemake.log[0])
params, inputs, outputs = snakemake.params, snakemake.input, dict(snakemake.output.items())
provenance = outputs.pop("provenance")
gather(inputs.timings).write(outputs.pop("timings"))
root = Path(snakemake.scriptdir).parent
planned = as_planned(
    params.sources, digests_before(params.inputs_digest, params.fingerprint, inputs.provenance, inputs.blocks)
)
planned(collect)(plan(**params.job), inputs.blocks, outputs, code_sha256=params.code, root=root)
write_record(provenance, params.fingerprint, outputs.values())
log.info("study %s: %d blocks", params.job["name"], len(inputs.blocks))
