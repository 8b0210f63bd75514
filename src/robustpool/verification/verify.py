"""Re-check a certificate: every claim, from the file alone.

The file is a JSON object. It holds an aggregator and a family and claims an ``upper`` bound on the aggregator's worst-case
regret over the family, a ``lower`` bound on the same (its expected regret under a mixture of structures), a bound on the
``value`` of the game (no aggregator at all has less expected regret under this mixture), and one for ``unanimous``
aggregators. Numbers are doubles and are read as exactly what they are; texts such as "1/3" are fractions. What is proved
is stated in sentences that are made here, from what was checked; the file has to state the same ones.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from . import common_source, cover, log_odds, many_agents
from .claims import claims, former
from .divergences import DIVERGENCES
from .finite import check_finite
from .forecasts import read_aggregator
from .mean_and_median import AVERAGES, Median, read_average
from .mixtures import MIXTURE, check_at_most, expected_regret, read_mixture, unanimous_bound, value_bound
from .neglect import check_neglect
from .reading import LATER, MOST_AGENTS, STEPS, Budget, OverBudget, Refused, double, label, quoted, rational, read, word
from .stretched import read_stretched

if TYPE_CHECKING:
    from flint import arb

    from .mixtures import Profile, Structure

CERTIFICATE_FORMAT = "robustpool-certificate/2"
MOST_BYTES = 2**25  # of a file, with the budget STEPS; in memory it takes some twenty times as much
PROVED = "every claim was proved again from the file."


CERTIFICATE = {
    "format": word(CERTIFICATE_FORMAT),
    "claims": LATER,
    "label?": label,
    "family": LATER,
    "loss": word(*DIVERGENCES),
    "paradigm": LATER,
    "aggregator": LATER,
    "upper?": LATER,
    "lower?": LATER,
    "value?": LATER,
    "unanimous?": LATER,
    "versions": {"robustpool": label, "python": label},
    "hash": LATER,
}
INDEPENDENT = {"kind": word("conditionally-independent"), "agents": LATER, "prior_range": [rational]}
LOG_ODDS = {"kind": word("log-odds"), "phi": log_odds.read_phi}
BOUNDS = ("upper", "lower", "value", "unanimous")
UPPER = {"bound": double, "witness": LATER}
LOWER = {"bound": double, "mixture": MIXTURE}


@dataclass(frozen=True)
class Verification:
    """The verdict, and what was proved: nothing unless all of it was."""

    verified: bool
    sentence: str
    upper: float | None = None  # None where the file makes no such claim, or it is not proved
    lower: float | None = None
    value: float | None = None
    claims: tuple[str, ...] = ()  # what was proved, in words
    label: str | None = None  # what the maker of the file calls it; nothing is proved of that
    over_budget: bool = False  # not refuted: the check would have taken more work than it was allowed
    unanimous: float | None = None

    def __repr__(self) -> str:
        """The verdict and the bounds, in a line."""
        bounds = f"lower={self.lower}, upper={self.upper}, value={self.value}"
        return f"Verification(verified={self.verified}, {bounds})"

    def __bool__(self) -> bool:
        """Whether every claim was proved again."""
        return self.verified


def verify(
    certificate: str | os.PathLike[str] | bytes | Mapping[str, Any] | Any,
    watch: Callable[[float], None] = lambda _: None,
    *,
    budget: int = STEPS,
) -> Verification:
    """Re-check a certificate: a file, the bytes of one, its parsed content, or what `robustpool.certify` returned.

    ``watch`` is told, between 0 and 1, how far the check is. ``budget`` limits the work, in steps of about a microsecond:
    no file can take more, and one that would is not verified, with a sentence that says so. Content that is parsed
    already costs nothing to read.
    """
    try:
        work = Budget(budget)
        data = _read(certificate, work)
        proved = check(data, work, watch)
    except Refused as refused:
        return Verification(False, str(refused), over_budget=isinstance(refused, OverBudget))
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 -- whatever a hostile file does, the answer is a sentence
        return Verification(False, f"a claim could not be read ({type(error).__name__}: {quoted(str(error))}).")
    upper, lower, value, unanimous = (float(data[name]["bound"]) if name in data else None for name in BOUNDS)
    return Verification(True, PROVED, upper, lower, value, tuple(proved), data.get("label"), unanimous=unanimous)


def check(data: Mapping[str, Any], budget: Budget, watch: Callable[[float], None] = lambda _: None) -> list[str]:
    """Prove all claims of a certificate and return them in words, or raise `Refused` at the first that does not hold."""
    if str(data.get("format")) == "robustpool-certificate/1":
        raise Refused(
            "this certificate was made by an earlier version, whose claims could say too much; certify it again."
        )
    read(data, CERTIFICATE, "the certificate")
    if data["hash"] != content_hash(data):
        raise Refused("the file was changed after it was written: its content does not match its hash.")
    proved = check_bounds(data, budget, watch)
    if data["claims"] not in (proved, [*map(former, proved)]):
        raise Refused(f"claims must be what was proved: {' '.join(proved)}")
    return proved


def check_bounds(data: Mapping[str, Any], budget: Budget, watch: Callable[[float], None] = lambda _: None) -> list[str]:
    """The proofs, and what they prove."""
    kind = data["family"].get("kind") if isinstance(data["family"], Mapping) else None
    return CHECKS.get(kind if isinstance(kind, str) else "", _check_independent)(data, budget, watch)


def _check_finite(data: Mapping[str, Any], budget: Budget, watch: Callable[[float], None]) -> list[str]:  # noqa: ARG001
    read(data["loss"], word("square"), "the loss of a finite family")
    check_finite(data, budget)
    return claims(data, None)


def _check_neglect(data: Mapping[str, Any], budget: Budget, watch: Callable[[float], None]) -> list[str]:  # noqa: ARG001
    summed: log_odds.Phi = read(data["aggregator"], LOG_ODDS, "aggregator")["phi"]
    check_neglect(data, summed, budget)
    return claims(data, summed.formula)


def _check_independent(data: Mapping[str, Any], budget: Budget, watch: Callable[[float], None]) -> list[str]:
    aggregator, loss = data["aggregator"], data["loss"]
    agents, prior_range = read_family(data["family"])
    read(data["paradigm"], word("additive"), "paradigm")
    lower = read(data.get("lower"), LOWER, "lower")
    upper = read(data["upper"], UPPER, "upper") if "upper" in data else None
    if "unanimous" in data:
        read(loss, word("square"), "the loss of a bound for unanimous aggregators")
    for name in ("value", "unanimous"):
        if name in data:
            check_value(data[name], agents, prior_range, budget, name, loss)
    mixture = read_mixture(lower["mixture"], agents, prior_range, "lower.mixture", budget)
    kind = aggregator.get("kind") if isinstance(aggregator, Mapping) else None
    if kind == "log-odds":
        phi: log_odds.Phi = read(aggregator, LOG_ODDS, "aggregator")["phi"]
        check_lower(lower, mixture, phi.forecast, budget, loss)
        if upper is not None:
            witness = log_odds.read_witness(upper["witness"], "upper.witness")
            bound = Fraction(upper["bound"])
            log_odds.check_upper(phi, agents, prior_range, witness, bound, budget, DIVERGENCES[loss])
        return claims(data, phi.formula)
    if upper is not None:
        read(
            loss,
            word("square"),
            "the loss of an upper bound for an aggregator that is no function of the summed log-odds",
        )
    if kind in ("stretched-log-odds", *AVERAGES):
        symmetric = read_average(aggregator, agents) if kind in AVERAGES else read_stretched(aggregator, agents, budget)
        check_lower(lower, mixture, symmetric.forecast, budget, loss)
        if upper is not None:
            if isinstance(symmetric, Median):
                raise Refused("an upper bound is not checked for an aggregator of the kind 'median'.")
            many_agents.check_upper(symmetric, prior_range, upper["witness"], upper["bound"], budget, watch)
        return claims(data, symmetric.formula)
    if agents != 2:
        raise Refused(f"an aggregator of this kind is checked for two agents; there are {agents}.")
    rule = read_aggregator(aggregator, budget=budget)
    if not rule.exchangeable and any(structure.agents for structure in mixture):
        raise Refused("lower.mixture counts its agents, but the aggregator depends on their order.")
    check_lower(lower, mixture, rule.forecast, budget, loss)
    if upper is not None:
        cover.check_upper(rule, prior_range, upper["witness"], upper["bound"], budget, watch)
    return claims(data, rule.formula)


def _check_common_source(data: Mapping[str, Any], budget: Budget, watch: Callable[[float], None]) -> list[str]:
    """The same for two agents with a common source; the mixtures are of conditionally independent agents, who are among them."""
    agents, prior_range = read_family(data["family"], "common-source")
    if agents != 2 or prior_range != (Fraction(0), Fraction(1)):
        raise Refused("agents with a common source are checked for two agents and all priors.")
    word("additive")(data["paradigm"], "paradigm")
    word("square")(data["loss"], "the loss of agents with a common source")
    if "unanimous" in data:
        raise Refused("a bound for unanimous aggregators is not checked for agents with a common source.")
    if "value" in data:
        check_value(data["value"], agents, prior_range, budget)
    lower = read(data.get("lower"), LOWER, "lower")
    source = common_source.read_source(data["aggregator"], budget)
    mixture = read_mixture(lower["mixture"], agents, prior_range, "lower.mixture", budget)
    check_lower(lower, mixture, source.forecast, budget, "square")
    if "upper" in data:
        upper = read(data["upper"], UPPER, "upper")
        common_source.check_upper(source, upper["witness"], upper["bound"], budget, watch)
    return claims(data, source.formula)


CHECKS = {"finite": _check_finite, "neglect": _check_neglect, "common-source": _check_common_source}
"""By the kind of the family; all others must be conditionally independent agents."""


def check_lower(
    claim: Any, mixture: list[Structure], forecast: Callable[[Profile], Fraction | arb], budget: Budget, loss: str
) -> None:
    """Prove that the aggregator's worst case is at least the bound, or refuse."""
    exact = expected_regret(mixture, forecast, budget, loss)
    check_at_most(Fraction(claim["bound"]), exact, "lower.bound", "under its mixture the aggregator has")


