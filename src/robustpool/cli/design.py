"""``robustpool design``: solve the game, save the aggregator."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..wording import counted, outward
from .options import check_report, independent_family
from .progress import progress_bar
from .render import JsonFlag, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ..structures.conditionally_independent import ConditionallyIndependent
    from ..structures.finite import FiniteFamily


def design(
    agents: Annotated[
        int | None, typer.Option(help="How many conditionally independent agents.", show_default="2")
    ] = None,
    reports: Annotated[
        int | None, typer.Option(help="N: their reports are multiples of 1/N.", show_default="20")
    ] = None,
    priors: Annotated[
        str | None, typer.Option(help="M: the priors are multiples of 1/M; or continuous.", show_default="400")
    ] = None,
    nature: Annotated[str, typer.Option(help="grid, or continuous: any reports and priors.")] = "grid",
    prior_range: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="LO HI", help="Only priors between LO and HI.", show_default=False),
    ] = None,
    family: Annotated[
        str | None, typer.Option(help="Instead: a finite family of structures, a JSON file.", show_default=False)
    ] = None,
    lipschitz: Annotated[
        float | None, typer.Option(help="Only aggregators with this Lipschitz constant in the 1-norm.")
    ] = None,
    symmetric: Annotated[
        bool, typer.Option("--symmetric", help="Only aggregators that treat the agents alike.")
    ] = False,
    monotone: Annotated[bool, typer.Option("--monotone", help="Only aggregators that rise with each report.")] = False,
    loss: Annotated[str, typer.Option(help="square or log.")] = "square",
    paradigm: Annotated[str, typer.Option(help="additive, absolute or ratio.")] = "additive",
    canonical: Annotated[
        str | None, typer.Option(help="Of the tables within the tolerance, the one that is: smooth, or near a rule.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="cutting-planes or multiplicative-weights.", show_default="cutting-planes")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Stop when upper - lower is at most this.")] = 1e-6,
    rounds: Annotated[
        int | None, typer.Option(help="Stop after this many rounds.", show_default="200 or 10000")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Theory mode: play the rounds that the theorem asks for.")
    ] = None,
    out: Annotated[str, typer.Option("--out", "-o", help="The design file to write.")] = "design.json",
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.html", help="Also write a page about the design, to look at and to send.", show_default=False
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint beside the design file.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Find the aggregator with the least worst-case regret over a family of information structures.

    The family is that of conditionally independent agents with reports and priors on grids, or the one in a file.

    Writes the design with its bounds, and a page about it if you ask for a report. Ctrl-C keeps what was reached. Exit
    status 1 means that the gap did not reach the tolerance: the design is written all the same, and beside it stays a
    checkpoint from which --resume goes on.

    \b
    Examples:
      robustpool design --reports 20 --priors continuous --out design.json
      robustpool design --nature continuous --report design.html
      robustpool design --prior-range 0.05 0.2
      robustpool design --family weather.json --out design.json
      robustpool design --family weather.json --lipschitz 2 --symmetric --tolerance 1e-4
      robustpool aggregate 0.5 0.5 --rule design.json
    """
    from ..aggregators.restrictions import Monotone, Restriction, Symmetric
    from ..artefact import save_design
    from ..errors import InputError
    from ..game.losses import LOSSES
    from ..solvers.front_door import solve
    from ..solvers.solution import Stopped
    from ..structures.family_file import load_family

    if loss not in LOSSES:
        raise InputError(f"loss must be one of {', '.join(LOSSES)}; it is {loss!r}.")
    structures: FiniteFamily | ConditionallyIndependent
    given = {"--agents": agents, "--reports": reports, "--priors": priors, "--prior-range": prior_range}
    for option, value in given.items():
        if family is not None and value is not None:
            raise InputError(
                f"{option} is for conditionally independent agents; --family {family!r} has its own structures."
            )
    if nature == "continuous" and priors not in (None, "continuous"):
        raise InputError(f"--nature continuous means any prior; --priors is {priors!r}.")
    priors = priors or ("continuous" if nature == "continuous" else "400")
    structures = load_family(family) if family is not None else _independent(agents, reports, priors, prior_range)
    _writable(out, family)
    if report is not None:
        _report_writable(report, out)
    restrictions: list[Restriction] = [*([Symmetric()] if symmetric else []), *([Monotone()] if monotone else [])]
    checkpoint = Path(f"{out}.checkpoint.npz")
    with _progress(tolerance if epsilon is None else None) as progress:
        solution = solve(
            structures,
            tolerance=tolerance,
            loss=loss,
            paradigm=paradigm,
            lipschitz=lipschitz,
            restrictions=restrictions,
            method=method,
            nature=nature,
            canonical=canonical,
            rounds=rounds,
            epsilon=epsilon,
            progress=progress,
            checkpoint=checkpoint,
            resume=resume,
        )
    save_design(solution, out)
    converged = solution.stopped in (Stopped.GAP, Stopped.THEORY)
    if converged:
        checkpoint.unlink(missing_ok=True)  # there is nothing left to resume
    if report is not None:
        _write_report(out, report)
    data: dict[str, Any] = {
        "lower": solution.lower,
        "upper": solution.upper,
        "gap": solution.gap,
        "rounds": solution.rounds,
        "seconds": solution.seconds,
        "stopped": solution.stopped.value,
        "guarantee": solution.guarantee,
        "output": out,
        "report": report,
        "checkpoint": None if converged else str(checkpoint),
    }
    kind = "the upper bound found by search" if solution.searched else "measured in floating point"
    lines = [
        f"{_describe(structures, nature)}, {loss} loss, {paradigm}",
        (
            f"value of the game   between {outward(solution.lower, 'ROUND_FLOOR', 9)} and {outward(solution.upper, 'ROUND_CEILING', 9)} "
            f"({kind}, not proved)"
        ),
        f"gap                 {solution.gap:.2g} after {counted(solution.rounds, 'round')} and {solution.seconds:.2f} s: {solution.stopped.value}",
        f"the design is in    {out}",
    ]
    if report is not None:
        lines.append(f"the report is in    {report}")
    if solution.guarantee is not None:
        lines.insert(2, f"guarantee           {solution.guarantee['says']} {solution.guarantee['source']}")
    if not converged:
        lines.append(f"to go on            the same command with --resume, from {checkpoint}")
    show(data, lines, as_json=as_json)
    if not converged:
        raise typer.Exit(1)


