"""Everything written is executed: the code blocks of README.md, CONTRIBUTING.md and docs/ are tests.

- ``python`` blocks run; where they are written with ``>>>`` their output is compared.
- ``console`` blocks run their ``$ robustpool ...`` lines and compare what is printed, ``...`` standing for anything (0.02254... is
  also how a number is shown to some digits).
  A command that is meant to fail shows what it says on standard error, and its exit status in brackets as last line.
- ``json`` blocks have to be JSON.
- ``text`` and ``sh`` blocks are not executed, and so may not show robustpool at work.
- A block in any other language, or in none, fails.

The blocks of one page share their names and a scratch folder, in which the example families lie at the path that they
have in the repository. Doctests in src/ are collected by pytest itself (``--doctest-modules``).
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sybil import Example, Region, Sybil
from sybil.evaluators.doctest import OutputChecker
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sybil import Document

ROOT = Path(__file__).parent
EXAMPLES = Path("src/robustpool/structures/examples")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE  # not NUMBER: it would let 0.0226 stand for 0.02254
EXECUTED = {"python", "console", "json"}
NOT_EXECUTED = {"text", "sh", "bibtex"}
AT_WORK = re.compile(r"^\s*(\$ )?(robustpool\b|(import|from) robustpool\b|>>> )", re.MULTILINE)

collect_ignore = ["docs/conf.py", "docs/_build"]


# --- the languages ----------------------------------------------------------------------------------------------------


def evaluate_console(example: Example) -> str | None:
    """Run each ``$ robustpool ...`` line of a block; what differs from the page, or None."""
    blocks = re.split(r"^\$ ", str(example.parsed), flags=re.MULTILINE)
    if blocks[0].strip() or len(blocks) == 1:
        return "A console block starts with a line '$ robustpool ...'; write other text in a text block."
    complaints = [_compare(*block.partition("\n")[::2]) for block in blocks[1:]]
    return "\n".join(filter(None, complaints)) or None


def _compare(command: str, wanted: str) -> str | None:
    program, *arguments = shlex.split(command)
    if program != "robustpool":
        return f"A console block runs only robustpool, not {program!r}; write other commands in a sh block."
    executable = Path(sysconfig.get_path("scripts")) / program
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "120", "TERM": "dumb"}
    done = subprocess.run(
        [executable, *arguments], capture_output=True, text=True, env=environment, timeout=300, check=False
    )
    got = done.stdout + (f"{done.stderr.rstrip()}\n[{done.returncode}]\n" if done.returncode else "")
    if OutputChecker().check_output(wanted.strip() + "\n", got.strip() + "\n", OPTIONS):
        return None
    return f"$ {command}\nexpected:\n{wanted}\ngot:\n{got}\nand on standard error:\n{done.stderr}"


def evaluate_json(example: Example) -> str | None:
    try:
        json.loads(example.parsed)
    except json.JSONDecodeError as error:
        return f"This is not JSON: {error}."
    return None


def parse_other_blocks(document: Document) -> Iterable[Region]:
    """Blocks that nobody executes are looked at all the same, so that none pretends to have been run."""
    for region in FencedCodeBlockLexer(r"[^\n`]*", mapping={"language": "language", "source": "source"})(document):
        language = region.lexemes["language"].strip()
        if language.startswith("{") or language in EXECUTED:
            continue  # a MyST directive, or somebody else's region
        yield Region(region.start, region.end, (language, str(region.lexemes["source"])), evaluate_other)


def evaluate_other(example: Example) -> str | None:
    language, source = example.parsed
    if language not in NOT_EXECUTED:
        return f"Nobody executes a block in {language or 'no language'!r}; use one of {sorted(EXECUTED | NOT_EXECUTED)}."
    if AT_WORK.search(source):
        return f"A {language} block is not executed, so robustpool at work belongs into a python or console block."
    return None


# --- the pages --------------------------------------------------------------------------------------------------------


def enter_scratch_folder(namespace: dict[str, Any]) -> None:
    scratch = Path(tempfile.mkdtemp(prefix="robustpool-docs-"))
    if (ROOT / EXAMPLES).is_dir():
        shutil.copytree(ROOT / EXAMPLES, scratch / EXAMPLES)
    namespace["_folders"] = scratch, Path.cwd()
    os.chdir(scratch)


def leave_scratch_folder(namespace: dict[str, Any]) -> None:
    scratch, before = namespace["_folders"]
    os.chdir(before)
    shutil.rmtree(scratch)


pages = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=OPTIONS),
        CodeBlockParser("console", evaluate_console),
        CodeBlockParser("json", evaluate_json),
        parse_other_blocks,
    ],
    patterns=["*.md"],
    setup=enter_scratch_folder,
    teardown=leave_scratch_folder,
)

pytest_collect_file = pages.pytest()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep a page on one worker (pytest-xdist, ``--dist loadgroup``): later blocks use the names of earlier ones."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.xdist_group(str(item.path)))


@pytest.fixture
def execute_page(tmp_path: Path) -> Callable[[str], int]:
    """Execute the blocks of a page given as text, as those of the documentation are executed; how many there were."""

    def execute(text: str) -> int:
        path = tmp_path / "page.md"
        path.write_text(text)
        document = pages.parse(path)
        enter_scratch_folder(document.namespace)
        try:
            examples = list(document.examples())
            for example in examples:
                example.evaluate()
        finally:
            leave_scratch_folder(document.namespace)
        return len(examples)

    return execute
