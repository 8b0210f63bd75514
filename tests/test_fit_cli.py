"""``robustpool fit``, and what other commands do with the pool that it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import robustpool as rp
import worlds
from robustpool.cli.app import app

if TYPE_CHECKING:
    from robustpool.tables.records import ForecastTable


def frame_of(table: ForecastTable) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "question_id": np.array(table.questions)[table.question],
            "forecaster_id": np.array(table.forecasters)[table.forecaster],
            "probability": table.probability,
            "outcome": table.outcome[table.question].astype(int),
        }
    )
    if table.timestamp is not None:
        frame["timestamp"] = pd.to_datetime(table.timestamp, unit="s", utc=True).strftime("%Y-%m-%dT%H:%M:%SZ")
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a timid crowd, one with skilled people in it, and one with dates."""
    folder = tmp_path_factory.mktemp("fit")
    rng = np.random.default_rng(0)
    frame_of(worlds.independent(rng, 150).table).to_csv(folder / "plain.csv", index=False)
    frame_of(worlds.skilled(rng, 400).table).to_csv(folder / "skilled.csv", index=False)
    frame_of(worlds.drifting(rng, 200).table).to_csv(folder / "dated.csv", index=False)
    return folder


def run(*words: str) -> Any:
    return CliRunner().invoke(app, [*words], env={"COLUMNS": "120"})


def run_json(*words: str) -> dict[str, Any]:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


