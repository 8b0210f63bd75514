"""Three outcomes from file to score: long, wide and as odds, the same distributions, and the scores of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss

import robustpool as rp
from quick import one_of

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS, FORECASTERS, QUESTIONS = "HDA", 4, 60


@pytest.fixture
def forecasts() -> tuple[Any, Any]:
    """Distributions of each forecaster, (forecasters, questions, 3), and what came true."""
    rng = np.random.default_rng(1)
    truth = rng.dirichlet([2, 1.5, 1.5], QUESTIONS)
    noisy = np.clip(truth + rng.normal(0, 0.05, (FORECASTERS, QUESTIONS, 3)), 0.05, 0.8)
    came = np.array([rng.choice(3, p=chances) for chances in truth])
    return noisy / noisy.sum(axis=2, keepdims=True), came


def written(kind: str, p: Any, came: Any, path: Path) -> Path:
    """The forecasts in a file."""
    cells = [(k, o) for k in range(FORECASTERS) for o in range(3)]
    if kind == "long":
        rows = ["question_id,forecaster_id,option,probability,outcome"]
        rows += [f"m{i},b{k},{OPTIONS[o]},{p[k, i, o]},{OPTIONS[came[i]]}" for i in range(QUESTIONS) for k, o in cells]
    elif kind == "wide":
        rows = ["match," + ",".join(f"b{k}_{OPTIONS[o]}" for k, o in cells) + ",outcome"]
        shares = [",".join(str(p[k, i, o]) for k, o in cells) for i in range(QUESTIONS)]
        rows += [f"m{i},{share},{OPTIONS[came[i]]}" for i, share in enumerate(shares)]
    else:
        rows = ["Div,Date,HomeTeam,AwayTeam,FTR," + ",".join(f"B{k}{OPTIONS[o]}" for k, o in cells)]
        rows += [
            f"E0,{i % 28 + 1:02d}/08/2022,a{i},b{i},{OPTIONS[came[i]]},"
            + ",".join(str(0.96 / p[k, i, o]) for k, o in cells)
            for i in range(QUESTIONS)
        ]
    path.write_text("\n".join(rows))
    return path


@pytest.mark.parametrize("kind", one_of(2, ["long", "wide", "odds"]))
def test_distributions_and_scores(kind: str, forecasts: tuple[Any, Any], tmp_path: Path) -> None:
    p, came = forecasts
    path = written(kind, p, came, tmp_path / "f.csv")
    pooled = rp.aggregate_table(path, "mean")
    np.testing.assert_allclose(pooled.forecasts, p.mean(axis=0), atol=1e-12)
    robust = rp.aggregate_table(path)
    np.testing.assert_allclose(robust.forecasts.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_allclose(robust.forecasts, rp.aggregate(p.transpose(1, 0, 2)), atol=1e-12)
    scored = {rule.name: rule for rule in rp.compare(path, draws=100).rules}
    for name, said in (("mean", pooled.forecasts), ("robust", robust.forecasts)):
        labels = [0, 1, 2]
        assert scored[name].brier.value == pytest.approx(brier_score_loss(came, said, labels=labels), abs=1e-12)
        assert scored[name].log.value == pytest.approx(log_loss(came, said, labels=labels), abs=1e-12)
