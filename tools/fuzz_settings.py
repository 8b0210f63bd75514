"""Settings of a sweep for `fuzz_files.py`: TOML files, changes of them, and what `robustpool sweep` does with them."""

from __future__ import annotations

import json
import math
import tempfile
import tomllib
import zlib
from datetime import date, time
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from changes import change_place, check_size, damaged, places

import robustpool as rp
from robustpool.families.family_file import EXAMPLES
from robustpool.sweeps import run
from robustpool.sweeps.settings import OPTIONS, TOO_DEEP, read_settings
from robustpool.sweeps.view import as_data, as_lines
from robustpool.sweeps.work import Outcome, work

if TYPE_CHECKING:
    import random

    from robustpool.sweeps.settings import Cell

MOST_CELLS = 12
"""So many cells are done; of more, only the settings are read."""

SHARE = 4
"""Of so many files, one is done and not only read."""

LARGEST, MOST_TREE = 300_000, 20_000
"""Bytes of a file, and of one that is changed as a tree."""

SEEDS = [
    """kind = "design"
[settings]
reports = 2
priors = 3
rounds = 2
[[grid]]
agents = [1, 2]
prior-range = [[0.0, 1.0], [0.1, 0.5]]
[[cells]]
agents = 2
lipschitz = 1.5
loss = 'log'
""",
    """kind = "design"
settings = {reports = 2, priors = 3}
[grid]
monotone = [true, false]
symmetric = [true]
paradigm = ["additive", "absolute"]
[[cells]]
family = "family.json"
method = "multiplicative-weights"
epsilon = 0.5
[[cells]]
epsilon = 0.9
tolerance = 1e-2
""",
    """kind = "design"
[settings]
reports = 2
priors = 2
rounds = 2
[[grid]]
world = ["neglect", "identical", "correlated"]
[[cells]]
world = 'common-source'
fraction = 0.5
[[cells]]
world = 'partial-information'
overlap = [0.5, 1]
information = [0, 0.5]
knowable = 0.8
neglect = [0, 1]
signals = 2
states = 3
second_answers = 2
""",
    """kind = "worst-case"
[grid]
rule = ["mean", "design.json", "none"]
seed = [0, 1]
[[cells]]
rule = "median"
loss = "log"
""",
    """kind = "certify"
[settings]
prior_range = [0.3, 0.32]
tolerance = 1e-2
[[grid]]
rule = ["minimax", "=bad"]
[[cells]]
rule = 'mean'
family = 'family.json'
paradigm = 'ratio'
""",
    """kind = 'certify'
[[cells]]
rule = '''minimax'''
agents = 0x2
[[cells]]
rule = 'mean'
agents = 1_0
loss = 'log'
""",
]
TINY = {"agents": 2, "reports": 2, "rounds": 2, "states": 2, "signals": 2, "second_answers": 1}
"""Numbers up to which a cell is done in earnest."""


def seeds() -> list[bytes]:
    """Settings of each kind."""
    return [text.encode() for text in SEEDS]


@cache
def _beside() -> Path:
    """A folder with a family and a design, which settings may name."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-settings-"))
    (folder / "family.json").write_bytes((EXAMPLES / "weather.json").read_bytes())
    rp.save_design(rp.solve(rp.ConditionallyIndependent(2, 2, 3)), folder / "design.json")
    return folder


def use_settings(file: str) -> None:
    """What `sweep` does with settings: all of it if the cells are few, and their work if it is small."""
    settings = _beside() / "settings.toml"
    content = Path(file).read_bytes()
    settings.write_bytes(content)
    cells = read_settings(settings)
    for cell in cells[:1000]:
        assert len(cell.words) < 20_000, "a cell has too many words"
    if len(cells) > MOST_CELLS or zlib.crc32(content) % SHARE:
        return
    run.work = _work_if_tiny  # type: ignore[assignment]
    with tempfile.TemporaryDirectory() as folder:
        done = run.sweep(settings, Path(folder) / "out")
        json.dumps(as_data(done), allow_nan=False)
        as_lines(done)
        for outcome in done.outcomes.values():
            error = outcome.error or ""
            assert error.isprintable(), f"no sentence: {error[:500]!a}"
            assert len(error) < 2000, f"no sentence: {error[:500]!a}"
            assert not error.partition(":")[0].endswith("Error"), error
        again = run.sweep(settings, Path(folder) / "out", resume=True)
        assert again.kept == done.done


def _work_if_tiny(common: None, item: tuple[Cell, str]) -> Outcome:
    return work(common, item) if _tiny(item[0]) else Outcome(error="this is too much for an attack.")


def _tiny(cell: Cell) -> bool:
    """Whether a cell takes no time, as far as its options tell."""
    options = cell.options
    for name, most in TINY.items():
        value = options.get(name, most)
        if isinstance(value, (int, float)) and not value <= most:
            return False
    if cell.kind != "design":
        short = cell.kind == "certify" and "design.json" not in str(options)
        return short or all(name in ("rule", "family") for name in options)
    if "family" in options:
        return True
    return (
        "reports" in options
        and str(options.get("priors")) in ("0", "1", "2", "3")
        and options.get("nature", "grid") != "continuous"
    )


# --------------------------------------------------------------------------------------------------------------- changes

# fmt: off
MARKS = [b'"', b"'", b"=", b"[", b"]", b"[[", b"]]", b"{", b"}", b".", b"#", b"\n", b"\r", b"\x00", b"\xff", b"\\", b"\\u", b'"""']
MARKS += [b"'''", b"1e999", b"nan", b"-inf", b"0x", b"1979-05-27T07:32:00Z", b"9" * 5000, b"a.", b"[a.", b"[" * 1500, b"{a="]
# fmt: on


