"""The page of a design: what it can cost and how sure that is, what it says, what nature plays, how it was made."""

from __future__ import annotations

import json
import shlex
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any

import numpy as np

from ..aggregators.grid import GridAggregator
from ..aggregators.table import TableAggregator
from ..game.worst_case import tabulated
from ..plots.convergence import draw_convergence
from ..plots.heatmaps import draw_aggregator
from ..plots.style import new_figure, png
from ..wording import at_most, counted, outward
from .calculator import DIGITS, calculator
from .lookup import MOST_PROFILES, lookup
from .page import Page, Picture, Section, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..aggregators.design import Design

MOST_ROWS = 200
MOST_STRUCTURES = 12
LEAST_WEIGHT = 1e-3
PERCENTS = np.arange(101) / 100
THIS = "this design"
PAYOFFS = {"additive": "regret", "absolute": "expected loss", "ratio": "loss relative to the omniscient loss"}


def design_page(design: Design, *, file: str = "design.json", found: float | None = None) -> Page:
    """All that there is to say about a design; ``file`` is the name under which the reader has it.

    ``found`` is the worst regret that a search found over any reports, for the calculator of two independent agents.
    """
    about = design.data["family"]
    independent = about["kind"] == "conditionally-independent"
    return Page(
        title=_title(about),
        lead=_lead(design),
        sections=(
            _cost(design, file),
            _forecasts(design),
            *_convergence(design),
            _nature(design),
        ),
        settings=_settings(design),
        calculator=_calculator(design, found) if independent and about["agents"] == 2 else None,
        lookup=lookup(design.aggregator, about) if isinstance(design.aggregator, TableAggregator) else None,
    )


# --- words ------------------------------------------------------------------------------------------------------------


def _title(about: dict[str, Any]) -> str:
    if about["kind"] == "finite":
        return f"A robust aggregator for {counted(about['structures'], 'information structure')}"
    return f"A robust aggregator for {counted(about['agents'], 'independent forecaster')}"


def _family(design: Design) -> str:
    """The family in words that fit after "over"."""
    return f"all structures of {design.made_for}"


def _payoff(design: Design) -> str:
    return PAYOFFS.get(design.data["settings"]["paradigm"], "payoff")


def _sure(design: Design) -> str:
    """How the upper bound is known, in the file's own word."""
    bounds = design.data["bounds"]
    if bounds["proved"]:
        return "proved"
    return (
        "found by search, not proved"
        if bounds["upper_is"] == "found by search"
        else "measured in floating point, not proved"
    )


def _lead(design: Design) -> str:
    searched = design.data["bounds"]["upper_is"] == "found by search"
    worst = f"the worst {_payoff(design)} that a search found" if searched else f"its worst {_payoff(design)}"
    return (
        "This aggregator turns several reports into one forecast without knowing where they come from. Over "
        f"{_family(design)}, {worst} is {_upper(design, DIGITS)}, and {_nobody(design)} can be sure of less than "
        f"{outward(design.lower, 'ROUND_FLOOR', DIGITS)}.\n\n{_unsure(design)}"
    )


def _upper(design: Design, digits: int) -> str:
    """The upper bound, rounded up; what was only found is a lower bound on the worst case, and rounded down."""
    found = design.data["bounds"]["upper_is"] == "found by search"
    return outward(design.upper, "ROUND_FLOOR" if found else "ROUND_CEILING", digits)


def _nobody(design: Design) -> str:
    """Whom the lower bound speaks of: against continuous nature the tables with these knots, else any aggregator."""
    settings = design.data["settings"]
    like = " under the same restrictions" if settings["restrictions"] else ""
    if settings["nature"] == "continuous":
        return f"no table with knots in steps of 1/{design.data['family']['reports']}{like}"
    return f"no aggregator{like}"


def _if_searched(design: Design) -> str:
    return ", if the search missed nothing" if design.data["bounds"]["upper_is"] == "found by search" else ""


