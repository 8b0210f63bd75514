"""``serve --export``: the Combine page and the certified table as files that need no server, for a course or a blog.

The answers for all pairs of whole percents are computed once, and lie in one script for each percent of the first forecaster. They are scripts
and not JSON, because a browser lets a page that was opened from a file load scripts only.
"""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..errors import InputError
from ..files import write_bytes
from ..html import TEMPLATES, templates
from . import table_page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..typing import FilePath

PAGES = {"": ("combine", "Combine"), "table": ("table", "Table")}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'none'; base-uri 'none'"
)
SCRIPTS = ("common.js", "static.js", "combine.js")
"""What becomes the one script of the Combine page, in this order: modules do not load from files."""

LISTS = ("reason", "worlds", "on_base_rate")


def export(folder: FilePath, *, percents: Sequence[int] = range(101), say: Callable[[str], None] = print) -> None:
    """Write the pages without a server into a folder, which must be new or empty."""
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"--export needs a new or empty folder; {str(folder)!r} has something in it.")
    for name, content in pages().items():
        write_bytes(target / name, content)
    write_bytes(target / "answers" / "common.js", f"window.robustpool.common = {_json(common())};\n".encode())
    with ProcessPoolExecutor(min(len(percents), os.cpu_count() or 1)) as pool:
        for done, (first, content) in enumerate(
            pool.map(answers, percents, [tuple(percents)] * len(percents)), start=1
        ):
            write_bytes(target / "answers" / f"{first}.js", content)
            if done % 20 == 0 or done == len(percents):
                say(f"{done} of {len(percents)} files of answers are written")
    say(f"Open {target / 'index.html'}, or copy the folder to any web host.")


def pages() -> dict[str, bytes]:
    """The files besides the answers, by their places."""
    html = {f"{where or 'index'}.html": _render(where) for where in PAGES}
    static = ("theme.js", "table-filter.js")
    return (
        {name: text.encode() for name, text in html.items()}
        | {"combine.js": _script().encode(), "static/page.css": (TEMPLATES / "page.css").read_bytes()}
        | {f"static/{name}": (TEMPLATES / "web" / name).read_bytes() for name in static}
        | table_page.files()
    )


def _render(where: str) -> str:
    name, _ = PAGES[where]
    values = table_page.values(static=True) if name == "table" else {"static": True}
    links = {each: f"{each or 'index'}.html" for each in PAGES}
    page = templates().get_template(f"web/{name}.html")
    text = page.render(pages=PAGES, path=where, version=__version__, root="", link=links.__getitem__, **values)
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    return text.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{policy}', 1)


def _script() -> str:
    """The scripts as one that is no module."""
    sources = [(TEMPLATES / "web" / name).read_text(encoding="utf-8") for name in SCRIPTS]
    lines = [
        line for source in sources for line in source.splitlines() if not re.match(r'(import |"use strict")', line)
    ]
    body = "\n".join(line.removeprefix("export ") for line in lines)
    return f'(function () {{\n"use strict";\n{body}\n}})();\n'


# ------------------------------------------------------------------------------------------------------------ the answers


@cache
def common() -> dict[str, Any]:
    """The answer that the others are told apart from."""
    return _answer(70, 60) | {"problems": []}


def answers(first: int, seconds: tuple[int, ...]) -> tuple[int, bytes]:
    """The script with the answers for one percent of the first forecaster."""
    said = {second: _short(_answer(first, second)) for second in seconds}
    return first, f"window.robustpool.answers[{first}] = {_json(said)};\n".encode()


def _answer(first: int, second: int) -> dict[str, Any]:
    from ..explanation.answering import answer
    from ..views.answer import as_data

    return as_data(answer([first / 100, second / 100]))


def _short(said: dict[str, Any]) -> dict[str, Any]:
    """An answer without what is the same in the common one."""
    usual = common()
    own = {name: value for name, value in said.items() if value != usual[name]}
    for name in LISTS:
        if name in own:
            own[name] = _differences(own[name], usual[name])
    facts = [{**rule, "text": None, "forecast": None} for rule in said["rules"]]
    if facts == [{**rule, "text": None, "forecast": None} for rule in usual["rules"]]:
        own.pop("rules", None)
        own["says"] = [rule["text"] for rule in said["rules"]]
    elif "rules" in own:
        own["rules"] = [{**rule, "formula": ""} for rule in own["rules"]]
    return own


def _differences(items: list[Any], usual: list[Any]) -> list[Any]:
    """The items, with None where they are as usual."""
    return [
        None
        if place < len(usual) and item == usual[place]
        else _differences(item, usual[place])
        if isinstance(item, list) and place < len(usual)
        else item
        for place, item in enumerate(items)
    ]


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
