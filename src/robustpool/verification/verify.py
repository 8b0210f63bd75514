"""Re-check a certificate: every claim, from the file alone.

The file is a JSON object. It names an aggregator and a family and claims an ``upper`` bound on the aggregator's worst-case
regret over the family, a ``lower`` bound on the same (its expected regret under a mixture of structures), and a bound on the
``value`` of the game (no aggregator at all has less expected regret under this mixture). Numbers are doubles and are read
as exactly what they are; texts such as "1/3" are fractions.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ..errors import InputError
from . import cover, log_odds
from .finite import check_finite
from .forecasts import exact_forecast
from .mean_forecasts import MEAN_KINDS, regret_ball
from .mixtures import (
    LARGEST,
    check_at_most,
    check_lower,
    check_value,
    field,
    rational,
    read_claim,
    read_family,
    read_mixture,
)
from .refusal import Refused

CERTIFICATE_FORMAT = "robustpool-certificate/1"
PROVED = "every bound was proved again from the file."
FIELDS = {"format", "claim", "family", "loss", "paradigm", "aggregator", "upper", "lower", "value", "versions", "hash"}
NOT_READ = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
NESTED_FIELDS = {
    "upper": {"bound", "arithmetic", "witness"},
    "lower": {"bound", "arithmetic", "mixture"},
    "value": {"bound", "arithmetic", "mixture"},
    "aggregator": {"kind", "name", "phi", "values", "pieces", "a", "reports", "forecasts"},
}


@dataclass(frozen=True)
class Verification:
    """The verdict, and the bounds of the file that it is about; None where the file makes no such claim."""

    verified: bool
    sentence: str
    upper: float | None = None
    lower: float | None = None
    value: float | None = None
    claim: str | None = None  # what was proved, in words; None if it was not

    def __bool__(self) -> bool:
        """Whether every claim was proved again."""
        return self.verified


def verify(
    certificate: str | os.PathLike[str] | Mapping[str, Any] | Any, watch: Callable[[float], None] = lambda _: None
) -> Verification:
    """Re-check a certificate: a file, its parsed content, or what `robustpool.certify` returned.

    ``watch`` is told, between 0 and 1, how far the check is.
    """
    data = _read(certificate)
    upper, lower, value = (_bound(data, name) for name in ("upper", "lower", "value"))
    try:
        check(data, watch)
    except Refused as refused:
        return Verification(False, str(refused), upper, lower, value)
    except NOT_READ as error:
        unread = f"a claim could not be read ({type(error).__name__}: {str(error)[:80].rstrip('.')})."
        return Verification(False, unread, upper, lower, value)
    return Verification(True, PROVED, upper, lower, value, sentence(data))


def check(data: dict[str, Any], watch: Callable[[float], None] = lambda _: None) -> None:
    """Prove all claims of a certificate, or raise `Refused` at the first that does not hold."""
    if data.get("format") != CERTIFICATE_FORMAT:
        raise Refused(f"the format must be {CERTIFICATE_FORMAT!r}; it is {str(data.get('format'))[:60]!r}.")
    if data.get("hash") != content_hash(data):
        raise Refused("the file was changed after it was written: its content does not match its hash.")
    check_bounds(data, watch)
    _check_sentence(data)


def check_bounds(data: dict[str, Any], watch: Callable[[float], None] = lambda _: None) -> None:
    """The proofs."""
    if field(field(data, "family", "the certificate"), "kind", "family") == "finite":
        return check_finite(data)
    for name, only in (("loss", "square"), ("paradigm", "additive")):
        if data.get(name) != only:
            raise Refused(f"{name} must be {only!r} for conditionally independent agents; it is {data.get(name)!r}.")
    family, aggregator = data["family"], field(data, "aggregator", "the certificate")
    agents, prior_range = read_family(family)
    if len(family) > 3:
        raise Refused(
            "family must have the fields kind, agents and prior_range only: what else it says is not checked."
        )
    if "value" in data:
        check_value(data["value"], family)
    claim = field(data, "upper", "the certificate")
    bound = rational(field(claim, "bound", "upper"), "upper.bound")
    if isinstance(claim["bound"], str):
        raise Refused("upper.bound must be a number; it is text.")
    witness = field(claim, "witness", "upper")
    if field(aggregator, "kind", "aggregator") == "log-odds":
        _check_lower_log_odds(field(data, "lower", "the certificate"), aggregator, agents, prior_range)
        return log_odds.check_upper(aggregator, agents, prior_range, witness, bound)
    if agents != 2:
        raise Refused(f"an aggregator of kind {aggregator['kind']!r} is checked for two agents; there are {agents}.")
    if aggregator["kind"] in MEAN_KINDS:
        _check_lower_mean(field(data, "lower", "the certificate"), aggregator, prior_range)
    else:
        check_lower(field(data, "lower", "the certificate"), family, exact_forecast(aggregator))
    return cover.check_upper(aggregator, prior_range, witness, bound, watch)


def _check_sentence(data: dict[str, Any]) -> None:
    """There is nothing in the file that looks like a claim and is none of those that are checked."""
    if unknown := set(data) - FIELDS:
        raise Refused(f"the certificate has the field {str(min(unknown, key=str))[:40]!r}, which is not checked.")
    for name in ("upper", "lower", "value", "aggregator"):
        if unknown := set(data.get(name, {})) - NESTED_FIELDS[name]:
            raise Refused(f"{name} has the field {str(min(unknown, key=str))[:40]!r}, which is not checked.")
    if data.get("claim") != sentence(data):
        raise Refused(f"the claim must be: {sentence(data)}")


def sentence(data: Mapping[str, Any]) -> str:
    """What a certificate proves, in words."""
    family, aggregator = data["family"], data["aggregator"]
    lower, upper = (field(field(data, name, "the certificate"), "bound", name) for name in ("lower", "upper"))
    who = f"the aggregator of kind {aggregator['kind']} in this file"
    called = f" (called {aggregator['name']})" if "name" in aggregator else ""
    if family["kind"] == "finite":
        over = f"the {len(family['structures'])} structures in this file"
    else:
        over = f"all structures of {family['agents']} conditionally independent agents"
        if list(family["prior_range"]) != [0, 1]:
            over += " with a prior from {!r} to {!r}".format(*family["prior_range"])
    return f"The worst-case regret of {who}{called} over {over} lies between {lower!r} and {upper!r}."


def _check_lower_log_odds(claim: Any, aggregator: dict[str, Any], agents: int, prior_range: Any) -> None:
    """The rule's expected regret under the mixture, in balls."""
    bound, mixture = read_claim(claim, "lower")
    structures = read_mixture(mixture, agents, prior_range, "lower.mixture")
    weighted = [
        (structure.weight, log_odds.regret_at(aggregator, entry))
        for structure, entry in zip(structures, mixture, strict=True)
    ]
    exact = sum((weight * least(regret) for weight, regret in weighted), Fraction(0))
    check_at_most(bound, exact, "lower", "the rule's expected regret under the mixture")


