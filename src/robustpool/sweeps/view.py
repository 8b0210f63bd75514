"""A sweep as plain data and as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..wording import counted

if TYPE_CHECKING:
    from .run import Sweep

SHOWN = 5
"""Failures that are told in full."""


def as_data(it: Sweep) -> dict[str, Any]:
    """How many cells are done and failed, and where the results are."""
    return {
        "output": str(it.folder),
        "done": it.done,
        "failed": it.failed,
        "cells": len(it.cells),
        "found": it.found,
        "finished": it.finished,
        "failures": [
            {"options": cell.options, "error": outcome.error}
            for cell in it.cells
            if (outcome := it.outcomes.get(cell.digest)) is not None and outcome.error is not None
        ],
    }


def as_lines(it: Sweep) -> list[str]:
    """The same for people."""
    before = f" ({counted(it.found, 'cell')} by an earlier run)" if it.found else ""
    lines = [f"{it.done:,} of {counted(len(it.cells), 'cell')} done{before}, {it.failed:,} failed."]
    failures = as_data(it)["failures"]
    for failure, cell in zip(failures[:SHOWN], _failed(it), strict=False):
        lines.append(f"  {cell}: {failure['error']}")
    if len(failures) > SHOWN:
        lines.append(f"  and {len(failures) - SHOWN:,} more, in the column error of the table.")
    if it.outcomes:
        lines.append(
            f"The table is in {it.folder / 'results.csv'} and results.parquet, the files are in {it.folder / 'cells'}."
        )
    if not it.finished:
        lines.append("It was stopped; the same command with --resume does the cells that are left.")
    return lines


def _failed(it: Sweep) -> list[str]:
    return [
        cell.words for cell in it.cells if cell.digest in it.outcomes and it.outcomes[cell.digest].error is not None
    ]
