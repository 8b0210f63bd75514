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
        "not_converged": it.not_converged,
        "cells": len(it.cells),
        "kept": it.kept,
        "others": it.others,
        "finished": it.finished,
        "failures": [{"options": cell.options, "error": error} for cell, error in it.failures],
    }


def as_lines(it: Sweep) -> list[str]:
    """The same for people."""
    before = f" ({counted(it.kept, 'cell')} by an earlier run)" if it.kept else ""
    lines = [f"{it.done:,} of {counted(len(it.cells), 'cell')} done{before}, {it.failed:,} failed."]
    lines += [f"  {cell.words}: {error}" for cell, error in it.failures[:SHOWN]]
    if it.failed > SHOWN:
        lines.append(f"  and {it.failed - SHOWN:,} more, in the column error of the table.")
    if it.not_converged:
        lines.append(f"{counted(it.not_converged, 'design')} did not reach the tolerance: see the column converged.")
    if it.outcomes:
        lines.append(
            f"The table is in {it.folder / 'results.csv'} and results.parquet, the files are in {it.folder / 'cells'}."
        )
    if it.others:
        lines.append(
            f"The folder also has {counted(it.others, 'cell')} with other settings or from another version; the table leaves them out."
        )
    if not it.finished:
        lines.append("It was stopped; the same command with --resume does the cells that are left.")
    return lines
