"""The Combine page in Chromium, as a person uses it: typing, dragging, choosing, copying, saving; it says what the library says."""

from __future__ import annotations

import re
import time
import warnings
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

import numpy as np
import pytest

import robustpool as rp
from browser import check_page, chromium, overflow, visited
from quick import one_of, slowly
from robustpool.explanation.answering import answer
from robustpool.explanation.knowledge import Knowledge
from robustpool.html import TEMPLATES
from robustpool.views.explanation_page import explanation_page
from robustpool.views.page import render
from robustpool.wording import percent, shown
from servers import Server, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page, Route


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("data")) as started:
        yield started


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    with visited(browser, server.url) as opened:
        ready(opened)
        yield opened


def ready(page: Page) -> None:
    page.locator("body[data-shown^='#']").wait_for()


def shows(page: Page, forecast: float | str) -> None:
    """Wait for a forecast."""
    text = forecast if isinstance(forecast, str) else shown(forecast)
    page.locator("#forecast", has_text=re.compile(f"^{re.escape(text)}$")).wait_for(timeout=10_000)


def choice(page: Page, name: str) -> Locator:
    return page.locator(f"#know-{name}")


# -------------------------------------------------------------------------------------------------------- by hand


def test_the_page_opens_with_an_answer(page: Page) -> None:
    assert page.locator("#forecast").inner_text() == shown(rp.aggregate([0.7, 0.6]))
    assert page.locator("#percent").inner_text() == percent(rp.aggregate([0.7, 0.6]))
    said = answer([0.7, 0.6])
    rows = page.locator("#rules tbody tr")
    assert [row.split("\t")[:2] for row in rows.all_inner_texts()] == [
        [rule.name, shown(rule.forecast)] for rule in said.rules
    ]
    assert "at most 0.022543 proved" in rows.first.inner_text()
    assert page.locator("#worlds").inner_text().startswith("Suppose that of 1,000 such days it happens on 890.")
    check_page(page)


def test_it_can_be_used_within_a_second_of_the_server(browser: Browser, tmp_path: Path) -> None:
    """The issue asks for one second; other tests may be running, so that a few are allowed here."""
    with serving(tmp_path) as server:
        began = time.monotonic()
        with visited(browser, server.url) as page:
            shows(page, "0.654")
            assert time.monotonic() - began < 15  # `make bench` and the note have the time on an idle machine


@pytest.mark.parametrize(
    ("typed", "value"), one_of(2, [("0.9", 0.9), ("85%", 0.85), ("12,5 %", 0.125), ("1/3", 1 / 3)])
)
def test_typing(page: Page, typed: str, value: float) -> None:
    page.get_by_label("Forecast of forecaster 1").fill(typed)
    shows(page, rp.aggregate([value, 0.6]))
    assert abs(float(page.locator("#slider-0").input_value()) - 100 * value) <= 0.5


def test_a_number_without_its_sign_is_asked_about(page: Page) -> None:
    field = page.get_by_label("Forecast of forecaster 2")
    field.fill("85")
    wrong = page.locator("#wrong-1")
    wrong.get_by_text("report 2 must lie in [0, 1]; it is 85; for 85 % write 0.85.").wait_for()
    assert field.get_attribute("aria-invalid") == "true"
    assert page.locator("#forecast").inner_text() == "–"
    check_page(page)
    wrong.get_by_role("button", name="Use 85 %").click()
    shows(page, rp.aggregate([0.7, 0.85]))
    assert wrong.inner_text() == ""
    assert field.get_attribute("aria-invalid") is None


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ("maybe", "report 1 must be a number; it is 'maybe'."),
        ("", "report 1 is empty"),
        ("120 %", "must lie between 0% and 100%"),
    ],
)
def test_bad_numbers_are_said_at_the_field(page: Page, typed: str, sentence: str) -> None:
    page.get_by_label("Forecast of forecaster 1").fill(typed)
    page.locator("#wrong-0").get_by_text(sentence).wait_for()
    assert page.get_by_role("button", name="Copy the reason").is_disabled()  # that of other numbers
    assert not page.locator("#reason").is_visible()
    page.get_by_label("Forecast of forecaster 1").fill("0.8")
    shows(page, rp.aggregate([0.8, 0.6]))
    assert page.get_by_role("button", name="Copy the reason").is_enabled()
    assert page.locator("#reason").is_visible()


