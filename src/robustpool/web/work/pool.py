"""``aggregate`` with a table, as a job: one forecast per question in a file, and what was left out."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

from ...aggregators.learned_rule import LearnedRule
from ...designs.aggregator_file import read_aggregator
from ...files import finite
from ...practice.pooling import PoolingOptions, clipping, pool_table
from ...practice.reading import remarks, write_rejects, writing_rejects
from ...tables.rejecting import RowsLeftOutWarning
from ...views import tables as views
from ...views.page import fragment
from ...views.pooled_page import pooled_sections
from ...views.reading_page import Read
from . import uploads

if TYPE_CHECKING:
    from ..jobs.task import Task


def run(task: Task) -> dict[str, Any]:
    """Combine the table, and write the forecasts in the form that is asked for."""
    from ...forecasts import ClippedWarning

    given = task.options
    options, clip = PoolingOptions(**given["pooling"]), given["clip"]
    uploaded = task.uploads / uploads.RULE
    rule: Any = read_aggregator(json.loads(uploaded.read_bytes()), "rule") if uploaded.exists() else given["rule"]
    tell, rejects = uploads.teller(task), uploads.rejects(task)
    how = uploads.reading(task).reading() | {"progress": lambda done, size: tell("reading", done / max(size, 1))}
    with uploads.usable(task), writing_rejects(rejects), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pooled = pool_table(uploads.source(task), rule, clip, options, how)
    write_rejects(pooled.rejected, rejects)
    uploads.note_reading(task, Read.of_pooled(pooled))
    uploads.refuse_unusable(pooled)
    output = f"pooled.{given['form']}"
    data = views.pooled_data(pooled, given["rule"], output=output, rejects=rejects and uploads.REJECTS)
    if given["form"] == "json":
        records = data | {"output": None, "forecasts": views.forecasts_data(pooled)}
        (task.results / output).write_text(json.dumps(finite(records), allow_nan=False), encoding="utf-8")
    else:
        pooled.write(task.results / output)
    said = [str(each.message) for each in caught if not issubclass(each.category, (RowsLeftOutWarning, ClippedWarning))]
    clipped = [sentence] if (sentence := clipping(rule, given["rule"], clip, pooled, options)) else []
    if given["files"]:
        by = (
            f"the rule `{rule}`"
            if isinstance(rule, str)
            else "a fitted pool"
            if isinstance(rule, LearnedRule)
            else "a design"
        )
        view = fragment(pooled_sections(pooled, by, [*said, *clipped]), "pooled")
        (task.results / uploads.VIEW).write_text(view, encoding="utf-8")
    said += remarks(pooled.rejected, pooled.tally, len(pooled.questions))[1]
    return data | {"remarks": [*said, *clipped]}
