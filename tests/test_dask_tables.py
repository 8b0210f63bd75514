"""A Dask data frame is combined like the same table on one machine: the same forecasts, the same rows left out, the same warnings."""

from __future__ import annotations

import hashlib
import warnings
from typing import TYPE_CHECKING, Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import robustpool as rp
from refusals import input_error, unsupported_error
from robustpool.tables.dask_tables import PARTITION, _numbered
from robustpool.tables.reading import Reading, look_at
from robustpool.tables.sources import open_engine

if TYPE_CHECKING:
    from collections.abc import Callable

QUESTIONS, PEOPLE = 60, 12


def messy() -> pd.DataFrame:
    """Forecasts with what people do to them: text, percentages, blanks, repeats, strangers, contradictions."""
    rng = np.random.default_rng(0)
    question = rng.integers(0, QUESTIONS, 900)
    frame = pd.DataFrame(
        {
            "question_id": [f"q{number}" for number in question],
            "forecaster_id": [f"p{number}" for number in rng.integers(0, PEOPLE, 900)],
            "probability": [f"{p:.2f}" for p in rng.random(900)],
            "outcome": [str(number % 2) for number in question],
            "timestamp": [f"2024-01-{1 + day:02d}" for day in rng.integers(0, 28, 900)],
            "weight": rng.choice(["1", "2", "0.5"], 900),
        }
    )
    wrong = {"probability": ["1.2", "70%", "", "none", "0,5", "-0.1", "abc", "0", "1"], "weight": ["0", "-1", "x"]}
    wrong |= {"timestamp": ["yesterday", ""], "outcome": ["maybe", ""], "question_id": ["", " q7 ", "q8\t"]}
    wrong["forecaster_id"] = ["", " p1 "]
    for name, values in wrong.items():
        for value in values:
            frame.loc[rng.choice(900, 7), name] = value
    return pd.concat([frame, frame.iloc[:40]], ignore_index=True)  # the last ones again


def said(source: Any, **options: Any) -> tuple[pd.DataFrame, list[str]]:
    """The result, by question, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = rp.aggregate_table(source, **options)
        frame = result.compute() if hasattr(result, "compute") else result
    ours = [
        str(each.message) for each in caught if "robustpool" in each.category.__module__ or each.category is UserWarning
    ]
    return frame.sort_values("question_id").reset_index(drop=True), ours


def the_same(table: pd.DataFrame, split: Callable[[pd.DataFrame], Any], **options: Any) -> pd.DataFrame:
    here, words = said(table, **options)
    there, other_words = said(split(table), **options)
    assert other_words == words
    assert list(there.columns) == list(here.columns)
    assert there["question_id"].tolist() == here["question_id"].tolist()
    assert there["forecasters"].tolist() == here["forecasters"].tolist()
    for name in {"forecast", "outcome"} & {*here.columns}:
        np.testing.assert_allclose(there[name].astype(float), here[name].astype(float), rtol=1e-13, atol=0)
    return here


def in_partitions(number: int) -> Callable[[pd.DataFrame], Any]:
    return lambda table: dd.from_pandas(table, npartitions=number, sort=False)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rule": "mean"},
        {"rule": "geometric-odds", "clip": 0.0},
        {"rule": "mean", "half_life": 3},
        {"rule": "mean", "as_of": "2024-01-10"},
        {"rule": "average-prior"},
        {"rule": "mean", "percent": True},
    ],
    ids=lambda options: " ".join(map(str, options.values())) or "default",
)
def test_a_messy_table_is_combined_like_on_one_machine(options: dict[str, Any]) -> None:
    assert len(the_same(messy(), in_partitions(3), **options)) == QUESTIONS


def test_a_wide_table_is_combined_like_on_one_machine() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.random((200, 4)).round(3), columns=["ann", "bob", "cat", "count"])
    table["count"] *= 1000
    table.insert(0, "question_id", rng.integers(0, 150, 200))  # some questions have two rows: the later one counts
    table.loc[::17, "ann"], table.loc[5, "bob"] = np.nan, 3.0
    assert the_same(table, in_partitions(4))["question_id"].dtype.kind == "i"


def indexed(table: pd.DataFrame) -> Any:
    return dd.from_pandas(table.set_index("question_id"), npartitions=4)


def test_a_table_that_is_partitioned_by_question_is_not_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dd.DataFrame, "set_index", None)
    the_same(clean(), indexed, rule="mean")


def test_a_name_with_spaces_around_it_is_no_other_question() -> None:
    """Even if it stands in another partition, by an index with known divisions."""
    names = [f"{name}{space}" for name in "abcdefg" for space in ("", " ", "\t")]
    table = clean().iloc[: 3 * len(names)].assign(question_id=sorted(names * 3))
    assert indexed(table).known_divisions
    assert len(the_same(table, indexed, rule="mean")) == 7


def test_where_a_question_goes_depends_on_no_version() -> None:
    names = ["a", "b", " a ", "b\t", "17"]
    frame = pd.DataFrame({"question_id": names, "forecaster_id": "ann", "probability": 0.5})
    how = Reading()
    with open_engine(frame) as (source, own):
        plan = look_at(source, own, how)
    hashes = [hashlib.blake2b(name.strip().encode(), digest_size=8).digest() for name in names]
    expected = [int.from_bytes(each, "big") % 7 for each in hashes]
    assert _numbered(frame, 0, plan, 7)[PARTITION].tolist() == expected


def test_what_cannot_be_combined_is_said_with_the_same_sentence() -> None:
    table = messy()
    bad = table.assign(probability="x")
    cases: list[tuple[pd.DataFrame, dict[str, Any]]] = [(table, {"strict": True}), (bad, {})]
    for wrong, how in cases:
        with input_error("of 940 rows cannot be used") as here:
            rp.aggregate_table(wrong, **how)
        with input_error("of 940 rows cannot be used") as there:
            rp.aggregate_table(in_partitions(3)(wrong), **how)
        assert str(there.value) == str(here.value)
    options = table.assign(option="a")
    with unsupported_error(
        "a Dask data frame can only hold questions with two outcomes; combine questions with options on one machine"
    ):
        rp.aggregate_table(in_partitions(2)(options))
    with unsupported_error("outcomes in another file are joined on one machine"):
        rp.aggregate_table(in_partitions(2)(table), outcomes=table)
    with input_error("a Dask data frame can be combined .aggregate_table. and nothing else"):
        rp.read_forecasts(in_partitions(2)(table))


def test_the_result_stays_in_partitions() -> None:
    result = rp.aggregate_table(in_partitions(5)(clean()), "mean")
    assert isinstance(result, dd.DataFrame)
    assert result.npartitions == 5
    assert result["forecast"].mean().compute() == pytest.approx(0.5, abs=0.1)


def clean() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame(
        {"question_id": np.arange(300) // 3, "forecaster_id": np.arange(300) % 3, "probability": rng.random(300)}
    )
