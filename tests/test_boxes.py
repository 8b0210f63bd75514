"""Branch and bound on boxes: the verifier's, which only proves, and the maker's, which searches."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from robustpool.certificates import dual as search
from robustpool.certificates.dual import highest
from robustpool.verification import boxes as proof
from robustpool.verification.boxes import AT_ONCE, Boxes, Measured, all_at_most, bending, pairs
from robustpool.verification.reading import Budget, OverBudget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KNOTS = np.linspace(0.0, 1.0, 3)


def start(count: int = 2) -> Iterator[Boxes]:
    knots = np.linspace(0.0, 1.0, count + 1)
    for k1, k2 in pairs(count, symmetric=False):
        yield Boxes.between(knots, k1, k2, (0.25, 0.75))


def bump(peak: tuple[float, float, float], seen: list[Boxes] | None = None) -> Callable[[Boxes], Measured]:
    """-|z - peak|^2, which bends in each direction as if K were 2: at most its corners and 3 w^2/4."""

    def measure(boxes: Boxes) -> Measured:
        if seen is not None:
            seen.append(boxes)
        sides = np.stack((boxes.y1, boxes.y2, boxes.mu), axis=1)
        away = (sides - np.array(peak)[:, None]) ** 2
        corner = -(away[:, 0, :, None, None] + away[:, 1, None, :, None] + away[:, 2, None, None, :])
        bends = np.ptp(sides, axis=2) ** 2 / 4
        return Measured(corner, corner.max(axis=(1, 2, 3)) + bends.sum(axis=1), bends)

    return measure


PEAK = (0.3, 0.8, 0.6)


@pytest.mark.parametrize("cells", [1, 2, 7, 64, 65, 5000])
@pytest.mark.parametrize("symmetric", [True, False])
def test_every_pair_of_cells_comes_once(cells: int, *, symmetric: bool) -> None:
    parts = list(pairs(cells, symmetric=symmetric)) if cells < 100 else [next(iter(pairs(cells, symmetric=symmetric)))]
    assert all(len(k1) <= max(AT_ONCE, cells) for k1, _ in parts)
    if cells < 100:
        found = Counter((int(a), int(b)) for k1, k2 in parts for a, b in zip(k1, k2, strict=True))
        assert found == Counter((a, b) for a in range(cells) for b in range(a if symmetric else 0, cells))


def test_between_knots() -> None:
    boxes = Boxes.between(np.array([0.0, 0.25, 1.0]), np.array([0, 1]), np.array([1, 1]), (0.3, 0.4))
    assert boxes.y1.tolist() == [[0.0, 0.25], [0.25, 1.0]]
    assert boxes.y2.tolist() == [[0.25, 1.0], [0.25, 1.0]]
    assert boxes.mu.tolist() == [[0.3, 0.4]] * 2


@pytest.mark.parametrize(("bends", "cut"), [((0.1, 0.2, 0.3), "mu"), ((0.3, 0.2, 0.1), "y1"), ((0.5, 0.6, 0.2), "y2")])
def test_halves_are_cut_where_it_bends_most_or_where_they_are_widest(bends: Any, cut: str) -> None:
    (box,) = (boxes.pick(slice(0, 1)) for boxes in start(1))
    box.y2[0, 1] = 1.5  # the widest
    halves = box.halved(np.array([bends]))
    assert len(halves) == 2
    for name in ("y1", "y2", "mu"):
        low, high = getattr(box, name)[0]
        middle = (low + high) / 2
        expected = [[low, middle], [middle, high]] if name == cut else [[low, high]] * 2
        assert getattr(halves, name).tolist() == expected
    assert halves.k1.tolist() == [0, 0]


def test_bending() -> None:
    """w^2/8 max(0, K), with w in units of the scale."""
    z, scale = np.array([[1.0, 1.5]]), 5.0
    assert bending(np.array([16.0]), z, scale)[0] == pytest.approx(0.01 / 8 * 16, rel=1e-12)
    assert bending(np.array([16.0]), z, scale)[0] >= 0.01 / 8 * 16
    assert bending(np.array([-16.0]), z, scale)[0] < 1e-290
    assert bending(np.array([np.nan]), z, scale)[0] == np.inf


def test_what_holds_is_proved_and_what_does_not_is_not() -> None:
    assert all_at_most(bump(PEAK), start(), 1e-3, Budget())
    assert not all_at_most(bump(PEAK), start(), -1e-3, Budget())
    assert all_at_most(bump((2.0, 0.5, 0.5)), start(), -1.0, Budget())  # the corner at 1 has -1, to the last bit
    assert not all_at_most(bump((2.0, 0.5, 0.5)), start(), float(np.nextafter(-1.0, -2.0)), Budget())


def test_a_budget_that_runs_out_proves_nothing() -> None:
    """Where the bound is the maximum itself, no box around the peak is ever small enough."""
    with pytest.raises(OverBudget, match="needs more than the budget of 100,000 steps"):
        all_at_most(bump(PEAK), start(), 0.0, Budget(100_000))
    budget = Budget(10**9)
    assert all_at_most(bump(PEAK), start(), 1e-3, budget)
    enough = budget.spent
    assert all_at_most(bump(PEAK), start(), 1e-3, Budget(enough))
    with pytest.raises(OverBudget):
        all_at_most(bump(PEAK), start(), 1e-3, Budget(enough - 1))


def test_every_box_is_looked_at() -> None:
    """More than are measured at once, of which the last but one fails; and each costs its steps."""
    seen: list[Boxes] = []
    cells = 101
    knots = np.linspace(0.0, 1.0, cells + 1)
    k1, k2 = (k.ravel() for k in np.indices((cells, cells)))
    everything = Boxes.between(knots, k1, k2, (0.4, 0.6))
    assert len(everything) > 2 * AT_ONCE

    def measure(boxes: Boxes) -> Measured:
        seen.append(boxes)
        value = np.where((boxes.k1 == cells - 1) & (boxes.k2 == cells - 2), 1.0, 0.0)
        corners = np.broadcast_to(value[:, None, None, None], (len(boxes), 2, 2, 2))
        return Measured(corners, value, np.zeros((len(boxes), 3)))

    budget = Budget()
    assert not all_at_most(measure, iter([everything]), 0.5, budget)
    assert all(len(boxes) <= AT_ONCE for boxes in seen)
    assert sum(map(len, seen)) == len(everything)
    assert budget.spent == len(seen) * proof.STEPS + len(everything) * proof.STEPS_A_BOX
    assert all_at_most(measure, iter([everything]), 1.0, Budget())
    assert not all_at_most(measure, iter([everything.pick(slice(0, 9)), everything]), 0.5, Budget())  # all of them


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_what_is_no_number_satisfies_no_bound(odd: float) -> None:
    def corners(boxes: Boxes) -> Measured:
        return Measured(np.full((len(boxes), 2, 2, 2), odd), np.full(len(boxes), odd), np.zeros((len(boxes), 3)))

    def anywhere(boxes: Boxes) -> Measured:
        return Measured(np.zeros((len(boxes), 2, 2, 2)), np.full(len(boxes), odd), np.zeros((len(boxes), 3)))

    assert not all_at_most(corners, start(), 1.0, Budget())
    with pytest.raises(OverBudget):
        all_at_most(anywhere, start(), 1.0, Budget(50_000))
    assert highest(corners, start(), 1.0, 0.1) == np.inf


# -------------------------------------------------------------------------------------------------------------- the search


def test_the_highest_value_is_found_from_above() -> None:
    assert 0 <= highest(bump(PEAK), start(), -1.0, 1e-4) <= 1.1e-4
    assert highest(bump(PEAK), start(), 1.0, 1e-4) <= 1.0  # enough: it need not look closer
    assert highest(bump(PEAK), start(), 1e-3, 1e-4) <= 1e-3
    assert highest(bump((2.0, 0.5, 0.5)), start(), -1.0, 1e-4) == -1.0
    (everything,) = start()
    one_by_one = [everything.pick(slice(i, i + 1)) for i in range(len(everything))]
    for order in (one_by_one, one_by_one[::-1]):  # the peak lies in none of the corner boxes that come last
        assert 0 <= highest(bump(PEAK), iter(order), -1.0, 1e-4) <= 1.1e-4


def test_the_search_blames_the_corners_that_exceed() -> None:
    blamed: list[Any] = []
    highest(bump((1.0, 0.5, 0.5)), start(), -0.5, 1e-2, blamed)
    y1, y2 = (np.concatenate([pair[i] for pair in blamed]) for i in (0, 1))
    assert len(y1) > 0
    assert ((y1 - 1.0) ** 2 + (y2 - 0.5) ** 2 < 0.5).all()
    nothing: list[Any] = []
    highest(bump((1.0, 0.5, 0.5)), start(), 1e-3, 1e-2, nothing)
    assert nothing == []


def test_a_search_that_runs_out_of_boxes_knows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_BOXES", 100)
    assert highest(bump(PEAK), start(), 1e-12, 1e-13) == np.inf
