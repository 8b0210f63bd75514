"""The page of a design: its worst case and how well that is known, its forecasts, nature's mixture, how it was made."""

from __future__ import annotations

import json
import shlex
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.curve import CurveAggregator
from ..aggregators.grid import GridAggregator
from ..aggregators.table import TableAggregator
from ..aggregators.worst_cases import KnownWorstCase
from ..designs.design_file import design_to_json
from ..designs.records import FiniteRecord, IndependentMixture, OtherRecord
from ..errors import UnsupportedError
from ..families.conditionally_independent import ConditionallyIndependent
from ..families.worst_case import tabulated, worst_case
from ..html import words
from ..plots.convergence import draw_convergence
from ..plots.heatmaps import draw_aggregator
from ..plots.style import new_figure, png
from ..wording import at_most, between_points, outward
from .calculator import DIGITS, calculator
from .lookup import MOST_PROFILES, lookup
from .page import Page, Picture, Section, Table, write_page

if TYPE_CHECKING:
    from ..designs.design import Design
    from ..typing import FilePath, Floats

MOST_ROWS = 200
MOST_SAID = 20  # reports in an example
MOST_STRUCTURES = 12
LEAST_WEIGHT = 1e-3
PERCENTS = np.arange(101) / 100
THIS = "this design"
PAYOFFS = {"additive": "regret", "absolute": "expected loss", "ratio": "loss relative to the omniscient loss"}


def design_page(design: Design, *, file: str = "design.json", found: float | None = None) -> Page:
    """The whole page of a design; ``file`` is the name under which the reader has it.

    ``found`` is the worst regret that a search found over any reports, for the calculator of two independent agents.
    """
    family, table = design.family, design.aggregator
    if isinstance(family, OtherRecord):
        raise UnsupportedError(
            f"a report is for finite families and independent agents; {design.name} is for {design.made_for}."
        )
    lower, upper = outward(design.lower, "ROUND_FLOOR", DIGITS), _upper(design, DIGITS)
    return Page(
        title=_say("title", design),
        lead=_say("lead", design, upper=upper, lower=lower),
        sections=(_cost(design, file), _forecasts(design), *_convergence(design), _nature(design)),
        settings=_settings(design),
        calculator=_calculator(design, found),
        lookup=lookup(table, family)
        if isinstance(family, FiniteRecord) and isinstance(table, TableAggregator)
        else None,
    )


def write_design(design: Design, file: str, path: FilePath) -> None:
    """Write the page about a design, whole or not at all; for the calculator, search any reports for its worst case."""
    family, found = design.family, None
    if isinstance(family, ConditionallyIndependent) and family.agents == 2 and not design.off_grid:
        found = design.bounds.off_grid if design.settings.loss == "square" else None
        if found is None:
            found = worst_case(design, ConditionallyIndependent(2, None, None, family.prior_range)).regret
    write_page(design_page(design, file=file, found=found), path)


# --- words ------------------------------------------------------------------------------------------------------------


def _say(block: str, design: Design, **values: object) -> str:
    """What ``design.txt`` says about one thing."""
    kinds = {
        "finite": isinstance(design.family, FiniteRecord),
        "independent": isinstance(design.family, ConditionallyIndependent),
        "curve": isinstance(design.aggregator, CurveAggregator),
        "listed": isinstance(design.aggregator, TableAggregator),
    }
    return words("design.txt", block, it=design, payoff=_payoff(design), **kinds, **values)


def _payoff(design: Design) -> str:
    return PAYOFFS.get(design.settings.paradigm, "payoff")


def _upper(design: Design, digits: int) -> str:
    """The upper bound, rounded up; what was only found is a lower bound on the worst case, and rounded down."""
    return outward(design.upper, "ROUND_FLOOR" if design.bounds.searched else "ROUND_CEILING", digits)


# --- the sections -----------------------------------------------------------------------------------------------------


def _cost(design: Design, file: str) -> Section:
    least = f"{_say('nobody', design)} has a worst case below"
    rows: tuple[tuple[str, str, str], ...] = (
        (least, outward(design.lower, "ROUND_FLOOR", 9), "measured in floating point, not proved"),
        ("worst case of this design", _upper(design, 9), _say("sure", design)),
        ("gap between the two", at_most(design.bounds.gap), design.stopped.sentence),
    )
    if design.bounds.off_grid is not None:
        rows += (("regret between the grid points", between_points(design.bounds.off_grid), "not proved"),)
    title = f"Bounds on the worst {_payoff(design)}"
    table = Table(title, ("bound", "value", "how it is known"), rows, "Rounded outward.")
    commands = _say("commands", design, example=_example(design)).replace("DESIGN", shlex.quote(file))
    return Section("The worst case", _say("cost", design), (table,), tuple(commands.split("\n\n")))


