"""Tables of forecasts: whatever they come from, the same table; whatever their size, the same forecasts."""

from __future__ import annotations

import gzip
import os
import random
import subprocess
import tempfile
import warnings
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forecasters import Answers, as_answers
from quick import one_of
from refusals import input_error
from robustpool.aggregators.grid import GridAggregator
from robustpool.forecasts import ClippedWarning, ContradictionWarning, aggregate
from robustpool.processes import own_prefix
from robustpool.tables import answers as all_answers
from robustpool.tables.formats import FORMATS
from robustpool.tables.pooled import PooledTable
from robustpool.tables.pooling import aggregate_table
from robustpool.tables.reading import Reading, answers_of, read_forecasts
from robustpool.tables.recency import weigh_by_age
from robustpool.tables.records import ForecastTable, Rejection, RowsLeftOut
from robustpool.tables.rejecting import RowsLeftOutWarning

if TYPE_CHECKING:
    from collections.abc import Callable

names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=5)
probabilities = st.floats(0, 1)


@st.composite
def answers(draw: st.DrawFn) -> Answers:
    """Answers of at least two people, the first of whom answers every question, so that orders are the same in all layouts."""
    questions = draw(st.lists(names.filter(lambda name: not name.isdigit()), min_size=1, max_size=5, unique=True))
    people = draw(st.lists(names.filter(_no_role), min_size=2, max_size=4, unique=True))
    table = {(question, people[0]): draw(probabilities) for question in questions}
    for question in questions:
        for person in people[1:]:
            if draw(st.booleans()):
                table[question, person] = draw(probabilities)
    for person in people[1:]:
        table[questions[0], person] = draw(probabilities)
    return dict(sorted(table.items(), key=lambda item: (questions.index(item[0][0]), people.index(item[0][1]))))


def _no_role(name: str) -> bool:
    """Whether a name is free for a forecaster, and no number that would make the first line look like data."""
    from robustpool.tables.formats import OURS, plain

    taken = {each for aliases in OURS.roles.values() for each in aliases}
    return plain(name) not in taken and not any(character.isdigit() for character in name) and name.lower() != "nan"


def long_frame(table: Answers) -> pd.DataFrame:
    rows = [(question, person, p) for (question, person), p in table.items()]
    return pd.DataFrame(rows, columns=["question_id", "forecaster_id", "probability"])


def wide_frame(table: Answers) -> pd.DataFrame:
    people = list(dict.fromkeys(person for _, person in table))
    questions = list(dict.fromkeys(question for question, _ in table))
    columns = {person: [table.get((question, person), np.nan) for question in questions] for person in people}
    return pd.DataFrame({"question_id": questions, **columns})


SOURCES: dict[str, Callable[[Answers, Path], Any]] = {
    "long CSV": lambda table, path: _saved(long_frame(table), path / "long.csv"),
    "wide CSV": lambda table, path: _saved(wide_frame(table), path / "wide.csv"),
    "long Parquet": lambda table, path: _saved(long_frame(table), path / "long.parquet"),
    "wide Parquet": lambda table, path: _saved(wide_frame(table), path / "wide.parquet"),
    "pandas": lambda table, _: long_frame(table),
    "pandas, wide, with an index": lambda table, _: wide_frame(table).set_index("question_id"),
    "polars": lambda table, _: pl.from_pandas(long_frame(table)),
    "polars, wide, lazy": lambda table, _: pl.from_pandas(wide_frame(table)).lazy(),
    "pyarrow": lambda table, _: pa.Table.from_pandas(long_frame(table)),
}


def _saved(frame: pd.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    return path


@settings(max_examples=4, deadline=None)
@given(answers(), st.randoms(use_true_random=False))
def test_the_same_table_from_everything(table: Answers, rng: random.Random) -> None:
    wanted = {(question.strip(), person.strip()): p for (question, person), p in table.items()}
    with tempfile.TemporaryDirectory() as folder:
        for name, source in SOURCES.items():
            read = read_forecasts(source(table, Path(folder)))
            assert as_answers(read) == wanted, name
            assert read.rejected.total == 0, name
        shuffled = list(table.items())
        rng.shuffle(shuffled)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClippedWarning)
            straight = by_question(aggregate_table(_saved(long_frame(table), Path(folder) / "a.csv")))
            mixed = by_question(aggregate_table(_saved(long_frame(dict(shuffled)), Path(folder) / "b.csv")))
    assert straight.keys() == mixed.keys()
    for question, forecast in straight.items():
        assert mixed[question] == pytest.approx(forecast, abs=1e-12)