def _check_lower_mean(claim: Any, aggregator: dict[str, Any], prior_range: Any) -> None:
    """The same for two agents and a forecast that is no fraction."""
    bound, mixture = read_claim(claim, "lower")
    regret = regret_ball(aggregator, mixture, prior_range, "lower.mixture")
    check_at_most(bound, least(regret), "lower", "the rule's expected regret under the mixture")


def least(ball: Any) -> Fraction:
    """The lower end of a ball, exactly."""
    if not ball.is_finite():
        raise Refused("the rule's regret under the mixture could not be computed.")
    mantissa, exponent = (int(part) for part in ball.lower().man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent


def content_hash(data: Mapping[str, Any]) -> str:
    """sha256 over the JSON text without the hash, with sorted keys and no spaces.

    >>> content_hash({"b": 1, "a": 0.5}) == content_hash({"a": 0.5, "b": 1, "hash": "any"})
    True
    """
    rest = {key: value for key, value in data.items() if key != "hash"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _read(certificate: Any) -> dict[str, Any]:
    if isinstance(certificate, Mapping):
        return dict(certificate)
    if isinstance(getattr(certificate, "data", None), Mapping):
        return dict(certificate.data)
    if not isinstance(certificate, (str, os.PathLike)):
        raise InputError(f"a certificate is a file, its parsed content or a Certificate; it is {certificate!r}.")
    name = os.fspath(certificate)
    try:
        data = json.loads(Path(name).read_text(encoding="utf-8"), object_pairs_hook=_once)
    except FileNotFoundError:
        raise InputError(f"the certificate {name!r} does not exist.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"the certificate {name!r} cannot be read ({error}).") from None
    if not isinstance(data, dict):
        raise InputError(f"{name!r} is not a certificate: it must hold a JSON object.")
    if not str(data.get("format")).startswith("robustpool-certificate"):
        raise InputError(f"{name!r} is not a certificate: its format is {str(data.get('format'))[:60]!r}.")
    return data


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose names are different: of two claims under one name, some programs would show the other one."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"an object in it has a name twice, among {', '.join(sorted(found))[:60]}")
    return found


def _bound(data: Mapping[str, Any], name: str) -> float | None:
    """A bound as it is shown; None if there is none, or no finite number."""
    claim = data.get(name)
    bound = claim.get("bound") if isinstance(claim, Mapping) else None
    if isinstance(bound, (int, float)) and not isinstance(bound, bool) and abs(bound) <= LARGEST:
        return float(bound)
    return None
