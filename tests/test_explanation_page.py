"""`aggregate --explain --report FILE.html`: one page with the answer, the same bytes from the terminal and from the server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from browser import WIDTHS, check_page, chromium, opened
from programs import run_robustpool
from robustpool.explanation.answering import answer
from robustpool.explanation.knowledge import Knowledge
from robustpool.views.explanation_page import command, explanation_page
from robustpool.views.page import render
from servers import serving

if TYPE_CHECKING:
    from pathlib import Path


def test_the_terminal_and_the_server_write_the_same_page(tmp_path: Path) -> None:
    file = tmp_path / "forecast.html"
    words = [
        "0.7",
        "60%",
        "--explain",
        "--names",
        "Ann,Bob",
        "--slope",
        "0.8",
        "--public-evidence",
        "--knows-all",
        "unknown",
    ]
    run = run_robustpool("aggregate", *words, "--report", str(file), "--json")
    assert run.returncode == 0, run.stderr
    data = json.loads(run.stdout)
    know = {"slope": 0.8, "public": True, "knows_all": "unknown"}
    said = answer([0.7, 0.6], names=["Ann", "Bob"], know=Knowledge(**know))  # type: ignore[arg-type]
    assert (data["report"], data["knowing"]["forecast"]) == (str(file), said.forecast)
    assert data["forecast"] == said.plain
    with serving(tmp_path / "data") as server:
        body = {"forecasts": ["70 %", "0.6"], "names": ["Ann", "Bob"], "know": know}
        reply = server.call("POST", "explain/page", json=body)
    assert reply.text == file.read_text(encoding="utf-8")
    assert reply.headers["content-disposition"] == 'attachment; filename="forecast.html"'


@pytest.mark.parametrize(
    "how",
    [
        {"know": Knowledge(base_rate=(0.05, 0.2), public=True, knows_all=1, slope=0.5)},
        {"rule": "mean", "clip": 0.05, "weights": [1, 2.5], "names": ["Ann", "O'Hara"]},
        {},
    ],
)
def test_the_command_on_the_page_writes_it_again(tmp_path: Path, how: dict[str, Any]) -> None:
    import shlex

    said = answer([0.7, 0.6], **how)
    file = tmp_path / "again.html"
    words = shlex.split(command(said).replace("forecast.html", str(file)))
    assert run_robustpool(*words[1:]).returncode == 0
    assert file.read_text(encoding="utf-8") == render(explanation_page(said))


def test_the_page_can_be_read(tmp_path: Path) -> None:
    ann = answer([0.7, 0.6], names=["<Ann>", ""], know=Knowledge(base_rate=(0.05, 0.2)))
    match = answer([[0.6, 0.3, 0.1], [0.5, 0.2, 0.3]], know=Knowledge(outcomes=3))
    many = answer([0.3] * 12)
    with chromium() as browser:
        for said, width in ((ann, WIDTHS[0]), (ann, WIDTHS[1]), (match, WIDTHS[0]), (many, WIDTHS[0])):
            file = tmp_path / "page.html"
            file.write_text(render(explanation_page(said)), encoding="utf-8")
            with opened(browser, file, width) as page:
                check_page(page)
                assert "The worst world for these numbers" in page.locator("main").inner_text()
    text = render(explanation_page(ann))
    assert "&lt;Ann&gt; says 0.7" in text
    assert "<Ann>" not in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["0.7", "0.6", "--report", "x.html"], "--report needs --explain."),
        (["0.7", "0.6", "--slope", "0.5"], "--slope needs --explain."),
        (["0.7", "0.6", "--explain", "--report", "x.txt"], "--report must name an HTML file; it is 'x.txt'."),
        (["0.7", "0.6", "--explain", "--weights", "a"], "--weights must be numbers with commas between; it is 'a'."),
        (["0.7", "0.6", "--explain", "--names", "Ann"], "--names must be one for each of the 2 reports; there are 1."),
        (
            ["0.7", "0.6", "--explain", "--knows-all", "3"],
            "know.knows_all must be a whole number, at least 0 and at most 1; it is 2.",
        ),
        (
            ["0.7", "0.6", "--explain", "--slope", "2"],
            "the slope of over-confident forecasters lies in [0.1, 1]; it is 2.0.",
        ),
        (["table.csv", "--slope", "0.5"], "--explain is for the numbers of one event; 'table.csv' is a file."),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], sentence: str) -> None:
    run = run_robustpool("aggregate", *words)
    assert run.returncode == 2
    assert sentence in " ".join(run.stderr.split())
