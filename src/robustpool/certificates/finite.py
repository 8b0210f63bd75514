"""Certificates for a finite family: the structures as exact fractions, the table, and what both imply.

The joint distributions are read as people mean them ("1/3" is a third, 0.1 is a tenth) and divided by their exact sum.
Posterior, higher-order and decision reports can be computed again from the joint; a report function of the user's cannot,
so a family with one is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import checks
from ..aggregators.design import AnyAggregator, Design, as_aggregator
from ..aggregators.table import TableAggregator
from ..errors import InputError, UnsupportedError
from ..game.regret import forecasts_of
from ..structures.family_file import family_from_json, family_to_json
from ..structures.finite import FiniteFamily
from ..structures.information_structure import InformationStructure
from ..structures.report_formats import FORMATS, report_format
from ..verification.finite import PARADIGMS, Game, expected_regret, read_game, read_weights, regret, value_bound
from ..verification.refusal import Refused
from .mixtures import integer_weights, outward, simple_fraction

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ARITHMETIC = "exact rationals"


def finite_certificate(
    aggregator: AnyAggregator,
    family: Mapping[str, Any] | Sequence[InformationStructure],
    weights: ArrayLike | None = None,
    *,
    report: str = "posterior",
    paradigm: str | None = None,
) -> dict[str, Any]:
    """The parts of a certificate on a finite family: family, loss, paradigm, aggregator, upper, lower, value.

    ``family`` is the parsed content of a family file, or the list of structures (with the ``report`` that they give).
    ``weights`` (structures,) is nature's mixture; a design brings its own. Without a mixture there is no ``value``.

    >>> from robustpool import InformationStructure
    >>> sharp, dull = InformationStructure([[0.45, 0.05], [0.05, 0.45]]), InformationStructure([[0.3, 0.2], [0.2, 0.3]])
    >>> parts = finite_certificate("mean", [sharp, dull], [0.5, 0.5], report="decision")   # she says what is likelier
    >>> parts["upper"]["bound"], parts["value"]["bound"]   # right 9 or 6 times of 10, and believed as if always
    (0.16, 0.0225)
    """
    data = _family_data(family, report)
    rebuilt = family_from_json(data)
    chosen = as_aggregator(aggregator)
    weights, paradigm = _from_design(chosen, rebuilt, weights, paradigm)
    if paradigm not in PARADIGMS:
        raise UnsupportedError(
            f"exact bounds are for the {' and the '.join(PARADIGMS)} paradigm; the paradigm is {paradigm!r}."
        )
    table = _table(chosen, rebuilt)
    parts: dict[str, Any] = {
        "family": _exact_family(data),
        "loss": "square",
        "paradigm": paradigm,
        "aggregator": {"kind": "table", "reports": table.reports.tolist(), "forecasts": table.forecasts.tolist()},
    }
    try:
        game = read_game(parts)
    except Refused as refused:
        raise InputError(f"the aggregator does not answer every report of the family: {refused}") from None
    return {**parts, **_claims(game, weights)}


def _claims(game: Game, weights: ArrayLike | None) -> dict[str, Any]:
    """upper: the largest regret. lower: the same, with the structure that has it. value: from the mixture."""
    regrets = [regret(game, number) for number in range(len(game.points))]
    worst = max(range(len(regrets)), key=regrets.__getitem__)
    alone = [{"weight": "1", "structure": worst}]
    claims: dict[str, Any] = {
        "upper": {"bound": outward(regrets[worst], "up"), "arithmetic": ARITHMETIC, "witness": {"structure": worst}},
        "lower": {"bound": outward(expected_regret(game, {worst: Fraction(1)}), "down"), "mixture": alone},
    }
    if weights is not None:
        mixture = _mixture(weights, len(game.points))
        exact = value_bound(game, read_weights(mixture, game, "mixture"))
        claims["value"] = {"bound": outward(exact, "down"), "mixture": mixture}
    return claims


def _mixture(weights: ArrayLike, count: int) -> list[dict[str, Any]]:
    array = checks.real_array("weights", weights)
    if array.shape != (count,):
        raise InputError(f"weights must be one number for each of the {count} structures; the shape is {array.shape}.")
    parts = integer_weights(array)
    total = sum(parts)
    return [{"weight": str(Fraction(part, total)), "structure": i} for i, part in enumerate(parts) if part]


def _from_design(
    chosen: object, family: FiniteFamily, weights: ArrayLike | None, paradigm: str | None
) -> tuple[ArrayLike | None, str]:
    """What a design knows of its game: the mixture and the paradigm, if it was made for this family."""
    if not isinstance(chosen, Design):
        return weights, paradigm or "additive"
    made_for = chosen.data["family"]
    if made_for.get("fingerprint") != family.fingerprint():
        raise InputError("the design was made for another family: the fingerprints differ.")
    settings, mixture = chosen.data["settings"], chosen.data["mixture"]
    if settings["loss"] != "square":
        raise UnsupportedError(f"exact bounds are for the square loss; the design is for {settings['loss']!r}.")
    if weights is None:
        stored = np.zeros(len(family))
        stored[mixture["structure"]] = mixture["weight"]
        weights = stored
    return weights, paradigm or settings["paradigm"]


def _table(chosen: Any, family: FiniteFamily) -> TableAggregator:
    """The aggregator as a table: itself, or what a rule says at the profiles of the family."""
    inner = chosen.aggregator if isinstance(chosen, Design) else chosen
    if isinstance(inner, TableAggregator):
        return inner
    forecasts = forecasts_of(inner, family.profiles, len(family.states))
    return TableAggregator(family.reports, forecasts[:, 1] if len(family.states) == 2 else forecasts)


def _family_data(family: Any, report: str) -> dict[str, Any]:
    """The family as the content of a family file."""
    if isinstance(family, Mapping):
        return dict(family)
    if isinstance(family, FiniteFamily):
        raise InputError(
            "a FiniteFamily does not keep the signals, from which the reports are computed again; "
            "give the content of the family file, or the list of structures."
        )
    if callable(report) or report_format(report).name not in FORMATS:
        raise UnsupportedError("reports of your own function cannot be computed again from the certificate.")
    structures = list(family)
    if not structures or not all(isinstance(structure, InformationStructure) for structure in structures):
        raise InputError("family must be the content of a family file or a list of structures.")
    first = structures[0]
    states, agents = [f"state {i}" for i in range(first.states)], [f"agent {i}" for i in range(first.agents)]
    return family_to_json(structures, states, agents, report_format(report).name)


def _exact_family(data: dict[str, Any]) -> dict[str, Any]:
    structures = [
        {"name": entry.get("name") or f"structure {number}", "joint": _exact_joint(entry["joint"])}
        for number, entry in enumerate(data["structures"])
    ]
    report = data.get("report", "posterior")
    return {
        "kind": "finite",
        "states": list(data["states"]),
        "agents": list(data["agents"]),
        "report": report,
        "structures": structures,
    }


def _exact_joint(joint: Any) -> Any:
    """The same nested lists, of fractions that sum to 1."""
    total = sum(_leaves(joint), Fraction(0))
    return _normalised(joint, total)


def _normalised(joint: Any, total: Fraction) -> Any:
    if isinstance(joint, list):
        return [_normalised(part, total) for part in joint]
    return str(_probability(joint) / total)


def _leaves(joint: Any) -> list[Fraction]:
    return [x for part in joint for x in _leaves(part)] if isinstance(joint, list) else [_probability(joint)]


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
