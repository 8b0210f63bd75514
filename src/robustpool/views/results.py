"""Results as plain data (one JSON object) and as lines for people: rules, worst cases, certificates, verdicts, curves, plans."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..aggregators.grid import GridAggregator
from ..aggregators.rules import RULES
from ..aggregators.table import TableAggregator
from ..aggregators.worst_cases import OVER, worst_case_on_record
from ..designs.records import INFINITE
from ..families.partial_information import PartialInformation
from ..families.worlds import class_of_kind
from ..verification.claims import NOUNS
from ..wording import between, between_points, counted, outward
from .terminal import facts, table

if TYPE_CHECKING:
    from ..aggregators.rules import Definition
    from ..aggregators.worst_cases import KnownWorstCase
    from ..certificates.certificate import Certificate
    from ..families.probit_estimates import ProbitEstimates
    from ..families.worst_case import WorstCase
    from ..solvers.solution import Solution
    from ..theory.planning import Plan
    from ..verification.verify import Verification

    View = tuple[dict[str, Any], list[str]]

LEGEND = (
    "x_1, ..., x_n are the reports, l_i = logit x_i, s = sum of the l_i, sigma the inverse of logit.",
    "Parameters are set as in extremized-odds:d=1.5. Regrets are worst cases with defaults, for",
    f"{OVER}.",
    "`robustpool certify RULE` proves them again, `robustpool worst-case RULE` repeats the search.",
)

RUN = ("lower", "upper", "gap", "rounds", "seconds")
"""What is said of every run of a solver."""


def rules() -> View:
    """The rules by name, with what is on record of their worst cases."""
    known = {name: worst_case_on_record(name) for name in RULES}
    data = {"worst_cases_over": OVER, "rules": [_rule_data(name, rule, known[name]) for name, rule in RULES.items()]}
    lines = [line for name, rule in RULES.items() for line in _rule_lines(name, rule, known[name])]
    return data, [*lines, "", *LEGEND]


def _rule_data(name: str, rule: Definition, worst: KnownWorstCase) -> dict[str, Any]:
    return {
        "name": name,
        "parameters": {key: {"default": p.default, "range": str(p)} for key, p in rule.parameters.items()},
        **_fields(rule, "takes_weights", "formula", "source"),
        **_fields(worst, "regret", "proved", "lower", "upper", "found"),
    }


def _fields(record: object, *names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names}


def _rule_lines(name: str, rule: Definition, worst: KnownWorstCase) -> list[str]:
    parameters = ", ".join(
        f"{key} in {p}, " + ("required" if p.default is None else f"default {p.default:g}")
        for key, p in rule.parameters.items()
    )
    if worst.lower is not None and worst.upper is not None:
        regret = f"{between(worst.lower, worst.upper, 9)}, proved"
    else:
        regret = (
            "depends on its parameter" if worst.found is None else f"{outward(worst.found, 'ROUND_FLOOR', 6)}, found"
        )
    details = [rule.formula, *([parameters] if parameters else []), f"worst-case regret {regret}", rule.source]
    return [name, *(f"    {detail}" for detail in details)]


def worst_case(rule: str, worst: WorstCase) -> View:
    """The structure that hurts a rule most."""
    structure = worst.structure
    assert not isinstance(structure, int)
    how = "" if worst.error is None else f"simulated, standard error {worst.error:.1g}; "
    lines = {
        "regret": f"{outward(worst.regret, 'ROUND_FLOOR', 10)} ({how}found by search, not proved)",
        **structure.words(),
    }
    data = {"rule": rule, "regret": worst.regret, "proved": worst.proved, "structure": structure.as_data()}
    if worst.error is not None:
        data["standard_error"] = worst.error
    return data, facts(lines, max(map(len, lines)) + 2)


def certificate(
    rule: str,
    proof: Certificate,
    file: str,
    *,
    finished: bool,
    seconds: float,
    obstacle: str | None = None,
    checkpoint: str | None = None,
) -> View:
    """The proved bounds, over what, how they are checked again, and what is left to continue from."""
    data = {
        "rule": rule,
        "loss": proof.data["loss"],
        **_fields(proof, "claim", "claims", "upper", "lower", "value", "unanimous", "arithmetic"),
        "finished": finished,
        "seconds": seconds,
        "output": file,
        "checkpoint": checkpoint,
    }
    lines = {
        **certificate_facts(proof, finished=finished, seconds=seconds, obstacle=obstacle),
        "the certificate is": f"{file}; `robustpool verify {file}` re-checks it",
        "to continue": checkpoint and f"the same command with --resume, from {checkpoint}",
    }
    return data, facts(lines, 21)


def certificate_facts(
    proof: Certificate, *, finished: bool, seconds: float, obstacle: str | None = None
) -> dict[str, str | None]:
    """What a proof proves, and whether it reached what was asked of it."""
    return {
        "loss": None if proof.data["loss"] == "square" else proof.data["loss"],
        "over": _over(proof.data["family"]),
        NOUNS[proof.data["paradigm"]]: proof.words,
        **_below(proof),
        "arithmetic": proof.arithmetic,
        "time": f"{seconds:.1f} s",
        "not finished": None if finished else obstacle or _unfinished(proof),
    }


def _unfinished(proof: Certificate) -> str:
    if proof.upper is None:
        return "it was stopped before an upper bound was proved; the lower bounds hold"
    return "the bound holds, but the tolerance was not reached"


def _below(proof: Certificate) -> dict[str, str]:
    """What no aggregator can be better than, and no unanimous one."""
    bounds = [None if x is None else f"{outward(x, 'ROUND_FLOOR')} (proved)" for x in (proof.value, proof.unanimous)]
    if bounds[0] is None:
        return {} if bounds[1] is None else {"no unanimous below": bounds[1]}
    return {"no aggregator below": bounds[0] + (f", no unanimous one below {bounds[1]}" if bounds[1] else "")}


def _over(family: dict[str, Any]) -> str:
    """Over which structures."""
    if family["kind"] == "finite":
        return f"the {counted(len(family['structures']), 'structure')} of the family"
    world = class_of_kind(family["kind"])
    assert world is not None
    return world.of_certificate(family).words()


def verdict(verdict: Verification, seconds: float) -> View:
    """Whether a certificate is right, and what it proves."""
    data = {
        **_fields(verdict, "verified", "upper", "lower", "value", "unanimous", "sentence", "claims"),
        "claim": " ".join(verdict.claims) or None,
        **_fields(verdict, "label", "over_budget"),
        "seconds": seconds,
    }
    lines = [f"{'verified' if verdict.verified else 'NOT verified'}: {verdict.sentence}"]
    lines += [line for claim in verdict.claims for line in facts({"proved": claim}, 21)]
    return data, lines + facts({"label, not checked": None if verdict.label is None else json.dumps(verdict.label)}, 21)


def curve(reports: int, priors: int, solutions: dict[float, Solution]) -> View:
    """The value of the game by Lipschitz constant."""
    points = [{"lipschitz": L, **_fields(it, *RUN, "converged")} for L, it in solutions.items()]
    rows = [(f"{L:g}", f"{it.lower:.6f}", f"{it.upper:.6f}", f"{it.gap:.1e}") for L, it in solutions.items()]
    return {"reports": reports, "priors": priors, "points": points}, table(("Lipschitz", "lower", "upper", "gap"), rows)


def design(
    solution: Solution, file: str, report: str | None, checkpoint: str, estimates: ProbitEstimates | None = None
) -> View:
    """The value of the game, how it was reached, and where the design is; and the estimates that it was made for."""
    left, guarantee = None if solution.converged else checkpoint, solution.guarantee
    data = {
        **_fields(solution, *RUN),
        "off_grid": INFINITE if solution.off_grid == math.inf else solution.off_grid,
        "family": solution.design.family.as_data(),
        "stopped": solution.stopped.value,
        "guarantee": guarantee and asdict(guarantee),
        "output": file,
        "report": report,
        "checkpoint": left,
    }
    if estimates is not None:
        data["estimates"] = estimates.as_data()
    lines = {
        **design_facts(solution),
        "the design is in": file,
        "the report is in": report,
        "to continue": left and f"the same command with {solution.stopped.to_continue}, from {left}",
    }
    before: list[str] = []
    ranges = solution.family.facts() if isinstance(solution.family, PartialInformation) else {}
    if estimates is not None and isinstance(solution.family, PartialInformation):
        before = ["estimated from the file, with 95 % intervals", *facts(estimates.words(), 20), ""]
        ranges |= {name: f"{ranges[name]}{why}" for name, why in estimates.reasons(solution.family).items()}
    return data, [*before, design_title(solution), *facts(ranges | lines, 20)]


def design_facts(solution: Solution) -> dict[str, str | None]:
    """What a design reached."""
    how = "the upper bound found by search" if solution.searched else "measured in floating point"
    took = f"{counted(solution.rounds, 'round')} and {solution.seconds:.2f} s"
    guarantee = solution.guarantee
    return {
        "value of the game": f"{between(solution.lower, solution.upper, 9)} ({how}, not proved)",
        "off the grid": None if solution.off_grid is None else f"regret {between_points(solution.off_grid)}",
        "guarantee": None if guarantee is None else f"{guarantee.says} {guarantee.source}",
        "gap": f"{solution.gap:.2g} after {took}: {solution.stopped.value}",
    }


def design_title(solution: Solution) -> str:
    """The game that a design is for."""
    return f"{_family(solution)}, {solution.settings.loss} loss, {solution.settings.paradigm}"


def _family(solution: Solution) -> str:
    if isinstance(solution.family, PartialInformation):
        return solution.family.title
    family, table = solution.family.words(solution.settings.nature), solution.aggregator
    if isinstance(table, TableAggregator):
        return f"{family}, {counted(len(table.reports), 'report profile')}"
    if isinstance(table, GridAggregator) and solution.settings.nature == "continuous":
        return f"{family}, a table with knots in steps of 1/{table.resolution}"
    return family


def plan(needs: Plan) -> View:
    """What the theorems require, and what is practical."""
    return asdict(needs) | _fields(needs, "work", "sentence", "practical"), [needs.sentence, needs.practical]