def by_question(pooled: PooledTable) -> dict[str, float]:
    return dict(zip(pooled.questions, pooled.forecasts.tolist(), strict=True))


# ------------------------------------------------------------------------------------------------------------- many rows


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """5,000 rows with repeated answers, times, weights, clusters, missing and wrong entries and mixed outcomes."""
    rng = random.Random(7)
    rows = ["question_id,forecaster_id,probability,outcome,timestamp,weight,cluster"]
    for _ in range(5000):
        question, p = rng.randrange(150), rng.choice([f"{rng.random():.3f}", f"{rng.random():.3f}", "", "1.5"])
        outcome = question % 2 if question != 7 else rng.randrange(2)
        time = f"2024-01-{rng.randrange(1, 29):02d}T{rng.randrange(24):02d}:00:00Z"
        rows.append(f"q{question},f{rng.randrange(40)},{p},{outcome},{time},{rng.randrange(1, 4)},c{question % 11}")
    path = tmp_path / "many.csv"
    path.write_text("\n".join(rows))
    return path


@pytest.mark.parametrize("room", [50, 700])
def test_files_give_the_same_as_the_memory(many: Path, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.warns(RowsLeftOutWarning):
        whole = aggregate_table(many, clip=0, half_life=10)
    monkeypatch.setattr(all_answers, "ROOM", room)
    monkeypatch.setattr(all_answers, "HELD", 3 * room)
    monkeypatch.setattr(all_answers, "CHUNK", 300)
    if room > 1:
        monkeypatch.setattr(all_answers, "MANY", 3)
    with pytest.warns(RowsLeftOutWarning):
        parted = aggregate_table(many, clip=0, half_life=10)
    np.testing.assert_array_equal(parted.forecasts, whole.forecasts)
    np.testing.assert_array_equal(parted.answers, whole.answers)
    np.testing.assert_array_equal(parted.outcome, whole.outcome)
    assert (parted.questions, parted.rejected, parted.tally) == (whole.questions, whole.rejected, whole.tally)
    mixed = whole.questions.index("q7")
    assert np.isnan(whole.outcome[mixed])
    assert whole.forecasts[mixed] > 0
    assert whole.tally.outcomes.counts == {"a question must have one outcome": 1}
    assert whole.tally.superseded > 400
    table = read_forecasts(many)
    assert table.cluster is not None
    assert len(set(table.cluster.tolist())) == 11
    entries = table.rows + table.rejected.total + sum(table.tally.aside.values())
    assert entries == table.tally.entries == 5000  # nothing is dropped in silence


def test_options_in_parts_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    rows = ["question_id,forecaster_id,option,probability,outcome"]
    for question in range(40):
        names = [f"{question}-{k}" for k in range(2 + question % 3)]
        for who in range(int(rng.integers(1, 5))):
            shares = rng.dirichlet(np.ones(len(names)))
            rows += [f"q{question},f{who},{name},{p},{names[1]}" for name, p in zip(names, shares, strict=True)]
    path = tmp_path / "f.csv"
    path.write_text("\n".join(rows))
    whole = aggregate_table(path, clip=0)
    assert whole.options is not None
    assert set(whole.outcome.tolist()) == {1.0}
    for name, value in (("ROOM", 30), ("HELD", 90), ("CHUNK", 17)):
        monkeypatch.setattr(all_answers, name, value)
    parted = aggregate_table(path, clip=0)
    np.testing.assert_array_equal(parted.forecasts, whole.forecasts)
    assert (parted.questions, parted.options, parted.tally) == (whole.questions, whole.options, whole.tally)


def test_the_files_are_removed_even_after_an_error(many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_answers, "ROOM", 100)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with input_error(r"cannot be used\)\.$"):
        aggregate_table(many, strict=True)
    assert [path.name for path in tmp_path.iterdir()] == ["many.csv"]


def test_fewer_questions_than_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _saved(long_frame({("x", "a"): 0.25, ("x", "b"): 0.75, ("y", "a"): 0.5}), tmp_path / "f.csv")
    monkeypatch.setattr(all_answers, "ROOM", 1)
    pooled = aggregate_table(path, "mean")
    assert by_question(pooled) == {"x": 0.5, "y": 0.5}
    assert pooled.answers.tolist() == [2, 1]


def test_a_table_without_questions() -> None:
    nothing = np.zeros(0)
    none = ForecastTable([], ["ann"], nothing.astype(int), nothing.astype(int), nothing, nothing)
    assert list(none.groups()) == []
    assert aggregate_table(none).columns() == {"question_id": [], "forecast": [], "forecasters": []}


def test_a_temporary_folder_that_cannot_be_used(many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.warns(RowsLeftOutWarning):
        aggregate_table(many, clip=0)  # which needs none
    (tmp_path / "many.csv.gz").write_bytes(gzip.compress(many.read_bytes()))
    with input_error(r"^'.*gz' needs a temporary folder, set by TMPDIR; it cannot be used \(No such file .*\)\.$"):
        aggregate_table(tmp_path / "many.csv.gz")


def test_what_a_killed_process_left_behind_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    for process in (ended.pid, os.getpid()):
        (tmp_path / f"{own_prefix().rsplit('-', 2)[0]}-{process}-abc").mkdir()
    (tmp_path / "robustpool-notes").mkdir()
    read_forecasts(long_frame({("x", "a"): 0.25}))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([f"{own_prefix()}abc", "robustpool-notes"])


# ------------------------------------------------------------------------------------------------------- the table itself


def columns(**changes: Any) -> dict[str, Any]:
    """The columns of a table with two answers to the first question and one to the second."""
    return {
        "questions": ["rain", "snow"],
        "forecasters": ["ann", "bob"],
        "question": np.array([0, 0, 1]),
        "forecaster": np.array([0, 1, 0]),
        "probability": np.array([0.7, 0.6, 0.1]),
        "outcome": np.array([1.0, np.nan]),
        "weight": np.array([1.0, 2.0, 3.0]),
        "timestamp": np.array([0.0, np.nan, 1.0]),
        "cluster": np.array([4, 4]),
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"forecaster": np.array([0, 1])}, r"column forecaster of a forecast table must have 3 entries; it has 2\."),
        ({"outcome": np.zeros(3)}, r"column outcome of a forecast table must have 2 entries; it has 3\."),
        (
            {"question": np.array([0, 1, 0])},
            r"the rows of a forecast table must be ordered by question; row 2 is of question 0, row 1 of question 1 \(1 of 3 rows\)\.",
        ),
        ({"question": np.array([0, 1, 2])}, r"question must be the number of one of the 2 questions, from 0; row 2 is 2 \(1 of 3 rows\)\."),
        ({"question": np.array([-1, 0, 1])}, r"question must be .*; row 0 is -1 \(1 of 3 rows\)\."),
        ({"forecaster": np.array([0, 9, 9])}, r"forecaster must be the number of one of the 2 forecasters, from 0; row 1 is 9 \(2 of 3 rows\)\."),
        ({"forecaster": np.zeros(3)}, r"column forecaster of a forecast table must have whole numbers; it has the type float64\."),
        ({"cluster": np.array(["a", "b"])}, r"column cluster of a forecast table must have whole numbers; it has the type <U1\."),
        ({"probability": np.array([0.5, 1.2, -1])}, r"probability must lie in \[0, 1\]; row 1 \(question rain, forecaster bob\) is 1\.2 \(2 of 3 rows\)\."),
        ({"probability": np.array([0.5, 0.5, np.nan])}, r"probability must lie in \[0, 1\]; row 2 \(question snow, forecaster ann\) is nan \(1 of 3 rows\)\."),
        ({"outcome": np.array([1, 0.5])}, r"outcome must be 0, 1 or NaN; that of question snow is 0\.5 \(1 of 2 questions\)\."),
        ({"weight": np.array([1.0, 0, 1])}, r"weight must be positive and finite; row 1 \(question rain, forecaster bob\) is 0 \(1 of 3 rows\)\."),
        ({"weight": np.array([np.nan, 1, np.inf])}, r"weight must be positive and finite; row 0 .* is nan \(2 of 3 rows\)\."),
        ({"timestamp": np.array([0, np.inf, 1])}, r"timestamp must be finite or NaN; row 1 .* is inf \(1 of 3 rows\)\."),
    ],
)  # fmt: skip
def test_a_table_is_checked_when_it_is_made(changes: dict[str, Any], sentence: str) -> None:
    with input_error(f"^{sentence}$"):
        ForecastTable(**columns(**changes))


