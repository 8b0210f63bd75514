"""Certificates for agents who neglect the base rate: rules that see only the sum of the log-odds, and one known lambda."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UnsupportedError
from ..verification.log_odds import read_phi
from ..verification.neglect import informed_regret, pair_bound
from ..verification.reading import Refused
from .certifiable import describe
from .certificate import label_of, write_certificate
from .log_odds import certify_phi
from .mixtures import outward
from .progress import Progress, Steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..families.neglect import Neglect


class Stage(NamedTuple):
    """An upper bound that is proved, the worst regret that is known, and the parts of the certificate."""

    upper: float
    found: float
    parts: dict[str, Any]


def prove_neglect(
    chosen: Any,
    family: Neglect,
    loss: str,
    tolerance: float | None,
    rng: int,  # noqa: ARG001
    saved: Any = None,  # noqa: ARG001
) -> Steps:
    """Bounds that approach each other, stage by stage."""
    if loss != "square":
        raise UnsupportedError(f"base-rate neglect is certified for the loss 'square' only; it is {loss!r}.")
    aggregator = describe(chosen, family.agents)
    slack = tolerance or 1e-9
    for done, stage in enumerate(_stages(aggregator, family, slack), 1):
        reached = stage.upper <= stage.found + slack * (1 + 1e-6) + 1e-16
        certificate = partial(write_certificate, stage.parts, label_of(chosen))
        yield Progress(stage.upper, stage.found, done, int(not reached), certificate)


def _stages(aggregator: dict[str, Any], family: Neglect, tolerance: float) -> Iterator[Stage]:
    """Bounds for a rule as a certificate names it, the last within ``tolerance`` of each other if the proof succeeds."""
    low, high = family.neglect
    if (
        aggregator["kind"] != "log-odds"
        or low < high
        or family.prior_range != (0.0, 1.0)
        or family.agents * Fraction(low) < 1
    ):
        raise UnsupportedError(
            "under base-rate neglect, bounds are proved for functions of the summed log-odds, one lambda, n lambda from 1 on and "
            f"all priors; the family is {family.words()}."
        )
    from ..families.neglect import mirrored_pair

    agents = family.agents * Fraction(low)
    written = aggregator["phi"]
    base = {
        "family": {"kind": "neglect", "agents": family.agents, "prior_range": [0.0, 1.0], "neglect": low},
        "loss": "square",
        "paradigm": "additive",
        "aggregator": aggregator,
    }
    value = {}
    if agents > 1:
        prior = mirrored_pair(float(agents) - 1).prior
        value = {"value": {"bound": outward(pair_bound(agents, Fraction(prior)), "down"), "prior": prior}}
    try:
        for proof in certify_phi(written, agents, family.prior_range, tolerance):
            prior, *posteriors = proof.worst
            if not posteriors[0] < prior < posteriors[1]:  # the rule has no regret at all
                prior, posteriors = 0.5, [0.0, 1.0]
            phi = read_phi(written, "aggregator.phi")
            exact = informed_regret(phi, agents, Fraction(prior), [*map(Fraction, posteriors)])
            lower = {"bound": outward(exact, "down"), "prior": prior, "posteriors": posteriors}
            upper = {"bound": proof.upper, "witness": proof.witness}
            yield Stage(proof.upper, proof.found, {**base, "upper": upper, "lower": lower, **value})
    except Refused as refused:
        raise UnsupportedError(f"no bound could be proved for this rule: {refused}") from None
