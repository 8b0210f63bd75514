"""`serve --export`: the pages work from a file and from any web host, say what the library says, and say what they cannot do."""

from __future__ import annotations

import re
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from browser import check_page, chromium, overflow, visited
from quick import slowly
from robustpool.errors import InputError
from robustpool.explanation.answering import answer
from robustpool.html import TEMPLATES
from robustpool.web.export import export, pages
from robustpool.wording import shown
from test_combine_page import FORMULA, ready, shows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

PERCENTS = (0, 1, 37, 60, 70, 100)


class Quiet(SimpleHTTPRequestHandler):
    """A web host that writes no log."""

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("export") / "pages"
    export(target, percents=PERCENTS, say=lambda _: None)
    return target


@pytest.fixture(scope="module", params=[slowly("file"), "host"])
def url(folder: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "file":
        yield f"{folder.as_uri()}/"
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as host:
        threading.Thread(target=host.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{host.server_address[1]}/"
        host.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def check(page: Page, url: str) -> None:
    """As `check_page`; from a file without axe, which would fetch the stylesheet and be told by the policy that it may not."""
    if url.startswith("http"):
        check_page(page)
    assert overflow(page) <= 0


def test_the_answers_are_those_of_the_library(browser: Browser, url: str) -> None:
    with visited(browser, f"{url}index.html") as page:
        ready(page)
        check(page, url)
        for first, second in [(70, 60), (37, 70), (0, 100), (1, 0), (60, 60)]:
            page.get_by_label("Forecast of forecaster 1").fill(f"{first}%")
            page.get_by_label("Forecast of forecaster 2").fill(f"{second} %")
            page.locator(f"body[data-shown='#f={first}%25&f={second}+%25']").wait_for()
            said = answer([first / 100, second / 100])
            shows(page, said.forecast)  # type: ignore[arg-type]
            assert page.locator("#reason").inner_text() == " ".join(said.reason).replace("`", "")
            assert page.locator("#worlds li").all_inner_texts() == [
                each for world in said.world_sentences for each in world
            ]
            rows = [row.split("\t")[:2] for row in page.locator("#rules tbody tr").all_inner_texts()]
            assert rows == [[rule.name, shown(rule.forecast)] for rule in said.rules]


def test_what_needs_the_server_is_said(browser: Browser, url: str) -> None:
    with visited(browser, f"{url}index.html", 360) as page:
        ready(page)
        assert "two forecasters and whole percents only" in page.locator(".message").first.inner_text()
        assert page.get_by_role("button", name="Add a forecaster").count() == 0
        page.get_by_label("Forecast of forecaster 1").fill("0.123")
        page.locator("#wrong-0").get_by_text(
            "only whole percents such as 70 % have an answer; report 1 is '0.123'."
        ).wait_for()
        page.get_by_label("Forecast of forecaster 1").fill("37")
        page.get_by_role("button", name="Use 37 %").click()
        shows(page, answer([0.37, 0.6]).forecast)  # type: ignore[arg-type]
        check(page, url)


def test_the_table_is_there_and_its_links_lead_somewhere(browser: Browser, folder: Path, url: str) -> None:
    with visited(browser, f"{url}index.html") as page:
        page.get_by_role("link", name="Table").click()
        page.get_by_role("heading", level=1, name="How small can the worst case be?").wait_for()
        assert page.get_by_role("button", name="Verify").count() == 0
        links = page.locator("table.certified a[download]").evaluate_all(
            "all => all.map((a) => a.getAttribute('href'))"
        )
    assert links
    assert all((folder / link).is_file() for link in links)


def test_nothing_else_is_loaded_and_nothing_computed() -> None:
    for name, content in pages().items():
        if name.endswith(".html"):
            assert b"Content-Security-Policy" in content
            assert not re.search(rb'(src|href)="(https?:)?//', content)
    assert FORMULA.findall((TEMPLATES / "web" / "static.js").read_text(encoding="utf-8")) == []


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=r"^--export needs a new or empty folder; '.*' has something in it\.$"):
        export(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
