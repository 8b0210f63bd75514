"""`tools/mutants.py` tells a mutant that is killed from one that survives; and the list of mutants fits the tree."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from programs import run_python

ROOT = Path(__file__).parents[1]
TOOL = ROOT / "tools" / "mutants.py"

SOURCE = """
def smaller(a, b):
    return a < b

def twice(a):
    return 2 * a
"""
TESTS = """
from toy import smaller, twice

def test_smaller():
    assert smaller(1, 2)

def test_twice():
    assert twice(3) == 6
"""
KILLED = {"old": "2 * a", "new": "3 * a", "tests": ["tests/test_toy.py::test_twice"]}
SURVIVES = {"old": "a < b", "new": "a <= b", "tests": ["tests/test_toy.py"]}
DAMAGED = {"old": "2 * a", "new": "2 * (", "tests": ["tests/test_toy.py"]}
EQUIVALENT = {"old": "2 * a", "new": "a * 2", "equivalent": "a product does not depend on the order"}


def run_tool(folder: Path, *entries: dict[str, Any], **options: str) -> tuple[int, list[str]]:
    """The status of the tool on a small tree with these mutants, and the lines that it prints."""
    (folder / "src").mkdir(exist_ok=True)
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "src" / "toy.py").write_text(SOURCE)
    (folder / "tests" / "test_toy.py").write_text(TESTS)
    (folder / "tests" / "mutants.toml").write_text(
        "".join(
            "[[toy]]\nfile = 'src/toy.py'\n" + "".join(f"{key} = {value!r}\n" for key, value in entry.items())
            for entry in entries
        )
    )
    given = [text for key, value in {"jobs": "1", **options}.items() for text in (f"--{key}", value)]
    done = run_python(str(TOOL), "--root", str(folder), *given)
    assert done.stderr == ""
    assert (folder / "src" / "toy.py").read_text() == SOURCE  # it works in copies
    return done.returncode, done.stdout.splitlines()


def test_what_becomes_of_mutants(tmp_path: Path) -> None:
    gone = {**KILLED, "old": "4 * a"}
    status, lines = run_tool(tmp_path, KILLED, SURVIVES, EQUIVALENT, DAMAGED, gone)
    assert status == 1
    assert lines[0] == "ERROR: old must occur exactly once in src/toy.py; '4 * a' occurs 0 times."
    assert any("killed: src/toy.py: 2 * a  ->  3 * a  [tests/test_toy.py::test_twice]" in line for line in lines)
    assert "SURVIVED: src/toy.py: a < b  ->  a <= b" in lines
    assert "ERROR: src/toy.py: 2 * a  ->  2 * (" in lines  # it cannot be imported, so no test has noticed anything
    assert any("1 killed by a test, 0 by the time limit, 1 survived, 1 errors; 1 more are" in line for line in lines)


@pytest.mark.slow
def test_if_all_are_killed_the_status_is_0(tmp_path: Path) -> None:
    assert run_tool(tmp_path, KILLED, SURVIVES, only="3 * a")[0] == 0


def test_tests_that_fail_anyway_kill_nothing(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_other.py").write_text("def test_other():\n    assert False\n")
    status, lines = run_tool(tmp_path, {**KILLED, "tests": ["tests/test_other.py"]})
    assert status == 1
    assert "They must pass before anything is broken; pytest ended with status 1:" in lines
    assert not any("killed" in line for line in lines)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"old": "a"}, "old must occur exactly once in src/toy.py; 'a' occurs "),
        ({"new": "2 * a"}, "old and new are the same in src/toy.py: '2 * a'."),
        ({"tests": []}, "no tests for src/toy.py: 2 * a  ->  3 * a."),
        ({"tests": ["tests/test_none.py"]}, "the test file tests/test_none.py does not exist."),
        ({"tests": ["tests/test_toy.py::test_none"]}, "there is no test test_none in tests/test_toy.py."),
    ],
)
def test_an_entry_that_does_not_fit_is_named(tmp_path: Path, change: dict[str, Any], sentence: str) -> None:
    status, lines = run_tool(tmp_path, {**KILLED, **change})
    assert status == 1
    assert lines[0].startswith(f"ERROR: {sentence}")


def test_the_list_fits_the_tree() -> None:
    """Whoever changes a line that a mutant stands on hears of it here, and not at the next `make mutants`."""
    tool = imported()
    mutants = tool.read_mutants(ROOT / "tests" / "mutants.toml")
    assert tool.complaints(mutants, ROOT) == []
    assert len(mutants) >= 75


def test_tests_that_never_end_are_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    assert imported().run(command, tmp_path, 0.5, {}) == (None, "")


def imported() -> Any:
    """The tool as a module."""
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("mutants", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = sys.modules["mutants"] = module_from_spec(spec)  # its dataclasses look themselves up there
    spec.loader.exec_module(tool)
    return tool
