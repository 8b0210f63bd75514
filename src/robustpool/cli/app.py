"""The commands. Each stands in a module of its own, which imports what it needs when it runs."""

from __future__ import annotations

from typing import Annotated

import typer

from . import aggregate, certify, compare, curve, design, plan, random_family, reproduce, rules, verify, worst_case

app = typer.Typer(
    name="robustpool",
    help="Design and apply aggregators of probability forecasts that stay good whatever the forecasters' information was.",
    add_completion=False,
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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    pass


app.command("aggregate", context_settings={"ignore_unknown_options": True})(aggregate.aggregate)
app.command("rules")(rules.rules)
app.command("design")(design.design)
app.command("worst-case")(worst_case.worst_case)
app.command("certify")(certify.certify)
app.command("verify")(verify.verify)
app.command("compare")(compare.compare)
app.command("plan")(plan.plan)
app.command("reproduce")(reproduce.reproduce)
app.command("lipschitz-curve")(curve.lipschitz_curve)
app.command("random-family")(random_family.random_family)
