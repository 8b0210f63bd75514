"""Certify: choose how an aggregator can be proved, find the witnesses, and put the certificate together."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..aggregators import pools
from ..aggregators.rules import Rule
from ..designs.any_aggregator import AnyAggregator, as_aggregator
from ..designs.design import Design
from ..designs.records import IndependentMixture
from ..errors import InputError, UnsupportedError
from ..families.common_source import CommonSource
from ..families.conditionally_independent import ConditionallyIndependent
from ..families.family_file import read_family_file
from ..families.finite import FiniteFamily
from ..families.neglect import Neglect
from ..families.world import World
from ..families.worst_case import Search, WorstCase, continuous_regrets, encode, worst_case
from ..losses.square import Square
from ..structures.binary_structure import BinaryStructure
from ..structures.information_structure import InformationStructure
from ..typing import FilePath
from ..verification.common_source import read_source
from ..verification.divergences import DIVERGENCES
from ..verification.mean_and_median import Mean
from ..verification.reading import MOST_AGENTS, Refused
from ..verification.stretched import Stretched
from .certifiable import BY_CENTRES, describe, has_upper_bound, problem_of, rule_of
from .certificate import Certificate, label_of, write_certificate
from .common_source import cover_slabs
from .cover import cover
from .finite import finite_certificate
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
from .neglect import neglect_certificate

if TYPE_CHECKING:
    from ..typing import Floats
    from .dual import Problem


@dataclass(frozen=True)
class Progress:
    """The state of a proof: the bounds so far, the intervals done and left, and the certificate once there is one."""

    upper: float  # proved; inf until all priors are covered, and where no upper bound can be proved
    lower: float  # found
    done: int  # intervals of priors, or stages
    left: int
    certificate: Callable[[], Certificate] | None = None
    obstacle: str | None = None  # why the proof ends before the tolerance is reached, if it is known


COMMON_SOURCE_TOLERANCE = 1.99e-3

Steps = Generator[Progress, None, None]
Finish = Callable[[float | None, Callable[[], dict[str, Any]], WorstCase], Certificate]
AnyFamily = World | FiniteFamily | FilePath | Mapping[str, Any] | Sequence[InformationStructure]


def certify(
    aggregator: AnyAggregator,
    family: AnyFamily | None = None,
    *,
    loss: str = "square",
    paradigm: str | None = None,
    tolerance: float | None = None,
    rng: int = 0,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Certificate:
    """Prove bounds on the worst-case regret of an aggregator over all conditionally independent structures of a family.

    The aggregator is a rule, a design or a table; the family gives the number of agents and the range of the priors (two
    agents and all priors, or the design's own). A finite family (a family file, its parsed content, a `FiniteFamily` or the
    list of its structures) is certified by exact enumeration, for any ``paradigm``; a design has its own. The bounds are at most
    ``tolerance`` (5e-7; for functions of the summed log-odds 1e-9) apart, if the search finds structures that show it.
    For ``minimax`` and ``mean`` with three, four and five agents they are 5e-5, 5e-4 and 5e-3 apart, and the proof takes minutes.
    Other rules that are not functions of the summed log-odds have no upper bound for three or more agents; the lower
    ones are proved all the same. With the ``loss`` "log", upper bounds are proved for functions of the summed log-odds, with any
    number of agents, and lower ones for all rules. Ctrl-C keeps the bound that was reached.

    >>> certificate = certify("minimax")
    >>> certificate.upper, certificate.upper - certificate.lower < 1e-15
    (0.022542485937368562, True)
    """
    last: Progress | None = None
    try:
        for last in certification(aggregator, family, loss=loss, paradigm=paradigm, tolerance=tolerance, rng=rng):
            progress(last)
    except KeyboardInterrupt:
        if last is None or last.certificate is None:
            raise
    assert last is not None
    if last.certificate is None:
        raise UnsupportedError("no bound could be proved for this aggregator; worst_case searches for its worst case.")
    return last.certificate()


def certification(
    aggregator: AnyAggregator,
    family: AnyFamily | None = None,
    *,
    loss: str = "square",
    paradigm: str | None = None,
    tolerance: float | None = None,
    rng: int = 0,
) -> Steps:
    """The same step by step, for those who want to watch."""
    chosen = as_aggregator(aggregator)
    if tolerance is not None and not 0 < checks.number("tolerance", tolerance) < 1:
        raise InputError(f"tolerance must lie between 0 and 1; it is {tolerance!r}.")
    if loss not in DIVERGENCES:
        raise InputError(f"certificates are for the losses {' and '.join(DIVERGENCES)}; the loss is {loss!r}.")
    if family is None:
        family = _own_family(chosen)
    if isinstance(family, (str, os.PathLike)):
        family = read_family_file(family)
    if isinstance(family, Neglect):
        return _neglect(chosen, family, loss, paradigm, tolerance)
    if isinstance(family, CommonSource):
        _check_design(chosen, paradigm, loss)
        return _common_source(chosen, family, loss, tolerance)
    if isinstance(family, World) and not isinstance(family, ConditionallyIndependent):
        return _from_below(chosen, family, loss, paradigm)
    if not isinstance(family, ConditionallyIndependent):
        if loss != "square":
            raise UnsupportedError(f"a finite family is certified for the loss 'square' only; it is {loss!r}.")
        return _exact(chosen, family, paradigm)
    _check_design(chosen, paradigm, loss)
    checks.extra("a new certificate for independent agents", "solve")
    return _independent(chosen, family, loss, tolerance, rng)


def _own_family(chosen: Any) -> World:
    """What a design was made for, with any reports and any prior; two agents for a rule."""
    if not isinstance(chosen, Design):
        return ConditionallyIndependent(getattr(chosen, "agents", None) or 2, None, None)
    if not isinstance(chosen.family, World):
        raise InputError(f"{chosen.name} is for a finite family; give that family (certify DESIGN --family FILE.json).")
    if isinstance(chosen.family, ConditionallyIndependent):
        return replace(chosen.family, reports=None, priors=None)
    return chosen.family


def _check_design(chosen: Any, paradigm: str | None, loss: str) -> None:
    if paradigm not in (None, "additive"):
        raise UnsupportedError(
            f"independent agents are certified for the paradigm 'additive' only; it is {paradigm!r}."
        )
    if not isinstance(chosen, Design):
        return
    if loss != "square":
        raise UnsupportedError(f"a design is certified for the loss 'square' only; it is {loss!r}.")
    settings = chosen.settings
    for name, value, only in (("loss", settings.loss, "square"), ("paradigm", settings.paradigm, "additive")):
        if value != only:
            raise UnsupportedError(
                f"{chosen.name} was made for the {name} {value!r}; independent agents are certified for {only!r} only."
            )


def _exact(chosen: Any, family: Any, paradigm: str | None) -> Steps:
    parts = finite_certificate(chosen, family, paradigm=paradigm)
    upper, lower = parts["upper"]["bound"], parts["lower"]["bound"]
    yield Progress(upper, lower, 1, 0, partial(write_certificate, parts, label_of(chosen)))


def _from_below(chosen: Any, family: World, loss: str, paradigm: str | None) -> Steps:
    """Lower bounds from some structures of a world; nothing is claimed about its other structures."""
    structures = family.hard_structures()
    if structures is None:
        raise UnsupportedError(
            f"no bound can be proved for {family.words()}; worst_case searches for the worst structure."
        )
    if isinstance(chosen, Design):
        raise UnsupportedError(
            f"a design for this world has no certificate; `certify RULE --world {family.kind}` proves the lower bound."
        )
    _check_design(chosen, paradigm, loss)
    if loss != "square":
        raise UnsupportedError(
            f"the lower bound of this world is certified for the loss 'square' only; it is {loss!r}."
        )
    parts = finite_certificate(family.heard(chosen), structures, np.ones(len(structures["structures"])))
    del parts["upper"]  # it would be that of these structures only
    yield Progress(math.inf, parts["lower"]["bound"], 1, 0, partial(write_certificate, parts, label_of(chosen)))


def _neglect(chosen: Any, family: Neglect, loss: str, paradigm: str | None, tolerance: float | None) -> Steps:
    _check_design(chosen, paradigm, loss)
    if loss != "square":
        raise UnsupportedError(f"base-rate neglect is certified for the loss 'square' only; it is {loss!r}.")
    aggregator = describe(chosen, family.agents)
    slack = tolerance or 1e-9
    for done, stage in enumerate(neglect_certificate(aggregator, family, slack), 1):
        reached = stage.upper <= stage.found + slack * (1 + 1e-6) + 1e-16
        certificate = partial(write_certificate, stage.parts, label_of(chosen))
        yield Progress(stage.upper, stage.found, done, int(not reached), certificate)


def _independent(chosen: Any, family: ConditionallyIndependent, loss: str, tolerance: float | None, rng: int) -> Steps:
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
    value = _value(chosen, family, loss)

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
        yield from _by_centres(aggregator, family, tolerance or TOLERANCES[agents], worst, finish)
    else:
        problem = problem_of(chosen, aggregator)
        yield from _by_slopes(problem, chosen, family, tolerance or 5e-7, worst, finish)


def _common_source(chosen: Any, family: CommonSource, loss: str, tolerance: float | None) -> Steps:
    """Two agents with a common source and the rule of that name: one slab of p_0 after the other.

    The lower bounds are those of conditionally independent agents, who are among them.
    """
    if (
        not isinstance(chosen, Rule)
        or chosen.name != "common-source"
        or family.agents != 2
        or family.prior_range != (0.0, 1.0)
        or loss != "square"
    ):
        raise UnsupportedError(
            "for agents with a common source, only the rule common-source is certified, for two agents, all priors and the square "
            "loss."
        )
    names = ("slope", "d", "kappa", "k")
    aggregator = {"kind": "common-source", **dict(zip(names, pools.SOURCE_OF_TWO, strict=True))}
    rule = read_source(aggregator)
    inner = ConditionallyIndependent(2, None, None)
    found, worst = worst_case(chosen, family).regret, worst_case(chosen, inner)
    bound = math.ceil((found + (tolerance or COMMON_SOURCE_TOLERANCE)) * 1e5) / 1e5
    lower = lower_claim([_entry(worst, None, inner)], rule.forecast, 2, inner.prior_range, loss)
    base = {
        "family": {"kind": "common-source", "agents": 2, "prior_range": [0.0, 1.0]},
        "loss": "square",
        "paradigm": "additive",
        "aggregator": aggregator,
        "lower": lower,
        "value": _value(chosen, inner, loss)["value"],
    }
    last = Progress(math.inf, found, 0, 1, partial(write_certificate, base, label_of(chosen)))
    yield last
    for state in cover_slabs(rule, chosen, bound):
        done = round(100 * state.reached)
        last = replace(last, done=done, left=max(100 - done, 1))
        if state.finished:
            upper = {"bound": bound, "witness": {"kind": "slabs", "slabs": state.entries}}
            write = partial(write_certificate, {**base, "upper": upper}, label_of(chosen))
            last = Progress(bound, found, len(state.entries), 0, write)
        yield last
    if last.left:
        yield replace(last, obstacle=f"no slopes were found for the bound {bound:g}; give a larger tolerance")


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
    problem: Problem, chosen: Any, family: ConditionallyIndependent, tolerance: float, worst: WorstCase, finish: Finish
) -> Steps:
    rng = np.random.default_rng(0)

    def polish(prior: float, contacts: Floats) -> float:
        nonlocal worst
        worst = max(worst, _from_contacts(chosen, family, prior, contacts, rng), key=lambda case: case.regret)
        return worst.regret

    for state in cover(problem, family.prior_range, worst.regret, tolerance, polish):
        certificate = None if state.witness is None else partial(finish, state.upper, state.witness, worst)
        done = state.intervals if certificate is None else state.intervals - state.unfinished
        yield Progress(state.upper, state.found, done, state.unfinished, certificate)


def _by_centres(
    aggregator: dict[str, Any], family: ConditionallyIndependent, tolerance: float, worst: WorstCase, finish: Finish
) -> Steps:
    rule, structure = rule_of(aggregator, family.agents), worst.structure
    assert isinstance(rule, Stretched | Mean)
    assert isinstance(structure, BinaryStructure)
    last = Progress(math.inf, worst.regret, 0, 1, partial(finish, None, dict, worst))  # the lower bounds, at least
    try:
        for state in cover_many(rule, family.prior_range, worst.regret, tolerance, structure.reports.ravel()):
            last = replace(last, upper=state.upper, done=state.done, left=state.left)
            if state.witness is not None:
                last = replace(last, certificate=partial(finish, state.upper, partial(dict, state.witness), worst))
            yield last
    except Refused as refused:  # what the first stage proved is kept, if anything
        yield replace(last, left=max(last.left, 1), obstacle=str(refused))


def _from_contacts(
    chosen: Any, family: ConditionallyIndependent, prior: float, contacts: Floats, rng: np.random.Generator
) -> WorstCase:
    """A local search from the structures that report where the linear programme binds."""
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
    entry = _entry(worst, resolution, family)
    return lower_claim([entry], rule_of(aggregator, family.agents).forecast, family.agents, family.prior_range, loss)


def _entry(worst: WorstCase, resolution: int | None, family: ConditionallyIndependent) -> dict[str, Any]:
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


def _value(chosen: Any, family: ConditionallyIndependent, loss: str) -> dict[str, Any]:
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
