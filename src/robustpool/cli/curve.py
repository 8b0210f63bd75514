"""``robustpool lipschitz-curve``: what smoothness costs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer import Option

from .render import JsonFlag, show

DEFAULT = "0.5,1,1.5,2,3,4,8,20"


def lipschitz_curve(
    constants: Annotated[str, Option(help="The Lipschitz constants, with commas.")] = DEFAULT,
    reports: Annotated[int, Option(help="N: reports are multiples of 1/N.")] = 20,
    priors: Annotated[int, Option(help="M: priors are multiples of 1/M.")] = 400,
    tolerance: Annotated[float, Option(help="The gap to reach for each constant.")] = 1e-6,
    rounds: Annotated[int, Option(help="At most this many rounds for each constant.")] = 200,
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
    from ..families.conditionally_independent import ConditionallyIndependent
    from ..solvers.solve import solve
    from ..views import results

    try:
        slopes = [float(text) for text in constants.split(",")]
    except ValueError:
        raise InputError(f"--constants must be numbers with commas; it is {constants!r}.") from None
    family, solutions = ConditionallyIndependent(2, reports, priors), {}
    for L in slopes:
        solutions[L] = found = solve(family, lipschitz=L, tolerance=tolerance, rounds=rounds)
        if sys.stderr.isatty():
            typer.echo(f"L = {L:g}: {found.lower:.6f} to {found.upper:.6f}, {found.seconds:.1f} s", err=True)
    show(*results.curve(reports, priors, solutions), as_json=as_json)
    if not all(solution.converged for solution in solutions.values()):
        raise typer.Exit(1)
