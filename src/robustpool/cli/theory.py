"""``robustpool plan``, ``lipschitz-curve``, ``random-family`` and ``reproduce``: the paper's theorems and experiments."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer import Argument, Option

from .command import command
from .output import Answer
from .progress import share_bar
from .running import RunningOptions  # noqa: TC001  # typer looks at the types


@command
def plan(
    epsilon: Annotated[float, Option(help="How far the regret may be from the best.")],
    reports: Annotated[int | None, Option(help="Reports are multiples of 1/REPORTS.")] = None,
    lipschitz: Annotated[float | None, Option(help="Aggregators have this Lipschitz constant.")] = None,
) -> Answer:
    """Show the grid, rounds and work that the paper's theorems require, and a practical command.

    \b
    Examples:
      robustpool plan --epsilon 0.01 --reports 20
      robustpool plan --epsilon 0.01 --lipschitz 2 --json
    """
    from ..theory import planning
    from ..views import results

    return Answer(*results.plan(planning.plan(epsilon, reports=reports, lipschitz=lipschitz)))


@command
def lipschitz_curve(
    constants: Annotated[str, Option(help="The Lipschitz constants, with commas.")] = "0.5,1,1.5,2,3,4,8,20",
    reports: Annotated[int, Option(help="N: reports are multiples of 1/N.")] = 20,
    priors: Annotated[int, Option(help="M: priors are multiples of 1/M.")] = 400,
    tolerance: Annotated[float, Option(help="The gap to reach for each constant.")] = 1e-6,
    rounds: Annotated[int, Option(help="At most this many rounds for each constant.")] = 200,
) -> Answer:
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
        solutions[L] = it = solve(family, lipschitz=L, tolerance=tolerance, rounds=rounds)
        if sys.stderr.isatty():
            typer.echo(f"L = {L:g}: {it.lower:.6f} to {it.upper:.6f}, {it.seconds:.1f} s", err=True)
    converged = all(solution.converged for solution in solutions.values())
    return Answer(*results.curve(reports, priors, solutions), converged)


@command
def random_family(
    structures: Annotated[int, Option(help="How many structures.")] = 100,
    states: Annotated[int, Option(help="How many states.")] = 2,
    agents: Annotated[int, Option(help="How many agents.")] = 2,
    signals: Annotated[int, Option(help="How many signals each agent may get.")] = 2,
    resolution: Annotated[int, Option(help="Probabilities are multiples of 1/RESOLUTION.")] = 12,
    report: Annotated[str, Option(help="posterior, higher-order or decision.")] = "posterior",
    seed: Annotated[int, Option(help="The same seed gives the same family.")] = 0,
    out: Annotated[str, Option("--out", "-o", help="The family file to write.")] = "family.json",
) -> Answer:
    """Draw a finite family of information structures at random and write it as a family file.

    \b
    Example:
      robustpool random-family --structures 1000 --seed 1 --out family.json
      robustpool design --family family.json
    """
    from ..families.family_file import FORMAT, save_family
    from ..families.random_families import random_joints
    from ..files import refuse_foreign
    from ..structures.information_structure import InformationStructure

    refuse_foreign("--out", out, FORMAT, "a family")
    joints = random_joints(structures, states=states, agents=agents, signals=signals, resolution=resolution, rng=seed)
    save_family([InformationStructure(joint) for joint in joints], out, report=report)
    return Answer({"structures": structures, "output": out}, [f"{structures} structures are in {out}."])


@command
def reproduce(
    what: Annotated[str, Argument(help="table1, figures or all.")] = "all",
    out: Annotated[str, Option("--out", "-o", help="The folder to write to.")] = "reproduction",
    quick: Annotated[
        bool, Option("--quick", help="Fewer rounds of Algorithm 1 and coarser grids: a few minutes.")
    ] = False,
    resume: Annotated[
        bool, Option("--resume", help="Keep what a run that was stopped reached in the folder, if there is any.")
    ] = False,
    *,
    running: RunningOptions,
) -> Answer:
    """Recompute the paper's Table 1 and its figures, prove the bounds, and write a report.

    In the folder: report.html, which needs nothing else; table1.csv; figures/ as PNG and PDF, each with the numbers that it is
    drawn from as NPZ; designs/; certificates/, each checked by `robustpool verify FILE`. Ctrl-C keeps the results so
    far; exit status 1 then means that the run is incomplete. After Ctrl-C or a crash, --resume continues: finished parts are
    kept, and a proof or a design goes on from its checkpoint. Full size takes seven to eight minutes on two cores, --quick
    three to four.

    \b
    Examples:
      robustpool reproduce all --out reproduction
      robustpool reproduce all --out reproduction --resume
      robustpool reproduce table1 --quick
      robustpool reproduce figures --out figures --json
    """
    from ..reproduction.run import reproduce as run
    from ..reproduction.settings import FULL, QUICK
    from ..reproduction.view import as_data, as_lines

    with running.in_use(), share_bar(patience=0.0) as tell:
        result = run(what, out, settings=QUICK if quick else FULL, tell=tell, resume=resume)
    return Answer(as_data(result) | {"output": out}, as_lines(result), result.finished)
