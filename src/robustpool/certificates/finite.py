"""Certificates for a finite family: the structures as exact fractions, the table, and what both imply.

The joint distributions are read as people mean them ("1/3" is a third, 0.1 is a tenth) and divided by their exact sum.
Posterior, higher-order and decision reports are computed again from the joint. A `FiniteFamily` keeps the reports and not
the signals, and the reports of a user's own function cannot be computed again: there the certificate lists them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..designs.any_aggregator import AnyAggregator, as_aggregator
from ..designs.design import Design
from ..designs.records import FiniteRecord, ListedMixture
from ..errors import InputError, UnsupportedError
from ..families.family_file import family_from_json, family_to_json
from ..families.finite import FiniteFamily
from ..families.regret import forecasts_of
from ..structures.information_structure import InformationStructure
from ..structures.report_formats import FORMATS, ReportFormat, ReportFunction, as_seen, report_format
from ..verification.finite import MOST_LISTED_AGENTS, PARADIGMS, Game, payoff, read_game, read_points, value_bound
from ..verification.reading import DIGITS, LABEL, Budget, Refused
from .mixtures import integer_weights, outward, simple_fraction

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def finite_certificate(
    aggregator: AnyAggregator,
    family: Mapping[str, Any] | Sequence[InformationStructure] | FiniteFamily,
    weights: ArrayLike | None = None,
    *,
    report: str | ReportFunction | ReportFormat = "posterior",
    paradigm: str | None = None,
) -> dict[str, Any]:
    """The parts of a certificate on a finite family: family, loss, paradigm, aggregator, upper, lower, value.

    ``family`` is the parsed content of a family file, a `FiniteFamily`, or the list of structures (with the ``report``
    that they give). ``weights`` (structures,) is nature's mixture; a design brings its own. Without a mixture there is no
    ``value``.

    >>> from robustpool import InformationStructure
    >>> sharp, dull = InformationStructure([[0.45, 0.05], [0.05, 0.45]]), InformationStructure([[0.3, 0.2], [0.2, 0.3]])
    >>> parts = finite_certificate("mean", [sharp, dull], [0.5, 0.5], report="decision")   # she says what is likelier
    >>> parts["upper"]["bound"], parts["value"]["bound"]   # right 9 or 6 times of 10, and believed as if always
    (0.16, 0.0225)
    """
    rebuilt, data = _family(family, report)
    if len(rebuilt.agents) > MOST_LISTED_AGENTS:
        raise UnsupportedError(
            f"certificates on finite families are for at most {MOST_LISTED_AGENTS} agents; there are {len(rebuilt.agents)}."
        )
    chosen = as_aggregator(aggregator)
    weights, paradigm = _from_design(chosen, rebuilt, weights, paradigm)
    checks.choice("paradigm", paradigm, PARADIGMS)
    try:
        parts = {"family": data, "loss": "square", "paradigm": paradigm, "aggregator": _table(chosen, data)}
        game = read_game(parts, Budget(math.inf))
        return {**parts, **_claims(game, weights)}
    except Refused as refused:
        raise UnsupportedError(f"no certificate can be made: {refused}") from None


def _claims(game: Game, weights: ArrayLike | None) -> dict[str, Any]:
    """upper: the largest payoff. lower: the same, with the structure that has it. value: from the mixture."""
    payoffs = [payoff(game, number) for number in range(len(game.structures))]
    worst = max(range(len(payoffs)), key=payoffs.__getitem__)
    claims: dict[str, Any] = {
        "upper": {"bound": outward(payoffs[worst], "up")},
        "lower": {"bound": outward(payoffs[worst], "down"), "mixture": [{"weight": "1", "structure": worst}]},
    }
    if weights is not None and (mixture := _mixture(weights, game)):
        exact = value_bound(game, mixture)
        written = [{"weight": str(weight), "structure": number} for number, weight in mixture.items()]
        claims["value"] = {"bound": outward(exact, "down"), "mixture": written}
    return claims


def _mixture(weights: ArrayLike, game: Game) -> dict[int, Fraction]:
    """The weights as fractions; for the ratio without structures that have no omniscient loss, which bound nothing."""
    array, count = checks.real_array("weights", weights), len(game.structures)
    if array.shape != (count,):
        raise InputError(f"weights must be one number for each of the {count} structures; the shape is {array.shape}.")
    parts = integer_weights(array)
    if game.paradigm == "ratio":
        parts = [part * (structure.omniscient > 0) for part, structure in zip(parts, game.structures, strict=True)]
    total = sum(parts)
    return {number: Fraction(part, total) for number, part in enumerate(parts) if part}


def _from_design(
    chosen: object, family: FiniteFamily, weights: ArrayLike | None, paradigm: str | None
) -> tuple[ArrayLike | None, str]:
    """What a design knows of its game: the mixture and the paradigm, if it was made for this family."""
    if not isinstance(chosen, Design):
        return weights, paradigm or "additive"
    made_for, mixture, settings = chosen.family, chosen.mixture, chosen.settings
    if not isinstance(made_for, FiniteRecord) or not isinstance(mixture, ListedMixture):
        raise InputError(f"the design was made for {chosen.made_for}, not for a finite family.")
    if made_for.report != family.report.name:
        raise InputError(
            f"the design was made for the reports {made_for.report!r}, and the family gives {family.report.name!r}; "
            "give the FiniteFamily that it was made for."
        )
    if made_for.fingerprint != family.fingerprint():
        raise InputError("the design was made for another family: the fingerprints differ.")
    if settings.loss != "square":
        raise UnsupportedError(f"certificates are for the square loss; the design was made for {settings.loss!r}.")
    if weights is None and paradigm in (None, settings.paradigm):
        stored = np.zeros(len(family))
        stored[list(mixture.structure)] = mixture.weight
        weights = stored
    return weights, paradigm or settings.paradigm


def _table(chosen: Any, family: dict[str, Any]) -> dict[str, Any]:
    """What the aggregator says at every profile of reports that can come; reports that differ are told apart exactly."""
    states, agents = len(family["states"]), len(family["agents"])
    points = [
        point
        for entry in family["structures"]
        for point in read_points(entry, states, agents, family["report"], "it", Budget(math.inf))
    ]
    profiles = sorted({reports for reports, _ in points})
    floats = np.array([[[float(x) for x in report] for report in profile] for profile in profiles])
    inner = chosen.aggregator if isinstance(chosen, Design) else chosen
    forecasts = forecasts_of(inner, as_seen(floats), states)
    exact = [[Fraction(y) for y in row] for row in forecasts.tolist()]
    return {
        "kind": "table",
        "reports": [[[_text(x) for x in report] for report in profile] for profile in profiles],
        "forecasts": forecasts[:, 1].tolist() if states == 2 else [[str(y / sum(row)) for y in row] for row in exact],
    }


def _text(x: Fraction) -> str:
    text = str(x)
    if max(map(len, text.split("/"))) > DIGITS:
        raise Refused("a report of this family is a fraction with too many digits; write the probabilities with fewer.")
    return text


def _family(family: Any, report: str | ReportFunction | ReportFormat) -> tuple[FiniteFamily, dict[str, Any]]:
    """The family in floats, and as the certificate writes it."""
    if isinstance(family, FiniteFamily):
        return family, _listed(family)
    if isinstance(family, Mapping):
        data = dict(family)
        return family_from_json(data), _exact_family(data)
    structures = list(family)
    if not structures or not all(isinstance(structure, InformationStructure) for structure in structures):
        raise InputError("family must be the content of a family file, a FiniteFamily or a list of structures.")
    rebuilt = FiniteFamily.from_structures(structures, report=report)
    name = report_format(report).name
    if name not in FORMATS:
        return rebuilt, _listed(rebuilt)
    data = family_to_json(structures, list(rebuilt.states), list(rebuilt.agents), name)
    return rebuilt, _exact_family(data)


def _listed(family: FiniteFamily) -> dict[str, Any]:
    """The support points of each structure, with the reports that they show."""
    reports, structures = family.reports.tolist(), []
    for number in range(len(family)):
        points = range(family.start[number], family.start[number + 1])
        masses = zip(points, _exact_joint(family.mass[points.start : points.stop].tolist()), strict=True)
        entries = [{"reports": reports[family.profile[i]], "mass": mass} for i, mass in masses]
        structures.append({"name": _label(family.name(number)), "points": entries})
    return _written(family.states, family.agents, "listed", structures)


def _exact_family(data: dict[str, Any]) -> dict[str, Any]:
    structures = [
        {"name": _label(entry.get("name") or f"structure {number}"), "joint": _exact_joint(entry["joint"])}
        for number, entry in enumerate(data["structures"])
    ]
    return _written(data["states"], data["agents"], data.get("report", "posterior"), structures)


def _written(
    states: Sequence[str], agents: Sequence[str], report: str, structures: list[dict[str, Any]]
) -> dict[str, Any]:
    """A family as the certificate writes it."""
    names = {"states": [_label(name) for name in states], "agents": [_label(name) for name in agents]}
    return {"kind": "finite", **names, "report": report, "structures": structures}


def _label(name: str) -> str:
    return "".join(c for c in name if c.isprintable())[:LABEL]


def _exact_joint(joint: Any) -> Any:
    """The same nested lists, of fractions that sum to 1."""
    exact = np.vectorize(_probability, otypes=[object])(np.array(joint, dtype=object))
    return (exact / exact.sum()).astype(str).tolist()


def _probability(value: Any) -> Fraction:
    """A number as it was typed or meant (0.08333333333333333 is 1/12); a rounding error below 0 counts as 0.

    >>> _probability(0.1), _probability("0.5/3"), _probability(1 / 12)
    (Fraction(1, 10), Fraction(1, 6), Fraction(1, 12))
    """
    if isinstance(value, str):
        above, _, below = value.partition("/")
        return Fraction(above) / Fraction(below or 1)
    typed = max(Fraction(repr(value)), Fraction(0))
    return simple_fraction(float(typed)) or typed