def test_dragging_a_slider(page: Page) -> None:
    box = page.locator("#slider-0").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + box["height"] / 2, steps=8)
    page.mouse.up()
    at = int(page.locator("#slider-0").input_value())
    assert abs(at - 30) <= 4
    assert page.locator("#number-0").input_value() == f"{at} %"
    shows(page, rp.aggregate([at / 100, 0.6]))


def test_dragging_and_moving_the_ring(page: Page) -> None:
    plane = page.locator("#plane")
    plane.scroll_into_view_if_needed()
    box = plane.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.4 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.1 * box["height"], steps=6)
    page.mouse.up()
    first, second = (int(page.locator(f"#slider-{k}").input_value()) for k in range(2))
    assert abs(first - 20) <= 1
    assert abs(second - 90) <= 1
    shows(page, rp.aggregate([first / 100, second / 100]))
    for key in ("ArrowRight", "ArrowUp", "Shift+ArrowDown"):
        page.keyboard.press(key)
    shows(page, rp.aggregate([(first + 1) / 100, (second + 1 - 10) / 100]))
    assert page.locator("#number-1").input_value() == f"{second - 9} %"


def test_names_stand_in_the_sentences(page: Page) -> None:
    page.get_by_label("Name of forecaster 1").fill("Ann <b>")
    page.locator("#reason").get_by_text("Ann <b> says 0.7 and forecaster 2 says 0.6.").wait_for()
    assert page.locator("#worlds").get_by_text("Ann <b> says 0.7 or is certain").count() == 2
    assert page.locator("#axis-first").inner_text() == "Ann <b>"


def test_adding_and_removing_up_to_twelve(page: Page) -> None:
    assert page.get_by_label("Remove forecaster 1").is_disabled()
    for _ in range(10):
        page.get_by_role("button", name="Add a forecaster").click()
    assert page.get_by_role("button", name="Add a forecaster").is_disabled()
    shows(page, rp.aggregate([0.7, 0.6, *[0.5] * 10]))
    assert page.locator("#heat").is_hidden()
    check_page(page)
    page.get_by_label("Remove forecaster 1", exact=True).click()
    shows(page, rp.aggregate([0.6, *[0.5] * 10]))


def test_by_keyboard_alone(page: Page) -> None:
    page.locator("#name-0").focus()
    page.keyboard.type("Ann")
    page.keyboard.press("Tab")
    page.keyboard.type("0.9")  # the field is selected when it gets the focus by Tab
    shows(page, rp.aggregate([0.9, 0.6]))
    page.keyboard.press("Tab")  # not to the button that is disabled, but to the slider
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    shows(page, rp.aggregate([0.87, 0.6]))
    while page.evaluate("document.activeElement.id") != "know-public":
        page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.locator("#on-public").get_by_text("changes neither the forecast nor what is proved").wait_for()


MOVED = """([place, at]) => {
  const slider = document.getElementById(`slider-${place}`);
  slider.value = at;
  slider.dispatchEvent(new Event("input"));
}"""


def test_an_answer_does_not_move_a_slider_back_that_was_moved_meanwhile(page: Page) -> None:
    held: list[Route] = []
    page.route("**/api/v1/explain", lambda route: held.extend([route]))
    page.evaluate(MOVED, [0, 90])
    while not held:
        page.wait_for_timeout(10)
    page.evaluate(
        "window.later = []; window.own = setTimeout; setTimeout = (ask) => later.push(ask)"
    )  # the next question is not asked yet
    page.evaluate(MOVED, [0, 89])
    held.pop().continue_()
    shows(page, rp.aggregate([0.9, 0.6]))
    assert page.locator("#slider-0").input_value() == "89"
    page.unroute("**/api/v1/explain")
    page.evaluate("setTimeout = own; later.forEach((ask) => ask instanceof Function && ask())")
    shows(page, rp.aggregate([0.89, 0.6]))


# --------------------------------------------------------------------------------------------------------- the choices