def _example(design: Design) -> str:
    """Reports that the design takes, as on the command line."""
    aggregator = design.aggregator
    if isinstance(aggregator, GridAggregator | CurveAggregator):
        return " ".join(["0.7", "0.6", "0.8"][k % 3] for k in range(min(aggregator.agents, MOST_SAID)))
    return " ".join(",".join(f"{x:.12g}" for x in agent) for agent in aggregator.reports[0])


def _forecasts(design: Design) -> Section:
    aggregator = design.aggregator
    parts: list[Picture | Table] = []
    if isinstance(aggregator, GridAggregator):
        if aggregator.agents > 1:
            parts.append(_heatmap(design, aggregator) if aggregator.agents == 2 else _slices(design, aggregator))
        if aggregator.agents != 2:
            parts.append(_grid_table(design, aggregator))
    elif isinstance(aggregator, CurveAggregator):
        parts.append(_curve_table(aggregator))
    else:
        parts.append(_listed(design, aggregator))
    return Section("The forecasts", _say("forecasts", design), tuple(parts))


def _heatmap(design: Design, aggregator: GridAggregator) -> Picture:
    values = tabulated(aggregator, PERCENTS)
    figure, axes = new_figure(width=4.6, height=3.8)
    draw_aggregator(values, axes[0, 0])
    lower, higher = np.minimum.outer(PERCENTS, PERCENTS), np.maximum.outer(PERCENTS, PERCENTS)
    beyond = float(((values < lower - 1e-9) | (values > higher + 1e-9)).mean())
    alt, meaning = _say("heatmap", design, beyond=f"{beyond:.0%}").split("\n\n")
    return Picture("forecasts", "The forecast for every pair of reports", png(figure), alt, meaning)


