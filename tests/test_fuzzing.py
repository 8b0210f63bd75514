"""Every reader of files under attack: no traceback, no hang, no memory beyond the budget. `make fuzz` does it for longer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from programs import run_program

TOOLS = Path(__file__).parent.parent / "tools"
KINDS = ["family", "design", "certificate", "pool", "checkpoint", "csv", "parquet", "toml"]


def attack(tool: str, *options: str) -> tuple[int, str]:
    done = run_program(sys.executable, str(TOOLS / tool), *options, timeout=900)
    return done.returncode, done.stdout + done.stderr


def test_every_kind_is_attacked() -> None:
    status, said = attack("fuzz_files.py", "--help")
    assert status == 0, said
    assert "{" + ",".join(KINDS) + "}" in said


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_minute_of_changed_files(kind: str, tmp_path: Path) -> None:
    status, said = attack("fuzz_files.py", "--only", kind, "--minutes", "1", "--seed", "20", "--keep", str(tmp_path))
    assert status == 0, said
    assert f"{kind}: 0 read" not in said
    assert " 0 refused" not in said


@pytest.mark.slow
def test_a_minute_of_changed_certificates() -> None:
    status, said = attack("fuzz_verifier.py", "--minutes", "1", "--seed", "20")
    assert status == 0, said
    assert said.rstrip().endswith("no fault.")


def test_the_attack_finds_a_fault(tmp_path: Path) -> None:
    """A reader with a fault that only some changed files reach."""
    code = (
        "import runpy, sys\n"
        "import robustpool.families.family_file as file\n"
        "names = file._names\n"
        "def broken(what, value, *, least):\n"
        "    return names(what, value, least=least) if isinstance(value, list) else value.missing\n"
        "file._names = broken\n"
        "sys.argv = sys.argv[1:]\n"
        f"runpy.run_path({str(TOOLS / 'fuzz_files.py')!r}, run_name='__main__')\n"
    )
    (tmp_path / "broken.py").write_text(code)
    family = tmp_path / "family.json"
    family.write_text('{"format": "robustpool-family/1", "states": 7, "agents": ["ann"], "structures": []}')
    command = [sys.executable, str(tmp_path / "broken.py"), "fuzz_files.py", "--serve", "family"]
    done = run_program(*command, input=f"{family}\n", timeout=120)
    assert "AttributeError in broken.py:5" in done.stdout, done.stderr
