"""What the paper says in Section 7, what we find, and why the two differ where they do.

A judge turns the numbers of a figure into a finding. What it says of the paper is the paper's; everything else is computed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..game.paradigms import PARADIGMS
from ..wording import between, counted, outward
from .figures.aggregators import possible
from .figures.lipschitz import slope
from .figures.report_distribution import shares
from .table_1 import PUBLISHED, RULES, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ..typing import Booleans
    from .figures.figure import Numbers

LOWER_BOUND = (5 * 5**0.5 - 11) / 8
"""No aggregator for two agents has a smaller worst-case regret [Arieli2018]."""


Finding = tuple[str, bool, str]
"""Our numbers in words, whether the paper's claim agrees with them, and a remark."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper beside our numbers."""

    paper: str
    ours: str
    agrees: bool
    why: str


JUDGES: dict[str, dict[str, Callable[[Numbers], Finding]]] = defaultdict(dict)
"""For each figure what the paper says about it, and who judges it."""


def judges(figure: str, paper: str) -> Callable[[Callable[[Numbers], Finding]], None]:
    """A judge of what the paper says about a figure."""
    return lambda judge: JUDGES[figure].update({paper: judge})


def claims(rows: Sequence[Row], numbers: Mapping[str, Numbers]) -> list[Claim]:
    """All claims about which there are numbers: rows of Table 1, and figures by name."""
    of_table = [_published(row) for row in rows if row.published is not None] + ([_lower_bound(rows)] if rows else [])
    figures = [(judged, numbers[name]) for name, judged in JUDGES.items() if name in numbers]
    return of_table + [Claim(paper, *judge(one)) for judged, one in figures for paper, judge in judged.items()]


# --- Table 1 ----------------------------------------------------------------------------------------------------------


def _published(row: Row) -> Claim:
    paper = f"{RULES.get(row.name, 'our aggregator (Algorithm 1, N = 20, M = 400, interpolated)')} has regret {row.published:.4f}"
    why = (
        "The table that is optimal on the grid is not unique, and between the grid points such tables differ; ours "
        "is the best of one run of the same algorithm. The paper's number is what a heuristic search found for "
        "its table, and a search only bounds the worst case from below."
    )
    explained = row.name not in RULES and not row.agrees
    ours = f"{row.words}: {between(row.lower, row.upper, 7)}, proved"
    return Claim(paper, ours, bool(row.agrees), why if explained else "")


def _lower_bound(rows: Sequence[Row]) -> Claim:
    best = min(rows, key=lambda row: row.upper)
    above = PUBLISHED["algorithm-1"] - LOWER_BOUND
    return Claim(
        f"{PUBLISHED['algorithm-1']:.4f} almost matches the lower bound (5 sqrt 5 - 11)/8, about 0.0225",
        f"it is {above:.5f} above {LOWER_BOUND:.10f}; {best.words} is proved to cost at most "
        f"{outward(best.upper, 'ROUND_CEILING', 10)}",
        above < 1e-4,
        "The bound can be attained, which the paper leaves open." if best.upper - LOWER_BOUND < 1e-12 else "",
    )


# --- the aggregators --------------------------------------------------------------------------------------------------

FOLLOWING = ("average-prior", "arieli-tuned", "algorithm-1")


@judges(
    "aggregators", "When one report is almost certain (at most 0.05), all aggregators but simple averaging follow it"
)
def _follows(numbers: Numbers) -> Finding:
    """At a report of 0.05, how much of the way to the other report, 0.1 to 0.9, a forecast goes at most."""
    other = np.arange(10, 91)
    way = {name: ((numbers[name][5, other] - 0.05) / (other / 100 - 0.05)).max() for name in ("mean", *FOLLOWING)}
    follow = bool(max(way[name] for name in FOLLOWING) < 0.25)
    parts = ", ".join(f"{name} {share:.0%}" for name, share in way.items())
    return (
        f"at a report of 0.05, the forecast goes up to this much of the way to the other report: {parts}",
        follow,
        "" if follow else "They move towards it, but follow it only as it approaches 0 or 1.",
    )


