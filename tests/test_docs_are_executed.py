"""The blocks of the documentation are run by the root conftest.py; here that is shown to fail on a wrong answer."""

from __future__ import annotations

import runpy
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from sybil.example import SybilFailure

if TYPE_CHECKING:
    from collections.abc import Callable

    Execute = Callable[[str], int]


def page(language: str, *lines: str) -> str:
    return "\n".join(["Some text.", "", f"```{language}", *lines, "```", "", "More text.", ""])


@pytest.fixture(autouse=True)
def _echo(monkeypatch: pytest.MonkeyPatch) -> None:
    """A robustpool that prints its arguments and fails with status 2 on --wrong."""

    def echo() -> None:
        print("forecast", *sys.argv[1:])
        sys.exit(2 if "--wrong" in sys.argv else 0)

    monkeypatch.setattr("programs.main", echo)


@pytest.mark.parametrize(
    "text",
    [
        page("python", "assert 1 + 1 == 2"),
        page("python", ">>> 1 + 1", "2", ">>> 1 / 3", "0.333...", ">>> [0, 1, 2]", "[0, ..., 2]"),
        page("python", "x = 1") + page("python", "assert x == 1"),
        page("json", '{"states": ["dry", "rain"]}'),
        page("sh", "make run"),
    ],
)
def test_a_right_block_passes(execute_page: Execute, text: str) -> None:
    assert execute_page(text) >= 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (page("python", ">>> 1 + 1", "3"), "Expected:\n    3\nGot:\n    2"),
        (page("python", ">>> 0.02254", "0.0226"), "Expected:\n    0.0226"),
        (page("json", '{"states": ["dry", "rain"]'), "not JSON"),
        (page("console", "robustpool rules"), "starts with a line"),
        (page("console", "$ ls"), "runs only robustpool"),
        (page("sh", "robustpool rules"), "belongs into a python or console block"),
        (page("text", ">>> 1 + 1", "2"), "belongs into a python or console block"),
        (page("pycon", ">>> 1 + 1", "2"), "Nobody executes a block in 'pycon'"),
        (page("", "anything"), "Nobody executes a block in 'no language'"),
    ],
)
def test_a_wrong_block_fails(execute_page: Execute, text: str, complaint: str) -> None:
    with pytest.raises(SybilFailure) as failure:
        execute_page(text)
    assert complaint in str(failure.value)


def test_a_python_block_that_raises_fails(execute_page: Execute) -> None:
    with pytest.raises(AssertionError, match="one is not two"):
        execute_page(page("python", "assert 1 == 2, 'one is not two'"))


@pytest.mark.parametrize(
    "lines",
    [
        ["$ robustpool 0.7 0.6", "forecast 0.7 0.6"],
        ["$ robustpool 0.7123", "fore... 0.71..."],
        ["$ robustpool one", "forecast one", "$ robustpool 'and two'", "forecast and two"],
        ["$ robustpool --wrong", "forecast --wrong", "[2]"],
    ],
)
def test_a_right_console_block_passes(execute_page: Execute, lines: list[str]) -> None:
    assert execute_page(page("console", *lines)) == 1


@pytest.mark.parametrize(
    "lines",
    [
        ["$ robustpool 0.7 0.6", "forecast 0.7 0.5"],
        ["$ robustpool 0.7 0.6"],
        ["$ robustpool one", "forecast one", "$ robustpool two", "forecast three"],
        ["$ robustpool --wrong", "forecast --wrong"],
        ["$ robustpool right", "forecast right", "[2]"],
    ],
)
def test_a_wrong_console_block_fails(execute_page: Execute, lines: list[str]) -> None:
    with pytest.raises(SybilFailure, match=r"expected:\n"):
        execute_page(page("console", *lines))


def test_every_page_is_collected(pytestconfig: pytest.Config) -> None:
    """A page outside the test paths would be text that nobody executes."""
    root = pytestconfig.rootpath
    paths = [root / path for path in pytestconfig.getini("testpaths")]
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    missed = [page.name for page in pages if not any(page.is_relative_to(path) for path in paths)]
    assert not missed


def test_the_files_that_are_begun_first_exist(request: pytest.FixtureRequest) -> None:
    """Each long file is one that there is, and in a list of tests it comes before the others."""
    root = request.config.rootpath
    namespace = runpy.run_path(str(root / "conftest.py"))
    long = [f"test_{name}.py" for name in namespace["LONG"].split()]
    assert [name for name in long if not (root / "tests" / name).exists()] == []
    items = [SimpleNamespace(path=root / "tests" / name) for name in ("test_a.py", long[1], "test_b.py", long[0])]
    namespace["pytest_collection_modifyitems"](items)
    assert [item.path.name for item in items] == [long[0], long[1], "test_a.py", "test_b.py"]
