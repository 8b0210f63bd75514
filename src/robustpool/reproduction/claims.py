"""What the paper says in Section 7, what we find, and why the two differ where they do.

A judge turns the numbers of a figure into a claim. What it says of the paper is the paper's; everything else is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..wording import between, counted, outward
from .figures.convergence import first_gap, first_within
from .figures.report_distribution import shares
from .figures.weakness import possible
from .table_1 import PUBLISHED, RULES, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .figures.figure import Numbers

LOWER_BOUND = (5 * 5**0.5 - 11) / 8
"""No aggregator for two agents has a smaller worst-case regret [Arieli2018]."""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper beside our numbers."""

    paper: str
    ours: str
    agrees: bool
    why: str = ""


def claims(rows: Sequence[Row], numbers: Mapping[str, Numbers]) -> list[Claim]:
    """All claims about which there are numbers: rows of Table 1, and figures by name."""
    judged = [_published(row) for row in rows if row.published is not None]
    if rows:
        judged.append(_lower_bound(rows))
    for name, judges in JUDGES.items():
        if name in numbers:
            judged += [judge(numbers[name]) for judge in judges]
    return judged


# --- Table 1 ----------------------------------------------------------------------------------------------------------


def _published(row: Row) -> Claim:
    paper = f"{RULES.get(row.name, 'our aggregator (Algorithm 1, N = 20, M = 400, interpolated)')} has regret {row.published:.4f}"
    why = ""
    if row.name not in RULES and not row.agrees:
        why = (
            "The table that is optimal on the grid is not unique, and between the grid points such tables differ; ours "
            "is the best one of a run of the same algorithm. The paper's number is what a heuristic search found for "
            "its table, and a search bounds the worst case from below only."
        )
    return Claim(paper, f"{row.words}: {between(row.lower, row.upper, 7)}, proved", bool(row.agrees), why)


def _lower_bound(rows: Sequence[Row]) -> Claim:
    best = min(rows, key=lambda row: row.upper)
    return Claim(
        f"{PUBLISHED['algorithm-1']:.4f} almost matches the lower bound (5 sqrt 5 - 11)/8, about 0.0225",
        f"it is {PUBLISHED['algorithm-1'] - LOWER_BOUND:.5f} above {LOWER_BOUND:.10f}; {best.words} is proved to cost "
        f"at most {outward(best.upper, 'ROUND_CEILING', 10)}",
        PUBLISHED["algorithm-1"] - LOWER_BOUND < 1e-4,
        "The bound can be attained, which the paper leaves open." if best.upper - LOWER_BOUND < 1e-12 else "",
    )


# --- the aggregators --------------------------------------------------------------------------------------------------

FOLLOWING = ("average-prior", "arieli-tuned", "algorithm-1")


def _follows(numbers: Numbers) -> Claim:
    """At a report of 0.05, how much of the way to the other report, 0.1 to 0.9, a forecast goes at most."""
    other = np.arange(10, 91)
    way = {
        name: float(((numbers[name][5, other] - 0.05) / (other / 100 - 0.05)).max()) for name in ("mean", *FOLLOWING)
    }
    most = max(way[name] for name in FOLLOWING)
    parts = ", ".join(f"{name} {share:.0%}" for name, share in way.items())
    return Claim(
        "When one report is almost certain (at most 0.05), all aggregators but simple averaging follow it",
        f"at a report of 0.05, the forecast goes up to this much of the way to the other report: {parts}",
        most < 0.25,
        "" if most < 0.25 else "They lean towards it, and follow it only as it goes to 0 or 1.",
    )


def _more_extreme(numbers: Numbers) -> Claim:
    low, high = ({name: float(numbers[name][at, at]) for name in FOLLOWING} for at in (10, 90))
    said = ", ".join(f"{name} {low[name]:.3f} and {high[name]:.3f}" for name in FOLLOWING)
    return Claim(
        "Our aggregator is more extreme than the others at (0.1, 0.1) and (0.9, 0.9)",
        f"there they say: {said}",
        low["algorithm-1"] < min(low["average-prior"], low["arieli-tuned"])
        and high["algorithm-1"] > max(high["average-prior"], high["arieli-tuned"]),
    )


