"""The tables of docs/how-to/pool-classifiers.md are those of docs/classifiers.csv, which benchmarks/classifiers.py makes."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robustpool.estimator import RobustVotingClassifier

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "how-to" / "pool-classifiers.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "benchmarks" / "classifiers.py"))


def test_the_tables_of_the_page_are_those_of_the_file(script: dict[str, Any]) -> None:
    results = script["read"]()
    assert [(row["data"], row["way"]) for row in results] == [
        (name, way) for name in script["DATA"] for way in script["WAYS"]
    ]
    own = [
        row[column]
        for row in results
        if row["way"] == "soft voting"
        for column in row
        if column.endswith(("ce", "low"))
    ]
    assert set(own) == {"0.00000"}
    for score in script["SCORES"]:
        table = script["table"](results, score)
        assert table.count("\n") == len(script["DATA"]) + 1
        assert f"\n\n{table}\n\n" in PAGE, score


def test_what_the_page_counts_is_what_the_file_says(script: dict[str, Any]) -> None:
    results = script["read"]()
    assert f"\n\n{script['summary'](results)}\n\n" in PAGE
    tallies = [script["tally"](results, score) for score in script["SCORES"]]
    assert [sum(best for _, _, best in tally.values()) for tally in tallies] == [len(script["DATA"])] * 2
    for tally in tallies:  # what the page says in words
        assert tally["robust"][1] == tally["learn=True"][1] == 0
        assert tally["robust, uncalibrated"][1] > 0
        assert tally["stacking"][1] > 0
        assert max(tally, key=lambda way: tally[way][2]) == "stacking"
    brier, words = tallies[0], " ".join(str(RobustVotingClassifier.__doc__).split())
    assert (brier["robust"][:2], brier["robust, uncalibrated"][:2]) == ((10, 0), (5, 1))
    assert "better than soft voting on ten and worse on none" in words
    assert "Without calibration `robust` is better on five and worse on one." in words
    by_place = {(row["data"], row["way"]): float(row["brier"]) for row in results}
    sizes = {row["data"]: int(row["samples"]) for row in results}
    small = [name for name, size in sizes.items() if size < 200]
    assert len(small) == 3
    assert all(by_place[name, "learn=True"] > by_place[name, "robust"] for name in small)
    assert all(by_place[name, "learn=True"] > by_place[name, "soft voting"] for name in small)
    large = [name for name, size in sizes.items() if size >= 500]
    assert all(by_place[name, "learn=True"] < by_place[name, "soft voting"] + 1e-5 for name in large)


def test_a_significant_loss_is_counted_and_printed_bold(script: dict[str, Any]) -> None:
    """A loss that was made up: so the tables could show one."""
    results = [dict(row) for row in script["read"]()]
    mine = next(row for row in results if row["way"] == "robust" and float(row["brier_low"]) < 0)
    before = script["tally"](results, "brier")["robust"]
    won = float(mine["brier_high"]) < 0
    mine |= {"brier_difference": "0.00200", "brier_low": "0.00100", "brier_high": "0.00300"}
    assert script["tally"](results, "brier")["robust"][:2] == (before[0] - won, before[1] + 1)
    assert "| **+2.0 (+1.0 to +3.0)** |" in script["table"](results, "brier")


def test_intervals_allow_for_splits_that_share_samples(script: dict[str, Any]) -> None:
    """The corrected variance by hand, for ten splits with a quarter as many test samples as others: (1/10 + 1/4) s^2."""
    differences = np.arange(10.0)
    value, low, high = script["interval"](differences)
    assert value == 4.5
    half = 2.2621571628 * np.sqrt((1 / 10 + 1 / 4) * 55 / 6)  # of Student's t with 9 degrees of freedom; s^2 = 55/6
    assert (low, high) == pytest.approx((4.5 - half, 4.5 + half), rel=1e-8)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ["few samples", "breast cancer"])
def test_the_numbers_can_be_made_again(script: dict[str, Any], name: str) -> None:
    kept = [row for row in script["read"]() if row["data"] == name]
    again = script["rows"](name)
    texts = ("data", "samples", "classes", "way")
    assert [[row[text] for text in texts] for row in again] == [[row[text] for text in texts] for row in kept]
    for new, old in zip(again, kept, strict=True):
        for column in set(old).difference(texts):
            atol = 0.002 if column.startswith("brier") else 0.006  # other versions of scikit-learn round otherwise
            assert float(new[column]) == pytest.approx(float(old[column]), abs=atol), (new["way"], column)
