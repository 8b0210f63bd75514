"""The commands. Each imports what it needs when it runs."""

from __future__ import annotations

from collections.abc import Callable  # noqa: TC003  # for the table of commands
from typing import Annotated

import typer

from . import aggregate, bounds, compare, design, fit, minimax, serve, sweep, theory

app = typer.Typer(
    name="robustpool",
    help="Combine probability forecasts, and design rules with a small worst case over the forecasters' information.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        typer.echo(f"robustpool {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


# One short line for each, which an 80-column terminal shows whole.
_LINES: dict[Callable[..., None], str] = {
    aggregate.aggregate: "Combine probabilities, or a table of them.",
    compare.compare: "Score the rules on forecasts with known outcomes.",
    fit.fit: "Learn a pool from forecasts with known outcomes.",
    bounds.rules: "List the rules.",
    design.design: "Find the rule with the smallest worst-case regret.",
    bounds.worst_case: "Search for the worst case of a rule or design.",
    bounds.certify: "Prove bounds on the worst case of a rule or design.",
    bounds.verify: "Check the proofs in a certificate.",
    minimax.table: "Show the best possible worst cases, with proofs.",
    sweep.sweep: "Make many designs, worst cases or certificates.",
    serve.serve: "Start the web page and the HTTP API.",
    theory.plan: "Show which grid, rounds and work the theorems require.",
    theory.lipschitz_curve: "Show what smoothness costs.",
    theory.random_family: "Draw a finite family of structures.",
    theory.reproduce: "Recompute the paper's table and figures.",
}
for _command, _line in _LINES.items():
    _settings = {"ignore_unknown_options": _command is aggregate.aggregate}  # -0.1 is a number
    app.command(short_help=_line, context_settings=_settings)(_command)
