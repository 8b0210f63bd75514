"""What the paper says in Section 7, what we find, and why the two differ where they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..wording import outward
from .figures.convergence import first_within
from .figures.report_distribution import shares
from .figures.weakness import possible
from .table_1 import PUBLISHED, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .figures.figure import Numbers


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


def _published(row: Row) -> Claim:
    proved = f"proved between {outward(row.lower, 'ROUND_FLOOR', 7)} and {outward(row.upper, 'ROUND_CEILING', 7)}"
    why = ""
    if not row.agrees:
        why = (
            "The table that is optimal on the grid is not unique, and between the grid points such tables differ: ours, the best table of a run of the same algorithm "
            "at the same size, is proved to cost more. And the paper's number is what a heuristic search found for its table: a search bounds the worst case from "
            "below only. Tables made against any reports, or the closed form, do better."
        )
    return Claim(f"Table 1: {row.words} has regret {row.published:.4f}", proved, bool(row.agrees), why)


def _lower_bound(rows: Sequence[Row]) -> Claim:
    best = min(rows, key=lambda row: row.upper)
    value = (5 * 5**0.5 - 11) / 8
    return Claim(
        f"{PUBLISHED['algorithm-1']:.4f} almost matches the lower bound (5 sqrt 5 - 11)/8 = 0.0225",
        f"{best.name} is proved to cost at most {outward(best.upper, 'ROUND_CEILING', 10)}; the bound is {value:.10f}",
        best.upper - value < 5e-5,
        "The paper leaves open whether the bound can be attained. It can: minimax does."
        if best.name == "minimax"
        else "",
    )


def _follows_certain_reports(numbers: Numbers) -> Claim:
    away = {
        name: float(np.abs(numbers[name][0, 5:96]).max())
        for name in ("mean", "average-prior", "arieli-tuned", "minimax")
    }
    others = max(value for name, value in away.items() if name != "mean")
    return Claim(
        "All aggregators but simple averaging follow a report that is almost certain",
        f"after a report of 0, averaging says up to {away['mean']:.2f}, the others at most {others:.2f}",
        others < 0.01 < away["mean"],
    )


def _more_extreme(numbers: Numbers) -> Claim:
    low, high = (
        {name: float(numbers[name][at, at]) for name in ("average-prior", "arieli-tuned", "algorithm-1", "minimax")}
        for at in (10, 90)
    )
    return Claim(
        "Our aggregator is more extreme than the others at (0.1, 0.1) and (0.9, 0.9)",
        f"at (0.1, 0.1): average prior {low['average-prior']:.3f}, state of the art {low['arieli-tuned']:.3f}, Algorithm 1 {low['algorithm-1']:.3f}, minimax {low['minimax']:.3f}",
        max(low["algorithm-1"], low["minimax"]) < min(low["average-prior"], low["arieli-tuned"])
        and min(high["algorithm-1"], high["minimax"]) > max(high["average-prior"], high["arieli-tuned"]),
    )


def _uniform(numbers: Numbers) -> Claim:
    spread = {
        name: np.percentile(possible(numbers[name]), [0, 10, 90, 100]) for name in ("algorithm-1", "average-prior")
    }
    ours, prior = spread["algorithm-1"], spread["average-prior"]
    return Claim(
        "The regret R of our aggregator is almost uniform over the reports",
        f"R of Algorithm 1's table lies between {ours[0]:.4f} and {ours[3]:.4f}, for 80 % of the reports between {ours[1]:.4f} and {ours[2]:.4f}",
        bool(ours[3] - ours[0] < prior[3] - prior[0] and ours[2] - ours[1] < 0.2 * ours[3]),
        "Almost: where both reports are near the borders but not on them, or agree off the centre, it is lower.",
    )


def _weak_lines(numbers: Numbers) -> Claim:
    values, x = numbers["average-prior"], numbers["x"]
    along = {place: float(values[int(np.argmin(np.abs(x - place)))].mean()) for place in (0.0, 0.1, 0.25, 0.5, 0.75)}
    return Claim(
        "Average prior and state of the art are weak at the borders and where a report is about 0.25 or 0.75",
        f"the mean of R for the average prior along x_1 = 0, 0.1, 0.25, 0.5, 0.75: {', '.join(f'{value:.4f}' for value in along.values())}",
        min(along[0.25], along[0.75]) > max(along[0.1], along[0.5]) and along[0.0] > along[0.1],
    )


def _small_slopes(numbers: Numbers) -> Claim:
    small = numbers["L"] <= 4
    on_grid, between = numbers["upper"][small], numbers["interpolated"][small]
    slopes = ", ".join(f"{L:g}" for L in numbers["L"][small])
    best = ", ".join(
        f"{upper:.5f} (L = {L:g})"
        for L, upper in zip(numbers["continuous_L"], numbers["continuous_upper"], strict=True)
    )
    return Claim(
        "The regret for L <= 4 is relatively high, around 0.024",
        f"for L = {slopes}: on the grid {_listed(on_grid)}; the same tables between the grid points {_listed(between)} (found); tables made for "
        f"the continuum {best} (found)",
        bool((np.abs(on_grid - 0.024) < 0.0005).all()),
        "Only L = 1 is near 0.024 by necessity. On the grid the value at L = 4 is within 1e-5 of the unrestricted one; a table that is optimal on the grid can still cost "
        "about 0.024 between the grid points, which is what the paper may have seen, but a better one with the same slope exists.",
    )


def _listed(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.5f}" for value in values)


def _large_slopes(numbers: Numbers) -> Claim:
    best = float(numbers["unrestricted"].max())
    near = [float(L) for L, upper in zip(numbers["L"], numbers["upper"], strict=True) if upper - best < 1e-5]
    return Claim(
        "The aggregator becomes near-optimal at L around 20",
        f"on the grid the value is within 1e-5 of the unrestricted one from L = {min(near):g} on"
        if near
        else "not within 1e-5 at any L tried",
        bool(near) and min(near) > 10,
        "The value gets there much earlier. That a table found by an algorithm that stops early needs larger slopes is another matter.",
    )


def _thousand_rounds(numbers: Numbers) -> Claim:
    rounds = int(numbers["algorithm_1_round"][-1])
    gap = float(numbers["algorithm_1_upper"][-1] - numbers["algorithm_1_lower"][-1])
    return Claim(
        "Algorithm 1 converges in around 1,000 rounds",
        f"its gap is {gap:.1e} after {rounds:,} rounds; the exact solver needs {int(numbers['exact_round'][-1])} rounds",
        gap < 1e-3,
        "With the rate that adapts; the paper does not say which gap it calls converged.",
    )


def _upper_first(numbers: Numbers) -> Claim:
    upper, lower = (first_within(numbers, bound, 1e-4) for bound in ("upper", "lower"))
    return Claim(
        "The maximum regret converges more quickly than nature's mixture",
        f"within 1e-4 of the value: the upper bound at {_when(upper)}, the lower bound at {_when(lower)}",
        upper is not None and (lower is None or upper < lower),
    )


def _when(number: int | None) -> str:
    return "not yet" if number is None else f"round {number:,}"


def _paradigms(numbers: Numbers) -> Claim:
    mean, worst = (
        {name: float(numbers[f"{name}_{what}"]) for name in ("additive", "absolute", "ratio")}
        for what in ("mean", "largest_regret")
    )
    text = "; ".join(
        f"{name}: on average {mean[name]:.4f}, at most {worst[name]:.4f} more than the omniscient" for name in mean
    )
    best = min(mean, key=lambda name: mean[name])
    return Claim(
        "The additive paradigm has the best loss over a wide range of structures",
        text,
        best == "additive" and min(worst, key=lambda name: worst[name]) == "additive",
        "" if best == "additive" else
        f"In the worst case it has. Averaged over the structures of the grid, each counted once, the {best} paradigm's table loses less"
        + (": its worst absolute loss is as good as can be from the first round on, so the table kept is the answer to the uniform mixture, which has the least loss "
           "on average by definition." if int(numbers[f"{best}_best_round"]) == 1 else "."),
    )  # fmt: skip


def _absolute(numbers: Numbers) -> Claim:
    share = shares(numbers["algorithm_1_absolute"])["centre"]
    return Claim("Absolute: only the reports (0.5, 0.5)", f"{share:.2%} of the probability is there", share > 0.99)


def _ratio(numbers: Numbers) -> Claim:
    share = shares(numbers["algorithm_1_ratio"])["corners"]
    return Claim("Ratio: only (0, 0) and (1, 1)", f"{share:.2%} of the probability is there", share > 0.95)


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
    return Claim(
        "As the prior increases, the posterior decreases",
        "it does at every point computed" if falls else "not everywhere",
        falls,
    )


JUDGES = {
    "aggregators": (_follows_certain_reports, _more_extreme),
    "weakness": (_uniform, _weak_lines),
    "lipschitz-values": (_small_slopes, _large_slopes),
    "convergence": (_thousand_rounds, _upper_first),
    "losses": (_paradigms,),
    "report-distribution": (_absolute, _ratio, _additive),
    "sensitivity-to-prior": (_falls,),
}