def check_value(
    claim: Any,
    agents: int,
    prior_range: tuple[Fraction, Fraction],
    budget: Budget,
    name: str = "value",
    loss: str = "square",
) -> None:
    """Prove that no aggregator at all, or no unanimous one, has a smaller worst case on the family than the bound."""
    value = read(claim, LOWER, name)
    mixture = read_mixture(value["mixture"], agents, prior_range, f"{name}.mixture", budget)
    exact = unanimous_bound(mixture, budget) if name == "unanimous" else value_bound(mixture, budget, loss)
    some = "some unanimous aggregator" if name == "unanimous" else "some aggregator"
    check_at_most(Fraction(value["bound"]), exact, f"{name}.bound", f"against its mixture {some} has")


def read_family(family: Any, kind: str = "conditionally-independent") -> tuple[int, tuple[Fraction, Fraction]]:
    """The number of agents and the range of the priors."""
    data = read(family, {**INDEPENDENT, "kind": word(kind)}, "family")
    agents, ends = data["agents"], data["prior_range"]
    if type(agents) is not int or not 1 <= agents <= MOST_AGENTS:
        raise Refused(f"family.agents must be a whole number from 1 to {MOST_AGENTS}; it is {quoted(agents)}.")
    if len(ends) != 2 or not 0 <= ends[0] <= ends[1] <= 1 or ends[0] == 1 or ends[1] == 0:
        raise Refused("family.prior_range must be two numbers within [0, 1], the lower first.")
    return agents, (ends[0], ends[1])


