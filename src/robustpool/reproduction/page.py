"""The page of a reproduction: the table, the claims, the pictures, the settings, and a calculator."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..aggregators.worst_cases import KnownWorstCase
from ..minimax.rows import minimax_rows
from ..views import minimax_table
from ..views.calculator import calculator
from ..views.page import Page, Picture, Section, Table
from ..wording import outward
from .figures import GROUPS
from .table_1 import HEADER, PUBLISHED, cells

if TYPE_CHECKING:
    from .claims import Claim
    from .figures.figure import PaperFigure
    from .run import Reproduction
    from .table_1 import Row

PACKAGES = ("numpy", "scipy", "numba", "clarabel", "python-flint", "matplotlib")


def page(result: Reproduction) -> Page:
    """What has been reproduced, as a page."""
    return Page(
        title="Robust aggregation of two forecasts, recomputed",
        lead=_lead(result),
        sections=tuple(_sections(result)),
        settings=_settings(result),
        calculator=_calculator(result),
    )


def _lead(result: Reproduction) -> str:
    text = (
        "Two forecasters give you a probability for the same event. Their evidence is independent once the truth is "
        "known, but you know neither this evidence nor the base rate. Which single number should you forecast? This page "
        "recomputes the paper that made this a game against nature (Guo, Hartline, Huang, Kong, Shah and Yu, "
        "Algorithmic Robust Forecast Aggregation, 2024) and improves on it. Found numbers come from a search. Proved "
        "numbers are bounds from rigorous arithmetic, and anybody can re-check them with `robustpool verify`."
    )
    best = min(result.rows, key=lambda row: row.upper, default=None)
    if best is not None:
        text += (
            f"\n\nThe best published number for the worst case was {PUBLISHED['algorithm-1']:.4f}, found by a search. "
            f"Of the aggregators below `{best.name}` has the smallest proved bound: it costs at most "
            f"{outward(best.upper, 'ROUND_CEILING', 10)} more than someone who knows everything, in mean squared error, "
            "whatever the evidence."
        )
    return text if result.finished else text + "\n\nThe run was stopped early; this page has the results so far."


def _sections(result: Reproduction) -> list[Section]:
    sections = [_table_1(result)] if result.rows else []
    sections += [_claims(result.claims)] if result.claims else []
    for title, (text, figures) in GROUPS.items():
        pictures = tuple(_picture(figure, result) for figure in figures if figure.name in result.pictures)
        sections += [Section(title, text, pictures)] if pictures else []
    return [*sections, minimax_table.section(minimax_rows())]


def _picture(figure: PaperFigure, result: Reproduction) -> Picture:
    name, meaning = figure.name, figure.meaning(result.numbers[figure.name])
    return Picture(name, figure.title, result.pictures[name], figure.alt, meaning, f"figures/{name}.npz")


def _table_1(result: Reproduction) -> Section:
    agree = [row for row in result.rows if row.agrees]
    below = [row for row in result.rows if row.upper < PUBLISHED["algorithm-1"]]
    improves = [row for row in below if row.improves]
    text = (
        "The worst-case regret of each aggregator over all structures of two conditionally independent agents, any reports "
        f"and any prior. {len(agree)} of the paper's numbers agree with the proved bounds to all four digits. Proved to be "
        f"below {PUBLISHED['algorithm-1']:.4f}, the paper's own: {_names(below)}; below all numbers that round to it, "
        f"that is, below {PUBLISHED['algorithm-1'] - 5e-5:.5f}: {_names(improves)}."
    )
    note = (
        "Published: Guo et al. (2024), Table 1, by a heuristic search. Found: the worst structure of our search, "
        "rounded down. Proved: lower bounds rounded down and upper bounds rounded up, from the certificate files."
    )
    knots = result.settings.knots[0]
    solution = result.solutions.get(f"continuous-{knots}")
    if solution is not None:
        note += (
            f" The solver's lower bound on what any table with N = {knots} knots can cost, interpolated between them, "
            f"is {outward(solution.lower, 'ROUND_FLOOR', 6)} (measured in floating point, not proved); a smaller "
            "worst case needs more knots or a closed form."
        )
    table = Table("Table 1, recomputed", HEADER, tuple(cells(row) for row in result.rows), note)
    return Section("The worst case of each aggregator", text, (table,))


def _names(rows: list[Row]) -> str:
    return ", ".join(row.name for row in rows) or "none"


def _claims(judged: list[Claim]) -> Section:
    differ = [claim for claim in judged if not claim.agrees]
    holds = tuple((claim.paper, claim.ours, claim.why) for claim in judged if claim.agrees)
    text = f"Of {len(judged)} statements of the paper's numerical section, {len(holds)} hold in our numbers"
    text += f" and {len(differ)} {'does' if len(differ) == 1 else 'do'} not, or not entirely:" if differ else "."
    points = tuple(f"The paper: {claim.paper}. We find: {claim.ours}. {claim.why}".strip() for claim in differ)
    table = Table("Statements that hold", ("the paper says", "we find", "remark"), holds)
    return Section("Where our numbers differ from the paper's", text, (table,) if holds else (), points)


def _settings(result: Reproduction) -> dict[str, str]:
    settings = result.settings
    return {
        "reports": f"N = {settings.reports}",
        "priors": f"M = {settings.priors}",
        "rounds of Algorithm 1": f"{settings.rounds:,}",
        "knots of the tables against continuous nature": ", ".join(map(str, settings.knots)),
        "Lipschitz constants": ", ".join(f"{L:g}" for L in settings.slopes),
        "weak spots searched": f"on reports in steps of 1/{settings.cells}, priors in steps of 1/{settings.priors}",
        "loss": "square",
        "seconds": f"{result.seconds:.0f}",
        "robustpool": __version__,
        "Python": platform.python_version(),
        **{name: metadata.version(name) for name in PACKAGES},
    }


def _calculator(result: Reproduction) -> dict[str, Any]:
    """The rules, and those tables that there are."""
    words = {"algorithm-1": "Algorithm 1's table"}
    words |= {f"continuous-{knots}": f"table N = {knots}" for knots in result.settings.knots}
    solutions = {name.removesuffix("-additive"): solution for name, solution in result.solutions.items()}
    aggregators = {title: solutions[name].aggregator for name, title in words.items() if name in solutions}
    rows = {words[row.name]: row for row in result.rows if row.name in words}
    bounds = {title: KnownWorstCase(found=row.found, lower=row.lower, upper=row.upper) for title, row in rows.items()}
    return calculator(aggregators, "minimax", bounds=bounds)
