"""``robustpool design``: solve the game, save the aggregator."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from .command import check_report, checkpoint_of, command
from .output import Answer, say
from .progress import progress_bar, share_bar
from .running import RunningOptions  # noqa: TC001  # typer looks at the types
from .signals import terminated
from .tables import TableOptions, tell
from .worlds import WorldOptions  # noqa: TC001  # typer looks at the types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..families.nature import Family
    from ..families.partial_information import PartialInformation
    from ..families.probit_estimates import ProbitEstimates
    from ..solvers.solution import Solution
    from ..tables.records import ForecastTable


@dataclass(frozen=True)
class SolvingOptions:
    """The game and how it is solved, by the names that `robustpool.solve` has for it."""

    nature: Annotated[str, Option(help="grid, or continuous: any reports and priors.")] = "grid"
    lipschitz: Annotated[float | None, Option(help="Only aggregators with this Lipschitz constant in the 1-norm.")] = (
        None
    )
    loss: Annotated[str, Option(help="square or log.")] = "square"
    paradigm: Annotated[str, Option(help="additive, absolute or ratio.")] = "additive"
    canonical: Annotated[
        str | None, Option(help="Among the tables within the tolerance: smooth, or a rule to be near to.")
    ] = None
    method: Annotated[
        str | None, Option(help="cutting-planes or multiplicative-weights.", show_default="cutting-planes")
    ] = None
    tolerance: Annotated[float, Option(help="Stop when upper - lower is at most this.")] = 1e-6
    rounds: Annotated[int | None, Option(help="Stop after this many rounds.", show_default="200 or 10000")] = None
    epsilon: Annotated[float | None, Option(help="Theory mode: run the rounds that the theorem requires.")] = None
    resume: Annotated[bool, Option("--resume", help="Continue from the checkpoint next to the design file.")] = False


@command
def design(
    *,
    world: WorldOptions,
    reports: Annotated[int | None, Option(help="N: their reports are multiples of 1/N.", show_default="20")] = None,
    priors: Annotated[
        str | None, Option(help="M: the priors are multiples of 1/M; or continuous.", show_default="400")
    ] = None,
    family: Annotated[str | None, Option(help="A JSON file with a finite family of structures, instead.")] = None,
    like: Annotated[
        str | None,
        Option(metavar="FILE.csv", help="Partial information like that of these forecasters; outcomes are not needed."),
    ] = None,
    files: TableOptions,
    symmetric: Annotated[bool, Option("--symmetric", help="Only aggregators that treat the agents alike.")] = False,
    monotone: Annotated[bool, Option("--monotone", help="Only aggregators that rise with each report.")] = False,
    solving: SolvingOptions,
    running: RunningOptions,
    out: Annotated[str, Option("--out", "-o", help="The design file to write.")] = "design.json",
    report: Annotated[
        str | None, Option(metavar="FILE.html", help="Also write an HTML report about the design.")
    ] = None,
) -> Answer:
    """Find the aggregator with the smallest worst-case regret over a family of information structures.

    The family is that of conditionally independent agents with reports and priors on grids, another --world, or the one in
    a file.

    Writes the design with its bounds and, with --report, a page about it. Ctrl-C and SIGTERM keep the best result so far; a
    second one ends the command at once. Exit status 1 means that the gap did not reach the tolerance; the design is
    still written, and --resume continues from the checkpoint next to it. Nothing overwrites the checkpoint of an unfinished
    run of the same design: without --resume, the command says so and ends.

    \b
    Examples:
      robustpool design --reports 20 --priors continuous --out design.json
      robustpool design --nature continuous --report design.html
      robustpool design --prior-range 0.05 0.2
      robustpool design --world partial-information --agents 20 --overlap 0.2 0.6
      robustpool design --world partial-information --like forecasts.csv
      robustpool design --family weather.json --out design.json
      robustpool design --family weather.json --lipschitz 2 --symmetric --tolerance 1e-4
      robustpool design --reports 100 --priors continuous --out design.json --resume
      robustpool aggregate 0.5 0.5 --rule design.json
    """
    from ..checkpoints import held, remove_checkpoint
    from ..errors import InputError
    from ..families.family_file import load_family
    from ..solvers.asked_design import asked_restrictions, asked_world
    from ..solvers.solve import solve
    from ..views import results
    from ..views.tables import rejected_data

    if family is not None:
        world.check_no_family(family, reports=reports, priors=priors, like=like)
    if like is None and (option := files.given()) is not None:
        raise InputError(f"{option} is for the file of --like, which is missing.")
    estimates, left_out = None, dict[str, Any]()
    if like is not None:
        table = _read(like, world, files)
        left_out = {"rejected": rejected_data(table.rejected)}
        if tell(table.rejected, table.tally, len(table.questions)):
            return Answer({**left_out, "output": None}, [], yes=False)
        estimates, left_out["clipped"] = _estimates(table)
        world = replace(world, **_options(estimates.family(**world.given)))
    structures: Family
    structures = load_family(family) if family is not None else asked_world(world, reports, priors, solving.nature)
    _writable(out, family, report)
    restrictions = asked_restrictions(symmetric=symmetric, monotone=monotone)
    checkpoint = checkpoint_of(out)
    with running.in_use(), held(checkpoint):
        with _progress(solving.tolerance if solving.epsilon is None else None) as progress:
            how: dict[str, Any] = vars(solving)
            solution = solve(structures, restrictions=restrictions, progress=progress, checkpoint=checkpoint, **how)
        _save(solution, out, checkpoint)
        searching, searched = "searching between the grid points", False
        if not terminated():
            with (
                suppress(KeyboardInterrupt),
                progress_bar(searching, doing=searching),
            ):  # Ctrl-C keeps the design as it is, and what --resume needs for this search
                solution = solution.with_off_grid()
                _save(solution, out, checkpoint)
                searched = True
        if solution.converged and searched:
            remove_checkpoint(checkpoint)  # there is nothing left to resume
    if report is not None:
        from ..views.design_page import write_design

        write_design(solution.design, out, report)
    data, lines = results.design(solution, out, report, str(checkpoint), estimates)
    return Answer(data | left_out, lines, solution.converged)


def _save(solution: Solution, out: str, checkpoint: Path) -> None:
    """Write the design; where that fails, say what was reached and what is kept."""
    from ..designs.design_file import save_design
    from ..errors import InputError
    from ..wording import between

    try:
        save_design(solution, out)
    except InputError as error:
        reached = f"The design was made: the value of the game is {between(solution.lower, solution.upper, 9)}."
        kept = " The same command with --resume continues." if checkpoint.exists() else ""
        raise InputError(f"{error} {reached}{kept}") from None


def _read(like: str, world: WorldOptions, files: TableOptions) -> ForecastTable:
    """The forecasts of the people that the world is to be like."""
    from ..errors import InputError
    from ..practice.reading import read_table

    if world.world != "partial-information":
        raise InputError(f"--like is for --world partial-information; the world is {world.world or 'independent'}.")
    files.check(like)
    with files.writing_rejects(), share_bar() as bar:
        table = read_table(like, files.reading(), files.rejects, bar)
    if table.options is not None:
        raise InputError(f"--like needs questions with two outcomes; {like!r} has questions with options.")
    return table


def _estimates(table: ForecastTable) -> tuple[ProbitEstimates, int]:
    """What the forecasts of a table say about the people who made them, and how many were clipped for it."""
    from ..families.probit_estimates import CLIP, estimate_partial_information
    from ..forecasts import brought, outside

    estimates, clipped = (
        estimate_partial_information(table.question, table.probability),
        outside(table.probability, CLIP),
    )
    if clipped:
        say(f"{brought(clipped, table.rows, 'answer', CLIP)} before the estimates were made.")
    return estimates, clipped


def _options(family: PartialInformation) -> dict[str, Any]:
    """A world's fields as options."""
    from dataclasses import asdict

    return asdict(family)