def _uniform(numbers: Numbers) -> Claim:
    least, low, high, most = np.percentile(possible(numbers["algorithm-1"]), [0, 10, 90, 100])
    return Claim(
        "The regret R of our aggregator is almost uniform over the reports",
        f"R of Algorithm 1's table lies between {least:.4f} and {most:.4f}, and for 80 % of the reports between "
        f"{low:.4f} and {high:.4f}",
        bool(high - low < 0.2 * most),
    )


def _weak_lines(numbers: Numbers) -> Claim:
    places = (0.0, 0.1, 0.25, 0.5, 0.75)
    rules = ("average-prior", "arieli-tuned")
    mean = {rule: np.interp(places, numbers["x"], numbers[rule].mean(axis=1)) for rule in rules}
    holds = [min(border, quarter, other) > max(tenth, half) for border, tenth, quarter, half, other in mean.values()]
    return Claim(
        "Average prior and state of the art are weak at the borders and where a report is about 0.25 or 0.75",
        "the mean of R along x_1 = 0, 0.1, 0.25, 0.5, 0.75: "
        + "; ".join(f"{rule} {', '.join(f'{value:.4f}' for value in along)}" for rule, along in mean.items()),
        all(holds),
    )


# --- slopes -----------------------------------------------------------------------------------------------------------