@judges("aggregators", "Our aggregator is more extreme than the others at (0.1, 0.1) and (0.9, 0.9)")
def _more_extreme(numbers: Numbers) -> Finding:
    low, high = ([numbers[name][at, at] for name in FOLLOWING] for at in (10, 90))
    pairs = [f"{name} {one:.3f} and {other:.3f}" for name, one, other in zip(FOLLOWING, low, high, strict=True)]
    return f"there they say: {', '.join(pairs)}", bool(low[2] < min(low[:2]) and high[2] > max(high[:2])), ""


@judges("weakness", "The regret R of our aggregator is almost uniform over the reports")
def _uniform(numbers: Numbers) -> Finding:
    least, low, high, most = np.percentile(possible(numbers["algorithm-1"]), [0, 10, 90, 100])
    ours = (
        f"R of Algorithm 1's table lies between {least:.4f} and {most:.4f}, and for 80 % of the reports between "
        f"{low:.4f} and {high:.4f}"
    )
    return ours, bool(high - low < 0.2 * most), ""


@judges(
    "weakness", "Average prior and state of the art are weak at the borders and where a report is about 0.25 or 0.75"
)
def _weak_lines(numbers: Numbers) -> Finding:
    places = (0.0, 0.1, 0.25, 0.5, 0.75)
    mean = {rule: np.interp(places, numbers["x"], numbers[rule].mean(axis=1)) for rule in FOLLOWING[:2]}
    holds = [min(border, quarter, other) > max(tenth, half) for border, tenth, quarter, half, other in mean.values()]
    lines = "; ".join(f"{rule} {_listed(along, 4)}" for rule, along in mean.items())
    return f"the mean of R along x_1 = 0, 0.1, 0.25, 0.5, 0.75: {lines}", all(holds), ""


# --- slopes -----------------------------------------------------------------------------------------------------------


