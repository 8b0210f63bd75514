"""Certificates for conditionally independent agents: by the kind of aggregator, its method for the upper bound; and the lower ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..checkpoints import check
from ..designs.design import Design
from ..designs.records import IndependentMixture
from ..errors import UnsupportedError
from ..execution import mapped
from ..families.conditionally_independent import ConditionallyIndependent
from ..families.worst_case import Search, WorstCase, continuous_regrets, encode, worst_case
from ..losses.square import Square
from ..structures.binary_structure import BinaryStructure
from ..verification.mean_and_median import Mean
from ..verification.reading import MOST_AGENTS, Refused
from ..verification.stretched import Stretched
from .certifiable import BY_CENTRES, describe, has_upper_bound, problem_of, rule_of
from .certificate import Certificate, label_of, write_certificate
from .cover import cover
from .log_odds import certify_phi
from .many_agents import TOLERANCES
from .many_agents import cover as cover_many
from .mixtures import (
    lower_claim,
    mirrored_pair,
    mixture_on_record,
    rational_mixture,
    structure_entry,
    touching_pair,
    unanimity_structure,
    unanimous_claim,
    value_claim,
)
from .progress import Progress, Steps
from .saved_proofs import cover_from_data, cover_to_data, many_from_data, many_to_data, worst_from_data, worst_to_data

if TYPE_CHECKING:
    from ..typing import Floats
    from .cover import Standing
    from .dual import Problem

Finish = Callable[[float | None, Callable[[], dict[str, Any]], WorstCase], Certificate]


def prove_independent(
    chosen: Any, family: ConditionallyIndependent, loss: str, tolerance: float | None, rng: int, saved: Any = None
) -> Steps:
    """Bounds for an aggregator, whatever the grids of the family."""
    checks.extra("a new certificate for independent agents", "solve")
    agents, prior_range = family.agents, family.prior_range
    if prior_range[0] == prior_range[1]:
        raise UnsupportedError(
            f"a certificate needs a range of priors, not the single prior {prior_range[0]:g}; widen the range slightly."
        )
    if agents > MOST_AGENTS:
        raise UnsupportedError(f"certificates are for at most {MOST_AGENTS} agents; there are {agents}.")
    family = ConditionallyIndependent(agents, None, None, prior_range)
    aggregator = describe(chosen, agents)
    base = {
        "family": {"kind": "conditionally-independent", "agents": agents, "prior_range": list(prior_range)},
        "loss": loss,
        "paradigm": "additive",
        "aggregator": aggregator,
    }
    value = value_claims(chosen, family, loss)

    def finish(bound: float | None, witness: Callable[[], dict[str, Any]], worst: WorstCase) -> Certificate:
        upper = {} if bound is None else {"upper": {"bound": bound, "witness": witness()}}
        parts = {**base, **upper, "lower": _lower(aggregator, worst, family, loss), **value}
        return write_certificate(parts, label_of(chosen))

    if aggregator["kind"] == "log-odds":
        yield from _by_balls(aggregator["phi"], family, loss, tolerance or 1e-9, finish)
        return
    worst = worst_case(chosen, family, loss=loss, rng=rng)
    if not has_upper_bound(aggregator, agents, loss):
        yield Progress(math.inf, worst.regret, 1, 0, partial(finish, None, dict, worst))
    elif aggregator["kind"] in BY_CENTRES:
        yield from _by_centres(aggregator, family, tolerance or TOLERANCES[agents], worst, finish, saved)
    else:
        problem = problem_of(chosen, aggregator)
        yield from _by_slopes(problem, chosen, family, tolerance or 5e-7, worst, finish, saved)


def _by_balls(
    phi: dict[str, Any], family: ConditionallyIndependent, loss: str, tolerance: float, finish: Finish
) -> Steps:
    try:
        for done, proof in enumerate(certify_phi(phi, family.agents, family.prior_range, tolerance, loss), 1):
            yield Progress(proof.upper, proof.found, done, 1)
    except Refused as refused:
        raise UnsupportedError(f"no bound could be proved for this rule: {refused}") from None
    reached = proof.upper <= proof.found + tolerance * (1 + 1e-6) + 1e-16
    mu, low, high = proof.worst  # all agents but one know nothing
    structure = BinaryStructure(mu, [[low, high], *[[mu, mu]] * (family.agents - 1)])
    certificate = partial(finish, proof.upper, lambda: proof.witness, WorstCase(proof.found, structure))
    yield Progress(proof.upper, proof.found, done, int(not reached), certificate)


def _by_slopes(
    problem: Problem,
    chosen: Any,
    family: ConditionallyIndependent,
    tolerance: float,
    worst: WorstCase,
    finish: Finish,
    saved: Any,
) -> Steps:
    start = None
    if saved is not None:
        start, worst = cover_from_data(saved["cover"]), worst_from_data(saved["worst"])
        structure, (low, high) = worst.structure, family.prior_range
        assert isinstance(structure, BinaryStructure)
        check("the worst structure", structure.agents == family.agents and low <= structure.prior <= high)
        check("the worst regret", start.found == worst.regret)

    def polish(places: list[tuple[float, Floats]]) -> float:
        nonlocal worst
        for case in mapped(_from_contacts, places, (chosen, family)):
            worst = max(worst, case, key=lambda case: case.regret)
        return worst.regret

    for state in cover(problem, family.prior_range, worst.regret, tolerance, polish, start):
        certificate = None if state.witness is None else partial(finish, state.upper, state.witness, worst)
        done = state.intervals if certificate is None else state.intervals - state.unfinished
        standing = partial(_standing, state.standing, worst)
        yield Progress(state.upper, state.found, done, state.unfinished, certificate, standing=standing)


def _standing(standing: Standing, worst: WorstCase) -> dict[str, Any]:
    return {"cover": cover_to_data(standing), "worst": worst_to_data(worst)}


def _by_centres(
    aggregator: dict[str, Any],
    family: ConditionallyIndependent,
    tolerance: float,
    worst: WorstCase,
    finish: Finish,
    saved: Any,
) -> Steps:
    rule, structure = rule_of(aggregator, family.agents), worst.structure
    assert isinstance(rule, Stretched | Mean)
    assert isinstance(structure, BinaryStructure)
    last = Progress(math.inf, worst.regret, 0, 1, partial(finish, None, dict, worst))  # the lower bounds, at least
    start = None if saved is None else many_from_data(saved, family.agents)
    try:
        for state in cover_many(rule, family.prior_range, worst.regret, tolerance, structure.reports.ravel(), start):
            standing = partial(many_to_data, state.standing)
            last = replace(last, upper=state.upper, done=state.done, left=state.left, standing=standing)
            if state.witness is not None:
                last = replace(last, certificate=partial(finish, state.upper, partial(dict, state.witness), worst))
            yield last
    except Refused as refused:  # what the first stage proved is kept, if anything
        yield replace(last, left=max(last.left, 1), obstacle=str(refused))


def _from_contacts(common: tuple[Any, ConditionallyIndependent], place: tuple[float, Floats]) -> WorstCase:
    """A local search from the structures that report where the linear programme binds."""
    (chosen, family), (prior, contacts), rng = common, place, np.random.default_rng(0)
    low, high = contacts[contacts <= prior][-6:], contacts[contacts >= prior][:6]
    low, high = (side if len(side) else np.array([prior]) for side in (low, high))
    pairs = np.stack([z.ravel() for z in np.meshgrid(low, high, indexing="ij")], axis=1)
    i, j = (k.ravel() for k in np.indices((len(pairs), len(pairs))))
    reports = np.stack((pairs[i], pairs[j]), axis=1)
    points = encode(np.full(len(reports), prior), reports)
    values = continuous_regrets(chosen, points, Square())
    search = Search(chosen, Square(), family.prior_range)
    return search.best_of(search.climb(points[np.argsort(-values)[:36]], rng))


def _lower(aggregator: dict[str, Any], worst: WorstCase, family: ConditionallyIndependent, loss: str) -> dict[str, Any]:
    """The regret on the worst structure that is known, proved and rounded down."""
    resolution = len(aggregator["values"]) - 1 if aggregator["kind"] == "grid" else None
    entry = entry_of(worst, resolution, family)
    return lower_claim([entry], rule_of(aggregator, family.agents).forecast, family.agents, family.prior_range, loss)


def entry_of(worst: WorstCase, resolution: int | None, family: ConditionallyIndependent) -> dict[str, Any]:
    """The worst structure that is known, as a mixture lists it."""
    structure = worst.structure
    assert isinstance(structure, BinaryStructure)
    return structure_entry(
        structure.prior,
        structure.reports,
        resolution=resolution,
        prior_range=family.prior_range,
        symmetric=family.agents > 2,  # what is certified for more than two agents is symmetric
    )


def value_claims(chosen: Any, family: ConditionallyIndependent, loss: str) -> dict[str, Any]:
    """The best bounds for all aggregators that are at hand, and for unanimous ones where these are larger."""
    agents, prior_range = family.agents, family.prior_range
    pairs = [mirrored_pair(agents, prior_range, loss), touching_pair(agents, prior_range)]
    mixtures = [*pairs, mixture_on_record(agents, prior_range)]
    own = chosen.mixture if isinstance(chosen, Design) and chosen.settings.nature == "grid" else None
    if isinstance(own, IndependentMixture):
        parts, resolution = (own.weight, own.prior, own.reports, own.exchanged), chosen.family.reports
        mixtures.append(rational_mixture(*parts, resolution=resolution, prior_range=prior_range))
    found = [value_claim(mixture, agents, prior_range, loss) for mixture in mixtures if mixture is not None]
    claims = {"value": max(found, key=lambda claim: float(claim["bound"]))} if found else {}
    alike = unanimity_structure(agents, prior_range) if loss == "square" else None
    if alike is not None:
        claim = unanimous_claim(alike, agents, prior_range)
        if claim["bound"] > claims.get("value", {"bound": 0.0})["bound"]:  # else that for all aggregators says more
            claims["unanimous"] = claim
    return claims
