"""``robustpool compare`` as a user meets it: a table, an advice, JSON, a report, and one sentence for what is wrong."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner

import robustpool.evaluation.comparison as comparing
from robustpool.cli import main
from robustpool.cli.app import app
from robustpool.cli.progress import share_bar
from robustpool.errors import InputError
from robustpool.tables.reading import read_forecasts
from robustpool.views import render
from robustpool.views.comparison import as_data, as_lines, naming_file
from robustpool.views.comparison_page import comparison_page
from test_compare_report import comparison

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

RULES = ("mean", "minimax", "geometric-odds")
QUICK = ("--draws", "200", "--recalibrate", "auto", *(word for rule in RULES for word in ("--rule", rule)))
NOTHING_REJECTED: Any = {"total": 0, "counts": {}, "first": []}
RULE_FIELDS = {
    "name", "brier", "brier_low", "brier_high", "brier_by_forecast", "brier_by_forecast_low", "brier_by_forecast_high",
    "log", "log_low", "log_high", "log_is_infinite", "certain_and_wrong", "reliability", "resolution", "uncertainty",
    "log_reliability", "log_resolution", "log_uncertainty", "slope", "slope_low", "slope_high", "intercept", "auc", "sharpness", "difference", "difference_low", "difference_high", "verdict",
    "tied_with_best",
}  # fmt: skip
FIELDS = {
    "rules", "recalibrated", "individuals", "advice", "questions", "left_out", "forecasters", "answers", "pairs", "clip",
    "seed", "draws", "reference", "unscored", "rejected", "output", "base_rate", "base_rate_brier", "up_to_two", "up_to_three",
}  # fmt: skip


def simulated(questions: int, forecasters: int, *, confidence: float = 1.0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Answers (questions, forecasters) of people whose evidence is independent given the outcome, and the outcomes.

    The base rate is 1/2 and a signal is normal with mean +-1/2 and variance 1, so that the log-odds are the signal. With
    a confidence of 1 the answers are calibrated; above it they are over-confident.
    """
    rng = np.random.default_rng(7)
    outcomes = rng.integers(0, 2, questions)
    signals = rng.normal((outcomes - 0.5)[:, None], 1.0, (questions, forecasters))
    return 1 / (1 + np.exp(-confidence * signals)), outcomes