def _unsure(design: Design) -> str:
    about, nature = design.data["family"], design.data["settings"]["nature"]
    if design.data["bounds"]["upper_is"] == "found by search":
        how = ", the first by a search that may have missed a worse structure"
    else:
        how = ", over the whole family"
    between = (
        "" if about["kind"] == "finite" or nature == "continuous" else " Between the steps of the grid it can be worse."
    )
    return f"Both numbers are computed in floating point{how}. Neither is proved.{between}"


# --- the sections -----------------------------------------------------------------------------------------------------


def _cost(design: Design, file: str) -> Section:
    bounds = design.data["bounds"]
    rows = (
        (
            f"{_nobody(design)} can be sure of less than",
            outward(design.lower, "ROUND_FLOOR", 9),
            "measured in floating point, not proved",
        ),
        ("this one's worst case", _upper(design, 9), _sure(design)),
        ("gap between the two", at_most(bounds["gap"]), design.data["stopped"]["sentence"]),
    )
    guarantee = design.data["guarantee"]
    promised = f"\n\nThe theorem's promise: {guarantee['says']} {guarantee['source']}" if guarantee else ""
    return Section(
        "What it can cost",
        f"The worst case is the largest {_payoff(design)} over {_family(design)}, under the "
        f"{design.data['settings']['loss']} loss. The gap says how far this design can be from the best one of its "
        f"kind{_if_searched(design)}.{promised}",
        (
            Table(
                f"Bounds on the worst {_payoff(design)}",
                ("bound", "value", "how it is known"),
                rows,
                "Rounded outward.",
            ),
        ),
        _commands(design, file),
    )


def _commands(design: Design, file: str) -> tuple[str, ...]:
    finite, file = design.data["family"]["kind"] == "finite", shlex.quote(file)
    use = f"Use it: `robustpool aggregate {_example(design)} --rule {file}`."
    search = () if finite else (f"Look for a structure with a worse regret: `robustpool worst-case {file}`.",)
    if not design.certifiable:
        why = "Its bounds cannot be proved yet: only regrets under the square loss can, of tables for two agents and a range of priors."
        return (use, *search, why)
    if finite:
        prove = (
            f"Prove its bounds: `robustpool certify {file} --family FAMILY.json`, with the family that it was made for."
        )
    else:
        prove = f"Prove its bounds: `robustpool certify {file} --out certificate.json`, and then `robustpool verify certificate.json`."
    return (use, *search, prove)


def _example(design: Design) -> str:
    """Reports that the design takes, as on the command line."""
    aggregator = design.aggregator
    if isinstance(aggregator, GridAggregator):
        return " ".join(["0.7", "0.6", "0.8"][k % 3] for k in range(aggregator.agents))
    return " ".join(",".join(f"{x:.12g}" for x in agent) for agent in aggregator.reports[0])


def _forecasts(design: Design) -> Section:
    aggregator = design.aggregator
    if not isinstance(aggregator, GridAggregator):
        return _listed(aggregator, design.data["family"])
    between = "It is a table on a grid of reports, interpolated in between."
    if aggregator.agents == 1:
        return Section("What it says", between, (_grid_table(aggregator),))
    if aggregator.agents == 2:
        return Section("What it says", between, (_heatmap(aggregator),))
    return Section("What it says", between, (_slices(aggregator), _grid_table(aggregator)))


def _heatmap(aggregator: GridAggregator) -> Picture:
    values = tabulated(aggregator, PERCENTS)
    figure, axes = new_figure(width=4.6, height=3.8)
    draw_aggregator(values, axes[0, 0])
    lower, higher = np.minimum.outer(PERCENTS, PERCENTS), np.maximum.outer(PERCENTS, PERCENTS)
    beyond = float(((values < lower - 1e-9) | (values > higher + 1e-9)).mean())
    return Picture(
        "forecasts",
        "The forecast for every pair of reports",
        png(figure),
        "Heatmap of the design's forecast over all pairs of reports of the two agents, from 0 to 1.",
        f"Each point is a pair of reports, its colour the forecast. At {beyond:.0%} of all pairs of whole percents the "
        "forecast goes beyond both reports; at the others it stays between them.",
    )


