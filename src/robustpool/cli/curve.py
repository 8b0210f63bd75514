"""``robustpool lipschitz-curve``: what smoothness costs."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from .render import JsonFlag, show

DEFAULT = "0.5,1,1.5,2,3,4,8,20"


def lipschitz_curve(
    constants: Annotated[str, typer.Option(help="The Lipschitz constants, with commas.")] = DEFAULT,
    reports: Annotated[int, typer.Option(help="N: reports are multiples of 1/N.")] = 20,
    priors: Annotated[int, typer.Option(help="M: priors are multiples of 1/M.")] = 400,
    tolerance: Annotated[float, typer.Option(help="The gap to reach for each constant.")] = 1e-6,
    rounds: Annotated[int, typer.Option(help="At most this many rounds for each constant.")] = 200,
    as_json: JsonFlag = False,
) -> None:
    """The value of the game against the Lipschitz constant of the aggregator, for two independent agents.

    Exit status 1 means that some gap did not reach the tolerance.

    \b
    Examples:
      robustpool lipschitz-curve
      robustpool lipschitz-curve --reports 10 --priors 100 --constants 0.5,1,2
    """
    from ..errors import InputError
    from ..solvers.front_door import solve
    from ..solvers.solution import Stopped
    from ..structures.conditionally_independent import ConditionallyIndependent

    try:
        values = [float(text) for text in constants.split(",")]
    except ValueError:
        raise InputError(f"--constants must be numbers with commas; it is {constants!r}.") from None
    family = ConditionallyIndependent(2, reports, priors)
    points: list[dict[str, Any]] = []
    for L in values:
        solution = solve(family, lipschitz=L, tolerance=tolerance, rounds=rounds)
        points.append(
            {
                "lipschitz": L,
                "lower": solution.lower,
                "upper": solution.upper,
                "gap": solution.gap,
                "rounds": solution.rounds,
                "seconds": solution.seconds,
                "converged": solution.stopped is Stopped.GAP,
            }
        )
        if sys.stderr.isatty():
            typer.echo(f"L = {L:g}: {solution.lower:.6f} to {solution.upper:.6f}, {solution.seconds:.1f} s", err=True)
    lines = ["Lipschitz  lower      upper      gap"]
    lines += [f"{p['lipschitz']:<9g}  {p['lower']:.6f}   {p['upper']:.6f}   {p['gap']:.1e}" for p in points]
    show({"reports": reports, "priors": priors, "points": points}, lines, as_json=as_json)
    if not all(point["converged"] for point in points):
        raise typer.Exit(1)