def write_csv(path: Path, answers: NDArray[Any], outcomes: NDArray[Any], *, names: str | None = None) -> str:
    """A long table, with a topic for every three questions."""
    rows = [names or "question_id,forecaster_id,probability,outcome,topic"]
    rows += [f"q{q},f{k},{p:.4f},{outcomes[q]},t{q // 3}" for (q, k), p in np.ndenumerate(answers)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def calibrated(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_csv(tmp_path_factory.mktemp("data") / "calibrated.csv", *simulated(150, 4))


@pytest.fixture(scope="module")
def overconfident(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_csv(tmp_path_factory.mktemp("data") / "overconfident.csv", *simulated(150, 4, confidence=3.0))


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["compare", *arguments])


def run_json(*arguments: str) -> Any:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


# --- JSON -------------------------------------------------------------------------------------------------------------


def test_json_has_the_fields_that_were_promised(overconfident: str) -> None:
    data = run_json(overconfident, *QUICK)
    assert set(data) >= FIELDS
    assert [data[key] for key in ("questions", "left_out", "forecasters", "answers")] == [150, 0, 4, 600]
    assert [data[key] for key in ("pairs", "clip", "seed", "draws", "reference")] == [None, 0.01, 0, 200, "mean"]
    assert (data["rejected"], data["output"]) == (NOTHING_REJECTED, None)
    assert isinstance(data["advice"], str)
    assert {rule["name"] for rule in data["rules"]} == {rule["name"] for rule in data["recalibrated"]} == set(RULES)
    for rule in (*data["rules"], *data["recalibrated"]):
        assert set(rule) >= RULE_FIELDS
        assert rule["brier_low"] <= rule["brier"] <= rule["brier_high"]
        assert rule["brier"] == pytest.approx(rule["reliability"] - rule["resolution"] + rule["uncertainty"])
        log_parts = rule["log_reliability"] - rule["log_resolution"] + rule["log_uncertainty"]
        assert rule["log"] == pytest.approx(log_parts)
        assert rule["log_is_infinite"] is False
    assert [rule["brier"] for rule in data["rules"]] == sorted(rule["brier"] for rule in data["rules"])
    assert data["individuals"]["slope_high"] < 1  # over-confident
    assert {"stretch", "stretch_low", "stretch_high"} <= set(data["individuals"])
    assert data["individuals"]["one_answer"] == 0
    assert {"slope", "dependence", "dependence_low", "dependence_high", "certain", "brier"} <= set(data["individuals"])


def test_json_is_the_comparison(calibrated: str) -> None:
    chosen: Any = {"rules": RULES, "draws": 200, "pairs": 3, "clip": 0.02, "seed": 5, "recalibrate": "none"}
    record = naming_file(comparing.compare(read_forecasts(calibrated), **chosen, reference="minimax"), calibrated)
    options = ("--pairs", "3", "--clip", "0.02", "--seed", "5", "--recalibrate", "none", "--reference", "minimax")
    data = run_json(calibrated, *QUICK, *options)
    as_printed = json.loads(json.dumps(as_data(record)))
    assert data == {**as_printed, "rejected": NOTHING_REJECTED, "rejects": None, "output": None}
    assert data["recalibrated"] == []
    assert {rule["name"]: rule["verdict"] for rule in data["rules"]}["minimax"] == "reference"


def test_what_json_does_not_have_is_null(tmp_path: Path) -> None:
    answers, outcomes = simulated(20, 2)
    answers[0] = 1 - outcomes[0]  # both certain, and wrong
    rule = run_json(write_csv(tmp_path / "f.csv", answers, outcomes), "--rule", "mean", "--draws", "200")["rules"][0]
    assert [rule[key] for key in ("log", "log_is_infinite", "certain_and_wrong")] == [None, True, 1]
    assert [rule[f"log_{part}"] for part in ("reliability", "resolution", "uncertainty")] == [None] * 3


def test_clusters_columns_and_percentages(tmp_path: Path, calibrated: str) -> None:
    whole = run_json(calibrated, *QUICK, "--cluster", "topic")
    assert whole["clusters"] == 50
    answers, outcomes = simulated(150, 4)
    names = "question_id,forecaster_id,p,result,topic"
    other = write_csv(tmp_path / "f.csv", (100 * answers).round(2), outcomes, names=names)
    columns = ("--column", "probability=p", "--column", "outcome=result", "--column", "cluster=topic")
    again = run_json(other, *QUICK, *columns, "--percent")
    first, second = ([rule["brier"] for rule in data["rules"]] for data in (again, whole))
    assert first == pytest.approx(second, abs=1e-4)
    assert again["clusters"] == 50


# --- for people -------------------------------------------------------------------------------------------------------


def test_the_text_has_the_table_and_the_advice(overconfident: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    data, done = run_json(overconfident, *QUICK), run(overconfident, *QUICK)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    start = next(place for place, line in enumerate(lines) if not line) + 1
    assert lines[start].startswith("150 questions with an outcome, 4 forecasters, 600 answers; the event happened in ")
    head = next(place for place, line in enumerate(lines) if line.startswith("   rule"))
    for rule, line in zip(data["rules"], lines[head + 1 :], strict=False):
        assert line.lstrip("* ").split()[:2] == [rule["name"], f"{rule['brier']:.4f}"]
        assert line.startswith(" * ") == rule["tied_with_best"]
        assert line.endswith(rule["verdict"])
    assert "After recalibration (slope, fitted on other questions" in done.stdout
    assert lines[0].startswith("What to do: ")
    assert data["advice"].startswith("What to do: ")
    beginning = f"    robustpool aggregate {overconfident} --rule "
    commands = [line.strip() for line in lines[:start] if line.startswith(beginning)]
    assert commands  # in one piece, to be copied
    assert all(f"`{command}`" in data["advice"] for command in commands)
    assert f"Always forecasting the base rate scores {data['base_rate_brier']:.4f}." in lines
    why = " ".join(done.stdout.split("\n\n")[-1].split())
    assert data["advice"].endswith(why)
    assert why.endswith("This is measured, not proved; if questions are related, name a cluster column.")


def test_the_command_names_the_file_and_how_it_was_read(tmp_path: Path) -> None:
    record = comparison(advice=("Do: `robustpool aggregate FILE --rule mean`.", "As said."))
    file = tmp_path / "my file.csv"
    assert naming_file(record, str(file), percent=True) == record  # nothing that could be read again
    file.touch()
    how = {"layout": "auto", "format": "gjp", "column": {"cluster": "a b"}, "percent": True, "strict": False}
    named = naming_file(record, str(file), **how)
    options = "--format gjp --column 'cluster=a b' --percent"
    assert named.advice == (f"Do: `robustpool aggregate '{file}' {options} --rule mean`.", "As said.")


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_lines_fit_into_the_terminal(width: int) -> None:
    record = comparison(notes=("A note that is " + "very " * 30 + "long.",))
    lines = as_lines(record, width)
    assert max(map(len, lines)) <= max(width, 46)  # a long name stays in one piece
    heads = [line for line in lines if line.startswith("   rule")]
    assert len(heads) == 2
    assert all(("interval" in head) == (width >= 80) for head in heads)
    assert all(head.endswith("against mean") for head in heads)
    assert all(head.count("interval") == (width >= 80) + (width >= 120) for head in heads)
    if width == 80:  # the paired interval, which is the narrow one
        assert all(head.index("minus mean") < head.index("interval") for head in heads)
    assert " ".join(record.advice) in " ".join(" ".join(lines).split())
    assert all(line.isascii() for line in lines)
    end = next(place for place, line in enumerate(lines) if "After" in line)
    starred = [line.split()[1] for line in lines[:end] if " * " in line]
    assert starred == [rule.name for rule in record.rules if rule.tied_with_best]


def test_rejected_rows_are_told_on_standard_error(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    write_csv(path, *simulated(20, 2))
    with path.open("a", encoding="utf-8") as file:
        file.write("q3,f9,1.2,1,t1\nq4,f9,abc,1,t1\n")
    done = run(str(path), *QUICK, "--json")
    assert done.exit_code == 0, done.output
    rejected = json.loads(done.stdout)["rejected"]
    assert (rejected["total"], sum(rejected["counts"].values())) == (2, 2)
    assert [row["line"] for row in rejected["first"]] == [42, 43]
    assert "2 of 42 rows were left out" in done.stderr
    assert isinstance(run(str(path), *QUICK, "--strict").exception, InputError)


def test_progress_goes_to_standard_error(calibrated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustpool.cli.compare.share_bar", lambda: share_bar(patience=0.0))
    done = run(calibrated, *QUICK, "--json")
    assert json.loads(done.stdout)["questions"] == 150
    assert {"reading", "minimax", "bootstrapping the questions"} <= set(done.stderr.splitlines())


def test_help_has_examples() -> None:
    done = run("--help")
    assert done.exit_code == 0
    assert "robustpool compare forecasts.csv --report forecasts.html" in done.stdout


# --- the report -------------------------------------------------------------------------------------------------------


def test_the_report_is_the_page_of_the_comparison(overconfident: str, tmp_path: Path) -> None:
    report = tmp_path / "new" / "page.html"
    done = run(overconfident, *QUICK, "--recalibrate", "none", "--report", str(report))
    assert done.exit_code == 0, done.output
    assert f"The report is in {report}" in done.stdout
    record = comparing.compare(read_forecasts(overconfident), rules=RULES, draws=200, recalibrate="none")
    page = comparison_page(record, title="Rules compared on overconfident.csv", rejected=0)
    assert report.read_text(encoding="utf-8") == render(page)


# --- what is wrong ----------------------------------------------------------------------------------------------------


BAD = [
    ("none.csv", "none.csv"),
    ("{csv} --pairs 0", "Invalid value for '--pairs'"),
    ("{csv} --draws 1", "Invalid value for '--draws'"),
    ("{csv} --clip 0.7", "Invalid value for '--clip'"),
    ("{csv} --recalibrate magic", "recalibrate must be one of auto, none, slope, platt, isotonic; it is 'magic'."),
    ("{csv} --rule magic", "rule must be one of robust, minimax, minimax-log, mean,"),
    ("{csv} --reference magic", "rule must be one of robust, minimax, minimax-log, mean,"),
    ("{csv} --report notes.html", "--report must be a new file or an HTML page; 'notes.html' is neither."),
    ("{csv} --report page.pdf", "--report must name an HTML file; it is 'page.pdf'."),
    ("{csv} --report {csv}", "--report must name an HTML file"),
    ("{csv} --column p", "--column must be written as role=name, such as probability=p; it is 'p'."),
    ("{csv} --column cluster=a --cluster b", "a role must be given once; cluster is 'a' and 'b'."),
]


@pytest.mark.parametrize(("arguments", "sentence"), BAD, ids=[arguments for arguments, _ in BAD])
def test_bad_input_gets_one_sentence_and_status_2(
    arguments: str,
    sentence: str,
    calibrated: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "notes.html").write_text("mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["robustpool", "compare", *arguments.format(csv=calibrated).split()])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("robustpool: ")
    assert err.count("\n") == 1
    assert sentence in err
    assert [file.read_text() for file in tmp_path.iterdir()] == ["mine"]


def test_ctrl_c_ends_with_a_sentence_and_status_130(
    calibrated: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(comparing, "compare", interrupt)
    monkeypatch.setattr(sys, "argv", ["robustpool", "compare", calibrated])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 130
    assert "stopped before there was a result" in capsys.readouterr().err