def _writable(out: str, family: str | None, report: str | None) -> None:
    """Check before the work that the files can be written, and that no other file is overwritten."""
    from ..designs.design_file import DESIGN_FORMAT
    from ..errors import InputError
    from ..files import refuse_foreign

    target = Path(out)
    if family is not None and target.exists() and target.samefile(family):
        raise InputError(f"--out must not be the family file {family!r}, which it would overwrite.")
    refuse_foreign("--out", out, DESIGN_FORMAT, "a design")
    if report is not None:
        check_report(report)
        if Path(report).resolve() == target.resolve():
            raise InputError(f"--report and --out must be two files; both are {report!r}.")


@contextmanager
def _progress(tolerance: float | None) -> Iterator[Callable[[Any, int], None]]:
    """Rounds, bounds, gap and time left."""
    from ..views.progress import bounds_so_far

    texts = ("round {task.completed:,}", "{task.fields[bounds]}", "at most")
    with progress_bar(*texts, remaining=True, bounds="setting up") as tell:

        def progress(state: Any, rounds: int) -> None:
            words = bounds_so_far(state, tolerance)
            bounds = f"{words['lower']} <= value <= {words['upper']}  gap {words['gap']}"
            line = f"round {state.round:,} of {rounds:,}: {bounds}"
            tell(line, completed=state.round, total=rounds, bounds=bounds)

        yield progress