def _slices(design: Design, aggregator: GridAggregator) -> Picture:
    """The forecast over two reports, with all others at some values."""
    N, rest = aggregator.resolution, aggregator.agents - 2
    fixed, others = sorted({N // 4, N // 2, N - N // 4}), "third report" if rest == 1 else "other reports"
    figure, axes = new_figure(columns=len(fixed), width=3.2, height=2.9)
    for k, ax in zip(fixed, axes[0], strict=True):
        panel: Any = (..., *[k] * rest)
        draw_aggregator(aggregator.values[panel], ax, bar=k == fixed[-1])
        ax.set_title(f"{others} {k / N:g}")
    alt, meaning = _say("slices", design, panels=len(fixed), others=others).split("\n\n")
    title = f"The forecast over two reports, for some values of the {others}"
    return Picture("slices", title, png(figure), alt, meaning)


def _grid_table(design: Design, aggregator: GridAggregator) -> Table:
    N, agents, values = aggregator.resolution, aggregator.agents, aggregator.values
    symmetric = all(np.abs(values - np.swapaxes(values, 0, k)).max() < 1e-9 for k in range(agents))
    every = combinations_with_replacement(range(N + 1), agents) if symmetric else product(range(N + 1), repeat=agents)
    profiles = [index for index in every if not {0, N} <= set(index)]  # a 0 and a 1 never come together
    rows = tuple((*(f"{k / N:.4g}" for k in index), f"{values[index]:.6f}") for index in profiles[:MOST_ROWS])
    columns = (*(f"report {k + 1}" if agents > 1 else "report" for k in range(agents)), "forecast")
    note = _cut(design, len(profiles), symmetric=symmetric and agents > 1)
    return Table("Forecasts on the grid", columns, rows, note)


def _curve_table(aggregator: CurveAggregator) -> Table:
    """What the curve says to whole percents."""
    forecasts = aggregator.at(PERCENTS)
    rows = tuple((f"{x:.2f}", f"{y:.6f}") for x, y in zip(PERCENTS, forecasts, strict=True))
    return Table("Forecasts by the pooled report", ("pooled report", "forecast"), rows, "")


def _listed(design: Design, aggregator: TableAggregator) -> Table:
    family, count = design.family, len(aggregator.reports)
    agents: tuple[str, ...] = tuple(f"agent {k + 1}" for k in range(aggregator.agents))
    heads: tuple[str, ...] = ("forecast",)
    looked_up = isinstance(family, FiniteRecord) and count <= MOST_PROFILES
    if isinstance(family, FiniteRecord):
        several = aggregator.forecasts.ndim == 2
        agents, heads = family.agents, tuple(f"Pr[{state}]" for state in family.states[not several :])
    forecasts = aggregator.forecasts.reshape(len(aggregator.forecasts), -1)
    rows = tuple(
        (*(_report(agent) for agent in profile), *(f"{value:.6f}" for value in forecast))
        for profile, forecast in zip(aggregator.reports[:MOST_ROWS], forecasts[:MOST_ROWS], strict=True)
    )
    columns = (*(f"{name} says" for name in agents), *heads)
    return Table("Forecasts by reports", columns, rows, _cut(design, count, looked_up=looked_up))


def _report(agent: Floats) -> str:
    return ", ".join(f"{x:.6g}" for x in agent.round(9) + 0.0)


def _cut(design: Design, count: int, *, symmetric: bool = False, looked_up: bool = False) -> str:
    return _say("forecasts_note", design, count=count, most=MOST_ROWS, symmetric=symmetric, looked_up=looked_up)


def _convergence(design: Design) -> tuple[Section, ...]:
    if len(design.trace) < 2:
        return ()
    figure, axes = new_figure(width=5.6, height=3.3)
    draw_convergence({design.settings.method: design.trace}, axes[0, 0])
    text, alt, meaning = _say("convergence", design, gap=at_most(design.bounds.gap)).split("\n\n")
    picture = Picture("convergence", "Lower and upper bound, round by round", png(figure), alt, meaning)
    return (Section("How the bounds converged", text, (picture,)),)


def _nature(design: Design) -> Section:
    mixture, weights = design.mixture, design.mixture.weight
    heavy = [t for t in np.argsort(-weights, kind="stable")[:MOST_STRUCTURES] if weights[t] >= LEAST_WEIGHT]
    if isinstance(mixture, IndependentMixture):
        columns = ("weight", "prior", *(f"agent {k + 1} says" for k in range(mixture.reports.shape[1])))
        rows = tuple(
            (f"{weights[t]:.4f}", f"{mixture.prior[t]:.6f}", *(_either(pair) for pair in mixture.reports[t].tolist()))
            for t in heavy
        )
    else:
        columns, names = ("structure", "weight"), mixture.name
        rows = tuple((names[t] if names else f"number {mixture.structure[t]}", f"{weights[t]:.4f}") for t in heavy)
    note = _say("nature_note", design, shown=len(heavy), all=len(weights), share=f"{weights[heavy].sum():.0%}")
    table = Table("The heaviest structures of nature's mixture", columns, rows, note)
    return Section("Nature's mixture", _say("nature", design), (table,))


def _either(pair: list[float]) -> str:
    low, high = (f"{round(x, 6):.4g}" for x in pair)
    return f"always {low}" if low == high else f"{low} or {high}"


def _settings(design: Design) -> dict[str, str]:
    data = design_to_json(design)
    settings = {key.replace("_", " "): _shown(value) for key, value in data["settings"].items() if key != "version"}
    family = {f"family: {key.replace('_', ' ')}": _shown(value, "any") for key, value in data["family"].items()}
    return {
        **family,
        **settings,
        "stopped because": design.stopped.sentence,
        "rounds run": f"{design.rounds:,}",
        "seconds": f"{design.seconds:.2f}",
        **{f"version of {name}": version for name, version in data["versions"].items()},
        "file format": data["format"],
        "hash": data["hash"],
    }


def _shown(value: Any, nothing: str = "none") -> str:
    if value is None:
        return nothing
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(_shown(item) for item in value) or "none"
    return json.dumps(value) if isinstance(value, dict) else str(value)


# --- the calculator ---------------------------------------------------------------------------------------------------


def _calculator(design: Design, found: float | None) -> dict[str, Any] | None:
    """For two independent agents."""
    family = design.family
    if not isinstance(family, ConditionallyIndependent) or family.agents != 2:
        return None
    bounds = {THIS: KnownWorstCase(found=design.upper if design.off_grid else found)}
    note = _say("calculator", design)
    return calculator({THIS: design}, THIS, bounds=bounds, prior_range=family.prior_range, note=note)
