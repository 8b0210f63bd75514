"""What a certificate proves, in sentences made of checked content only: no label, no name, no text of the file's maker."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .finite import COMPUTED
from .forecasts import table_hash
from .reading import exactly

if TYPE_CHECKING:
    from collections.abc import Mapping

NOUNS = {
    "additive": "worst-case regret",
    "absolute": "worst-case expected loss",
    "ratio": "worst-case ratio of the expected loss to the omniscient one (0/0 = 1)",
}

PUBLIC = (
    " given all that they saw, with private signals independent given the state and the public evidence, if any, "
    "that all of them saw"
)
ALONE = ", with signals independent given the state"
PRIOR = "prior after it"


def claims(data: Mapping[str, Any], formula: str | None) -> list[str]:
    """The claims of a certificate whose content was checked; ``formula`` is that of the aggregator of independent agents."""
    if formula is None:
        over, who = _finite(data["family"]), f"the table of forecasts with the hash {table_hash(data['aggregator'])}"
        anyone = "function of the reports"
    else:
        over = OVER.get(data["family"]["kind"], _independent)(data["family"])
        who, anyone = f"the rule {formula},", "aggregator of the reports"
    what, sentences = NOUNS[data["paradigm"]], []
    lower, upper = (repr(float(data[name]["bound"])) if name in data else None for name in ("lower", "upper"))
    if lower and upper:
        sentences.append(f"the {what} of {who} lies between {lower} and {upper}")
    elif lower or upper:
        sentences.append(f"the {what} of {who} is at {'least' if lower else 'most'} {lower or upper}")
    if "value" in data:
        sentences.append(f"no {anyone}, randomised or not, has a {what} below {float(data['value']['bound'])!r}")
    if "unanimous" in data:
        allowed = "at least p where all report p > 1/2, and at most p where all report p < 1/2"
        said = f"whose forecast, or mean forecast if it is randomised, is {allowed},"
        sentences.append(f"no {anyone} {said} has a {what} below {float(data['unanimous']['bound'])!r}")
    return [f"{data['loss'].capitalize()} loss, {over}: {sentence}. Decimals name doubles." for sentence in sentences]


def _independent(family: Mapping[str, Any]) -> str:
    """The structures: those of independent agents, and, by convexity, with public evidence (docs/derivations/shared-evidence.md)."""
    low, high = (exactly(end, "family.prior_range") for end in family["prior_range"])
    agents, prior = "one agent who reports her posterior", "prior"
    if family["agents"] > 1:
        agents, prior = f"{family['agents']} agents who report their posteriors{PUBLIC}", PRIOR
    priors = f"any {prior}" if [*map(Fraction, (low, high))] == [0, 1] else f"a {prior} from {low} to {high}"
    return f"two states, all structures of {agents}, and {priors}"


def _neglect(family: Mapping[str, Any]) -> str:
    """The structures of agents who put the base rate to a power."""
    power = exactly(family["neglect"], "family.neglect")
    return (
        f"two states, all structures of {family['agents']} agent{'s' * (family['agents'] > 1)} with signals independent given "
        "the state, each of whom reports the probability whose odds are the likelihood ratio of her signal times the "
        f"prior odds to the power {power}, and any prior"
    )


def _common_source(_: Mapping[str, Any]) -> str:
    """The structures of two agents with a common source."""
    return (
        "two states, all structures of 2 agents who report their posteriors, with signals independent given a hidden y in {0, 1} that may "
        "mislead (given y, the state does not depend on the signals), any chances of the state given y, and any prior"
    )


OVER = {"neglect": _neglect, "common-source": _common_source}


def former(claim: str) -> str:
    """The narrower sentence that earlier versions wrote, without public evidence: what it says is implied."""
    return claim.replace(PUBLIC, ALONE).replace(PRIOR, "prior")


def _finite(family: Mapping[str, Any]) -> str:
    states, agents, structures = (len(family[name]) for name in ("states", "agents", "structures"))
    said = "listed in this file, where the omniscient one sees the point"
    if family["report"] in COMPUTED:
        said = f"{COMPUTED[family['report']]}; compared exactly"
    return (
        f"{'summed over the states, ' * (states > 2)}the {structures} structure{'s' * (structures > 1)} in this file "
        f"({states} states, {agents} agent{'s' * (agents > 1)}, reports: {said})"
    )
