"""Forecasts a second on ten million pairs, one core: `rp.aggregate` against the same formula in a hand-written numba loop, and
a grid design against scipy's RegularGridInterpolator. Ratios, and how far the answers lie apart; `make bench` runs it.

The hand-written loops check nothing and know no missing answers; they are what somebody writes who needs speed once.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit
from scipy.interpolate import RegularGridInterpolator

import robustpool as rp

if TYPE_CHECKING:
    from collections.abc import Callable

PAIRS = 10_000_000
ROUNDS = 5


@njit
def sigma(z):  # type: ignore[no-untyped-def]
    return 1.0 / (1.0 + math.exp(-z))


@njit
def logit(x):  # type: ignore[no-untyped-def]
    return math.log(x / (1.0 - x))


def loop(formula: Callable[[float, float], float]) -> Callable[[Any], Any]:
    """The formula for two reports in a compiled loop over the rows."""
    compiled = njit(formula)

    @njit
    def run(reports):  # type: ignore[no-untyped-def]
        forecasts = np.empty(len(reports))
        for row in range(len(reports)):
            forecasts[row] = compiled(reports[row, 0], reports[row, 1])
        return forecasts

    return run


def minimax(x: float, y: float) -> float:
    s = logit(x) + logit(y)
    return sigma(s * (0.5 + 0.1 * math.tanh(s / 4.0) ** 2))


def arieli_tuned(x: float, y: float) -> float:
    ep = 0.49 * (x + y) + (0.02 if x + y > 1.0 else 0.0)
    return sigma(logit(x) + logit(y) - logit(ep))


NEYMAN = 2 * (math.sqrt(7) - 2)  # d(2)
BY_HAND: dict[str, Callable[[float, float], float]] = {
    "robust": minimax,  # for two they are one
    "minimax": minimax,
    "mean": lambda x, y: 0.5 * (x + y),
    "median": lambda x, y: 0.5 * (x + y),
    "trimmed-mean": lambda x, y: 0.5 * (x + y),
    "geometric-mean": lambda x, y: math.exp(0.5 * (math.log(x) + math.log(y))),
    "geometric-odds": lambda x, y: sigma(0.5 * (logit(x) + logit(y))),
    "extremized-odds": lambda x, y: sigma(1.25 * (logit(x) + logit(y))),
    "neyman-odds": lambda x, y: sigma(0.5 * NEYMAN * (logit(x) + logit(y))),
    "karmarkar": lambda x, y: sigma(2.5 * logit(0.5 * (x + y))),
    "product": lambda x, y: sigma(logit(x) + logit(y)),
    "bordley:prior=0.3": lambda x, y: sigma(logit(x) + logit(y) - logit(0.3)),
    "average-prior": lambda x, y: sigma(logit(x) + logit(y) - logit(0.5 * (x + y))),
    "arieli-tuned": arieli_tuned,
    "log-odds": lambda x, y: sigma(0.5168 * (logit(x) + logit(y))),
}
"""Every rule with a closed form; `beta-pool` is scipy's incomplete beta function."""


def side_by_side(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """Their best time divided by ours, in turns, and the largest difference between the answers."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for run, seconds in zip((ours, theirs), times, strict=True):
            began = time.perf_counter()
            run()
            seconds.append(time.perf_counter() - began)
    return min(times[1]) / min(times[0]), float(np.abs(ours() - theirs()).max())


def rules(reports: Any) -> None:
    print(f"\n{PAIRS:,} pairs, one core: speed of rp.aggregate / speed of the formula in a numba loop (1 is as fast)")
    for name, formula in BY_HAND.items():
        by_hand = loop(formula)
        by_hand(reports[:2])
        ratio, apart = side_by_side(lambda name=name: rp.aggregate(reports, name, clip=0), lambda: by_hand(reports))  # noqa: B023
        print(f"  {name:<18} {ratio:5.2f}   (at most {apart:.0e} apart)", flush=True)


def grid(reports: Any) -> None:
    x = np.linspace(0, 1, 21)
    values = rp.get_rule("minimax")(np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)).reshape(21, 21)
    design, scipy = rp.GridAggregator(values), RegularGridInterpolator((x, x), values)
    rp.aggregate(reports[:100_000], design)
    ratio, apart = side_by_side(lambda: rp.aggregate(reports, design), lambda: scipy(reports))
    print(
        f"  a grid design, N = 20: {ratio:.1f} times the speed of RegularGridInterpolator (at most {apart:.0e} apart)"
    )


MEASURE = """
import numpy as np, robustpool as rp
x = np.linspace(0, 1, 21)
rule = "robust" if {named} else rp.GridAggregator(np.add.outer(x, x) / 2)
reports = np.random.default_rng(0).random(({pairs}, 2))
rp.aggregate(reports[:100_000], rule, clip=0.01)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak counts from here on
def kilobytes(what):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(what))
before = kilobytes("VmRSS")
rp.aggregate(reports, rule, clip=0.01)
print((kilobytes("VmHWM") - before) * 1024 / reports.nbytes)
"""


def memory() -> None:
    for what, named in (("a rule", True), ("a grid design", False)):
        code = MEASURE.format(named=named, pairs=PAIRS)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        print(
            f"  memory on top of the input, {what}: {float(done.stdout):.2f} times the input (the answer itself is 0.5)"
        )


def main() -> None:
    reports = np.random.default_rng(0).random((PAIRS, 2))
    rules(reports)
    grid(reports)
    memory()


if __name__ == "__main__":
    main()