def test_a_range_of_base_rates(page: Page) -> None:
    choice(page, "base_rate").check()
    shows(page, answer([0.7, 0.6], know=Knowledge(base_rate=(0.05, 0.2))).forecast)  # type: ignore[arg-type]
    assert "at most 0.006373 above" in page.locator("#on-base_rate").inner_text()
    assert page.locator("#percent").inner_text() == "94.3 % · 0.654 if you knew nothing"
    page.get_by_label("Lowest base rate").fill("30 %")
    page.locator("#wrong-base_rate").get_by_text("a range of base rates goes from low to high").wait_for()
    page.get_by_label("Lowest base rate").fill("20 %")
    shows(page, rp.aggregate([0.7, 0.6], "bordley:prior=0.2"))
    check_page(page)
    choice(page, "base_rate").uncheck()
    shows(page, "0.654")
    assert page.locator("#on-base_rate").inner_text() == ""


def test_the_other_choices(page: Page) -> None:
    choice(page, "public").check()
    page.locator("#on-public").get_by_text("changes neither").wait_for()
    shows(page, "0.654")
    choice(page, "slope").check()
    shows(page, answer([0.7, 0.6], know=Knowledge(slope=0.8)).forecast)  # type: ignore[arg-type]
    page.locator("#slope").fill("3")
    page.locator("#wrong-slope").get_by_text(
        "the slope of over-confident forecasters lies in [0.1, 1]; it is 3."
    ).wait_for()
    choice(page, "slope").uncheck()
    choice(page, "knows_all").check()
    page.get_by_label("Who knows all that the others know").select_option(label="Forecaster 2")
    shows(page, 0.6)
    page.get_by_label("Who knows all that the others know").select_option(label="I do not know who")
    shows(page, "0.654")
    page.get_by_label("Rule", exact=True).select_option("mean")
    shows(page, 0.65)
    check_page(page)


def test_more_than_two_outcomes(page: Page) -> None:
    choice(page, "outcomes").check()
    same = [0.5, 0.3, 0.2]
    shows(page, " · ".join(map(shown, rp.aggregate([[same, same]])[0].tolist())))
    page.get_by_label("Outcome 1, forecaster 2").fill("60 %")
    page.locator("#wrong-1").get_by_text("the probabilities of report 2 must sum to 1; they sum to 1.1.").wait_for()
    page.get_by_label("Outcome 2, forecaster 2").fill("0.2")
    shows(page, " · ".join(map(shown, rp.aggregate([[same, [0.6, 0.2, 0.2]]])[0].tolist())))
    assert "No upper bound is proved." in page.locator("#on-outcomes").inner_text()
    check_page(page)
    choice(page, "base_rate").check()
    page.locator("#wrong-base_rate").get_by_text("a range of base rates is for questions with two outcomes").wait_for()
    choice(page, "base_rate").uncheck()
    choice(page, "outcomes").uncheck()
    shows(page, "0.654")


# ------------------------------------------------------------------------------------------------------- to take away


def test_the_link_reproduces_the_state(browser: Browser, server: Server) -> None:
    with visited(browser, server.url, permissions=["clipboard-read", "clipboard-write"]) as page:
        ready(page)
        page.get_by_label("Name of forecaster 2").fill("Bob & Co")
        page.get_by_label("Forecast of forecaster 1").fill("0.123")
        page.get_by_role("button", name="Add a forecaster").click()
        choice(page, "slope").check()
        choice(page, "public").check()
        page.get_by_label("Rule", exact=True).select_option("geometric-odds")
        expected = answer(
            [0.123, 0.6, 0.5], "geometric-odds", names=["", "Bob & Co", ""], know=Knowledge(slope=0.8, public=True)
        )
        shows(page, expected.forecast)  # type: ignore[arg-type]
        page.get_by_role("button", name="Copy link").click()
        page.get_by_text("The link is copied.").wait_for()
        link = page.evaluate("navigator.clipboard.readText()")
    with visited(browser, link) as page:
        shows(page, expected.forecast)  # type: ignore[arg-type]
        assert page.locator("#reason").inner_text() == " ".join(expected.reason).replace("`", "")
        assert page.locator("#name-1").input_value() == "Bob & Co"
        assert page.locator("#number-0").input_value() == "0.123"
        assert choice(page, "slope").is_checked()
        assert choice(page, "public").is_checked()
        assert page.locator("#rule").input_value() == "geometric-odds"
    assert "#" in link


