"""The report of a run as one page of HTML: the table of results, then question, answer and figures by study.

Snakemake finds it by its name when the folder above is on the path; ``workflow/launch.py`` puts it there, and
``./run report`` asks for it (``--reporter partywise --report-partywise-path results/NAME/report.html``).
"""

import os
from dataclasses import dataclass, field
from pathlib import Path

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_report_plugins.reporter import ReporterBase
from snakemake_interface_report_plugins.settings import ReportSettingsBase

from .content import TooOld, run_of
from .page import page


@dataclass
class ReportSettings(ReportSettingsBase):
    """Settings of the report: file of the page, whether figures of single records are in it, what is missing."""

    path: Path | None = field(
        default=None,
        metadata={"help": "File of the page, such as report.html.", "required": True, "env_var": False, "type": Path},
    )
    # Without postponed annotations: Snakemake makes a flag of what is a `bool`.
    records: bool = field(
        default=False,
        metadata={"help": "Show figures of single records of own data too.", "required": False, "env_var": False},
    )
    missing: str = field(
        default="",
        metadata={
            "help": "What the results lack, as the page names it: study or study/figure, between commas.",
            "required": False,
            "env_var": False,
        },
    )


class Reporter(ReporterBase):
    """Writes the page, whole or not at all."""

    def render(self) -> None:
        """Write the page."""
        path = Path(self.settings.path)
        records = [record for parts in self.results.values() for group in parts.values() for record in group]
        try:
            run = run_of(
                records,
                [Path(file.path) for file in self.configfiles],
                self.workflow_description,
                self.settings.records,
                [name for name in self.settings.missing.split(",") if name],
            )
        except TooOld as error:
            raise WorkflowError(str(error)) from None
        part = path.with_name(f".{path.name}.part{os.getpid()}")
        part.write_text(page(run), encoding="utf-8")
        part.replace(path)