def _borders(numbers: Numbers) -> Claim:
    """How far from 1/2 the tables are on the borders, and how far apart in the central quarter of the square."""
    inside = np.zeros(numbers["tables"][0].shape, dtype=bool)
    inside[1:-1, 1:-1] = True
    inside[0, -1] = inside[-1, 0] = True  # these never come
    extreme = [float(np.abs(table - 0.5)[~inside].mean()) for table in numbers["tables"]]
    quarter = slice(len(inside) // 4, -(len(inside) // 4))
    apart = float(np.abs(numbers["tables"] - numbers["tables"][-1])[:, quarter, quarter].max())
    slopes = ", ".join(_slope(L) for L in numbers["L"])
    return Claim(
        "As L increases, the aggregator gets more extreme where a report is near 0 or 1 and stays similar in the "
        "central part",
        f"for L = {slopes} the mean distance from 1/2 on the borders is {_listed(extreme, 3)}; in the central quarter "
        f"the tables differ by up to {apart:.3f}",
        bool((np.diff(extreme) > -1e-3).all()) and apart < 0.1,
    )


def _small_slopes(numbers: Numbers) -> Claim:
    small = numbers["L"] <= 4
    on_grid, off_grid = numbers["upper"][small], numbers["interpolated"][small]
    continuous = zip(numbers["continuous_L"], numbers["continuous_upper"], strict=True)
    least = float(numbers["unrestricted"].max())
    agrees = bool((np.abs(on_grid - 0.024) < 0.0005).all())
    why = (
        f"On the grid the value has come within {on_grid[-1] - least:.1e} of the unrestricted one at L = "
        f"{numbers['L'][small][-1]:g}. A table that is optimal on the grid can cost more between the grid points, "
        "which is what the authors may have seen; tables made for any reports do not."
    )
    return Claim(
        "The regret for L <= 4 is relatively high, around 0.024",
        f"for L = {', '.join(f'{L:g}' for L in numbers['L'][small])}: on the grid {_listed(on_grid)}; the same tables "
        f"between the grid points {_listed(off_grid)} (found); tables made for any reports "
        + ", ".join(f"{upper:.5f} at L = {_slope(L)}" for L, upper in continuous)
        + " (found)",
        agrees,
        "" if agrees else why,
    )


def _large_slopes(numbers: Numbers) -> Claim:
    least = float(numbers["unrestricted"].max())
    near = [float(L) for L, upper in zip(numbers["L"], numbers["upper"], strict=True) if upper - least < 1e-5]
    return Claim(
        "The aggregator becomes near-optimal at L around 20",
        f"on the grid the value is within 1e-5 of the unrestricted one from L = {min(near):g} on"
        if near
        else "the value is not within 1e-5 of the unrestricted one at any L tried",
        bool(near) and min(near) > 10,
        "The value gets there much earlier." if near and min(near) <= 10 else "",
    )


# --- convergence and paradigms ----------------------------------------------------------------------------------------


def _thousand_rounds(numbers: Numbers) -> Claim:
    fine, finer = first_gap(numbers, 1e-4), first_gap(numbers, 1e-5)
    exact = counted(int(numbers["exact_round"][-1]), "round")
    return Claim(
        "Algorithm 1 costs around 1,000 rounds",
        f"its gap is 1e-4 at {_when(fine)} and 1e-5 at {_when(finer)} (of {int(numbers['algorithm_1_round'][-1]):,}); "
        f"the exact solver takes {exact}",
        fine is not None and fine <= 1000,
        "The paper does not say at which gap it stops; and our rate adapts.",
    )


def _upper_first(numbers: Numbers) -> Claim:
    upper, lower = (first_within(numbers, bound, 1e-4) for bound in ("upper", "lower"))
    return Claim(
        "The maximum regret converges more quickly than nature's mixture",
        f"within 1e-4 of the value: the upper bound at {_when(upper)}, the lower bound at {_when(lower)}",
        upper is not None and (lower is None or upper < lower),
    )


def _paradigms(numbers: Numbers) -> Claim:
    names = ("additive", "absolute", "ratio")
    mean, worst = ({name: float(numbers[f"{name}_{what}"]) for name in names} for what in ("mean", "largest_regret"))
    best_mean, best_worst = (min(names, key=lambda name: of[name]) for of in (mean, worst))
    why = ""
    if best_worst == "additive" != best_mean:
        why = "In the worst case it has. Averaged over the structures of the grid, up to symmetry, the table of the "
        why += f"{best_mean} paradigm loses less"
        first = int(numbers[f"{best_mean}_best_round"]) == 1
        why += (
            ": the table kept is that of the first round, the answer to the uniform mixture, which minimises this "
            "average by definition."
            if first
            else "."
        )
    return Claim(
        "The additive paradigm has the best loss over a wide range of structures",
        "; ".join(
            f"{name}: on average {mean[name]:.4f}, at most {worst[name]:.4f} more than the omniscient" for name in names
        ),
        best_mean == best_worst == "additive",
        why,
    )


def _absolute(numbers: Numbers) -> Claim:
    share = shares(numbers["algorithm_1_absolute"])["centre"]
    return Claim("Absolute: only the reports (0.5, 0.5)", f"{share:.2%} of the probability is there", share > 0.99)


def _ratio(numbers: Numbers) -> Claim:
    share = shares(numbers["algorithm_1_ratio"])["corners"]
    return Claim("Ratio: only the reports (0, 0) and (1, 1)", f"{share:.2%} of the probability is there", share > 0.95)


def _additive(numbers: Numbers) -> Claim:
    first, exact = (
        shares(numbers[f"{name}_additive"])["borders and second diagonal"] for name in ("algorithm_1", "exact")
    )
    return Claim(
        "Additive: the borders and the second diagonal",
        f"{first:.1%} of the probability is there in Algorithm 1's mixture, {exact:.1%} in the exact solver's",
        min(first, exact) > 0.9,
    )


def _falls(numbers: Numbers) -> Claim:
    falls = all(bool((np.diff(numbers[name]) < 0).all()) for name in ("low", "high"))
    found = "it does at every point computed" if falls else "not everywhere"
    return Claim("As the prior increases, the posterior decreases", found, falls)


def _listed(values: Iterable[float], digits: int = 5) -> str:
    return ", ".join(f"{value:.{digits}f}" for value in values)


def _slope(L: float) -> str:
    return "infinity" if np.isinf(L) else f"{L:g}"


def _when(number: int | None) -> str:
    return "no round" if number is None else f"round {number:,}"


JUDGES = {
    "aggregators": (_follows, _more_extreme),
    "weakness": (_uniform, _weak_lines),
    "lipschitz-aggregators": (_borders,),
    "lipschitz-values": (_small_slopes, _large_slopes),
    "convergence": (_thousand_rounds, _upper_first),
    "losses": (_paradigms,),
    "report-distribution": (_absolute, _ratio, _additive),
    "sensitivity-to-prior": (_falls,),
}
