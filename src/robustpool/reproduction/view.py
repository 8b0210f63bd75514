"""A reproduction as plain data and as lines for people."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..wording import between
from .table_1 import cells

if TYPE_CHECKING:
    from .run import Reproduction


def as_data(result: Reproduction) -> dict[str, Any]:
    """The table, the figures that there are, and the paper's claims beside our numbers."""
    return {
        "output": str(result.folder),
        "report": str(result.report),
        "finished": result.finished,
        "seconds": result.seconds,
        "table": [{**asdict(row), "agrees": row.agrees} for row in result.rows],
        "figures": sorted(result.pictures),
        "claims": [asdict(claim) for claim in result.claims],
    }


def as_lines(result: Reproduction) -> list[str]:
    """The table, the claims that do not hold, and where the report is."""
    lines = [
        f"{row.name:<15} published {cells(row)[1] or '-':^6}  {between(row.lower, row.upper, 9)} (proved)"
        for row in result.rows
    ]
    judged = result.claims
    differ = [claim for claim in judged if not claim.agrees]
    lines += [f"differs from the paper: {claim.paper}; {claim.ours}." for claim in differ]
    holding = f"{len(judged) - len(differ)} of {len(judged)} claims of the paper hold"
    lines.append(f"{len(result.pictures)} figures, {holding}, {result.seconds:.0f} s")
    lines += [] if result.finished else ["stopped early; the report has the results so far"]
    return [*lines, f"the report is {result.report}"]
