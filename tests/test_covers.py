"""The priors that a certificate covers, to the last unit in the last place; and the reports that its splits leave.

The bound is 10 here, which holds for any slopes that are 0 and for the constants (1, 0, 0) of a tail: whatever is refused is
refused because something is not covered.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf, nextafter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import robustpool as rp
from forging import small
from refusals import unsupported_error
from robustpool.certificates import cover as maker
from robustpool.certificates.certifiable import describe, problem_of
from robustpool.certificates.dual import best_slopes
from robustpool.designs.any_aggregator import as_aggregator
from robustpool.verification.cover import all_ranges, check_upper, constants_hold, halved_ranges, tail_bound
from robustpool.verification.dual import needed, whole
from robustpool.verification.forecasts import Grid, read_aggregator
from robustpool.verification.intervals import Interval
from robustpool.verification.reading import Budget, Refused

if TYPE_CHECKING:
    from robustpool.certificates.dual import Problem

Data = dict[str, Any]
MEAN = {"kind": "grid", "values": [[0.0, 0.5], [0.5, 1.0]]}
# Its agents can be exchanged, its states cannot.
LOPSIDED: dict[str, Any] = {"kind": "grid", "values": [[0.0, 0.5], [0.5, 0.9]]}
BOUND = 10.0


def up(x: float) -> float:
    return nextafter(x, inf)


def down(x: float) -> float:
    return nextafter(x, -inf)


def flat(low: float, high: float) -> dict[str, Any]:
    return {"priors": [low, high], "knots": [0.0, 1.0], "slopes": [[0.0, 0.0], [0.0, 0.0]]}


def tail(prior: float, constants: tuple[float, ...] = (1.0, 0.0, 0.0)) -> dict[str, Any]:
    return {"prior": prior, "constants": list(constants)}


def check(
    intervals: list[Data],
    prior_range: tuple[Any, Any],
    *,
    aggregator: Data = LOPSIDED,
    bound: float = BOUND,
    **tails: Data,
) -> None:
    witness = {"kind": "dual", "tails": tails, "intervals": intervals}
    ends = Fraction(prior_range[0]), Fraction(prior_range[1])
    check_upper(read_aggregator(aggregator), ends, witness, bound, Budget())


def refuse(why: str, *arguments: Any, **options: Any) -> None:
    with pytest.raises(Refused, match=why):
        check(*arguments, **options)


# ------------------------------------------------------------------------------------------------ priors, one ulp beyond


def test_intervals_that_meet_cover_the_range() -> None:
    check([flat(0.3, 0.4), flat(0.4, 0.6)], (0.3, 0.6))
    check([flat(0.3, 0.45), flat(0.4, 0.6)], (0.3, 0.6))
    check([flat(0.2, 0.25), flat(0.3, 0.4), flat(0.4, 0.6)], (0.3, 0.6))  # one that is not needed


def test_a_gap_of_one_ulp() -> None:
    refuse("priors from 0.4 to 0.6 are not covered", [flat(0.3, 0.4), flat(up(0.4), 0.6)], (0.3, 0.6))


def test_ends_that_miss_by_one_ulp() -> None:
    refuse("priors from 0.6 to 0.6 are not covered", [flat(0.3, 0.4), flat(0.4, down(0.6))], (0.3, 0.6))
    refuse("priors from 0.3 to 0.6 are not covered", [flat(up(0.3), 0.4), flat(0.4, 0.6)], (0.3, 0.6))
    check([flat(0.3, 0.6)], (up(0.3), down(0.6)))


def test_a_range_in_fractions_is_taken_exactly() -> None:
    third = 1 / 3  # the double is below 1/3
    check([flat(third, 0.5)], ("1/3", "1/2"))
    refuse("not covered", [flat(up(third), 0.5)], ("1/3", "1/2"))
    refuse("not covered", [flat(0.25, third)], ("1/4", "1/3"))
    check([flat(0.25, up(third))], ("1/4", "1/3"))


def test_intervals_come_in_order() -> None:
    refuse("not covered, or not in order", [flat(0.4, 0.6), flat(0.3, 0.4)], (0.3, 0.6))
    refuse("priors from 0.3 to 0.6 are not covered", [], (0.3, 0.6))


def test_tails_reach_the_intervals() -> None:
    check([flat(0.2, 0.7)], (0, 1), low=tail(0.2), high=tail(0.4))
    check([], (0, 0.2), low=tail(0.2))
    check([], (0.75, 1), high=tail(0.25))
    refuse("priors from 0.2 to 1 are not covered", [flat(up(0.2), 0.7)], (0, 1), low=tail(0.2), high=tail(0.4))
    refuse("not covered", [flat(down(0.2), 0.75)], (0, 1), low=tail(down(down(0.2))), high=tail(0.3))
    refuse("priors from 0.2 to 0.2 are not covered", [], (0, 0.2), low=tail(down(0.2)))
    refuse("priors from 0.75 to 1 are not covered", [], (0.75, 1), high=tail(down(0.25)))


def test_the_high_tail_is_measured_from_one_exactly() -> None:
    """1 - 0.3 is not the double 0.7: it lies above it."""
    assert Fraction(0.7) < 1 - Fraction(0.3)
    refuse("priors from 0.7 to 1 are not covered", [flat(0.2, 0.7)], (0.2, 1), high=tail(0.3))
    check([flat(0.2, up(0.7))], (0.2, 1), high=tail(0.3))


def test_a_tail_is_no_interval_of_the_other_end() -> None:
    refuse("not covered", [flat(0.2, 0.7)], (0, 0.7), high=tail(0.4))
    refuse("not covered", [flat(0.2, 0.7)], (0.2, 1), low=tail(0.4))


def test_the_mirror_has_the_other_half_of_a_symmetric_range_only() -> None:
    check([flat(0.25, 0.5)], (0.25, 0.75), aggregator=MEAN)
    refuse("priors from 0.5 to 0.5 are not covered", [flat(0.25, down(0.5))], (0.25, 0.75), aggregator=MEAN)
    refuse("priors from 0.5 to 0.75 are not covered", [flat(0.25, 0.5)], (0.25, up(0.75)), aggregator=MEAN)
    refuse("priors from 0.5 to 0.7 are not covered", [flat(0.3, 0.5)], (0.3, 0.7), aggregator=MEAN)  # 0.3 + 0.7 < 1
    refuse("priors from 0.5 to 0.75 are not covered", [flat(0.25, 0.5)], (0.25, 0.75))  # no mirror
    almost = {"kind": "grid", "values": [[0.0, 0.5], [0.5, down(1.0)]]}
    refuse("priors from 0.5 to 0.75 are not covered", [flat(0.25, 0.5)], (0.25, 0.75), aggregator=almost)


def test_priors_of_an_interval_lie_strictly_between_0_and_1() -> None:
    for priors in ([0.0, 0.5], [0.5, 1.0], [0.5, 0.5], [0.5, down(0.5)], [0.2, 0.3, 0.4], [0.2]):
        refuse("priors must be two numbers in", [{**flat(0.2, 0.5), "priors": priors}], (0.2, 0.5))


# ------------------------------------------------------------------------------------------------ tails, one ulp beyond


def test_a_tail_proves_its_bound_and_nothing_below() -> None:
    """mu + (C_0 + 2 C_2 mu + C_1 mu^2)/(1 - mu) at mu = 1/4: 1/4 + (1 + 5/4 + 1/2)/(3/4) = 47/12, above the double."""
    constants = (1.0, 2.5, 8.0)
    assert tail_bound(0.25, constants) == Fraction(47, 12) > Fraction(47 / 12)
    least = up(47 / 12)
    check([], (0, 0.25), bound=least, low=tail(0.25, constants))
    refuse("does not prove the bound at its prior 0.25", [], (0, 0.25), bound=down(least), low=tail(0.25, constants))
    check([], (0.75, 1), bound=least, high=tail(0.25, constants))
    refuse("does not prove the bound", [], (0.75, 1), bound=down(least), high=tail(0.25, constants))


def test_the_constants_of_a_tail_hold_at_its_own_end() -> None:
    """A table that says 1/2 at (0, 0) and 1 at (1, 1) needs C_0 = 1/4 at the low end, and less at the high one."""
    aggregator = {"kind": "grid", "values": [[0.5, 0.0], [0.0, 1.0]]}
    check([], (0, 0.1), aggregator=aggregator, low=tail(0.1, (0.2500001, 0.0, 1.0)))
    refuse("tail at the low end do not hold", [], (0, 0.1), aggregator=aggregator, low=tail(0.1, (0.2499, 0.0, 1.0)))
    check([], (0.9, 1), aggregator=aggregator, high=tail(0.1, (0.0001, 1.0, 1.0)))
    refuse("tail at the low end do not hold", [], (0, 0.1), aggregator=aggregator, low=tail(0.1, (0.0001, 1.0, 1.0)))
    mirrored = {"kind": "grid", "values": [[0.0, 1.0], [1.0, 0.5]]}
    refuse("tail at the high end do not hold", [], (0.9, 1), aggregator=mirrored, high=tail(0.1, (0.0001, 1.0, 1.0)))
    check([], (0.9, 1), aggregator=mirrored, high=tail(0.1, (0.2500001, 0.0, 1.0)))


@pytest.mark.parametrize(
    "bad",
    [(0.0, (1.0, 0.0, 0.0)), (1.0, (1.0, 0.0, 0.0)), (0.1, (1.0, 0.0)), (0.1, (1.0, -5e-324, 0.0)), (0.1, (1.0,) * 4)],
)
def test_tails_that_are_none(bad: tuple[float, tuple[float, ...]]) -> None:
    sentence = "needs a prior in .0, 1. and three constants that are not negative"
    refuse(sentence, [flat(0.1, 0.2)], (0.1, 0.2), low=tail(*bad))


# --------------------------------------------------------------------------------------------------------------- slopes


def test_the_knots_include_those_of_the_table() -> None:
    table = {"kind": "grid", "values": np.full((4, 4), 0.5).tolist()}
    good = {"priors": [0.3, 0.4], "knots": [0.0, 1.0, 2.0, 3.0], "slopes": [[0.0] * 4] * 2}
    check([good], (0.3, 0.4), aggregator=table)
    for knots in ([0.0, 1.0, up(2.0), 3.0], [0.0, 1.0, 2.5, 3.0], [0.0, 2.0, 1.0, 3.0], [1.0, 2.0, 3.0, 4.0]):
        refuse("knots must grow and include 0, 1, ..., 3", [{**good, "knots": knots}], (0.3, 0.4), aggregator=table)
    for knots in ([-1.0, 0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0, 4.0]):
        longer = {**good, "knots": knots, "slopes": [[0.0] * 5] * 2}
        refuse("knots must go from 0 to 3", [longer], (0.3, 0.4), aggregator=table)


def test_each_agent_has_its_slopes_where_they_cannot_be_exchanged() -> None:
    table = {"kind": "grid", "values": [[0.0, 0.5], [up(0.5), 1.0]]}
    refuse("slopes", [flat(0.3, 0.4)], (0.3, 0.4), aggregator=table)
    both = {**flat(0.3, 0.4), "slopes": np.zeros((2, 2, 2)).tolist()}
    check([both], (0.3, 0.4), aggregator=table)
    for agent in (0, 1):
        slopes = np.zeros((2, 2, 2))
        slopes[agent, :, 1] = 100.0  # fails where this one says 1 and the other one 0
        refuse("do not prove the bound", [{**both, "slopes": slopes.tolist()}], (0.3, 0.4), aggregator=table)
    for wrong in ([[[0.0, 0.0], [0.0, 0.0]]], [[[0.0, 0.0]]] * 2, [[[0.0], [0.0]]] * 2):
        refuse("slopes do not fit the knots", [{**both, "slopes": wrong}], (0.3, 0.4), aggregator=table)


# --------------------------------------------------------------------------------------------------------------- splits


def split(at: float, *, knots: tuple[float, ...] = (0.0, 0.5, 1.0), end: str = "low") -> dict[str, Any]:
    parts = [{"knots": list(knots), "slopes": np.zeros((2, 2, len(knots))).tolist()} for _ in range(2)]
    return {"priors": [0.3, 0.35], "end": end, "at": at, "parts": parts}


def test_a_split_covers_both_its_parts() -> None:
    check([split(0.5)], (0.3, 0.35), aggregator=MEAN)
    check([split(0.5, end="high")], (0.3, 0.35), aggregator=MEAN)


def test_the_slopes_of_a_split_differ_although_the_agents_can_be_exchanged() -> None:
    """Those of the first agent are steep where she says 1: (*) fails there if the other one says 0, and not vice versa."""
    for part in (0, 1):
        forged = split(0.5)
        for end in (0, 1):
            forged["parts"][part]["slopes"][0][end] = [0.0, 0.0, 100.0]
        refuse("slopes for the priors from 0.3 to 0.35 do not prove", [forged], (0.3, 0.35), aggregator=MEAN)
    shared = split(0.5)
    shared["parts"][0]["slopes"] = [[0.0] * 3] * 2
    refuse("slopes", [shared], (0.3, 0.35), aggregator=MEAN)


def test_the_ends_of_the_ranges_are_knots() -> None:
    for at in (0.4, up(0.5), down(0.5)):
        refuse("knots must include the ends of the ranges", [split(at)], (0.3, 0.35), aggregator=MEAN)
        refuse("knots must include the ends of the ranges", [split(at, end="high")], (0.3, 0.35), aggregator=MEAN)
    refuse("knots must include the ends", [split(2.0)], (0.3, 0.35), aggregator=MEAN)


def test_a_split_has_two_parts_and_an_end() -> None:
    for parts in ([], [split(0.5)["parts"][0]], split(0.5)["parts"] * 2):
        refuse("must split .* into two parts", [{**split(0.5), "parts": parts}], (0.3, 0.35), aggregator=MEAN)
    refuse("end must be 'low' or 'high'", [split(0.5, end="middle")], (0.3, 0.35), aggregator=MEAN)
    refuse("has the field 'knots'", [{**split(0.5), "knots": [0.0, 1.0]}], (0.3, 0.35), aggregator=MEAN)


def test_low_and_high_reports_lie_between_whole_numbers_of_cells() -> None:
    """Up to ceil(N mu) and from floor(N mu) on, exactly, also where 3 times a double rounds to 1."""
    assert all_ranges(3, (0.35, 0.4)) == ((0.0, 2.0), (1.0, 3.0))
    assert all_ranges(4, (0.25, 0.5)) == ((0.0, 2.0), (1.0, 4.0))
    third = 1 / 3
    assert 3 * third == 1 > 3 * Fraction(third)
    assert all_ranges(3, (third, third)) == ((0.0, 1.0), (0.0, 3.0))
    assert 3 * up(third) == 1 < 3 * Fraction(up(third))
    assert all_ranges(3, (up(third), up(third))) == ((0.0, 2.0), (1.0, 3.0))


def test_every_pair_of_reports_belongs_to_a_part() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        priors = tuple(sorted(rng.uniform(0.05, 0.95, size=2)))
        ranges = all_ranges(int(rng.integers(1, 6)), priors)
        n = ranges[1][1]
        low, high = rng.uniform(0, priors[1] * n), rng.uniform(priors[0] * n, n)
        for _ in range(4):
            halves = halved_ranges(ranges, str(rng.choice(["low", "high"])), float(rng.uniform(-1, n + 1)))
            holding = [part for part in halves if part[0][0] <= low <= part[0][1] and part[1][0] <= high <= part[1][1]]
            assert holding
            ranges = holding[0]


def test_a_part_is_checked_on_both_its_ranges() -> None:
    """Split the low reports at 1/2: her low one lies in [0, 1/2] and her high one in [0, 1], or both in [1/2, 1] and [0, 1]."""
    for part, where in ((0, 0), (0, 2), (1, 2)):
        forged = split(0.5)
        slopes = np.zeros((2, 2, 3))
        slopes[0, :, where] = -100.0  # fails if she reports 0 (or 1), and the other one 1
        forged["parts"][part]["slopes"] = slopes.tolist()
        refuse("do not prove the bound", [forged], (0.3, 0.35), aggregator=MEAN)


# ----------------------------------------------------------------------------------------------------- pieces, all of them


ARIELI = {
    "kind": "prior-estimate",
    "pieces": [
        {"kappa": "49/100", "delta": "0", "side": "below"},
        {"kappa": "49/100", "delta": "1/50", "side": "above"},
    ],
}


def test_every_piece_is_proved() -> None:
    """Slopes that are steep where both say 0 fail for the piece below x_1 + x_2 = 1 only; where both say 1, above only."""
    fine = {"priors": [0.3, 0.35], "knots": [0.0, 0.5, 1.0], "slopes": [[0.0, 0.0, 0.0]] * 2}
    check([fine], (0.3, 0.35), aggregator=ARIELI)
    for slopes in ([100.0, 0.0, 0.0], [0.0, 0.0, -100.0]):
        refuse("do not prove the bound", [{**fine, "slopes": [slopes] * 2}], (0.3, 0.35), aggregator=ARIELI)


def test_both_tails_are_checked() -> None:
    good, bad = tail(0.2), tail(0.2, (0.0, 0.0, 0.0))
    middle = [flat(0.2, 0.8)]
    check(middle, (0.1, 0.9), low=good, high=good)
    refuse("tail at the low end do not hold", middle, (0.1, 0.9), low=bad, high=good)
    refuse("tail at the high end do not hold", middle, (0.1, 0.9), low=good, high=bad)


def test_the_constants_of_a_tail_hold_for_all_pairs_of_cells() -> None:
    """A table that says something only where the first agent is high and the second one low, or the other way round."""
    for i, j in ((2, 0), (0, 2)):
        values = np.zeros((3, 3))
        values[i, j] = 1.0
        table = {"kind": "grid", "values": values.tolist()}
        check([], (0, 0.1), aggregator=table, low=tail(0.1, (0.1, 0.0, 0.0)))
        refuse("do not hold", [], (0, 0.1), aggregator=table, low=tail(0.1, (0.01, 0.0, 0.0)))


def estimate(*pieces: tuple[str, str, str]) -> dict[str, Any]:
    names = ("kappa", "delta", "side")
    return {"kind": "prior-estimate", "pieces": [dict(zip(names, piece, strict=True)) for piece in pieces]}


def test_the_mirror_of_an_estimated_prior() -> None:
    """Its delta is 1 - 2 kappa - delta, on the other side."""
    assert read_aggregator(ARIELI).mirrored
    assert read_aggregator(estimate(("1/5", "3/10", "everywhere"))).mirrored
    assert not read_aggregator(estimate(("1/5", "1/10", "everywhere"))).mirrored
    assert not read_aggregator(estimate(("49/100", "0", "below"), ("49/100", "0", "above"))).mirrored


def test_where_two_pieces_meet_the_one_below_holds() -> None:
    x = Fraction(1, 4), Fraction(3, 4)
    assert read_aggregator(ARIELI).forecast(x) == 1 - Fraction(49, 100)  # X = Y there, so that f = 1 - m
    above = Fraction(1, 4), Fraction(3, 4) + Fraction(1, 10**30)
    assert read_aggregator(ARIELI).forecast(above) == pytest.approx(0.49, abs=1e-9)
    assert read_aggregator(ARIELI).forecast((Fraction(0), Fraction(0))) == 0
    assert read_aggregator(ARIELI).forecast((Fraction(1), Fraction(1))) == 1


@pytest.mark.parametrize(
    "pieces",
    [
        [("0", "1/2", "everywhere")],
        [("1/2", "-1/1000000000000000000", "everywhere")],
        [("1/2", "1/1000000000000000000", "everywhere")],
        [("1/2", "0", "below")],
        [("1/2", "0", "below"), ("1/2", "0", "below")],
        [("1/2", "0", "everywhere"), ("1/2", "0", "everywhere")],
        [("1/2", "0", "everywhere"), ("1/2", "0", "above")],
        [],
    ],
)
def test_the_pieces_of_an_estimated_prior(pieces: list[tuple[str, str, str]]) -> None:
    with pytest.raises(Refused, match=r"aggregator.pieces must"):
        read_aggregator(estimate(*pieces))


# --------------------------------------------------------------------------------------------------------------- the maker


def test_the_makers_intervals_reach_its_high_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """1 - 0.3 is rounded down to 0.7: the last interval has to go on for one ulp."""
    monkeypatch.setattr(maker, "TAILS", (0.3,))
    certificate = small(rp.GridAggregator(np.array(LOPSIDED["values"])), (0.6, 1.0))
    assert certificate.data["upper"]["witness"]["intervals"][-1]["priors"][1] == up(0.7)
    assert rp.verify(certificate).verified


def problem(aggregator: Any) -> Problem:
    return problem_of(as_aggregator(aggregator), describe(as_aggregator(aggregator), 2))


def test_the_makers_tails_hold_and_are_long() -> None:
    """Rounded up; those at the high end are those of the mirrored table at the low end, and of some length."""
    values = np.array([[0.0, 0.0, 0.2], [0.0, 0.1, 0.5], [0.1, 0.5, 1.0]])
    for goal in (0.05, 0.02):
        low = maker.find_tail(problem(rp.GridAggregator(values)), goal, mirrored=False)
        again = maker.find_tail(problem(rp.GridAggregator(1 - values[::-1, ::-1])), goal, mirrored=True)
        assert low.prior == again.prior > 0.005
        assert low.constants == pytest.approx(again.constants, abs=1e-6)
        for found, mirrored, table in ((low, False, values), (again, True, 1 - values[::-1, ::-1])):
            assert tail_bound(found.prior, found.constants) <= Fraction(found.bound) <= Fraction(goal)
            rule = read_aggregator({"kind": "grid", "values": table.tolist()})
            assert constants_hold(rule.pieces[0], found.constants, Budget(), mirrored=mirrored)


def test_the_makers_pieces_hold_where_the_verifiers_do() -> None:
    rng = np.random.default_rng(4)
    x1, x2 = rng.uniform(0.05, 0.95, size=(2, 50))
    for name in ("arieli-tuned", "average-prior"):
        rule, seen = rp.get_rule(name), np.zeros(50, dtype=int)
        for piece in problem(name).pieces:
            holds = piece.holds(x1, x2)
            points = Interval(x1[:, None, None]), Interval(x2[:, None, None])
            assert (holds == piece.forecast.holds(*points)[:, 0, 0]).all()
            found = piece.forecast.at(x1[:, None, None], x2[:, None, None], np.zeros((50, 2), dtype=np.int64))
            np.testing.assert_allclose(found.lo[:, 0, 0], piece.formula(x1, x2), atol=1e-12)
            expected = rule(np.stack((x1, x2), axis=1))
            np.testing.assert_allclose(piece.formula(x1, x2)[holds], expected[holds], atol=1e-12)
            seen += holds
        assert (seen == 1).all()


def test_a_table_of_other_agents_is_not_described() -> None:
    with unsupported_error("this one is for 3, and the family has 2"):
        describe(rp.GridAggregator(np.zeros((2, 2, 2))), 2)


def test_the_linear_programme_asks_for_the_inequality() -> None:
    """Its V is what its slopes need at the knots, by the verifier's own arithmetic; a table without symmetries."""
    table = rp.GridAggregator(np.array([[0.0, 0.5, 0.2], [0.1, 0.4, 0.9], [0.6, 0.7, 1.0]]))
    for priors in ((0.3, 0.3001), (0.6, 0.6001)):
        slopes, least, contacts = best_slopes(problem(table), np.linspace(0, 2, 9), priors)
        corners = [needed(Grid(table.values), slopes, boxes).corner for boxes in whole(slopes, symmetric=False)]
        assert max(corner.max() for corner in corners) == pytest.approx(least, abs=1e-6)
        assert contacts.chances.sum() == pytest.approx(1, abs=1e-2)