def test_a_table_is_read_only_and_the_callers_arrays_are_not() -> None:
    given_columns = columns()
    table = ForecastTable(**given_columns)
    for name, array in given_columns.items():
        if isinstance(array, np.ndarray):
            kept = getattr(table, name)
            assert array.flags.writeable, name
            assert not kept.flags.writeable, name
            assert not np.shares_memory(array, kept), name
    read = read_forecasts(long_frame({("x", "a"): 0.25, ("x", "b"): 0.75}))
    with pytest.raises(ValueError, match="read-only"):
        read.probability[0] = 2
    assert np.shares_memory(ForecastTable(**columns(probability=table.probability)).probability, table.probability)
    view = columns()["probability"][:]
    view.flags.writeable = False  # which its owner can still change
    assert not np.shares_memory(ForecastTable(**columns(probability=view)).probability, view)


def test_the_age_of_an_answer_multiplies_its_weight() -> None:
    day = 86_400.0
    table = ForecastTable(
        ["q", "r"], ["a", "b"], np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([0.5, 0.5, 0.5]), np.array([0.0, 1.0]),
        weight=np.array([2.0, 3.0, 5.0]), timestamp=np.array([0.0, 3 * day, day]),
    )  # fmt: skip
    assert weigh_by_age(table, half_life=1.5).weight == pytest.approx([0.5, 3, 5])  # 3 days are two half-lives