def _independent(
    agents: int | None, reports: int | None, priors: str, prior_range: tuple[float, float] | None
) -> ConditionallyIndependent:
    from ..errors import InputError
    from ..structures.conditionally_independent import ConditionallyIndependent

    try:
        number = None if priors == "continuous" else int(priors)
    except ValueError:
        raise InputError(f"--priors must be a whole number or continuous; it is {priors!r}.") from None
    count, steps = 2 if agents is None else agents, 20 if reports is None else reports
    return ConditionallyIndependent(count, steps, number, prior_range or (0.0, 1.0))


def _writable(out: str, family: str | None) -> None:
    """Say that a file cannot be written, or had better not be, before the work is done."""
    from ..aggregators.design import DESIGN_FORMAT
    from ..errors import InputError
    from ..files import check_writable, refuse_foreign

    target = Path(out)
    if family is not None and target.exists() and target.samefile(family):
        raise InputError(f"--out must not be the family file {family!r}, which it would overwrite.")
    check_writable(out)
    refuse_foreign("--out", out, DESIGN_FORMAT, "a design")


def _report_writable(report: str, out: str) -> None:
    """Say that the report cannot be written, or had better not be, before the work is done."""
    from ..errors import InputError

    check_report(report)
    if Path(report).resolve() == Path(out).resolve():
        raise InputError(f"--report and --out must be two files; both are {report!r}.")


def _write_report(out: str, report: str) -> None:
    """Write the page about the design that was just saved."""
    from ..aggregators.design import load_design
    from ..game.worst_case import worst_case
    from ..report.design_page import design_page
    from ..report.page import write_page

    design, found = load_design(out), None
    if design.data["family"].get("agents") == 2 and not design.off_grid:  # its bound is for its own grid or loss
        found = worst_case(design, independent_family(out, None, None)).regret
    write_page(design_page(design, file=out, found=found), report)


def _describe(structures: FiniteFamily | ConditionallyIndependent, nature: str) -> str:
    from ..structures.finite import FiniteFamily

    if isinstance(structures, FiniteFamily):
        return f"{counted(len(structures), 'structure')}, {counted(len(structures.reports), 'report profile')}"
    knots = f", a table with knots in steps of 1/{structures.reports}" if nature == "continuous" else ""
    return structures.words(nature) + knots


@contextmanager
def _progress(tolerance: float | None) -> Iterator[Callable[[Any, int], None]]:
    """Rounds, bounds, gap and time left."""
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("round {task.completed:,}"),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[bounds]}"),
        TextColumn("at most"),
        TimeRemainingColumn(),
    )
    with progress_bar(*columns, bounds="") as tell:

        def progress(state: Any, rounds: int) -> None:
            want = f" (want {tolerance:.0e})" if tolerance is not None else ""
            bounds = f"{state.lower:.7f} <= value <= {state.upper:.7f}  gap {state.upper - state.lower:.1e}{want}"
            line = f"round {state.round:,} of {rounds:,}: {bounds}"
            tell(line, completed=state.round, total=rounds, bounds=bounds)

        yield progress