@judges(
    "lipschitz-aggregators",
    "As L increases, the aggregator gets more extreme where a report is near 0 or 1 and stays similar in the central part",
)
def _borders(numbers: Numbers) -> Finding:
    """How far from 1/2 the tables are on the borders, and how far apart in the central quarter of the square."""
    tables = numbers["tables"]
    border = np.pad(np.zeros(np.array(tables[0].shape) - 2, dtype=bool), 1, constant_values=True)
    border[0, -1] = border[-1, 0] = False  # these never come
    extreme = [float(np.abs(table - 0.5)[border].mean()) for table in tables]
    quarter = slice(len(border) // 4, -(len(border) // 4))
    apart = np.abs(tables - tables[-1])[:, quarter, quarter].max()
    ours = (
        f"for L = {', '.join(map(slope, numbers['L']))} the mean distance from 1/2 on the borders is "
        f"{_listed(extreme, 3)}; in the central quarter the tables differ by up to {apart:.3f}"
    )
    return ours, bool((np.diff(extreme) > -1e-3).all() and apart < 0.1), ""


@judges("lipschitz-values", "The regret for L <= 4 is relatively high, around 0.024")
def _small_slopes(numbers: Numbers) -> Finding:
    small = numbers["L"] <= 4
    slopes, on_grid, off_grid = (numbers[name][small] for name in ("L", "upper", "interpolated"))
    continuous = zip(numbers["continuous_L"], numbers["continuous_upper"], strict=True)
    agrees = bool((np.abs(on_grid - 0.024) < 0.0005).all())
    why = (
        f"On the grid the value has come within {on_grid[-1] - numbers['unrestricted'].max():.1e} of the unrestricted one "
        f"at L = {slopes[-1]:g}. A table that is optimal on the grid can cost more between the grid points, "
        "which is what the authors may have seen; tables made for any reports do not."
    )
    ours = (
        f"for L = {', '.join(map(slope, slopes))}: on the grid {_listed(on_grid)}; the same tables between the grid points "
        f"{_listed(off_grid)} (found); tables made for any reports "
        f"{', '.join(f'{upper:.5f} at L = {slope(L)}' for L, upper in continuous)} (found)"
    )
    return ours, agrees, "" if agrees else why


@judges("lipschitz-values", "The aggregator becomes near-optimal at L around 20")
def _large_slopes(numbers: Numbers) -> Finding:
    near = numbers["L"][numbers["upper"] - numbers["unrestricted"].max() < 1e-5]
    if not len(near):
        return "the value is not within 1e-5 of the unrestricted one at any L tried", False, ""
    late = bool(near.min() > 10)
    ours = f"on the grid the value is within 1e-5 of the unrestricted one from L = {near.min():g} on"
    return ours, late, "" if late else "The value gets there at a much smaller L."


# --- convergence and paradigms ----------------------------------------------------------------------------------------


@judges("convergence", "Algorithm 1 costs around 1,000 rounds")
def _thousand_rounds(numbers: Numbers) -> Finding:
    gap = numbers["algorithm_1_upper"] - numbers["algorithm_1_lower"]
    fine, finer = (_first_round(numbers, gap <= size) for size in (1e-4, 1e-5))
    ours = (
        f"its gap is 1e-4 at {_when(fine)} and 1e-5 at {_when(finer)} (of {numbers['algorithm_1_round'][-1]:,.0f}); "
        f"the exact solver takes {counted(int(numbers['exact_round'][-1]), 'round')}"
    )
    return ours, fine <= 1000, "The paper does not say at which gap it stops, and our step size adapts."


@judges("convergence", "The maximum regret converges more quickly than nature's mixture")
def _upper_first(numbers: Numbers) -> Finding:
    value = (numbers["exact_lower"][-1] + numbers["exact_upper"][-1]) / 2
    bounds = (numbers["algorithm_1_upper"], numbers["algorithm_1_lower"])
    upper, lower = (_first_round(numbers, np.abs(bound - value) <= 1e-4) for bound in bounds)
    ours = f"within 1e-4 of the value: the upper bound at {_when(upper)}, the lower bound at {_when(lower)}"
    return ours, upper < lower, ""


@judges("losses", "The additive paradigm has the best loss over a wide range of structures")
def _paradigms(numbers: Numbers) -> Finding:
    mean, worst = ({name: numbers[f"{name}_{key}"] for name in PARADIGMS} for key in ("mean", "largest_regret"))
    best_mean, best_worst = (min(PARADIGMS, key=lambda name: losses[name]) for losses in (mean, worst))
    first_round = (
        ": the table kept is that of the first round, the answer to the uniform mixture, which minimises this average by "
        "definition"
    )
    why = (
        "It does in the worst case. Averaged over the structures of the grid, up to symmetry, the table of the "
        f"{best_mean} paradigm loses less{first_round if numbers.get(f'{best_mean}_best_round') == 1 else ''}."
    )
    losses = [f"{name}: on average {mean[name]:.4f}, at most {worst[name]:.4f}" for name in PARADIGMS]
    ours = "; ".join(f"{loss} more than the omniscient" for loss in losses)
    best = (best_worst == "additive", best_mean == "additive")
    return ours, all(best), why if best == (True, False) else ""


@judges("report-distribution", "Absolute: only the reports (0.5, 0.5)")
def _absolute(numbers: Numbers) -> Finding:
    share = shares(numbers["algorithm_1_absolute"])["centre"]
    return f"{share:.2%} of the probability is there", share > 0.99, ""


@judges("report-distribution", "Ratio: only the reports (0, 0) and (1, 1)")
def _ratio(numbers: Numbers) -> Finding:
    share = shares(numbers["algorithm_1_ratio"])["corners"]
    return f"{share:.2%} of the probability is there", share > 0.95, ""


@judges("report-distribution", "Additive: the borders and the second diagonal")
def _additive(numbers: Numbers) -> Finding:
    mixtures = (numbers["algorithm_1_additive"], numbers["exact_additive"])
    first, exact = (shares(mixture)["borders and second diagonal"] for mixture in mixtures)
    ours = f"{first:.1%} of the probability is there in Algorithm 1's mixture, {exact:.1%} in the exact solver's"
    return ours, min(first, exact) > 0.9, ""


@judges("sensitivity-to-prior", "As the prior increases, the posterior decreases")
def _falls(numbers: Numbers) -> Finding:
    falls = all(bool((np.diff(numbers[name]) < 0).all()) for name in ("low", "high"))
    return "it does at every point computed" if falls else "not everywhere", falls, ""


def _listed(values: Iterable[float], digits: int = 5) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


def _first_round(numbers: Numbers, reached: Booleans) -> float:
    """The first round of Algorithm 1 that has reached something; infinity if none has."""
    return float(np.where(reached, numbers["algorithm_1_round"], np.inf).min())


def _when(number: float) -> str:
    return "no round" if np.isinf(number) else f"round {number:,.0f}"