def _slices(aggregator: GridAggregator) -> Picture:
    """The forecast over two reports, with all others at some values."""
    N, rest = aggregator.resolution, aggregator.agents - 2
    fixed = sorted({N // 4, N // 2, N - N // 4})
    figure, axes = new_figure(columns=len(fixed), width=3.2, height=2.9)
    for k, ax in zip(fixed, axes[0], strict=True):
        draw_aggregator(aggregator.values.reshape(N + 1, N + 1, -1)[:, :, _alike(k, N, rest)], ax, bar=k == fixed[-1])
        ax.set_title(f"{'third report' if rest == 1 else 'other reports'} {k / N:g}")
    others = "third report" if rest == 1 else "other reports"
    return Picture(
        "slices",
        f"The forecast over two reports, for some values of the {others}",
        png(figure),
        f"Heatmaps of the design's forecast over the first two reports, one for each of {len(fixed)} values of the "
        f"{others}.",
        f"Each panel holds the {others} fixed, and the colour is the forecast over the first two.",
    )


def _alike(k: int, N: int, count: int) -> int:
    """Where ``count`` reports that are all k/N stand among their (N + 1)^count profiles."""
    return sum(k * (N + 1) ** place for place in range(count))


def _grid_table(aggregator: GridAggregator) -> Table:
    N, agents, values = aggregator.resolution, aggregator.agents, aggregator.values
    symmetric = all(np.abs(values - np.swapaxes(values, 0, k)).max() < 1e-9 for k in range(agents))
    every = combinations_with_replacement(range(N + 1), agents) if symmetric else product(range(N + 1), repeat=agents)
    profiles = [index for index in every if not {0, N} <= set(index)]  # a 0 and a 1 never come together
    rows = tuple((*(f"{k / N:.4g}" for k in index), f"{values[index]:.6f}") for index in profiles[:MOST_ROWS])
    columns = (*(f"report {k + 1}" if agents > 1 else "report" for k in range(agents)), "forecast")
    order = "The order of the reports does not matter. " if symmetric and agents > 1 else ""
    return Table("Forecasts on the grid", columns, rows, f"{order}{_cut(len(profiles), 'profiles of reports')}".strip())


def _listed(aggregator: TableAggregator, about: dict[str, Any]) -> Section:
    states, agents = about["states"], about["agents"]
    several = aggregator.forecasts.ndim == 2
    heads = tuple(f"Pr[{state}]" for state in (states if several else states[1:]))
    forecasts = aggregator.forecasts.reshape(len(aggregator.forecasts), -1)
    rows = tuple(
        (*(_report(agent) for agent in profile), *(f"{value:.6f}" for value in forecast))
        for profile, forecast in zip(aggregator.reports[:MOST_ROWS], forecasts[:MOST_ROWS], strict=True)
    )
    text = (
        f"The agents give {_format(about['report'])} reports. These are all profiles of reports that the family can "
        "bring, each with the forecast to give; other profiles are refused, not guessed."
    )
    columns = (*(f"{name} says" for name in agents), *heads)
    count = len(aggregator.reports)
    looked_up = "the look-up above and the design file have" if count <= MOST_PROFILES else "the design file has"
    return Section(
        "What it says",
        text,
        (Table("Forecasts by reports", columns, rows, _cut(count, "profiles of reports", looked_up)),),
    )


def _format(report: str) -> str:
    return report.replace("custom:", "custom ")


def _report(agent: NDArray[np.float64]) -> str:
    return ", ".join(f"{x:.6g}" for x in agent.round(9) + 0.0)


def _cut(count: int, things: str, where: str = "the design file has") -> str:
    return f"The first {MOST_ROWS} of {count:,} {things}; {where} them all." if count > MOST_ROWS else ""


def _convergence(design: Design) -> tuple[Section, ...]:
    trace = design.data["trace"]
    if len(trace["round"]) < 2:
        return ()
    figure, axes = new_figure(width=5.6, height=3.3)
    draw_convergence({design.data["settings"]["method"]: trace}, axes[0, 0])
    rounds = counted(design.data["rounds"], "round")
    picture = Picture(
        "convergence",
        "Lower and upper bound, round by round",
        png(figure),
        f"Line plot of the lower and the upper bound over {rounds}; they end {at_most(design.data['bounds']['gap'])} "
        "apart.",
        "The upper line is the worst case of the best table so far, the lower one what nature's mixture guarantees. "
        f"The value of the game lies in the shaded band between them{_if_searched(design)}.",
    )
    text = (
        f"The method is {design.data['settings']['method']}. It took {rounds} and {design.data['seconds']:.2f} seconds."
    )
    return (Section("How the bounds met", text, (picture,)),)


def _nature(design: Design) -> Section:
    mixture = design.data["mixture"]
    weights = np.asarray(mixture["weight"], dtype=float)
    heavy = [t for t in np.argsort(-weights, kind="stable")[:MOST_STRUCTURES] if weights[t] >= LEAST_WEIGHT]
    if "prior" in mixture:
        columns = ("weight", "prior", *(f"agent {k + 1} says" for k in range(len(mixture["reports"][0]))))
        rows = tuple(
            (f"{weights[t]:.4f}", f"{mixture['prior'][t]:.6f}", *(_either(pair) for pair in mixture["reports"][t]))
            for t in heavy
        )
    else:
        columns, names = ("structure", "weight"), mixture["name"]
        rows = tuple((names[t] if names else f"number {mixture['structure'][t]}", f"{weights[t]:.4f}") for t in heavy)
    heaviest = "the heaviest" if len(heavy) == 1 else f"the {len(heavy)} heaviest"
    shown = f"{heaviest} of {len(weights):,} structures, {weights[heavy].sum():.0%} of the weight"
    exchanged = " and ".join(str(one) for one in mixture.get("exchanged", ()))
    note = f"Shown: {shown}." if len(weights) > len(heavy) else ""
    also = f"Each stands, in equal parts, for itself and for those with the {exchanged} exchanged." if exchanged else ""
    return Section(
        "What nature plays",
        f"Nature's mixture over structures is why {_nobody(design)} can be sure of less than the lower bound: against "
        f"structures drawn by these weights the expected {_payoff(design)} is at least that.",
        (Table("The heaviest structures of nature's mixture", columns, rows, f"{note} {also}".strip()),),
    )


def _either(pair: list[float]) -> str:
    low, high = (f"{round(x, 6):.4g}" for x in pair)
    return f"always {low}" if low == high else f"{low} or {high}"


def _settings(design: Design) -> dict[str, str]:
    data = design.data
    settings = {key.replace("_", " "): _shown(value) for key, value in data["settings"].items() if key != "version"}
    family = {
        f"family: {key.replace('_', ' ')}": "any" if value is None else _shown(value)
        for key, value in data["family"].items()
    }
    versions = {f"version of {name}": _shown(value) for name, value in data["versions"].items()}
    run = {
        "stopped because": data["stopped"]["sentence"],
        "rounds played": f"{data['rounds']:,}",
        "seconds": f"{data['seconds']:.2f}",
    }
    return {**family, **settings, **run, **versions, "file format": data["format"], "hash": data["hash"]}


def _shown(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value) or "none"
    return json.dumps(value) if isinstance(value, dict) else str(value)


# --- the calculator ---------------------------------------------------------------------------------------------------


def _calculator(design: Design, found: float | None) -> dict[str, Any]:
    low, high = prior_range = tuple(design.data["family"]["prior_range"])
    ranged = (
        ""
        if prior_range == (0.0, 1.0)
        else (
            f"For this design, and for the worst structure below, only base rates from {low:g} to {high:g} count; for "
            "the rules, all."
        )
    )
    settings = design.data["settings"]
    judged = (
        ""
        if (settings["loss"], settings["paradigm"]) == ("square", "additive")
        else (
            f"This design was made for the {settings['loss']} loss and the {settings['paradigm']} paradigm; here all "
            "are judged alike."
        )
    )
    return calculator(
        {THIS: design},
        THIS,
        bounds={THIS: {"found": design.upper if design.off_grid else found, "proved": False}},
        prior_range=(low, high),
        note=f"{ranged} {judged}".strip(),
    )