def test_json_has_the_fields_that_were_promised_and_the_numbers_of_the_pool(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "pool.json"
    data = run_json("fit", str(folder / "plain.csv"), "--out", str(out))
    pool = rp.load_pool(out)
    assert data["output"] == str(out)
    assert (data["chosen"], data["brier"]) == (pool.chosen, pool.brier.value)
    assert (data["gain"], data["gain_low"], data["gain_high"]) == tuple(pool.over_mean)
    assert pool.over_mean == rp.fit(str(folder / "plain.csv")).over_mean
    assert data["better"] is True
    assert data["rejected"]["total"] == 0
    assert data["questions"] == 150


def test_the_pool_combines_new_answers(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "pool.json"
    run_json("fit", str(folder / "plain.csv"), "--out", str(out))
    pool = rp.load_pool(out)
    number = run_json("aggregate", "0.7", "0.6", "--rule", str(out))["forecast"]
    assert number == pool.aggregate([0.7, 0.6])
    done = run("aggregate", "0.7", "0.6", "--rule", str(out), "--clip", "0.2")
    assert float(done.stdout) == pytest.approx(number, abs=1e-5)
    assert run_json("aggregate", "0.995", "0.6", "--rule", str(out))["clipped"] == 1
    table = run_json("aggregate", str(folder / "plain.csv"), "--rule", str(out), "-o", str(tmp_path / "out.csv"))
    assert table["questions"] == 150
    pooled = pd.read_csv(tmp_path / "out.csv")
    expected = pool.aggregate(rp.read_forecasts(folder / "plain.csv"), clip=0.01).forecasts
    np.testing.assert_allclose(pooled["forecast"], expected)


def test_the_sentences_about_new_and_absent_forecasters_go_to_standard_error(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "pool.json"
    assert run_json("fit", str(folder / "skilled.csv"), "--out", str(out))["weights"]
    new = tmp_path / "new.csv"
    new.write_text("question_id,forecaster_id,probability\na,f0,0.7\na,stranger,0.6\n")
    done = run("aggregate", str(new), "--rule", str(out), "-o", str(tmp_path / "out.csv"))
    assert done.exit_code == 0
    assert "1 of 2 forecasters has no track record in the pool, and counts as an average one." in done.stderr
    assert "9 of the pool's 10 forecasters gave no answer here." in done.stderr
    alone = run("aggregate", "0.7", "0.6", "--rule", str(out))
    assert "these have no names, so all count the same" in alone.stderr


def test_as_of_and_rolling(folder: Path, tmp_path: Path) -> None:
    file, out = str(folder / "dated.csv"), str(tmp_path / "pool.json")
    assert run_json("fit", file, "--out", out, "--as-of", "1970-04-10")["questions"] == 100
    months = run_json("fit", file, "--out", out, "--rolling")["periods"]
    assert [period["start"][:10] for period in months] == [f"1970-0{month}-01" for month in range(3, 8)]
    compared = run_json("compare", file, "--rolling", "--draws", "200", "--rule", "mean")
    assert [period["questions"] for period in compared["fitted"]["periods"]] == [31, 30, 31, 30, 19]
    assert "block from" in run("compare", file, "--rolling", "--draws", "200", "--rule", "mean").stdout
    assert run_json("compare", file, "--no-fit", "--draws", "200", "--rule", "mean")["fitted"] is None


def test_the_report_is_a_page(folder: Path, tmp_path: Path) -> None:
    report = tmp_path / "pool.html"
    done = run("fit", str(folder / "plain.csv"), "--out", str(tmp_path / "pool.json"), "--report", str(report))
    assert done.exit_code == 0, done.output
    assert f"The report is in {report}" in done.stdout.replace("\n", " ")
    page = report.read_text()
    assert "A pool learned from plain.csv" in page
    assert "Worst-case regret, proved" in page


@pytest.mark.slow
def test_certify_proves_the_worst_case_of_a_pool(folder: Path, tmp_path: Path) -> None:
    out, certificate = tmp_path / "pool.json", tmp_path / "certificate.json"
    run_json("fit", str(folder / "plain.csv"), "--out", str(out))
    data = run_json("certify", str(out), "--out", str(certificate), "--agents", "3")
    assert data["upper"] == rp.certify(out, rp.ConditionallyIndependent(3, None, None)).upper
    assert run_json("verify", str(certificate))["verified"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("few.csv --out pool.json", "a pool needs at least 20 resolved questions to learn from; there are 10"),
        (
            "one.csv --out pool.json",
            "a pool needs questions with both outcomes to learn from; all 30 resolved ones have 1",
        ),
        ("plain.csv --out pool.txt", "--out must name a JSON file; it is 'pool.txt'"),
        (
            "plain.csv --out pool.json --as-of 2024-01-01",
            "as_of needs a column timestamp or resolved; there is neither",
        ),
        ("plain.csv --out pool.json --rolling", "rolling months need a time for each question"),
        ("plain.csv --out pool.json --clip 0", "clip must lie in (0, 0.5) to fit a pool"),
        (
            "dated.csv --out pool.json --as-of yesterday",
            "as_of must be ISO 8601 or seconds since 1970; it is 'yesterday'",
        ),
        ("dated.csv --out pool.json --as-of 1960-01-01", "no question was resolved by 1960-01-01"),
        ("plain.csv --out pool.json --report pool.pdf", "--report must name an HTML file"),
        ("missing.csv --out pool.json", "missing.csv"),
    ],
)
def test_bad_input_is_a_sentence(folder: Path, monkeypatch: pytest.MonkeyPatch, words: str, message: str) -> None:
    monkeypatch.chdir(folder)
    frame = pd.read_csv("plain.csv")
    few = frame["question_id"].isin([f"q{q}" for q in range(10)])
    frame[few].to_csv("few.csv", index=False)
    frame[frame["question_id"].isin([f"q{q}" for q in range(30)])].assign(outcome=1).to_csv("one.csv", index=False)
    done = run("fit", *words.split())
    assert done.exit_code != 0
    said = (
        str(done.exception)
        if done.exception is not None and not isinstance(done.exception, SystemExit)
        else done.stderr
    )
    assert message in said
    assert not Path("pool.json").exists()


def test_too_many_rejected_rows_fit_nothing(tmp_path: Path) -> None:
    rows = [f"q{q},ann,{0.5 if q < 30 else 7},{q % 2}" for q in range(100)]
    (tmp_path / "bad.csv").write_text("\n".join(["question_id,forecaster_id,probability,outcome", *rows]))
    done = run("fit", str(tmp_path / "bad.csv"), "--out", str(tmp_path / "pool.json"))
    assert done.exit_code == 1
    assert not (tmp_path / "pool.json").exists()
