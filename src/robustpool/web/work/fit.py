"""``fit`` as a job: the data of `robustpool fit --json`, the pool and, if files are wanted, its report and its forecasts."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ...practice.fitting import FitOptions, fit_table, report_pool
from ...views.page import fragment
from ...views.pool import as_data
from ...views.pool_page import pool_sections
from ...views.reading_page import Read, reading_sections
from . import uploads

if TYPE_CHECKING:
    from ..jobs.task import Task


def run(task: Task) -> dict[str, Any]:
    """Fit a pool to the table."""
    table = uploads.read(task, uploads.reading(task))
    tell = uploads.teller(task)
    task.note(doing="learning", share=0.0)
    pool = fit_table(table, FitOptions(**task.options["fitting"]), task.results / uploads.POOL, tell)
    worst, report = None, None
    if task.options["report"]:
        task.note(doing="proving the worst case for the report", share=1.0)
        report = uploads.REPORT
        worst = report_pool(pool, task.results / report, task.options["name"])
    if task.options["files"]:
        sections = (*pool_sections(pool), *reading_sections(Read.of_table(table)))
        (task.results / uploads.VIEW).write_text(fragment(sections, "fitted"), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pool.aggregate(table).write(task.results / uploads.POOLED)
    return {**as_data(pool, uploads.POOL, worst), **uploads.files(task, table), "report": report}
