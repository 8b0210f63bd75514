"""Files made to be slow: fractions that all have one hash, and splits whose rows are empty."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import robustpool as rp
from robustpool.families.family_file import EXAMPLES
from robustpool.verification import finite
from robustpool.verification.dual import Slopes, proved, whole
from robustpool.verification.forecasts import Grid, table_hash
from robustpool.verification.mixtures import Structure, text_key, value_bound
from robustpool.verification.reading import Budget, Refused
from robustpool.verification.verify import content_hash

PRIME = 2**61 - 1  # Python's hash of a fraction is taken modulo this


def test_fractions_of_one_hash_have_keys_of_their_own() -> None:
    flood = [Fraction(k * PRIME, 10**30 + 57) for k in range(1, 200)]
    assert len({hash(x) for x in flood}) == 1
    keys = {text_key((x,)) for x in flood}
    assert len(keys) == len(flood)
    assert len({hash(key) for key in keys}) > len(flood) / 2
    assert text_key((Fraction(2, 4), Fraction(1))) == text_key((Fraction(1, 2), Fraction(3, 3)))
    assert text_key((Fraction(1, 12),)) != text_key((Fraction(1, 1), Fraction(2)))


def test_the_rows_of_a_table_are_paid_for_number_by_number() -> None:
    def spent(rows: int, numbers: int) -> float:
        budget = Budget()
        reports = [[[str(k * PRIME + number) for number in range(numbers)]] for k in range(rows)]
        finite.read_table({"kind": "table", "reports": reports, "forecasts": [0.5] * rows}, 2, budget)
        return budget.spent

    assert spent(100, 1) >= 10 * spent(10, 1) * 0.99
    assert spent(1, 1000) > 1000


def test_reports_of_one_hash_are_told_apart_in_a_mixture() -> None:
    """The mirrored pair, but for a report that differs and has the same hash."""
    half, other = Fraction(1, 2), Fraction(1, 2) + Fraction(PRIME, 10**30)
    assert hash(half) == hash(other)
    first = Structure(half, Fraction(1, 5), ((Fraction(0), half),) * 2)
    for low, value in ((half, Fraction(9, 400)), (other, Fraction(0))):
        second = Structure(half, Fraction(4, 5), ((low, Fraction(1)),) * 2)
        assert value_bound([first, second], Budget()) == value


def test_a_split_may_leave_rows_without_boxes() -> None:
    """N = 200, and only the first and the last cell of the first agent: most chunks of cells have no boxes."""
    knots = np.arange(201.0)
    slopes = Slopes((0.3, 0.31), knots, np.zeros((2, 2, 201)), ((0.0, 1.0), (199.0, 200.0)))
    assert sum(map(len, whole(slopes, symmetric=False))) == 400
    assert all(len(boxes) for boxes in whole(slopes, symmetric=False))
    assert proved(Grid(np.full((201, 201), 0.5)), slopes, 4.0, Budget(1e9), symmetric=False)


def test_negative_probabilities_are_refused_before_they_are_divided_by() -> None:
    entry = {"name": "a", "joint": [["1/2", "1/2"], ["-1/2", "1/2"]]}
    with pytest.raises(Refused, match="must have probabilities that are not negative, and points that can occur"):
        finite.read_points(entry, 2, 1, "posterior", "it", Budget())


def test_the_order_of_fields_does_not_matter() -> None:
    certificate = rp.certify("mean", EXAMPLES / "weather-unknown.json")
    turned: dict[str, Any] = json.loads(json.dumps(certificate.data, sort_keys=True))
    assert list(turned["aggregator"]) != list(certificate.data["aggregator"])
    assert table_hash(turned["aggregator"]) == table_hash(certificate.data["aggregator"])
    assert turned["hash"] == content_hash(turned)
    assert rp.verify(turned).verified


def test_a_budget_of_any_size_is_no_buffer(tmp_path: Any) -> None:
    certificate = rp.certify("mean", EXAMPLES / "weather-unknown.json")
    certificate.save(tmp_path / "c.json")
    for budget in (10**12, 10**19):
        assert rp.verify(tmp_path / "c.json", budget=budget).verified
