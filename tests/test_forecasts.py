"""`aggregate`: what comes in is checked, what goes out is checked, and nothing in between is lost."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from refusals import input_error
from robustpool.aggregators.grid import GridAggregator
from robustpool.aggregators.rows import CELLS_AT_ONCE
from robustpool.aggregators.rules import RULES, get_rule
from robustpool.aggregators.table import TableAggregator
from robustpool.designs.any_aggregator import as_aggregator
from robustpool.errors import InputError
from robustpool.forecasts import ClippedWarning, ContradictionWarning, aggregate

NAMES = [name if name != "bordley" else "bordley:prior=0.3" for name in RULES]


@pytest.mark.parametrize("name", NAMES)
def test_one_question_is_a_float_and_the_first_row_of_a_table(name: str) -> None:
    one = aggregate([0.7, 0.6], name)
    assert type(one) is float
    table = aggregate([[0.7, 0.6], [0.2, 0.9]], name)
    assert table.shape == (2,)
    assert table[0] == one == get_rule(name)([[0.7, 0.6]])[0]


def test_the_default_is_robust() -> None:
    assert next(iter(RULES)) == "robust"
    for reports in ([0.7, 0.6], [0.7, 0.6, 0.9, 0.2, 0.55]):
        assert aggregate(reports) == aggregate(reports, rule="robust") != aggregate(reports, rule="mean")


@pytest.mark.parametrize(
    "given_as",
    [
        [0.75, 0.25, None],
        (Fraction(3, 4), Decimal("0.25"), None),
        np.array([0.75, 0.25, np.nan], dtype=np.float32),
        np.ma.array([0.75, 0.25, 0.9], mask=[False, False, True]),
    ],
    ids=["None", "Fraction and Decimal", "float32", "masked"],
)
def test_numbers_of_every_kind(given_as: list[float]) -> None:
    assert aggregate(given_as, rule="mean") == 0.5


def test_whole_numbers_are_numbers() -> None:
    assert aggregate(np.array([[0, 0], [1, 1]]), rule="product", clip=0).tolist() == [0, 1]  # type: ignore[union-attr]


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        float, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.floats(0.01, 0.99) | st.just(np.nan)
    )
)
def test_each_row_is_a_question(table: np.ndarray) -> None:
    before = table.copy()
    np.testing.assert_array_equal(aggregate(table), [aggregate(line) for line in table])
    np.testing.assert_array_equal(table, before)


def test_no_answers_give_nan_without_a_warning() -> None:
    assert math.isnan(aggregate([math.nan, math.nan]))
    assert np.isnan(aggregate([[0.5, 0.5], [math.nan, math.nan]])).tolist() == [False, True]


# ---------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("probabilities", "sentence"),
    [
        ([0.7, 1.2], r"^probability must lie in \[0, 1\]; entry 1 is 1\.2 \(1 of 2 are out of range\)\.$"),
        (
            [[0.7, 0.6], [0.5, -0.1], [2, 3]],
            r"^probability must lie in \[0, 1\]; row 1, column 1 is -0\.1 \(3 of 6 are out of range\)\.$",
        ),
        ([0.7, math.inf], r"entry 1 is inf \(1 of 2 are out of range\)\.$"),
        ([-math.inf, 0.5], r"entry 0 is -inf \(1 of 2 are out of range\)\.$"),
        ([1 + 2**-52, 0.5], r"entry 0 is 1\.0000000000000002 \(1 of 2"),
        ([0.7, "0.6"], r"^probability must be a number; entry 1 is '0\.6' \(1 of 2 are not\)\.$"),
        ([[0.7, "a"], ["b", 0.6]], r"^probability must be a number; row 0, column 1 is 'a' \(2 of 4 are not\)\.$"),
        ([0.5, 0.5 + 0j], r"^probability must be a number; entry 1 is \(0\.5\+0j\) \(1 of 2 are not\)\.$"),
        (
            0.7,
            r"^probabilities must have the shape \(agents,\), .* or \(questions, agents, options\); the shape is \(\)\.$",
        ),
        ("0.7", r"\(questions, agents, options\); the shape is \(\)\.$"),
        (None, r"\(questions, agents, options\); the shape is \(\)\.$"),
        ([[[0.7]]], r"at least one agent and two options; the shape is \(1, 1, 1\)\.$"),
        ([], r"^probabilities must hold at least one number; the shape is \(0,\)\.$"),
        ([[], []], r"^probabilities must hold at least one number; the shape is \(2, 0\)\.$"),
        ([[0.7, 0.6], [0.5]], r"^probabilities must have rows of equal length; write NaN for a missing answer\.$"),
    ],
)
def test_what_is_no_probability_is_refused(probabilities: list[float], sentence: str) -> None:
    with input_error(sentence):
        aggregate(probabilities)


@pytest.mark.parametrize("rule", [3, None, ["mean"]])
def test_what_is_no_rule_is_refused(rule: str) -> None:
    with input_error(
        r"^rule must be the name of a rule, the file of a design or of a fitted pool, or a callable; it is .*\.$"
    ):
        aggregate([0.7, 0.6], rule)


def test_an_unknown_rule_is_refused() -> None:
    with input_error(r"the closest is 'mean'\.$"):
        aggregate([0.7, 0.6], "maen")


# -------------------------------------------------------------------------------------------------------- large tables


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("agents", [1, 2, 3, 5, 8])
def test_a_large_table_is_its_rows(name: str, agents: int) -> None:
    rng = np.random.default_rng(agents)
    table = rng.random((2 * CELLS_AT_ONCE // agents + 17, agents)) ** rng.uniform(0.2, 5, (1, agents))
    gaps = rng.random(table.shape) < 0.2
    gaps[: len(table) // 3] = False  # blocks in which nobody is missing, and blocks in which somebody is
    table[gaps] = np.nan
    table[-3:] = 0.0
    forecasts = np.asarray(aggregate(table, name, clip=0))
    rows = rng.integers(len(table), size=200)
    np.testing.assert_allclose(forecasts[rows], [aggregate(table[row], name, clip=0) for row in rows], rtol=1e-12)
    assert np.isnan(forecasts).tolist() == np.isnan(table).all(axis=1).tolist()


def test_the_last_block_is_checked_and_the_whole_table_counted() -> None:
    table = np.full((CELLS_AT_ONCE, 2), 0.5)
    table[-1, 1] = 1.5
    table[7, 0] = -1
    for rule in ("mean", np.mean):
        with input_error(rf"row 7, column 0 is -1\.0 \(2 of {table.size} are out of range\)\.$"):
            aggregate(table, rule)


@pytest.mark.parametrize("name", [name for name in NAMES if get_rule(name).averages])
def test_among_three_answers_0_and_1_contradict_nobody_who_averages(name: str) -> None:
    assert aggregate([0.0, 1.0, 0.5], name) == pytest.approx(0.5)
    with pytest.warns(ContradictionWarning):
        assert aggregate([0.0, 1.0], name) == 0.5


def test_contradictions_are_counted_over_all_blocks() -> None:
    table = np.full((CELLS_AT_ONCE, 2), 0.5)
    table[[5, -1]] = 0, 1
    with pytest.warns(ContradictionWarning, match=rf"row 5 has both \(2 of {len(table)} rows\)\.$"):
        np.testing.assert_array_equal(aggregate(table, clip=0), 0.5)


def test_what_wraps_a_grid_is_checked_like_any_function() -> None:
    class Steeper:
        aggregator = GridAggregator(np.array([[0.0, 0.5], [0.5, 1.0]]))

        def __call__(self, reports: np.ndarray) -> np.ndarray:
            return np.asarray(3 * self.aggregator(reports) - 1)

    assert aggregate([0.5, 0.5], Steeper()) == 0.5
    with input_error(r"^the aggregator must return numbers in \[0, 1\]; entry 0 is 1\.7"):
        aggregate([0.9, 0.9], Steeper())


# ------------------------------------------------------------------------------------------------------------- weights

WEIGHTED = [name for name in NAMES if get_rule(name).takes_weights]
inner = st.floats(0.01, 0.99)


@pytest.mark.parametrize("name", WEIGHTED)
@settings(max_examples=25, deadline=None)
@given(reports=st.lists(inner, min_size=1, max_size=7), weight=st.floats(1e-3, 1e3))
def test_equal_weights_are_no_weights(name: str, reports: list[float], weight: float) -> None:
    weighted = aggregate(reports, name, weights=[weight] * len(reports))
    assert weighted == pytest.approx(aggregate(reports, name), rel=1e-9)


@pytest.mark.parametrize("name", WEIGHTED)
def test_who_has_no_weight_did_not_answer(name: str) -> None:
    without = aggregate([0.7, 0.2, math.nan], name, weights=[1, 3, 1])
    assert aggregate([0.7, 0.2, 0.9], name, weights=[1, 3, 0]) == pytest.approx(without, rel=1e-12)
    assert math.isnan(aggregate([0.7], name, weights=[0]))


@pytest.mark.parametrize("name", ["mean", "geometric-mean", "geometric-odds"])
def test_a_weight_of_two_counts_twice_in_an_average(name: str) -> None:
    assert aggregate([0.7, 0.2], name, weights=[2, 1]) == pytest.approx(aggregate([0.7, 0.7, 0.2], name))


@pytest.mark.parametrize("weight", [1e308, 1e-320])
@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_at_the_ends_of_the_range(name: str, weight: float) -> None:
    assert aggregate([0.2, 0.9], name, weights=[weight, weight]) == pytest.approx(aggregate([0.2, 0.9], name))


def test_a_certain_report_with_hardly_any_weight_still_decides() -> None:
    alone = aggregate([1.0, 0.4], "product", clip=0, weights=[1e-320, 1e10])
    assert alone == aggregate([[1.0, 0.4, math.nan]], "product", clip=0, weights=[1e-320, 1e10, 1])[0] == 1


def test_weights_are_scaled_to_the_number_of_answers() -> None:
    weighted = aggregate([[0.7, 0.2], [0.6, 0.5]], "product", weights=[[3, 1], [1, 1]])
    s = 1.5 * math.log(7 / 3) + 0.5 * math.log(1 / 4)
    np.testing.assert_allclose(weighted, [1 / (1 + math.exp(-s)), 0.6])


@pytest.mark.parametrize(
    ("rule", "weights", "sentence"),
    [
        ("median", [1, 2], r"^rule median does not accept weights\.$"),
        (np.mean, [1, 2], r"^weights are for rules that accept them; a design or a callable does not\.$"),
        (
            "mean",
            [1, 2, 3],
            r"^weights must have the shape \(1, 2\) of the probabilities or \(2,\), one for each agent; the",
        ),
        ("mean", [1, -2], r"^weight must not be negative; entry 1 is -2\.0 \(1 of 2 are\)\.$"),
        ("mean", [1, math.nan], r"^weights must be finite; weights\[1\] is nan \(1 of 2 entries\)\.$"),
    ],
)
def test_wrong_weights_are_refused(rule: str, weights: list[float], sentence: str) -> None:
    with input_error(sentence):
        aggregate([0.5, 0.4], rule, weights=weights)


# ---------------------------------------------------------------------------------------------------------------- clip


def test_clip_brings_certain_reports_inside() -> None:
    assert aggregate([0.0, 0.5], rule="product", clip=0.1) == pytest.approx(0.1)
    assert aggregate([0.3, 0.5], rule="product", clip=0.1) == aggregate([0.3, 0.5], rule="product")
    assert aggregate([0.0, 0.4], rule="product", clip=0) == 0
    assert math.isnan(aggregate([math.nan], clip=0.1))


AVERAGES = ("mean", "median", "trimmed-mean", "karmarkar", "beta-pool")


@pytest.mark.parametrize("name", NAMES)
def test_by_default_no_single_report_decides(name: str) -> None:
    reports, inside = [0.0, 0.4, 0.995], [0.01, 0.4, 0.99]
    rule = get_rule(name)
    if name in AVERAGES:
        assert aggregate(reports, name) == aggregate(reports, name, clip=0.2) == rule([reports])[0]
        return
    with pytest.warns(
        ClippedWarning, match=r"^2 of 3 reports were clipped to \[0\.01, 0\.99\]; clip=0 turns this off\.$"
    ) as caught:
        assert aggregate(reports, name) == aggregate(reports, name, clip=0.01) == rule([inside])[0]
    assert [each.filename for each in caught] == [__file__]
    assert aggregate(inside, name) == rule([inside])[0]
    assert aggregate(reports, name, clip=0) == rule([reports])[0]
    assert aggregate(reports, name, clip=0.2) == rule([[0.2, 0.4, 0.8]])[0]


def test_what_a_function_sees_is_clipped_only_if_somebody_asks() -> None:
    def lowest(reports: np.ndarray) -> np.ndarray:
        return np.asarray(reports.min(axis=1))

    assert aggregate([0.0, 0.4], lowest) == 0
    assert aggregate([0.0, 0.4], lowest, clip=0.1) == 0.1
    grid = GridAggregator(np.array([[0.0, 0.5], [0.5, 1.0]]))
    assert aggregate([0.0, 0.4], grid) == pytest.approx(0.2)
    assert aggregate([0.0, 0.4], grid, clip=0.1) == pytest.approx(0.25)


def test_what_is_clipped_is_counted_once_a_call_over_all_blocks_without_those_who_do_not_count() -> None:
    table = np.full((CELLS_AT_ONCE, 2), 0.5)
    table[[5, -1]] = 0, np.nan
    with pytest.warns(ClippedWarning, match=rf"^2 of {table.size - 2:,} reports were clipped") as caught:
        aggregate(table)
    assert len(caught) == 1
    with pytest.warns(ClippedWarning, match=r"^1 of 3 reports was clipped"):
        aggregate([0.0, 1.0, 0.5], weights=[1, 0, 1])


# ------------------------------------------------------------------------------------------------------------ data frames


def test_a_frame_keeps_its_index() -> None:
    frame = pd.DataFrame({"ann": [0.7, np.nan], "bob": [0.6, 0.2]}, index=pd.Index(["rain", "snow"], name="question"))
    pooled: Any = aggregate(frame)
    assert isinstance(pooled, pd.Series)
    assert pooled.index.equals(frame.index)
    assert (pooled.index.name, pooled.name) == ("question", "forecast")
    assert pooled.tolist() == [aggregate([0.7, 0.6]), 0.2]
    assert frame.assign(pooled=pooled)["pooled"].tolist() == pooled.tolist()
    nobody: Any = aggregate(frame.iloc[:0])
    assert isinstance(nobody, pd.Series)
    assert nobody.empty
    assert isinstance(aggregate(frame.loc["rain"]), float)  # one question


def test_other_frames_and_arrays_give_an_array() -> None:
    frame = pl.DataFrame({"ann": [0.7, 0.3], "bob": [0.6, 0.2]})
    assert type(aggregate(frame)) is type(aggregate(frame.to_numpy())) is np.ndarray
    assert np.array_equal(aggregate(frame), aggregate(frame.to_numpy()))


# ------------------------------------------------------------------------------------------------------ the range of clip


def test_clipped_reports_do_not_contradict() -> None:
    assert aggregate([0.0, 1.0, 0.9], rule="product", clip=0.01) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("clip", "sentence"), [(0.5, r"clip must lie in \[0, 0\.5\); it is 0\.5\."), (-0.1, r"; it is -0\.1\.")]
)
def test_clip_has_a_range(clip: float, sentence: str) -> None:
    with input_error(sentence):
        aggregate([0.7, 0.6], clip=clip)


@pytest.mark.parametrize("clip", [math.nan, "0.1"])
def test_clip_is_a_number(clip: float) -> None:
    with input_error(r"^clip must be a (finite )?number; it is (nan|'0\.1')\.$"):
        aggregate([0.7, 0.6], clip=clip)


# ------------------------------------------------------------------------------------------------------ contradictions


def test_a_function_of_yours_says_what_it_says_about_0_and_1() -> None:
    """The convention is that of the named rules; to a design on decisions, 0 and 1 are just two votes."""
    assert aggregate([0.0, 1.0, 0.9], lambda reports: reports.mean(axis=1)) == pytest.approx(19 / 30)
    design = TableAggregator(np.array([[[0.0], [1.0]]]), np.array([0.3]))
    assert aggregate([0, 1], design) == 0.3


@pytest.mark.parametrize("rule", NAMES)
def test_a_contradiction_is_one_half_and_a_warning(rule: str) -> None:
    table = [[0.3, 0.4], [0.0, 1.0], [1.0, 0.0]]
    sentence = r"forecast is 0\.5; row 1 has both \(2 of 3 rows\)\.$"
    with pytest.warns(ContradictionWarning, match=sentence) as caught:
        forecasts = aggregate(table, rule, clip=0)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert forecasts[1:].tolist() == [0.5, 0.5]
    assert forecasts[0] != 0.5


def test_one_contradictory_question() -> None:
    with pytest.warns(ContradictionWarning, match=r"row 0 has both \(1 of 1 rows\)\.$"):
        assert aggregate([0.0, 1.0, 0.9], clip=0) == 0.5


# ---------------------------------------------------------------------------------------------------------- callables


def test_any_callable_is_a_rule() -> None:
    table = np.array([[0.2, 0.9, 0.4], [np.nan, np.nan, np.nan]])
    forecasts = aggregate(table, lambda reports: reports.max(axis=1))
    assert forecasts[0] == 0.9  # type: ignore[index]
    assert math.isnan(forecasts[1])  # type: ignore[index]
    assert aggregate([0.2, 0.9], lambda reports: [0.25 for _ in reports]) == 0.25
    assert aggregate([0.2, 0.6], get_rule("mean")) == 0.4


def test_a_question_without_answers_stays_without_forecast() -> None:
    forecasts = aggregate([[math.nan], [0.5]], lambda reports: np.full(len(reports), 0.5))
    assert np.isnan(forecasts).tolist() == [True, False]


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda _: 0.5, r"^the aggregator must return the shape \(2,\); it returned \(\)\.$"),
        (lambda reports: reports, r"^the aggregator must return the shape \(2,\); it returned \(2, 2\)\.$"),
        (
            lambda _: [0.5, 1.2],
            r"^the aggregator must return numbers in \[0, 1\]; entry 1 is 1\.2 \(1 of 2 are not\)\.$",
        ),
        (lambda _: [math.nan, -1], r"numbers in \[0, 1\]; entry 0 is nan \(2 of 2 are not\)\.$"),
        (lambda _: ["yes", "no"], r"^the aggregator must return numbers; it returned \['yes', 'no'\]\.$"),
        (lambda _: {}, r"^the aggregator must return numbers; it returned \{\}\.$"),
    ],
)
def test_what_a_callable_answers_is_checked(answer: object, sentence: str) -> None:
    with input_error(sentence):
        aggregate([[0.2, 0.9], [0.5, 0.5]], answer)  # type: ignore[call-overload]


@pytest.mark.parametrize("name", NAMES)
def test_corners_are_silent(name: str) -> None:
    """Warnings are errors in this suite; here it is said aloud."""
    corners = [0.0, 5e-324, 1e-300, 0.5, 1 - 2**-53, 1.0]
    table = [[x, y] for x in corners for y in corners if {x, y} != {0.0, 1.0}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forecasts = aggregate(table, name, clip=0)
        assert np.all((forecasts >= 0) & (forecasts <= 1))


@given(
    reports=st.lists(st.floats(0.0, 1.0, allow_subnormal=False), min_size=1, max_size=70),
    rule=st.sampled_from([*NAMES, "extremized-odds:d=2", "minimax:unanimous=0"]),
    clip=st.sampled_from([None, 0.0, 0.01, 0.3]),
)
def test_one_question_is_a_table_of_one_row_to_the_last_bit(
    reports: list[float], rule: str, clip: float | None
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one, table = aggregate(reports, rule, clip=clip), aggregate(np.array([reports]), rule, clip=clip)
        same = aggregate(tuple(reports), rule, clip=clip)
    assert isinstance(one, float)
    assert np.float64(one).tobytes() == np.float64(same).tobytes() == np.asarray(table).tobytes()


def test_a_rule_is_looked_up_once_unless_its_name_is_long() -> None:
    assert as_aggregator("robust") is as_aggregator("robust")
    long = f"log-odds:alpha=0.5{'0' * 100}"
    assert as_aggregator(long) is not as_aggregator(long)
    assert as_aggregator(long) == as_aggregator("log-odds:alpha=0.5")


def test_a_whole_number_beyond_all_floats_is_named() -> None:
    with pytest.raises(
        InputError, match=r"^probability must lie in \[0, 1\]; entry 1 is 10{400} \(1 of 2 are out of range\)\.$"
    ):
        aggregate([0.5, 10**400])