def test_old_answers_of_little_weight_keep_some() -> None:
    table = ForecastTable(**columns(weight=np.full(3, 1e-300), timestamp=np.array([0.0, 1e10, 0.0])))
    weight = weigh_by_age(table, half_life=1).weight
    assert weight is not None
    assert (weight > 0).all()


# --------------------------------------------------------------------------------------------------------- kinds of value


def test_frames_with_types_of_their_own() -> None:
    frame = pl.DataFrame(
        {
            "question_id": pl.Series(["x", "x", "y"], dtype=pl.Categorical),
            "forecaster_id": [1.0, 2.0, 1.0],
            "probability": pl.Series([0.5, None, 0.25], dtype=pl.Float32),
            "outcome": [True, True, None],
            "timestamp": [datetime(2024, 1, day, tzinfo=UTC) for day in (1, 2, 3)],
        }
    )
    table = read_forecasts(frame)
    assert table.forecasters == ["1", "2"]
    assert table.outcome.tolist()[0] == 1
    assert np.isnan(table.outcome[1])
    assert table.timestamp is not None
    assert table.timestamp.tolist() == [1704067200, 1704240000]
    pandas = frame.with_columns(pl.col("question_id").cast(pl.String)).to_pandas()
    assert as_answers(read_forecasts(pandas)) == as_answers(table)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        *((written, 1704067200) for written in ("2024-01-01", "20240101", " 1704067200 ", "2024-01-01T00:00:00Z")),
        *((written, 1704067200) for written in ("2024-01-01T01:00:00+01:00", "2024-01-01 00:00:00+00:00")),
        ("2024-01-01T00:00:00.5", 1704067200.5),
        ("1704067200.25", 1704067200.25),
        ("20240101.0", 1704067200),
        ("19000101", -2208988800),
        ("21001231", 4133894400),
        ("18991231", 18991231),
        ("20240101.5", 20240101.5),
    ],
)
def test_times_in_every_spelling(written: str, seconds: float, tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text(f"question_id,forecaster_id,probability,timestamp\nq,a,0.5,{written}\nq,b,0.5,2024-05-05\n")
    table = read_forecasts(path)
    assert table.timestamp is not None
    assert table.timestamp[0] == seconds
    assert table.rejected.total == 0


def times(said: Any) -> tuple[list[float | None], list[bool]]:
    """What is read of these timestamps, and which are rejected."""
    frame = pl.DataFrame({"question": list(range(len(said))), "user": "a", "p": 0.5, "timestamp": said}, strict=False)
    extra = pl.DataFrame({"question": [-1], "user": "a", "p": 0.5, "timestamp": ["1970-01-01"]})
    if frame.schema["timestamp"] == pl.String:
        frame = pl.concat([frame, extra])
    table = read_forecasts(frame)
    assert table.timestamp is not None
    seconds = {int(table.questions[q]): t for q, t in zip(table.question, table.timestamp.tolist(), strict=True)}
    rejected = {each.line for each in table.rejected}
    return [seconds.get(i) for i in range(len(said))], [i in rejected for i in range(len(said))]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 10**11 - 1).filter(lambda n: not 19000101 <= n <= 21001231), min_size=1), st.booleans())