def changed(content: bytes, rng: random.Random) -> bytes:
    """Some bytes, some parts of the tree, or a file that asks for too much."""
    chance = rng.random()
    if chance < 0.03:
        return _costly(rng)
    if chance < 0.45 or len(content) > MOST_TREE or TOO_DEEP.search(content.decode("utf-8", "replace")):
        return damaged(content, rng, MARKS)[:LARGEST]
    try:
        data = tomllib.loads(content.decode())
        for _ in range(rng.choice([1, 1, 2, 3])):
            if found := places(data):
                change_place(data, *rng.choice(found), rng)
            if rng.random() < 0.3:
                _add_option(data, rng)
        check_size(data)
        text = "".join(f"{_key(name)} = {written(value)}\n" for name, value in data.items())
        return text.encode("utf-8", "replace")[:LARGEST]
    except (ValueError, RecursionError, AttributeError, TypeError):
        return damaged(content, rng, MARKS)[:LARGEST]


def _add_option(data: dict[str, Any], rng: random.Random) -> None:
    """An option of the command, with some value, or with a list of them."""
    name = rng.choice(OPTIONS.get(str(data.get("kind")), OPTIONS["design"]))
    values = [
        0,
        1,
        2,
        -1,
        0.5,
        "grid",
        "continuous",
        "mean",
        "log",
        "x" * 300,
        "..",
        "/dev/zero",
        "a\0b",
        True,
        [0, 1],
        [1, 0],
        [],
    ]
    values += [
        ["a", "b"],
        [0.1, 0.2, 0.3],
        [[0, 1]],
        {"a": 1},
        10**30,
        10**400,
        2**63,
        1e308,
        math.nan,
        date(2024, 1, 1),
        time(1),
    ]
    where = rng.choice(["settings", "grid", "cells"])
    value = rng.choice(values) if where != "grid" else rng.choices(values, k=rng.choice([0, 1, 2, 2, 30]))
    table = data.setdefault(where, {})
    table = rng.choice(table) if isinstance(table, list) and table else table
    if isinstance(table, dict):
        table[name if rng.random() < 0.8 else name.replace("_", "-")] = value


def _costly(rng: random.Random) -> bytes:
    """A small file that asks for very many cells, or for long work before it says so."""
    size, many = rng.choice([10, 1000, 20_000]), list(range(300))
    names = [name for name in OPTIONS["design"] if name not in ("family", "world")]
    grid = f"[grid]\nagents = {many}\nreports = {many}\n"
    depths = (f"a{'.a' * (i % 50)}.b{i} = {i}\n" for i in range(size))
    text = rng.choice([
        "[grid]\n" + "".join(f"{name} = {list(range(rng.choice([2, 10, 300])))}\n" for name in names),
        "[[grid]]\nagents = [1, 2]\n" * size,
        f"[settings]\noverlap = {[0.5] * size}\n{grid}",
        f'[settings]\nworld = "{"x" * size}"\n{grid}',
        f'[settings]\nfamily = "family.json"\n{grid}',
        "a." * size + "b = 1\n",
        "[" + "a." * size + "b]\n",
        "settings = " + "{a = " * size + "1" + "}" * size,
        "".join(depths),
    ])  # fmt: skip
    return f'kind = "design"\n{text}'.encode()


def _key(name: str) -> str:
    return name if name and name.isascii() and name.replace("-", "_").isidentifier() else _text(name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def written(value: Any) -> str:
    """A value as TOML writes it; what TOML has not becomes a text."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(str(name))} = {written(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and abs(value) > 10**300:
        return "1" + "0" * 400
    if isinstance(value, (int, float, date, time)):
        return str(value)
    return _text("" if value is None else str(value))
