"""``compare`` as a job: the data of `robustpool compare --json` and, if files are wanted, the report and what goes with it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...practice.comparing import ScoringOptions, compare_table
from ...tables.pooling import aggregate_table
from ...views.comparison_page import comparison_page
from ...views.page import Section, fragment, write_page
from ...views.reading_page import Read, reading_sections
from . import uploads

if TYPE_CHECKING:
    from ...evaluation.records import Comparison
    from ...tables.records import ForecastTable
    from ...views.page import Page
    from ..jobs.task import Task

SHOWN = 3
"""Sections of the report that the page shows: the scores, the differences and the reliability."""


def run(task: Task) -> dict[str, Any]:
    """Score the rules on the table."""
    how = uploads.reading(task)
    table = uploads.read(task, how)
    scoring, files = ScoringOptions(**task.options["scoring"]), task.options["files"]
    report, rejects = uploads.REPORT if task.options["report"] else None, uploads.REJECTS if files else None
    tell = uploads.teller(task)
    task.note(doing="scoring the rules", share=0.0)
    compared = compare_table(
        table, scoring, how, file=uploads.source(task), rejects=rejects, report=report, progress=tell
    )
    if files or report is not None:
        task.note(doing="drawing the report", share=1.0)
        title = f"Rules compared on {task.options['name']}"
        page = comparison_page(compared.comparison, title=title, rejected=table.rejected.total)
    if report is not None:
        write_page(page, task.results / report)
    if files:
        (task.results / uploads.VIEW).write_text(_view(page, table), encoding="utf-8")
        _write_pooled(task, table, compared.comparison, scoring)
    return compared.data


def _view(page: Page, table: ForecastTable) -> str:
    """What the page shows: what to do and why, what was read, and the first parts of the report with one table each."""
    scores, *others = page.sections[:SHOWN]
    sections = (Section("Advice", page.lead), replace(scores, parts=scores.parts[:1]), *others)
    return fragment((*sections, *reading_sections(Read.of_table(table))), "compared")


def _write_pooled(task: Task, table: ForecastTable, comparison: Comparison, scoring: ScoringOptions) -> None:
    """The forecasts of the rule that the advice names, the default rule if it names none, and the pool that was fitted."""
    pool, rule = comparison.fitted, comparison.recommended or "robust"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the comparison says what matters
        if pool is not None and rule == "fitted":
            pooled = pool.aggregate(table)
        else:
            pooled = aggregate_table(table, rule, clip=scoring.clip)
    pooled.write(task.results / uploads.POOLED)
    by = "the fitted pool" if rule == "fitted" else f"the rule {rule}"
    task.note(pooled=f"The pooled forecasts are those of {by}.")
    if pool is not None:
        pool.save(task.results / uploads.POOL)