def test_the_reason_is_copied(browser: Browser, server: Server) -> None:
    with visited(browser, server.url, permissions=["clipboard-read", "clipboard-write"]) as page:
        ready(page)
        page.get_by_role("button", name="Copy the reason").click()
        page.get_by_text("The reason is copied.").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == " ".join(answer([0.7, 0.6]).reason).replace("`", "")


def test_the_saved_page_is_that_of_the_command(page: Page) -> None:
    page.get_by_label("Name of forecaster 1").fill("Ann")
    page.locator("#reason").get_by_text("Ann says 0.7").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as one page").click()
    assert download.value.suggested_filename == "forecast.html"
    saved = download.value.path().read_text(encoding="utf-8")
    assert saved == render(explanation_page(answer([0.7, 0.6], names=["Ann", ""])))


# -------------------------------------------------------------------------------------------------------- how it looks


@pytest.mark.parametrize(("width", "dark"), one_of(4, [(360, True), (360, False), (2000, False), (1280, True)]))
def test_it_fits_and_can_be_read(browser: Browser, server: Server, width: int, dark: bool) -> None:
    state = "#f=70+%25&f=60+%25&n=Ann&n=Bob&low=5+%25&high=20+%25&public=1&all=1&slope=0.8"
    with visited(browser, server.url + state, width, dark=dark) as page:
        ready(page)
        check_page(page)


def test_a_phone_shows_outcomes_without_scrolling_sideways(browser: Browser, server: Server) -> None:
    with visited(browser, f"{server.url}#f=0.2;0.2;0.2;0.2;0.1;0.1&f=0.2;0.2;0.2;0.2;0.1;0.1&k=6", 360) as page:
        ready(page)
        assert overflow(page) <= 0


# --------------------------------------------------------------------------------------------------- many points, no formula

POINTS = """async (states) => {
  const seen = [];
  for (const state of states) {
    location.hash = state;
    for (let wait = 0; document.body.dataset.shown !== state; wait++) {
      if (wait > 5000) throw new Error(`no answer to ${state}`);
      await new Promise((done) => setTimeout(done, 1));
    }
    const rows = [...document.querySelectorAll("#rules tbody tr")];
    seen.push([document.getElementById("forecast").textContent, rows.map((row) => row.cells[0].textContent + " " + row.cells[1].textContent)]);
  }
  return seen;
}"""


@pytest.mark.parametrize("count", [30, slowly(500)])
def test_points_are_those_of_the_library(page: Page, count: int) -> None:
    rng = np.random.default_rng(19)
    points: list[tuple[list[float], str]] = []
    for _ in range(count):
        n = int(rng.choice([2, 2, 2, 3, 5, 12]))
        rule = str(rng.choice(["robust", "robust", "minimax", "mean", "extremized-odds"]))
        digits = int(rng.integers(2, 6))
        points.append(([round(value, digits) for value in rng.random(n).tolist()], rule))
    states = [
        "#" + "&".join([*(f"f={quote_plus(str(x))}" for x in reports), *([] if rule == "robust" else [f"rule={rule}"])])
        for reports, rule in points
    ]
    page.set_viewport_size({"width": 400, "height": 100})  # nothing to draw
    seen: list[Any] = page.evaluate(POINTS, states)
    for (reports, rule), (forecast, rows) in zip(points, seen, strict=True):
        assert forecast == library(reports, rule)
        for row in rows:
            name, _, text = row.partition(" ")
            assert text == library(reports, name), (reports, name)


def library(reports: list[float], rule: str) -> str:
    """The forecast as the library says and shows it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return shown(rp.aggregate(reports, rule))


FORMULA = re.compile(r"Math\.(?!round|min|max)\w+|\*\*|logit|sigmoid")


def test_the_scripts_have_no_formula() -> None:
    for name in ("combine.js", "common.js", "source.js"):
        assert FORMULA.findall((TEMPLATES / "web" / name).read_text(encoding="utf-8")) == [], name
    assert FORMULA.findall("Math.log(x) + y ** 2") == ["Math.log", "**"]
