"""The helper for pages of the server notices what it is there to notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from browser import check_page, chromium, findings, visited

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

GOOD = "<!doctype html><html lang=en><title>A page</title><main><h1>A page</h1></main></html>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def url(folder: Path, html: str) -> str:
    (folder / "page.html").write_text(html, encoding="utf-8")
    return (folder / "page.html").as_uri()


def test_a_good_page_passes(browser: Browser, tmp_path: Path) -> None:
    with visited(browser, url(tmp_path, GOOD)) as page:
        check_page(page)


@pytest.mark.parametrize("bad", ["<img src=''>", "<p style='width: 3000px'>wide</p>"])
def test_a_bad_page_fails(browser: Browser, tmp_path: Path, bad: str) -> None:
    with (
        visited(browser, url(tmp_path, GOOD.replace("</main>", f"{bad}</main>"))) as page,
        pytest.raises(AssertionError),
    ):
        check_page(page)


def test_a_part_is_looked_at_alone(browser: Browser, tmp_path: Path) -> None:
    two = "<p id=text>text</p><p id=picture><img src=''></p>"
    with visited(browser, url(tmp_path, GOOD.replace("</main>", f"{two}</main>"))) as page:
        check_page(page, "#text")
        assert [name for name, *_ in findings(page, "#picture")] == ["image-alt"]


def test_a_console_message_fails_unless_it_is_expected(browser: Browser, tmp_path: Path) -> None:
    loud = url(tmp_path, GOOD.replace("</main>", "</main><script>console.warn('status of 422')</script>"))
    with pytest.raises(AssertionError, match="status of 422"), visited(browser, loud):
        pass
    with visited(browser, loud, expected=("status of 422",)):
        pass
