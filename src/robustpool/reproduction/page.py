"""The page of a reproduction: the table, the claims, the pictures, the settings, and a calculator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..aggregators.worst_cases import KnownWorstCase
from ..views.calculator import calculator
from ..views.page import Page, Picture, Section, Table
from ..wording import outward
from .figures import FIGURES
from .table_1 import HEADER, PUBLISHED, cells

if TYPE_CHECKING:
    from .run import Reproduction
    from .table_1 import Row

GROUPS = (
    (
        "The aggregators",
        "What each rule says to two reports, and where it is weak.",
        ("aggregators", "differences", "weakness"),
    ),
    (
        "Aggregators with a bounded slope",
        "An L-Lipschitz aggregator changes by at most L times the change of the reports.",
        ("lipschitz-aggregators", "lipschitz-values"),
    ),
    (
        "How fast the game is solved",
        "The same game by the paper's Algorithm 1 and by cutting planes.",
        ("convergence",),
    ),
    (
        "Three ways to be robust",
        (
            "Regret may be the difference to the omniscient loss (additive), the loss itself (absolute) or the "
            "quotient (ratio)."
        ),
        ("losses", "report-distribution"),
    ),
    (
        "Pictures from the proofs",
        "Why the omniscient posterior has to be smoothed, and how a structure is moved onto a grid.",
        ("sensitivity-to-prior", "sensitivity-to-reports", "areas", "coupling"),
    ),
)


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
        "known, but what it is, and the base rate, you do not know. Which single number should you say? This page "
        "recomputes the paper that made this a game against nature (Guo, Hartline, Huang, Kong, Shah and Yu, "
        "Algorithmic Robust Forecast Aggregation, 2024) and improves on it. Found is what a search found; proved is "
        "what rigorous arithmetic bounds, and anybody can check it again with `robustpool verify`."
    )
    best = min(result.rows, key=lambda row: row.upper, default=None)
    if best is not None:
        text += (
            f"\n\nThe best published number for the worst case was {PUBLISHED['algorithm-1']:.4f}, found by a search. "
            f"Of the aggregators below `{best.name}` has the smallest proved bound: it costs at most "
            f"{outward(best.upper, 'ROUND_CEILING', 10)} more than someone who knows everything, in mean squared error, "
            "whatever the evidence."
        )
    return text if result.finished else text + "\n\nThe run was stopped before its end; this page has what was reached."


def _sections(result: Reproduction) -> list[Section]:
    sections = []
    if result.rows:
        sections.append(_table_1(result))
    judged = result.claims
    if judged:
        sections.append(_claims(result))
    for title, text, names in GROUPS:
        pictures = tuple(
            Picture(
                figure.name,
                figure.title,
                result.pictures[figure.name],
                figure.alt,
                figure.meaning(result.numbers[figure.name]),
                f"figures/{figure.name}.npz",
            )
            for figure in FIGURES
            if figure.name in names and figure.name in result.pictures
        )
        if pictures:
            sections.append(Section(title, text, pictures))
    return sections


def _table_1(result: Reproduction) -> Section:
    agree = [row for row in result.rows if row.agrees]
    below = [row for row in result.rows if row.upper < PUBLISHED["algorithm-1"]]
    improves = [row for row in below if row.improves]
    text = (
        "The worst-case regret of each aggregator over all structures of two conditionally independent agents, any reports "
        f"and any prior. {len(agree)} of the paper's numbers agree with the proved bounds to all four digits. Proved to be "
        f"below {PUBLISHED['algorithm-1']:.4f}, the paper's own: {_names(below)}; below all that prints as this number, "
        f"that is below {PUBLISHED['algorithm-1'] - 5e-5:.5f}: {_names(improves)}."
    )
    note = (
        "Published: Guo et al. (2024), Table 1, by a heuristic search. Found: the worst structure of our search, "
        "rounded down. Proved: lower bounds rounded down and upper bounds rounded up, from the certificate files."
    )
    knots = result.settings.knots[0]
    solutions = result.bench.solutions if result.bench is not None else {}
    if f"continuous-{knots}" in solutions:
        least = outward(solutions[f"continuous-{knots}"].lower, "ROUND_FLOOR", 6)
        note += (
            f" The solver's lower bound on what any table with N = {knots} knots can cost, interpolated between them, "
            f"is {least} (measured in floating point, not proved): to go below it takes more knots, or a closed form."
        )
    table = Table("Table 1, recomputed", HEADER, tuple(cells(row) for row in result.rows), note)
    return Section("The worst case of each aggregator", text, (table,))


def _names(rows: list[Row]) -> str:
    return ", ".join(row.name for row in rows) or "none"


def _claims(result: Reproduction) -> Section:
    judged = result.claims
    differ = [claim for claim in judged if not claim.agrees]
    holds = tuple((claim.paper, claim.ours, claim.why) for claim in judged if claim.agrees)
    text = (
        f"Of {len(judged)} statements of the paper's numerical section, {len(judged) - len(differ)} hold in our numbers"
    )
    text += f" and {len(differ)} {'does' if len(differ) == 1 else 'do'} not, or not quite:" if differ else "."
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
        **result.versions(),
    }


def _calculator(result: Reproduction) -> dict[str, Any]:
    """The rules, and those tables that there are."""
    aggregators: dict[str, Any] = {}
    bounds: dict[str, KnownWorstCase] = {}
    solutions = result.bench.solutions if result.bench is not None else {}
    proved = {row.name: row for row in result.rows}
    named = {
        "algorithm-1": "algorithm-1-additive",
        **{f"continuous-{knots}": f"continuous-{knots}" for knots in result.settings.knots},
    }
    for name, key in named.items():
        if key not in solutions:
            continue
        words = "Algorithm 1's table" if name == "algorithm-1" else f"table N = {name.split('-')[-1]}"
        aggregators[words] = solutions[key].aggregator
        row = proved.get(name)
        if row is not None:
            bounds[words] = KnownWorstCase(found=row.found, lower=row.lower, upper=row.upper)
    return calculator(aggregators, "minimax", bounds=bounds)
