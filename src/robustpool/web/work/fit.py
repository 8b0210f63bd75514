"""``fit`` as a job: the data of `robustpool fit --json`, the pool and, if files are wanted, its report and its forecasts."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from ...learning.worst_case import worst_case
from ...practice.fitting import FitOptions, fit_table
from ...views.page import Section, fragment, write_page
from ...views.pool import as_data
from ...views.pool_page import pool_page
from . import uploads

if TYPE_CHECKING:
    from ..jobs.task import Task

SHOWN = 2
"""Sections of the report that the page shows: what was learned, and the calibration."""


def run(task: Task) -> dict[str, Any]:
    """Fit a pool to the table."""
    table = uploads.read(task, uploads.reading(task))
    tell = uploads.teller(task)
    pool = fit_table(table, FitOptions(**task.options["fitting"]), task.results / uploads.POOL, tell)
    worst, report = None, None
    if task.options["files"]:
        tell("proving the worst case", 1.0)
        worst, report = worst_case(pool), uploads.REPORT
        page = pool_page(pool, title=f"A pool learned from {task.options['name']}", worst=worst)
        write_page(page, task.results / report)
        shown = (Section("The fitted pool", page.lead), *page.sections[:SHOWN])
        (task.results / uploads.VIEW).write_text(fragment(shown, "fitted"), encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pool.aggregate(table).write(task.results / uploads.POOLED)
    return {**as_data(pool, uploads.POOL, worst), **uploads.files(task, table), "report": report}