def test_seconds_are_seconds_whatever_their_digits_look_like(seconds: list[int], fraction: bool) -> None:
    said = [f"{second}.5" if fraction else str(second) for second in seconds]
    values, wrong = times(said)
    assert values == [float(text) for text in said]
    assert not any(wrong)


@pytest.mark.parametrize("kind", ["csv", "ints", "floats", "with a gap", "polars"])
def test_a_day_is_a_day_whatever_it_comes_from(kind: str, tmp_path: Path) -> None:
    frame = long_frame({("q", "a"): 0.5, ("q", "b"): 0.25, ("q", "c"): 0.75})
    days: list[float | None] = [20240131, 20240202, 20240230]
    frame["timestamp"] = [*days[:1], None, *days[2:]] if kind == "with a gap" else days
    if kind == "floats":
        frame["timestamp"] = frame["timestamp"].astype(float)
    sources: dict[str, Any] = {"csv": _saved(frame, tmp_path / "f.csv"), "polars": pl.from_pandas(frame)}
    source = sources.get(kind, frame)
    table = read_forecasts(source)
    assert table.timestamp is not None
    assert table.timestamp[0] == datetime(2024, 1, 31, tzinfo=UTC).timestamp()
    (reason,) = (each.reason[-13:] for each in table.rejected.first)
    assert reason in (" is 20240230", "is 20240230.0", ") is 20240230")
    for as_of in (20240201, 20240201.0, "20240201", "2024-02-01"):
        assert list(as_answers(read_forecasts(source, as_of=as_of))) == [("q", "a")]


ZONES = [None, *(timezone(timedelta(minutes=minutes)) for minutes in (0, 120, -300, 345, -1439))]


@settings(max_examples=10, deadline=None)
@given(st.lists(st.tuples(st.integers(-(10**9), 10**10), st.sampled_from(ZONES)), min_size=1), st.booleans())
def test_times_with_and_without_zones(moments: list[tuple[int, timezone | None]], gap: bool) -> None:
    said = [
        datetime.fromtimestamp(second, zone or UTC).isoformat(" ").removesuffix("" if zone else "+00:00")
        for second, zone in moments
    ]
    said += ["NA", ""] if gap else []
    seconds = [float(second) for second, _ in moments] + [np.nan] * (2 * gap)
    values, wrong = times([*said, "soon"])
    np.testing.assert_array_equal(values[:-1], seconds)
    assert wrong == [False] * len(said) + [True]


