"""What `compare` scores is what `aggregate` gives: the same file, every rule, every question."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import robustpool as rp
from forecasters import scored_forecasts
from quick import one_of
from robustpool.aggregators.rules import RULES
from robustpool.cli import main

if TYPE_CHECKING:
    from pathlib import Path

NAMES = [name if name != "bordley" else "bordley:prior=0.3" for name in RULES]
GRID = rp.GridAggregator(np.array([[0.0, 0.5], [0.5, 1.0]]))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answers of 9 people to 60 questions: some of them 0 or 1, with weights, questions with one answer, and open ones."""
    rng = np.random.default_rng(14)
    path = tmp_path_factory.mktemp("answers") / "answers.csv"
    lines = ["question_id,forecaster_id,probability,outcome,weight"]
    for question in range(60):
        outcome = "" if question % 10 == 9 else str(int(rng.random() < 0.4))
        people = [question % 9] if question % 7 == 0 else np.flatnonzero(rng.random(9) < 0.6).tolist() or [0]
        for person in people:
            p = float(rng.choice([0.0, 1.0, 0.001, 0.995, round(rng.random(), 3), round(rng.random(), 3)]))
            lines.append(f"q{question},f{person},{p},{outcome},{rng.choice([1, 2, 0.5])}")
    path.write_text("\n".join(lines) + "\n")
    return path


def aggregated(source: Any, rule: Any, clip: float | None) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is clipped or at odds; here only the numbers count
        pooled = rp.aggregate_table(source, rule, clip=clip)
    return {
        name: forecast
        for name, forecast, outcome in zip(pooled.questions, pooled.forecasts, pooled.outcome, strict=True)
        if np.isfinite(outcome)
    }


@pytest.mark.parametrize("clip", one_of(3, [0.05, None, 0]))
def test_every_rule_is_scored_on_what_aggregate_gives(
    answers: Path, clip: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def highest(reports: Any) -> Any:
        return np.nanmax(reports, axis=1)

    rules: list[Any] = [*NAMES, highest]
    with scored_forecasts(monkeypatch) as scored:
        comparison = rp.compare(answers, rules=rules, clip=clip, recalibrate="none", draws=100)
    assert len(scored) == len(rules)
    for rule in rules:
        name = rule if isinstance(rule, str) else "highest"
        expected = aggregated(answers, rule, clip)
        assert scored[name, "none"] == expected, name
        (score,) = (score for score in comparison.rules if score.name == name)
        table = rp.read_forecasts(answers)
        outcome = dict(zip(table.questions, table.outcome.tolist(), strict=True))
        brier = np.mean([(forecast - outcome[question]) ** 2 for question, forecast in expected.items()])
        assert score.brier.value == pytest.approx(brier, abs=1e-15)


def test_a_design_is_scored_on_what_aggregate_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("question_id,ann,bob,outcome\n" + "".join(f"q{k},{k % 2},0.3,{k % 3 % 2}\n" for k in range(12)))
    for clip in (None, 0.1):
        with scored_forecasts(monkeypatch) as scored:
            rp.compare(path, rules=["mean", GRID], clip=clip, draws=100)
        assert scored["GridAggregator", "none"] == aggregated(path, GRID, clip)
        assert scored["GridAggregator", "none"]["q0"] == pytest.approx(0.15 if clip is None else 0.2)


Run = Callable[..., tuple[dict[str, Any], str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def command(*arguments: str) -> tuple[dict[str, Any], str]:
        monkeypatch.setattr(sys, "argv", ["robustpool", *arguments, "--json"])
        with pytest.raises(SystemExit) as stop:
            main()
        assert stop.value.code in (0, None)
        out, err = capsys.readouterr()
        return json.loads(out), err

    return command


def test_what_is_recalibrated_is_not_clipped_again(tmp_path: Path, run: Run) -> None:
    """Who says 0.9 and 0.1 and is nearly always right is corrected to beyond 0.99, and stays there."""
    path = tmp_path / "timid.csv"
    rows = [f"q{k},{0.1 + 0.8 * (k % 2)},{0.05 + 0.9 * (k % 2)},{k % 2}\n" for k in range(200)]
    path.write_text("question_id,ann,bob,outcome\n" + "".join(rows))
    scores, _ = run("compare", str(path), "--recalibrate", "slope", "--draws", "100")
    pooled, err = run("aggregate", str(path), "--rule", "robust", "--recalibrate", "slope")
    assert (pooled["clipped"], "clipped to" in err) == (0, False)
    assert min(each["forecast"] for each in pooled["forecasts"]) < 0.005
    brier = np.mean([(each["forecast"] - each["outcome"]) ** 2 for each in pooled["forecasts"]])
    (score,) = (score["brier"] for score in scores["recalibrated"] if score["name"] == "robust")
    assert score == pytest.approx(brier, abs=1e-15)


def test_the_command_line_gives_what_it_scored(answers: Path, run: Run) -> None:
    scores, _ = run("compare", str(answers), "--recalibrate", "slope", "--draws", "100")
    table = rp.read_forecasts(answers)
    outside = int(np.count_nonzero((table.probability < 0.01) | (table.probability > 0.99)))
    known = np.isfinite(table.outcome)[table.question]
    assert scores["clip"] == 0.01
    assert scores["clipped"] == int(np.count_nonzero(known & ((table.probability < 0.01) | (table.probability > 0.99))))
    for recalibrate, group in (([], "rules"), (["--recalibrate", "slope"], "recalibrated")):
        for rule in ("robust", "mean", "product"):
            pooled, err = run("aggregate", str(answers), "--rule", rule, *recalibrate)
            assert pooled["clipped"] == (0 if rule == "mean" and not recalibrate else outside)
            end = " before the answers were recalibrated." if recalibrate else "; --clip 0 turns this off."
            line = f"robustpool: {outside} of {table.rows} answers were clipped to [0.01, 0.99]{end}\n"
            assert (line in err) == bool(pooled["clipped"])
            resolved = [each for each in pooled["forecasts"] if each["outcome"] is not None]
            brier = np.mean([(each["forecast"] - each["outcome"]) ** 2 for each in resolved])
            (score,) = (score["brier"] for score in scores[group] if score["name"] == rule)
            assert score == pytest.approx(brier, abs=1e-15), (rule, group)
    _, err = run("aggregate", str(answers), "--rule", "mean", "--clip", "0.1")
    assert "robustpool: --clip has no effect on mean: an average of probabilities treats 0 and 1" in err
