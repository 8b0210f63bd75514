"""Everything written is executed: the code blocks of README.md, CONTRIBUTING.md and docs/ are tests.

- ``python`` blocks run; where they are written with ``>>>`` their output is compared.
- ``console`` blocks run their ``$ robustpool ...`` lines, in this process, and compare what is printed. A command that is
  meant to fail shows what it says on standard error, and its exit status in brackets as last line.
- In both, ``...`` stands for anything, so that a number is shown to some digits as 0.02254...
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
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from sybil import Document, Example, Region
from sybil.evaluators.doctest import OutputChecker
from sybil.example import SybilFailure
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

import programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from sybil.typing import Parser

ROOT = Path(__file__).parent
EXAMPLES = Path("src/robustpool/families/examples")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE  # not NUMBER: it would let 0.0226 stand for 0.02254
EXECUTED = {"python", "console", "json"}
NOT_EXECUTED = {"text", "sh", "bibtex"}
AT_WORK = re.compile(r"^\s*(\$ )?(robustpool\b|(import|from) robustpool\b|>>> )", re.MULTILINE)

collect_ignore = ["docs/conf.py", "docs/_build", "docs/gallery", "docs/auto_gallery"]  # the gallery: test_notebooks.py


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
    environment = {"NO_COLOR": "1", "COLUMNS": "120", "TERM": "dumb"}
    if [program, *arguments[:2]] == ["python", "-m", "robustpool.referee"]:
        done = programs.run_python(*arguments, env={**os.environ, **environment}, timeout=300)
    elif program != "robustpool":
        return f"A console block runs only robustpool, not {program!r}; write other commands in a sh block."
    else:
        done = programs.run_robustpool(*arguments, env=environment)
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
        known = ", ".join(sorted(EXECUTED | NOT_EXECUTED))
        return f"Nobody executes a block in {language or 'no language'!r}; use one of {known}."
    if AT_WORK.search(source):
        return f"A {language} block is not executed, so robustpool at work belongs into a python or console block."
    return None


# --- the pages --------------------------------------------------------------------------------------------------------

PARSERS: list[Parser] = [
    PythonCodeBlockParser(doctest_optionflags=OPTIONS),
    CodeBlockParser("console", evaluate_console),
    CodeBlockParser("json", evaluate_json),
    parse_other_blocks,
]


def run_page(path: Path) -> int:
    """Execute the blocks of a page, in order; how many there were."""
    document = Document.parse(str(path), *PARSERS)
    blocks = list(document.examples())
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="robustpool-docs-") as scratch:
        if (ROOT / EXAMPLES).is_dir():
            shutil.copytree(ROOT / EXAMPLES, scratch / EXAMPLES)
        os.chdir(scratch)
        try:
            for block in blocks:
                block.evaluate()
        finally:
            os.chdir(before)
    return len(blocks)


class Page(pytest.File):
    """A page is one test, not one for each block: blocks need those before them, and pytest-xdist would part them."""

    def collect(self) -> Iterator[pytest.Item]:
        if any(Document.parse(str(self.path), *PARSERS).examples()):
            yield PageTest.from_parent(self, name="blocks")


class PageTest(pytest.Item):
    def runtest(self) -> None:
        run_page(self.path)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, SybilFailure) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, str(self.path.relative_to(ROOT))


LONG = """
reproduction faults execution web_jobs log_odds_certificates worst_case web_malformed combine_page report algorithm_1 hostile_files
table_page pool_page web_tables design_page combinations notebooks dual_certificates streams log_loss estimator learning forgeries
mean_certificates real_sets compare_report compare_page many_agents_certificates distributions fit_cli exact_bounds web_docs web_schema
sweep checkpoints cluster_faults verify
"""
"""The tests that take longest, by file, in processor time and from the longest."""


def pytest_configure(config: pytest.Config) -> None:
    """Laws are tried on fewer examples in `make test` than in `make test-all`, where they say no number themselves."""
    quick = "not slow" in config.option.markexpr
    settings.register_profile("robustpool", max_examples=30 if quick else 100, deadline=None)
    settings.load_profile("robustpool")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the long files, so that at the end no worker of pytest-xdist waits for another (--no-loadscope-reorder)."""
    place = {f"test_{name}.py": number for number, name in enumerate(LONG.split())}
    items.sort(key=lambda item: place.get(item.path.name, len(place)))


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Page | None:
    return Page.from_parent(parent, path=file_path) if file_path.suffix == ".md" else None


@pytest.fixture
def execute_page(tmp_path: Path) -> Callable[[str], int]:
    """Execute the blocks of a page given as text, as those of the documentation are executed; how many there were."""

    def execute(text: str) -> int:
        path = tmp_path / "page.md"
        path.write_text(text)
        return run_page(path)

    return execute