@pytest.mark.parametrize(
    "column",
    [np.array([0.99e11, 1.01e11]), ["99000000000", "101000000000"], ["99000000000", "101000000000", "soon"]],
    ids=["numbers", "text", "with a word"],
)
def test_milliseconds_are_no_seconds(column: Any) -> None:
    values, wrong = times(column)
    assert wrong[:2] == [False, True]
    assert values[0] == 0.99e11


def test_spellings_of_iso_8601_that_the_engine_does_not_read_by_itself() -> None:
    said = ["20240101T000000", "20240101T000000Z", "20240101T0000", "2024-01-01T00", "2024-01-01 00"]
    assert times(said)[0] == [1704067200] * 5
    assert times(["2024-W01-1", "2024-01-01+01:00"])[1] == [True, True]  # and those are told


def test_outcomes_in_every_spelling(tmp_path: Path) -> None:
    said = ["1", "1.00", "TRUE", "yes", " Y ", "0", "0.000", "False", "no", "", "NA"]
    rows = "".join(f"q{i},ann,0.5,{text}\n" for i, text in enumerate(said))
    (tmp_path / "f.csv").write_text(f"question,user,p,resolution\n{rows}")
    table = read_forecasts(tmp_path / "f.csv")
    np.testing.assert_array_equal(table.outcome, [1] * 5 + [0] * 4 + [np.nan] * 2)


def test_the_index_of_pandas_names_the_questions_only_if_nothing_else_does() -> None:
    wide = pd.DataFrame({"ann": [0.25, 0.5], "bob": [0.5, 1]})
    assert read_forecasts(wide).questions == ["0", "1"]
    assert read_forecasts(wide.set_index(pd.Index(["x", "y"]))).questions == ["x", "y"]
    resolved = read_forecasts(wide.assign(resolution=["yes", "no"]))
    assert (resolved.questions, resolved.outcome.tolist()) == (["0", "1"], [1, 0])
    named = pd.DataFrame({"title": ["x", "y"], **wide}).iloc[[1, 0]]
    assert read_forecasts(named).questions == ["y", "x"]
    long = long_frame({("x", "ann"): 0.5, ("y", "ann"): 0.25})
    assert read_forecasts(long.iloc[[1]]).questions == ["y"]
    assert read_forecasts(long.set_index(["question_id", "forecaster_id"])).questions == ["x", "y"]


def test_columns_with_other_names(tmp_path: Path) -> None:
    path = tmp_path / "f.tsv"
    path.write_text("item\twho\tchance\tnote\nq1\tann\t0.5\tx\n")
    columns = {"question_id": "item", "forecaster_id": "who", "probability": "chance"}
    table = read_forecasts(path, columns=columns)
    assert as_answers(table) == {("q1", "ann"): 0.5}
    assert table.tally.ignored == ("note",)
    assert read_forecasts(table) is table


# ------------------------------------------------------------------------------------------------------------- pooling


@pytest.fixture
def wide() -> pd.DataFrame:
    reports = {"ann": [0.7, 0.0, 0.2], "bob": [0.6, 1.0, np.nan]}
    return pd.DataFrame({"question_id": ["x", "y", "z"], **reports, "outcome": [1, 0, np.nan]})


def test_one_forecast_a_question_in_the_library_of_the_frame(wide: pd.DataFrame) -> None:
    for frame in (wide, pl.from_pandas(wide), pa.Table.from_pandas(wide)):
        sentence = r"is 0\.5; question y has both \(1 of 3 questions\)\.$"
        with pytest.warns(ContradictionWarning, match=sentence) as caught:
            pooled: Any = aggregate_table(frame, clip=0)
        assert [str(each.filename) for each in caught] == [__file__]
        assert type(pooled) is type(frame)
        rows = pooled if isinstance(pooled, pd.DataFrame) else pooled.to_pandas()
        assert list(rows) == ["question_id", "forecast", "forecasters", "outcome"]
        assert rows["forecast"].tolist() == [aggregate([0.7, 0.6]), 0.5, 0.2]
        assert rows["forecasters"].tolist() == [2, 2, 1]
    with pytest.warns(ContradictionWarning):
        assert aggregate_table(wide, "mean", clip=0.1)["forecast"].tolist()[1] == 0.5


