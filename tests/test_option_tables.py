"""Tables whose questions have options: what they must be, how they are grouped and combined, and how they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import robustpool as rp
from refusals import input_error
from robustpool.forecasts import ClippedWarning, ContradictionWarning
from robustpool.tables.records import ForecastTable

if TYPE_CHECKING:
    from pathlib import Path

NAN = np.nan


def small(**changes: Any) -> ForecastTable:
    """A match with three options and two answers, a vote with two options and one answer."""
    columns: dict[str, Any] = {
        "questions": ["match", "vote"],
        "forecasters": ["ann", "bob"],
        "question": np.array([0, 0, 1]),
        "forecaster": np.array([0, 1, 0]),
        "probability": np.array([[0.5, 0.3, 0.2], [0.7, 0.2, 0.1], [0.4, 0.6, NAN]]),
        "outcome": np.array([2.0, NAN]),
        "options": [("home", "draw", "away"), ("yes", "no")],
    }
    return ForecastTable(**columns | changes)


def test_groups_have_as_many_answers_and_as_many_options() -> None:
    reports = {tuple(group.questions.tolist()): group.reports.shape for group in small().groups()}
    assert reports == {(1,): (1, 1, 2), (0,): (1, 2, 3)}
    assert small().option_counts.tolist() == [3, 2]


def test_questions_of_one_size_are_one_group_and_keep_their_answers() -> None:
    table = ForecastTable(
        [str(q) for q in range(4)],
        ["ann", "bob"],
        np.repeat(np.arange(4), 2),
        np.tile([0, 1], 4),
        np.array([[0.1, 0.2, 0.7], [0.3, 0.7, NAN]])[[0, 0, 1, 1, 0, 0, 1, 1]],
        np.full(4, NAN),
        options=[("a", "b", "c"), ("a", "b")] * 2,
    )
    groups = {group.reports.shape[2]: group.questions.tolist() for group in table.groups()}
    assert groups == {2: [1, 3], 3: [0, 2]}


def test_groups_of_unlike_questions_with_the_same_sum() -> None:
    """Three answers on two options, two answers on three."""
    table = ForecastTable(
        ["a", "b"],
        ["ann", "bob", "cem"],
        np.array([0, 0, 0, 1, 1]),
        np.array([0, 1, 2, 0, 1]),
        np.array([[0.3, 0.7, NAN]] * 3 + [[0.1, 0.2, 0.7]] * 2),
        np.full(2, NAN),
        options=[("x", "y"), ("x", "y", "z")],
    )
    assert [group.reports.shape for group in table.groups()] == [(1, 2, 3), (1, 3, 2)]


def test_the_table_is_read_only_and_the_callers_array_is_not() -> None:
    mine = np.array([[0.5, 0.3, 0.2], [0.7, 0.2, 0.1], [0.4, 0.6, NAN]])
    table = small(probability=mine)
    mine[0, 0] = 0.9
    assert table.probability[0, 0] == 0.5
    assert not table.probability.flags.writeable


def test_a_sum_that_is_nearly_1_is_made_1() -> None:
    table = small(probability=np.array([[0.5, 0.3, 0.2 + 5e-10], [0.7, 0.2, 0.1], [0.4, 0.6, NAN]]))
    assert abs(table.probability[0].sum() - 1) < 1e-15
    assert table.probability[1].tolist() == [0.7, 0.2, 0.1]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"probability": np.array([[0.5, 0.3, 0.3], [0.7, 0.2, 0.1], [0.4, 0.6, NAN]])},
            r"must sum to 1 \(within 1e-09\); row 0 \(question match, forecaster ann\) sums to 1\.1 \(1 of 3 rows\)\.$",
        ),
        (
            {"probability": np.array([[0.5, 0.3, 0.2], [0.9, 0.2, -0.1], [0.4, 0.6, NAN]])},
            r"must lie in \[0, 1\]; row 1 \(question match, forecaster bob\), option 2 is -0\.1 \(1 of 3 rows\)\.$",
        ),
        (
            {"probability": np.array([[0.5, 0.5, NAN], [0.7, 0.2, 0.1], [0.4, 0.6, NAN]])},
            r"must lie in \[0, 1\]; row 0 \(question match, forecaster ann\), option 2 is nan \(1 of 3 rows\)\.$",
        ),
        (
            {"probability": np.array([[0.5, 0.3, 0.2], [0.7, 0.2, 0.1], [0.4, 0.5, 0.1]])},
            r"^probability must be NaN beyond the options of the question; row 2 .* has a number for option 2 of 2",
        ),
        ({"probability": np.array([0.5, 0.3, 0.2])}, r"must have the shape \(rows, 3\), .* the shape is \(3,\)\.$"),
        (
            {"outcome": np.array([3.0, NAN])},
            r"^outcome must be the number of an option, .* question match, which has 3 options, is 3 \(1 of 2 questions\)\.$",
        ),
        ({"outcome": np.array([0.5, NAN])}, r"^outcome must be the number of an option, .* is 0\.5 "),
        (
            {"options": [("a", "b", "a"), ("yes", "no")]},
            r"with different names; question match has \['a', 'b', 'a'\]\.$",
        ),
        (
            {"options": [("a", "b", "c"), ("yes",)]},
            r"^a question must have at least two options .* vote has \['yes'\]\.$",
        ),
        ({"options": [("a", "b", "c")]}, r"^column options of a forecast table must have 2 entries; it has 1\.$"),
    ],
)
def test_what_is_no_table_with_options_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with input_error(sentence):
        small(**changes)


# ------------------------------------------------------------------------------------------------------------- combining


def test_a_table_is_combined_question_by_question() -> None:
    pooled = rp.aggregate_table(small(), "robust")
    expected = np.asarray(rp.aggregate([[[0.5, 0.3, 0.2], [0.7, 0.2, 0.1]]], "robust"))
    np.testing.assert_array_equal(pooled.forecasts, np.vstack([expected, [[0.4, 0.6, NAN]]]))
    assert pooled.columns() == {
        "question_id": ["match"] * 3 + ["vote"] * 2,
        "option": ["home", "draw", "away", "yes", "no"],
        "forecast": [*expected[0].tolist(), 0.4, 0.6],
        "forecasters": [2, 2, 2, 1, 1],
        "outcome": [0, 0, 1, None, None],
    }


def test_weights_and_recency_count() -> None:
    table = small(weight=np.array([1.0, 3.0, 1.0]), timestamp=np.array([0.0, 86400.0, 0.0]))
    forecast = rp.aggregate_table(table, "mean").forecasts[0]
    np.testing.assert_allclose(forecast, [0.65, 0.225, 0.125])
    aged = rp.aggregate_table(table, "mean", half_life=1).forecasts[0]
    np.testing.assert_allclose(aged, np.array([0.5 + 6 * 0.7, 0.3 + 6 * 0.2, 0.2 + 6 * 0.1]) / 7)


def test_clipped_answers_are_counted_and_contradictions_said() -> None:
    table = small(probability=np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.4, 0.6, NAN]]))
    raised = r"^2 of 3 answers were raised to at least 0\.01 for each option; clip=0 turns"
    with pytest.warns(ClippedWarning, match=raised):
        assert rp.aggregate_table(table, "robust").clipped == 2
    assert rp.aggregate_table(table, "mean").clipped == 0
    with pytest.warns(ContradictionWarning, match=r"the first is question match \(1 of 2 questions\)\.$"):
        pooled = rp.aggregate_table(table, "robust", clip=0)
    np.testing.assert_allclose(pooled.forecasts[0], 1 / 3)
    assert pooled.contradictions == 1


def test_a_rule_for_two_says_so() -> None:
    with input_error(r"^rule product is for two outcomes; for more: robust, mean, geometric-odds, minimax\.$"):
        rp.aggregate_table(small(), "product")


# --------------------------------------------------------------------------------------------------------------- writing


def test_it_is_written_as_a_long_table(tmp_path: Path) -> None:
    pooled = rp.aggregate_table(small(), "mean")
    pooled.write(tmp_path / "pooled.csv")
    text = (tmp_path / "pooled.csv").read_text()
    assert text.splitlines()[0] == "question_id,option,forecast,forecasters,outcome"
    assert text.splitlines()[-1] == "vote,no,0.6,1,"
    pooled.write(tmp_path / "pooled.parquet")
    stored = pl.read_parquet(tmp_path / "pooled.parquet")
    assert stored["option"].to_list() == ["home", "draw", "away", "yes", "no"]
    assert stored["outcome"].to_list() == [0, 0, 1, None, None]
    frame = pooled.frame("pandas")
    assert isinstance(frame, pd.DataFrame)
    np.testing.assert_allclose(frame.groupby("question_id")["forecast"].sum(), 1)


def test_questions_named_by_whole_numbers_have_them_again() -> None:
    table = small(questions=["7", "8"], question_type=np.dtype(np.int32))
    pooled = rp.aggregate_table(table, "mean")
    assert pooled.columns()["question_id"] == [7, 7, 7, 8, 8]
    assert pooled.frame("pandas")["question_id"].dtype == np.int32