def content_hash(data: Mapping[str, Any]) -> str:
    """sha256 over the JSON text without the hash, with sorted keys and no spaces.

    >>> content_hash({"b": 1, "a": 0.5}) == content_hash({"a": 0.5, "b": 1, "hash": "any"})
    True
    """
    rest = {key: value for key, value in data.items() if key != "hash"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _read(certificate: Any, budget: Budget) -> Mapping[str, Any]:
    if isinstance(certificate, Mapping):
        return certificate
    if isinstance(getattr(certificate, "data", None), Mapping):
        return dict(certificate.data)
    if isinstance(certificate, bytes):
        return _parsed(certificate, budget, "this file")
    if not isinstance(certificate, (str, os.PathLike)):
        raise InputError(f"a certificate is a file, its parsed content or a Certificate; it is {quoted(certificate)}.")
    name = os.fspath(certificate)
    try:
        with Path(name).open("rb") as file:
            content = file.read(_most_bytes(budget) + 1)
    except FileNotFoundError:
        raise InputError(f"the certificate {name!r} does not exist.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"the certificate {name!r} cannot be read ({quoted(str(error))}).") from None
    return _parsed(content, budget, f"the certificate {name!r}")


def _parsed(content: bytes, budget: Budget, name: str) -> Mapping[str, Any]:
    """What the bytes of a file say, at the price of a step a byte."""
    budget.spend(len(content) if len(content) <= _most_bytes(budget) else math.inf)
    try:
        data = json.loads(content.decode("utf-8"), object_pairs_hook=_once)
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(f"{name} cannot be read ({quoted(str(error))}).") from None
    if not isinstance(data, dict) or not str(data.get("format")).startswith("robustpool-certificate/"):
        raise InputError(
            f"{name.removeprefix('the certificate ')} is not a certificate: it must be a JSON object with the format "
            f"{CERTIFICATE_FORMAT!r}."
        )
    return data


def _most_bytes(budget: Budget) -> int:
    """Bytes of a file that are read with this budget."""
    return int(min(budget.steps, MOST_BYTES * max(1.0, budget.steps / STEPS), 2**30))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are different: of two claims under one name, some programs would show the other one."""
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("an object in it has a name twice")
    return data