def test_a_table_is_clipped_as_single_questions_are(wide: pd.DataFrame) -> None:
    table = read_forecasts(wide)
    sentence = r"^2 of 5 answers were clipped to \[0\.01, 0\.99\]; clip=0 turns this off\.$"
    with pytest.warns(ClippedWarning, match=sentence) as caught:
        pooled = aggregate_table(table)
    assert [str(each.filename) for each in caught] == [__file__]
    assert pooled.clipped == 2
    assert pooled.forecasts.tolist() == [aggregate([0.7, 0.6]), aggregate([0.01, 0.99]), 0.2]
    assert aggregate_table(table, clip=0.01).clipped == 2  # who asks for it is not warned
    assert aggregate_table(table, clip=0.25).clipped == 3
    with pytest.warns(ContradictionWarning):
        assert aggregate_table(table, "mean", clip=0.25).clipped == 0


def test_a_design_answers_the_questions_that_it_is_made_for(wide: pd.DataFrame) -> None:
    design = GridAggregator(np.array([[0.0, 0.5], [0.5, 1.0]]))
    table = read_forecasts(wide)
    sentence = r"the rule is for 2 answers per question; question z has 1 \(1 of 3 questions have no forecast\)"
    with pytest.warns(UserWarning, match=sentence):
        pooled = aggregate_table(table, design)
    assert pooled.forecasts[:2] == pytest.approx([0.65, 0.5])
    assert np.isnan(pooled.forecasts[2])
    assert pooled.unfit == 1
    with input_error(r"^the rule is for 3 answers per question; question z has 1 \(no question has 3\)\.$"):
        aggregate_table(table, GridAggregator(np.full((2, 2, 2), 0.5)))


def test_weights_of_the_table_are_used(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("question_id,forecaster_id,probability,weight\nq1,a,0.2,3\nq1,b,0.6,1\n")
    assert aggregate_table(tmp_path / "f.csv", "mean").forecasts == pytest.approx([0.3])
    with pytest.warns(UserWarning, match=r"^the weights of the table were not used: this rule accepts none\.$"):
        assert aggregate_table(tmp_path / "f.csv", "median").forecasts == pytest.approx([0.4])
    with input_error(r"^half_life needs weights, which this rule does not accept\.$"):
        aggregate_table(tmp_path / "f.csv", "median", half_life=3)


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.parquet"])
def test_what_is_written_can_be_read(tmp_path: Path, name: str) -> None:
    table = read_forecasts(long_frame({("a,b", "x"): 0.5, ("c", "x"): 0.25}))
    aggregate_table(table).write(tmp_path / name)
    separator = "\t" if name.endswith("tsv") else ","
    read = pd.read_parquet(tmp_path / name) if "parquet" in name else pd.read_csv(tmp_path / name, sep=separator)
    assert read.to_dict("list") == {"question_id": ["a,b", "c"], "forecast": [0.5, 0.25], "forecasters": [1, 1]}
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("kind", one_of(2, [pl.Int64, pl.Int32, pl.UInt8]))
def test_whole_numbers_come_back_as_whole_numbers(tmp_path: Path, kind: Any) -> None:
    frame = pl.DataFrame({"question_id": [7, 7, 3], "forecaster_id": list("aba"), "probability": [0.5, 0.5, 0.25]})
    frame = frame.with_columns(pl.col("question_id").cast(kind))
    joined = frame.join(aggregate_table(frame), on="question_id")
    assert joined["forecast"].to_list() == [0.5, 0.5, 0.25]
    assert frame.to_pandas().merge(aggregate_table(frame.to_pandas())).shape == (3, 5)
    assert aggregate_table(frame.to_arrow()).schema.field("question_id").type == frame.to_arrow()["question_id"].type
    frame.write_parquet(tmp_path / "f.parquet")
    pooled = aggregate_table(tmp_path / "f.parquet")
    pooled.write(tmp_path / "out.parquet")
    assert pl.read_parquet(tmp_path / "out.parquet").schema["question_id"] == kind
    pooled.write(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines()[1:] == ["7,0.5,2", "3,0.25,1"]
    assert aggregate_table(read_forecasts(frame)).columns()["question_id"] == [7, 3]
    with pytest.warns(RowsLeftOutWarning, match="question_id must not be empty"):
        gap = aggregate_table(pl.DataFrame({"question": [7, None], "user": ["a", "b"], "p": [0.5, 0.5]}))
    assert gap["question_id"].to_list() == [7]


def test_a_library_that_is_none() -> None:
    pooled = aggregate_table(read_forecasts(long_frame({("a", "x"): 0.5})))
    with input_error(r"^a data frame of 'excel' cannot be made"):
        pooled.frame("excel")


def test_the_pieces_of_a_frame_keep_their_order() -> None:
    names = [[f"q{piece}-{i}" for i in range(3)] for piece in range(8)]
    frame = pl.concat([pl.DataFrame({"question": some, "user": "a", "p": 0.5}) for some in names], rechunk=False)
    for _ in range(8):
        assert read_forecasts(frame).questions == frame["question"].to_list()


@pytest.mark.parametrize("name", list(FORMATS))
def test_no_format_makes_the_engine_lose_the_order_of_the_rows(name: str, tmp_path: Path) -> None:
    columns = {alias: role for role, aliases in FORMATS[name].roles.items() for alias in aliases[:1]}
    header = list(columns) + [each for each in FORMATS[name].extras.values() if each not in columns]
    header = list(dict.fromkeys([*header, *FORMATS[name].signs, "B365H", "B365D", "B365A", "task"]))
    values = {"probability": "0.5", "timestamp": "2024-01-01", "outcome": "1", "weight": "1"}
    row = [values.get(columns.get(each, ""), "0.5" if each == "value" else "x") for each in header]
    (tmp_path / "f.csv").write_text(",".join(header) + "\n" + ",".join(row) + "\n")
    with answers_of(tmp_path / "f.csv", Reading(format=name)) as found:
        plan = str(found.engine.rows(f"EXPLAIN {found.entries.query.replace('TABLE entries', 'TABLE again', 1)}"))
    assert "Projection" in plan
    assert "Join" not in plan


@pytest.mark.slow
def test_rows_that_are_read_in_parallel_keep_their_order(tmp_path: Path) -> None:
    rows = 2_500_000  # several pieces of what the engine reads at a time
    path = tmp_path / "f.csv"
    with path.open("w") as file:
        file.write("question_id,forecaster_id,probability\n")
        file.writelines(f"{i:08d},f{i % 7},0.5\n" for i in range(rows))
    with answers_of(path, Reading()) as found:
        assert found.engine.rows("SELECT count(*) FROM entries WHERE question::INTEGER <> rowid") == [(0,)]
        plan = found.engine.rows(f"EXPLAIN {found.entries.query.replace('entries', 'again', 1)}")
        assert "HASH_JOIN" not in str(plan)


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", "\tx"])
def test_what_a_spreadsheet_would_run_is_neutralised(name: str, tmp_path: Path) -> None:
    options = [(name, "other")]
    plain = PooledTable([name, "q"], np.array([0.5, np.nan]), np.array([1, 0]), np.array([np.nan, np.nan]), 1)
    with_options = PooledTable(["q"], np.array([[0.5, 0.5]]), np.array([1]), np.array([1.0]), 1, options=options)
    plain.write(tmp_path / "f.csv")
    assert pd.read_csv(tmp_path / "f.csv")["question_id"].tolist() == [f"'{name}", "q"]
    with_options.write(tmp_path / "f.csv")
    assert pd.read_csv(tmp_path / "f.csv")["option"].tolist() == [f"'{name}", "other"]
    plain.write(tmp_path / "f.parquet")  # which no spreadsheet runs
    assert pl.read_parquet(tmp_path / "f.parquet")["question_id"].to_list() == [name, "q"]
    RowsLeftOut({}, (Rejection(1, f"{name} is wrong"),)).write(tmp_path / "r.csv")
    assert pd.read_csv(tmp_path / "r.csv")["reason"].tolist() == [f"'{name} is wrong"]
