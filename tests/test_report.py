"""The report: one HTML file that loads nothing and hides nothing, and a calculator that agrees with the package."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise, product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner

import robustpool as rp
from browser import WIDTHS, chromium, findings, opened, overflow
from quick import one_of
from refusals import input_error
from robustpool.aggregators.rules import RULES
from robustpool.aggregators.table import TableAggregator
from robustpool.aggregators.worst_cases import KnownWorstCase
from robustpool.cli.app import app
from robustpool.designs.design_file import load_design
from robustpool.designs.records import FiniteRecord
from robustpool.errors import InputError
from robustpool.families.family_file import EXAMPLES
from robustpool.views import Page, Picture, Section, Table, render, write_page
from robustpool.views.calculator import calculator
from robustpool.views.design_page import THIS, design_page
from robustpool.views.lookup import lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from playwright.sync_api import Browser
    from playwright.sync_api import Page as BrowserPage

    from robustpool.designs.design import Design
    from robustpool.typing import Floats

    Pages = dict[str, Path]

HOSTILE = "<script>alert(1)</script>\" onload='x' & `<b>` </title></style>]]> \u2028 😀"
UNKNOWN = str(EXAMPLES / "weather-unknown.json")
PERCENTS = np.array([*product(range(101), repeat=2)]) / 100  # all pairs of reports in whole percents


def png(width: int, height: int, *, dpi: int | None = None, size: int = 0) -> bytes:
    """A grey picture, padded to about a size with a chunk that browsers skip."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    resolution = b"" if dpi is None else chunk(b"pHYs", struct.pack(">IIB", *[round(dpi / 0.0254)] * 2, 1))
    pixels = zlib.compress((b"\0" + b"\xc0" * width) * height)
    padding = chunk(b"ruSt", np.random.default_rng(0).bytes(size)) if size else b""
    chunks = (chunk(b"IHDR", head), resolution, chunk(b"IDAT", pixels), padding, chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def picture(**fields: Any) -> Picture:
    return Picture(**{"name": "p", "title": "T", "png": png(60, 40), "alt": "grey", "meaning": "Grey.", **fields})


def calculated(page: Page) -> Mapping[str, Any]:
    """The numbers of a page's calculator."""
    assert page.calculator is not None
    return page.calculator


def tables(page: Page) -> dict[str, Table]:
    """The tables of a page by their titles."""
    return {part.title: part for section in page.sections for part in section.parts if isinstance(part, Table)}


class Elements(HTMLParser):
    """The start tags with their attributes, and the text in each kind of element."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.stack: list[str] = []
        self.text: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self.stack:
            while self.stack.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self.stack:
            self.text.setdefault(self.stack[-1], []).append(data)


def hostile_page() -> Page:
    table = Table(HOSTILE, (HOSTILE, "n"), ((HOSTILE, "1.5"), ("x" * 300, "12 %")), HOSTILE)
    wide = Table("Wide", tuple(f"column {k}" for k in range(40)), (tuple(f"{k / 7:.9f}" for k in range(40)),))
    pictures = (picture(name=HOSTILE, title=HOSTILE, png=png(900, 400), alt=HOSTILE, meaning=HOSTILE, numbers=HOSTILE),)
    parts = (*pictures, picture(), table, wide)
    section = Section(HOSTILE, f"{HOSTILE}\n\n{'long' * 100}", parts, (HOSTILE, "a `code` b"))
    data = calculator({HOSTILE: "mean", "half": lambda x: 0.5 + 0 * x[:, 0]}, HOSTILE)
    agents = [{"name": HOSTILE, "reports": [HOSTILE, "x" * 300]}]
    look = {"agents": agents, "states": [HOSTILE], "profiles": [[0]], "forecasts": [["0.500000"]]}
    return Page(HOSTILE, HOSTILE, (section, Section("Empty", "")), {HOSTILE: HOSTILE}, data, look)


# --- the page ---------------------------------------------------------------------------------------------------------


def test_every_text_is_escaped_and_none_is_lost() -> None:
    found = Elements(render(hostile_page()))
    kinds = [tag for tag, _ in found.tags]
    assert kinds.count("script") == 5  # two tools with their data, and what every page has
    assert kinds.count("style") == kinds.count("title") == kinds.count("h1") == 1
    assert "b" not in kinds
    assert not [name for _, attributes in found.tags for name in attributes if name.startswith("on")]
    assert HOSTILE in found.text["title"]
    assert HOSTILE in found.text["h1"]
    assert [attributes["alt"] for tag, attributes in found.tags if tag == "img"] == [HOSTILE, "grey"]
    data = [json.loads(text) for text in found.text["script"] if text.startswith("{")]
    assert data == [hostile_page().calculator, hostile_page().lookup]
    assert "".join(found.text["code"]).count("code") == 1


def test_nothing_is_loaded() -> None:
    text = render(hostile_page())
    for _, attributes in Elements(text).tags:
        for name in ("src", "href", "srcset", "action", "poster", "data"):
            address = attributes.get(name)
            assert address is None or address.startswith(("#", "data:"))
    style = re.search("<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    assert not re.search(r"url\(|@import", style[1])
    assert not re.search(r"https?://|fetch\(|XMLHttpRequest|import\(", text)
    assert "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'" in text


def test_headings_go_down_step_by_step_and_tables_are_labelled() -> None:
    found = Elements(render(hostile_page())).tags
    levels = [int(tag[1]) for tag, _ in found if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(deeper <= level + 1 for level, deeper in pairwise(levels))
    assert sum(tag == "caption" for tag, _ in found) == sum(tag == "table" for tag, _ in found)
    assert all("scope" in attributes for tag, attributes in found if tag == "th")


def test_fifteen_pictures_stay_below_eight_megabytes() -> None:
    pictures = tuple(picture(name=f"p{k}", png=png(900, 600, size=150_000)) for k in range(15))
    data = calculator({}, "minimax")
    page = Page("Many", "Pictures.", (Section("All", "", pictures),), {}, data)
    assert len(render(page).encode()) < 8_000_000
    assert len(json.dumps(data)) < 500_000


def test_pictures_have_the_size_that_their_resolution_says() -> None:
    def size(content: bytes) -> tuple[str | None, str | None]:
        page = Page("", "", (Section("", "", (picture(png=content),)),), {})
        attributes = next(attributes for tag, attributes in Elements(render(page)).tags if tag == "img")
        return attributes["width"], attributes["height"]

    assert size(png(900, 300)) == ("900", "300")
    assert size(png(900, 300, dpi=150)) == ("720", "240")  # 6 x 2 inches of 120 pixels
    with input_error("a picture must be a PNG; it begins with b'GIF89a'"):
        size(b"GIF89a")


def test_numbers_are_aligned_right() -> None:
    table = Table("T", ("name", "a", "b", "c"), (("x", "1.5e-3", "12 %", "1.5"), ("y", "-2,000", "–", "about 2")))
    elements = Elements(render(Page("", "", (Section("", "", (table,)),), {})))
    found = [attributes for tag, attributes in elements.tags if tag == "td"]
    assert ["class" in attributes for attributes in found] == [True, True, False] * 2
    with input_error(r"a cell for each of the 2 columns; row 1 of 'T' has 1\."):
        Table("T", ("a", "b"), (("1", "2"), ("1",)))


def test_a_page_is_written_whole_into_a_folder_that_is_made(tmp_path: Path) -> None:
    write_page(Page("Ü", "ü", (), {}), tmp_path / "new" / "page.html")
    assert "<h1>Ü</h1>" in (tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    with input_error("cannot be written: it is not a regular file"):
        write_page(Page("", "", (), {}), tmp_path)


# --- the calculator's data --------------------------------------------------------------------------------------------


def unpacked(entry: dict[str, Any]) -> Floats:
    """The table of an entry, as the page reads it."""
    values = np.frombuffer(base64.b64decode(entry["values"]), dtype="<f4").astype(float)
    if not entry["symmetric"]:
        return values.reshape(101, 101)
    table = np.zeros((101, 101))
    table[np.tril_indices(101)] = values
    return np.maximum(table, table.T)


def test_the_tables_are_the_rules() -> None:
    data = calculator({"first": lambda reports: reports[:, 0]}, "mean")
    assert {entry["name"] for entry in data["aggregators"]} == {"first", *RULES} - {"bordley"}
    for entry in data["aggregators"]:
        rule: Callable[[Any], Any] = (lambda r: r[:, 0]) if entry["name"] == "first" else rp.get_rule(entry["name"])
        assert entry["symmetric"] == (entry["name"] != "first")
        contradictory = (PERCENTS.min(axis=1) == 0) & (PERCENTS.max(axis=1) == 1)
        expected = np.where(contradictory, 0.5, rule(PERCENTS)).reshape(101, 101)
        assert unpacked(entry) == pytest.approx(expected, abs=4e-8)
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_regrets_are_rounded_outward_and_say_how_they_are_known() -> None:
    bounds = {"a": KnownWorstCase(upper=0.1234561, found=0.1), "b": KnownWorstCase(found=0.1234569)}
    data = calculator({"a": "mean", "b": "mean", "c": "mean"}, "a", bounds=bounds)
    shown = {entry["name"]: (entry["regret"]["text"], entry["regret"]["kind"]) for entry in data["aggregators"]}
    assert [shown[name] for name in "abc"] == [("0.123457", "proved"), ("0.123456", "found"), ("–", "not known")]
    assert shown["minimax"] == ("0.022543", "proved")
    rules = [float(text) for text, _ in list(shown.values())[3:]]
    assert rules == sorted(rules)
    with input_error(r"the chosen aggregator must be one of robust, minimax, .*; it is 'magic'"):
        calculator({}, "magic")


# --- pages of designs -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_agents() -> Design:
    return rp.solve(rp.ConditionallyIndependent(2, 10, 20), method="multiplicative-weights", rounds=20).design


@pytest.fixture(scope="module")
def finite() -> Design:
    return rp.solve(rp.load_family(UNKNOWN)).design


@pytest.fixture(scope="module")
def votes() -> Design:
    """Three voters and three states; the third one votes as the first, so that some profiles never come."""
    apart, alike = np.zeros((2, 3, 3, 3, 3))
    for state, first, second in product(range(3), repeat=3):
        apart[state, first, second, first] = (0.6 if first == state else 0.2) * (0.5 if second == state else 0.25) / 3
    for state, vote in product(range(3), repeat=2):
        alike[state, vote, vote, vote] = (0.8 if vote == state else 0.1) / 3
    structures = [rp.InformationStructure(apart, name="apart"), rp.InformationStructure(alike, name="alike")]
    family = rp.FiniteFamily.from_structures(
        structures, report="decision", states=("no", "perhaps", "yes"), agents=("ann", "bob", "cy")
    )
    return rp.solve(family, tolerance=1e-3).design


def test_a_design_for_two_agents(two_agents: Design) -> None:
    page = design_page(two_agents, file="my design.json")
    assert calculated(page)["chosen"] == THIS
    entry = calculated(page)["aggregators"][0]
    assert unpacked(entry)[70, 60] == pytest.approx(float(two_agents([[0.7, 0.6]])[0]), abs=1e-7)
    assert entry["regret"] == {"text": "–", "kind": "not known", "upper": None}  # its bound is for its own grid
    found = calculated(design_page(two_agents, found=0.0345678))["aggregators"][0]
    assert found["regret"] == {"text": "0.034567", "kind": "found", "upper": None}
    text = render(page)
    assert "Neither is proved." in text
    assert "Between the steps of the grid it can be worse." in text
    assert "robustpool certify &#x27;my design.json&#x27; --out certificate.json" in text
    assert two_agents.hash in text
    assert text.count("data:image/png") == 2


def test_a_continuous_design_brings_the_worst_regret_that_was_found(two_agents: Design) -> None:
    settings = replace(two_agents.settings, nature="continuous")
    design = replace(two_agents, settings=settings, bounds=replace(two_agents.bounds, upper=0.0226189))
    assert calculated(design_page(design))["aggregators"][0]["regret"]["text"] == "0.022618"
    judged = replace(design, settings=replace(settings, loss="log"))
    assert calculated(design_page(judged))["aggregators"][0]["regret"]["kind"] == "not known"


def test_the_lower_bound_of_continuous_nature_speaks_of_tables_only(two_agents: Design) -> None:
    settings = replace(two_agents.settings, nature="continuous", restrictions=("monotone",))
    bounds = replace(two_agents.bounds, upper_is="found by search", upper=0.0226189)
    page = design_page(replace(two_agents, settings=settings, bounds=bounds))
    assert "no table with knots in steps of 1/10 under the same restrictions has a worst case below" in page.lead
    assert "the worst regret that a search found is 0.022618," in page.lead


def test_a_range_of_priors_and_another_loss_are_told(two_agents: Design) -> None:
    family = rp.ConditionallyIndependent(2, 10, 40, (0.05, 0.2))
    page = design_page(replace(two_agents, family=family, settings=replace(two_agents.settings, loss="log")))
    assert calculated(page)["prior_range"] == [0.05, 0.2]
    assert "only base rates from 0.05 to 0.2 count" in calculated(page)["note"]
    assert "made for the log loss" in calculated(page)["note"]
    assert "Its bounds cannot be proved" in render(page)


@pytest.mark.parametrize(
    ("family", "title"),
    [
        (rp.ConditionallyIndependent(2, 4, 8), "2 independent forecasters"),
        (rp.Correlated(2, 4), "2 calibrated agents with any correlation, reports in steps of 1/4"),
        (
            rp.Neglect(2, 4, 8),
            "2 independent agents who put the base rate to the power 0.5 to 1, reports in steps of 1/4",
        ),
        (rp.CommonSource(2, 4), "2 agents with a common source, reports, priors and chances in steps of 1/4"),
        (rp.SecondQuestion(2, 3, 4), "2 conditionally independent agents, reports in steps of 1/3"),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_a_page_names_its_world_and_what_its_aggregator_does(family: Any, title: str) -> None:
    design = rp.solve(family, tolerance=1e-3).design
    page = design_page(design)
    assert page.title.startswith(f"A robust aggregator for {title}")
    (forecasts,) = (section.text for section in page.sections if section.title == "The forecasts")
    if not isinstance(design.aggregator, TableAggregator):
        assert forecasts == "It is a table on a grid of reports, interpolated in between."
        return
    assert forecasts == "These are all profiles of the family, each with its forecast; other profiles are rejected."
    listed = tables(page)["Forecasts by reports"]
    assert listed.columns == ("agent 1 says", "agent 2 says", "forecast")
    for row, profile in zip(listed.rows, design.aggregator.reports, strict=True):
        assert row[:-1] == tuple(", ".join(f"{x:.6g}" for x in agent) for agent in profile)
        assert row[-1] == f"{design(profile[None])[0]:.6f}"
    assert page.lookup is None


@pytest.mark.parametrize("agents", [1, 3, 4])
def test_designs_for_other_numbers_of_agents(agents: int) -> None:
    design = rp.solve(rp.ConditionallyIndependent(agents, 2, 4), tolerance=1e-3).design
    page = design_page(design)
    assert page.calculator is None
    for row in tables(page)["Forecasts on the grid"].rows:
        assert f"{design([[float(cell) for cell in row[:-1]]])[0]:.6f}" == row[-1]
    assert "robustpool certify" not in render(page)


def test_a_finite_family_has_its_profiles_and_names(finite: Design) -> None:
    page = design_page(finite)
    assert page.calculator is None
    forecasts = tables(page)["Forecasts by reports"]
    assert forecasts.columns == ("ann says", "bob says", "Pr[rain]")
    assert ("0.5", "0.5", f"{finite([[0.5, 0.5]])[0]:.6f}") in forecasts.rows
    heaviest = tables(page)["The heaviest structures of nature's mixture"]
    assert {row[0] for row in heaviest.rows} == {"independent bulletins", "one shared bulletin"}


def test_more_states_vector_reports_and_long_tables() -> None:
    family = rp.random_family(structures=60, states=3, report="higher-order", rng=1)
    design = rp.solve(family, tolerance=1e-2).design
    forecasts = tables(design_page(design))["Forecasts by reports"]
    assert len(forecasts.columns) == 2 + 3
    assert len(forecasts.rows) == 200
    assert f"The first 200 of {len(family.reports):,} profiles of reports" in forecasts.note


def test_the_look_up_has_every_profile_and_its_forecast(finite: Design, votes: Design) -> None:
    for design in (finite, votes):
        data = design_page(design).lookup
        assert data is not None
        assert design_page(design).calculator is None
        assert isinstance(design.family, FiniteRecord)
        names = design.family.agents
        assert [agent["name"] for agent in data["agents"]] == list(names)
        rows = tables(design_page(design))["Forecasts by reports"].rows
        assert len(data["profiles"]) == len(rows)
        for profile, forecast, row in zip(data["profiles"], data["forecasts"], rows, strict=True):
            said = [data["agents"][k]["reports"][place] for k, place in enumerate(profile)]
            assert tuple(forecast) == row[len(names) :]
            if design is finite:
                assert tuple(said) == row[: len(names)]
                assert forecast == [f"{design([[float(x) for x in said]])[0]:.6f}"]
            else:
                states = ["no", "perhaps", "yes"]
                answer = design([[np.eye(3)[states.index(state)] for state in said]])[0]
                assert forecast == [f"{value:.6f}" for value in answer]


def test_reports_that_are_close_keep_two_names() -> None:
    table = TableAggregator(np.array([[[0.3], [0.5]], [[0.3 + 1e-8], [0.5]]]), np.array([0.2, 0.7]))
    agents, states = ("ann", "bob"), ("no", "yes")
    family = FiniteRecord(states=states, agents=agents, report="posterior", structures=1, fingerprint="")
    data = lookup(table, family)
    assert data is not None
    assert data["agents"][0]["reports"] == ["0.3", "0.30000001"]


def test_a_table_that_is_too_long_has_no_look_up(finite: Design, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustpool.views.lookup.MOST_PROFILES", 3)
    assert design_page(finite).lookup is None
    assert "Look up a forecast" not in render(design_page(finite))


# --- the command ------------------------------------------------------------------------------------------------------


def command(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["design", *arguments])


def test_the_command_writes_the_report(tmp_path: Path) -> None:
    out, report = str(tmp_path / "d.json"), tmp_path / "new" / "d.html"
    done = command("--family", UNKNOWN, "--out", out, "--report", str(report))
    assert done.exit_code == 0, done.output
    assert f"the report is in    {report}" in done.output
    assert report.read_text(encoding="utf-8") == render(design_page(load_design(out), file=out))
    again = command("--family", UNKNOWN, "--out", out, "--report", str(report), "--json")
    assert json.loads(again.output)["report"] == str(report)


def test_the_command_searches_for_the_worst_regret_of_a_table(tmp_path: Path) -> None:
    out, report = str(tmp_path / "d.json"), tmp_path / "d.htm"
    done = command("--reports", "4", "--priors", "8", "--tolerance", "1e-3", "--out", out, "--report", str(report))
    assert done.exit_code == 0, done.output
    written = report.read_text(encoding="utf-8")
    data = json.loads(next(text for text in Elements(written).text["script"] if text.startswith("{")))
    entry = data["aggregators"][0]
    design = load_design(out)
    found = rp.worst_case(design, rp.ConditionallyIndependent(2, None, None)).regret
    assert found > design.upper + 1e-4  # between the steps of the grid it is worse
    assert (entry["name"], entry["regret"]["kind"]) == (THIS, "found")
    assert found - 2e-6 < float(entry["regret"]["text"]) <= found
    assert written == render(design_page(design, file=out, found=found))


def test_the_report_is_written_when_the_tolerance_is_not_reached(tmp_path: Path) -> None:
    arguments = ["--family", UNKNOWN, "--out", str(tmp_path / "d.json"), "--report", str(tmp_path / "d.html")]
    done = command(*arguments, "--method", "multiplicative-weights", "--tolerance", "1e-12", "--rounds", "3")
    assert done.exit_code == 1
    assert "the round limit was reached" in (tmp_path / "d.html").read_text(encoding="utf-8")


def test_the_report_is_written_after_ctrl_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(state: Any, rounds: int) -> None:  # noqa: ARG001
        if state.round >= 2:
            raise KeyboardInterrupt

    @contextmanager
    def progress(tolerance: float | None) -> Iterator[Callable[[Any, int], None]]:  # noqa: ARG001
        yield interrupt

    monkeypatch.setattr("robustpool.cli.design._progress", progress)
    arguments = ["--family", UNKNOWN, "--out", str(tmp_path / "d.json"), "--report", str(tmp_path / "d.html")]
    done = command(*arguments, "--method", "multiplicative-weights", "--tolerance", "1e-12")
    assert done.exit_code == 1
    assert "the run was interrupted; the best result so far is kept" in (tmp_path / "d.html").read_text(
        encoding="utf-8"
    )


def test_a_file_that_is_no_page_is_not_overwritten(tmp_path: Path) -> None:
    for name in ("notes.txt", "notes.html"):
        (tmp_path / name).write_text("mine")
    for out, report, sentence in [
        ("d.json", "notes.html", "--report must be a new file or an HTML page; {!r} is neither."),
        ("d.json", "notes.txt", "--report must name an HTML file; it is {!r}."),
        ("d.json", "new.pdf", "--report must name an HTML file; it is {!r}."),
        ("d.json", "d.json", "--report must name an HTML file; it is {!r}."),
        ("d.json", "html", "--report must name an HTML file; it is {!r}."),
        ("d.json", "notes.txt/d.html", "{!r} cannot be written: 'notes.txt' is not a folder"),
        ("d.html", "d.html", "--report and --out must be two files; both are {!r}."),
    ]:
        done = command("--family", UNKNOWN, "--out", str(tmp_path / out), "--report", str(tmp_path / report))
        assert isinstance(done.exception, InputError)
        assert sentence.format(str(tmp_path / report)) in str(done.exception)
        assert sorted(file.name for file in tmp_path.iterdir()) == ["notes.html", "notes.txt"]  # before the work
    assert [(tmp_path / name).read_text() for name in ("notes.txt", "notes.html")] == ["mine", "mine"]


@pytest.mark.parametrize("name", ["d.html", "d.htm", "D.HTML"])
def test_a_page_is_overwritten(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("<!DOCTYPE html><title>old</title>")
    done = command("--family", UNKNOWN, "--out", str(tmp_path / "d.json"), "--report", str(tmp_path / name))
    assert done.exit_code == 0, done.output
    assert "<title>old</title>" not in (tmp_path / name).read_text(encoding="utf-8")


# --- in a browser -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, two_agents: Design, finite: Design, votes: Design) -> Pages:
    """The pages that are looked at."""
    folder = tmp_path_factory.mktemp("pages")
    designs = {"two": two_agents, "finite": finite, "votes": votes}
    contents = {name: design_page(design) for name, design in designs.items()} | {"hostile": hostile_page()}
    for name, page in contents.items():
        write_page(page, folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in contents}


@pytest.mark.parametrize(("name", "width"), one_of(5, product(["two", "finite", "votes", "hostile"], [*WIDTHS, 900])))
def test_a_page_fits_and_can_be_read_by_all(browser: Browser, pages: dict[str, Path], name: str, width: int) -> None:
    with opened(browser, pages[name], width) as page:
        assert overflow(page) == 0
        assert findings(page) == []


def test_the_checks_of_a_page_can_fail(browser: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text("<html><body><img src='data:,' width=3000><script>nothing.at.all</script></body></html>")
    seen: list[Any] = []

    def look() -> None:
        with opened(browser, bad) as page:
            seen.extend((overflow(page), [found[0] for found in findings(page)]))

    with pytest.raises(AssertionError, match="nothing is not defined"):
        look()
    assert seen[0] > 1000
    assert "image-alt" in seen[1]
    bad.write_text("<html><body><img src='http://localhost:9/x.png'></body></html>")
    with pytest.raises(AssertionError, match=r"localhost:9/x\.png"):
        look()


def test_without_javascript_the_page_says_what_is_missing(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["two"], script=False) as page:
        sentence = page.locator("#calculator noscript").inner_html()
        assert "The calculator needs JavaScript" in sentence  # Chromium shows it only if started without scripts
        assert page.get_by_text("Bounds on the worst regret").first.is_visible()
        assert not page.locator("#report-1").is_visible()


def test_the_look_up_says_what_the_design_says(browser: Browser, pages: dict[str, Path], finite: Design) -> None:
    with opened(browser, pages["finite"]) as page:
        for first, second in product(("0.1", "0.5"), repeat=2):
            page.get_by_label("ann says").select_option(label=first)
            page.get_by_label("bob says").select_option(label=second)
            forecast = finite([[float(first), float(second)]])[0]
            assert text(page, "#lookup-answer") == f"The probability of rain is{forecast:.6f}"
        assert text(page, "#lookup-place") == "Profile 4 of 4 in the design."
        page.get_by_label("ann says").focus()  # by keys alone
        page.keyboard.press("ArrowUp")
        forecast = finite([[0.1, 0.5]])[0]
        assert f"{forecast:.6f}" in text(page, "#lookup-answer")


def test_the_look_up_names_states_and_refuses_what_never_comes(browser: Browser, pages: Pages, votes: Design) -> None:
    data = design_page(votes).lookup
    assert data is not None
    reports = [agent["reports"] for agent in data["agents"]]
    come = {tuple(reports[k][place] for k, place in enumerate(profile)) for profile in data["profiles"]}
    refused = 0
    with opened(browser, pages["votes"], 400) as page:
        for profile in product(*reports):
            for k, report in enumerate(profile):
                page.locator(f"#lookup-{k}").select_option(label=report)
            answer = text(page, "#lookup-answer")
            if profile in come:
                said = votes([[np.eye(3)[["no", "perhaps", "yes"].index(state)] for state in profile]])[0]
                parts = (f"The probability of {s} is{f:.6f}" for s, f in zip(data["states"], said, strict=True))
                assert answer == "".join(parts)
                continue
            refused += 1
            assert answer == "These reports never occur together in this family, so the design gives no forecast."
            for k, name in enumerate(("ann", "bob", "cy")):
                others = [r for r in reports[k] if (*profile[:k], r, *profile[k + 1 :]) in come]
                sentence = f"{name} could say {' or '.join(others)}"
                assert (sentence in text(page, "#lookup-place")) == bool(others)
    assert refused > 0


def test_without_javascript_the_look_up_points_at_the_table(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["finite"], script=False) as page:
        assert "The look-up needs JavaScript" in page.locator("#lookup noscript").inner_html()
        assert page.get_by_text("Forecasts by reports").first.is_visible()
        assert not page.locator("#lookup-body").is_visible()


def move(page: BrowserPage, first: int, second: int, name: str) -> None:
    """Set both reports and the aggregator, and wait for the structure that belongs to them."""
    page.locator("#number-1").fill(str(first))
    page.locator("#number-2").fill(str(second))
    page.locator("#aggregator").select_option(label=name)
    settle(page, first, second, name)


def settle(page: BrowserPage, first: int, second: int, name: str) -> None:
    page.wait_for_function(
        "shown => document.getElementById('structure').dataset.shown === shown + document.getElementById('least').value",
        arg=f"{first},{second},{name},",
    )


def text(page: BrowserPage, selector: str) -> str:
    return (page.locator(selector).text_content() or "").replace("\u00a0", " ")


def percent(value: float) -> str:
    return f"{100 * value:.2f} %"


@pytest.mark.filterwarnings("ignore::robustpool.ContradictionWarning")
def test_the_page_says_what_the_package_says(browser: Browser, pages: dict[str, Path], two_agents: Design) -> None:
    with opened(browser, pages["two"]) as page:
        names = [row.replace("\u00a0", " ") for row in page.locator("#forecasts tbody th").all_text_contents()]
        assert set(names) == {THIS, *RULES} - {"bordley"}
        for first, second in [(70, 60), (3, 98), (0, 40), (100, 100), (50, 50), (0, 100)]:
            move(page, first, second, "minimax")
            for number, name in enumerate(names):
                rule: Any = two_agents if name == THIS else name
                said = text(page, f"#forecast-{number}")
                assert said == percent(rp.aggregate([first / 100, second / 100], rule, clip=0)), (first, second, name)
            assert text(page, "#forecast") == percent(rp.aggregate([first / 100, second / 100], clip=0))
        assert "so one of them is wrong" in text(page, "#structure-sentence")  # at 0 and 100
        assert not page.locator("#structure-found").is_visible()
        assert text(page, "#base-rates") == ""


def test_the_reports_can_be_moved_by_keys_by_numbers_and_on_the_map(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["two"]) as page:
        settle(page, 70, 60, THIS)
        before = text(page, "#forecast"), text(page, "#structure-regret"), text(page, "#base-0")
        page.locator("#report-1").focus()
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        page.keyboard.press("Home")
        settle(page, 75, 0, THIS)
        assert (page.locator("#number-1").input_value(), page.locator("#number-2").input_value()) == ("75", "0")
        page.locator("#report-2").fill("30")
        settle(page, 75, 30, THIS)
        after = text(page, "#forecast"), text(page, "#structure-regret"), text(page, "#base-0")
        assert all(one != other for one, other in zip(before, after, strict=True))
        page.locator("#number-1").fill("400")  # no report; the last one stays
        page.locator("#number-1").blur()
        assert page.locator("#number-1").input_value() == "75"
        box = press_the_map(page, 20, 90)
        page.mouse.move(box["x"] + 40.5 / 101 * box["width"], box["y"] - 50)
        page.mouse.up()
        settle(page, 40, 100, THIS)
        assert "One report is certain." in text(page, "#base-rates")  # who says 100 % is right


def press_the_map(page: BrowserPage, first: int, second: int) -> Any:
    """Press the mouse on the map at two reports, and keep it pressed; where the map is comes back."""
    page.locator("#map").scroll_into_view_if_needed()
    box = page.locator("#map").bounding_box()
    assert box is not None
    across, up = (first + 0.5) / 101, (second + 0.5) / 101
    page.mouse.move(box["x"] + across * box["width"], box["y"] + (1 - up) * box["height"])
    page.mouse.down()
    settle(page, first, second, THIS)
    return box


def test_what_is_no_whole_percent_gets_a_hint_and_changes_nothing(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["two"]) as page:
        settle(page, 70, 60, THIS)
        before = text(page, "#forecast")
        assert text(page, "#number-note") == ""
        for wrong in ("400", "-1", "0.7", ""):
            page.locator("#number-1").fill(wrong)
            assert text(page, "#number-note").startswith("Enter whole percents from 0 to 100"), wrong
            assert page.locator("#number-1").input_value() == wrong  # what is being typed is left alone
            assert page.locator("#report-1").input_value() == "70"
            assert text(page, "#forecast") == before
            page.locator("#number-1").fill("70")
            assert text(page, "#number-note") == ""
        page.locator("#number-1").fill("20")
        settle(page, 20, 60, THIS)
        assert text(page, "#forecast") != before


def test_a_click_on_the_map_also_changes_the_number_that_has_the_focus(browser: Browser, pages: Pages) -> None:
    with opened(browser, pages["two"]) as page:
        settle(page, 70, 60, THIS)
        page.locator("#number-2").focus()
        press_the_map(page, 20, 90)
        values = [page.locator(f"#{kind}-{k}").input_value() for k in (1, 2) for kind in ("number", "report")]
        assert values == ["20", "20", "90", "90"]
        page.mouse.up()


def test_the_rarest_structures_are_left_out_unless_asked_for(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["two"]) as page:
        options = page.locator("#least option")
        assert [option.get_attribute("value") for option in options.all()] == ["0.01", "0", "0.05", "0.2"]
        assert options.all_text_contents()[:2] == ["at least 1 % of the time", "with any probability"]
        assert page.locator("#least").input_value() == "0.01"
        move(page, 1, 99, "mean")
        often = float(text(page, "#structure-regret"))
        page.locator("#least").select_option("0")
        settle(page, 1, 99, "mean")
        assert float(text(page, "#structure-regret")) > often


def test_wide_pictures_scroll_on_phones_and_others_shrink(browser: Browser, tmp_path: Path) -> None:
    parts = tuple(picture(name=f"p{width}", png=png(width, 300)) for width in (700, 701, 900))
    write_page(Page("Wide", "", (Section("All", "", parts),), {}), tmp_path / "wide.html")
    with opened(browser, tmp_path / "wide.html", 400) as page:
        assert overflow(page) == 0
        measure = "box => [box.scrollWidth > box.clientWidth, box.firstElementChild.getBoundingClientRect().width]"
        seen = [page.locator(f"#picture-p{width} .scroll").evaluate(measure) for width in (700, 701, 900)]
        assert [scrolls for scrolls, _ in seen] == [False, True, True]
        assert seen[0][1] < 400
        assert [width for _, width in seen[1:]] == [672, 672]  # 42 rem
    with opened(browser, tmp_path / "wide.html", 1600) as page:
        seen = [page.locator(f"#picture-p{width} .scroll").evaluate(measure) for width in (700, 701, 900)]
        assert not any(scrolls for scrolls, _ in seen)


def worst_by_force(table: Floats, first: int, second: int, priors: Floats, least: float) -> float:
    """The largest regret of structures that bring two reports: all other reports in whole percents, the given priors."""

    def others(x: float, mu: float) -> list[tuple[float, float]]:
        """(y, Pr[x]) of an agent who says x or y."""
        if abs(x - mu) < 1e-12:
            return [(x, 1.0)]
        apart = [k / 100 for k in range(101) if (k / 100 - mu) * (x - mu) < -1e-12]
        return [(y, (mu - y) / (x - y)) for y in apart]

    def cost(a: Floats, b: Floats, mu: float) -> tuple[Floats, Floats]:
        """c and c (f - g)^2."""
        yes, no = a * b / mu, (1 - a) * (1 - b) / (1 - mu)
        c = yes + no
        g = np.divide(yes, c, out=np.zeros_like(c), where=c > 0)
        f = table[np.rint(100 * a).astype(int), np.rint(100 * b).astype(int)]
        return c, c * (f - g) ** 2

    worst = -1.0
    for mu in priors:
        (y, q), (z, r) = (np.array(others(x / 100, mu)).reshape(-1, 2).T for x in (first, second))
        y, q, x1, x2 = y[:, None], q[:, None], np.array(first / 100), np.array(second / 100)
        regret = q * r * cost(x1, x2, mu)[1] + q * (1 - r) * cost(x1, z, mu)[1]
        regret = regret + (1 - q) * r * cost(y, x2, mu)[1] + (1 - q) * (1 - r) * cost(y, z, mu)[1]
        regret = np.where(q * r * cost(x1, x2, mu)[0] >= least, regret, -1.0)
        worst = max(worst, float(regret.max(initial=-1.0)))
    return worst


def independent_regret(rule: str, prior: float, reports: list[list[float]]) -> float:
    """The regret by the joint distribution: agent i says reports[i][0] with chance q_i, else reports[i][1]."""
    joint = np.zeros((2, 2, 2))
    for omega, base in ((0, 1 - prior), (1, prior)):
        chances = []
        for x, y in reports:
            q = 1.0 if x == y else (prior - y) / (x - y)
            says = np.array([q * x, (1 - q) * y]) if omega else np.array([q * (1 - x), (1 - q) * (1 - y)])
            chances.append(says / base)
        joint[omega] = base * np.outer(*chances)
    return rp.regret(rule, rp.InformationStructure(joint))


@pytest.mark.filterwarnings("ignore::robustpool.ContradictionWarning")
def test_the_worst_structure_is_the_one_that_brute_force_finds(browser: Browser, pages: dict[str, Path]) -> None:
    proved = {entry["name"]: entry["regret"]["upper"] for entry in calculator({}, "minimax")["aggregators"]}
    cases = [
        (70, 60, "minimax", 0.0),
        (20, 85, "mean", 0.0),
        (50, 50, "product", 0.0),
        (0, 30, "average-prior", 0.0),
        (1, 99, "geometric-mean", 0.0),
        (100, 100, "log-odds", 0.0),
        (70, 60, "minimax", 0.05),
        (20, 85, "mean", 0.2),
        (1, 99, "geometric-mean", 0.05),
    ]
    with opened(browser, pages["two"]) as page:
        for case in cases:
            first, second, name, least = case
            page.locator("#least").select_option(f"{least:g}")
            move(page, first, second, name)
            table = rp.get_rule(name)(PERCENTS).reshape(101, 101)
            half = np.arange(1, 200) / 200
            found = json.loads(page.locator("#structure").get_attribute("data-structure") or "null")
            if found is None:  # as often as that, nothing brings these two
                assert "no structure in which the two reports occur together that often" in text(
                    page, "#structure-sentence"
                )
                assert worst_by_force(table, first, second, half, least) < 0
                continue
            around = found["prior"] + np.arange(-9, 10) / 1000
            around = around[(around > 0) & (around < 1)]
            wanted = worst_by_force(table, first, second, np.union1d(half, around), least)
            assert found["regret"] == pytest.approx(wanted, abs=2e-6), case
            reports = [[report / 100 for report in pair] for pair in found["reports"]]
            assert found["regret"] == pytest.approx(independent_regret(name, found["prior"], reports), abs=1e-7)
            assert found["regret"] <= proved[name] + 1e-7  # the tables are 32-bit floats
            assert text(page, "#structure-regret") == f"{np.floor(found['regret'] * 1e6) / 1e6:.6f}"
            assert 1 <= page.locator("#structure-table tbody tr").count() <= 4


@pytest.mark.filterwarnings("ignore::robustpool.ContradictionWarning")
def test_only_base_rates_of_the_range_are_looked_at(browser: Browser, two_agents: Design, tmp_path: Path) -> None:
    low, high = 0.612, 0.788
    family = rp.ConditionallyIndependent(2, 10, None, (low, high))
    write_page(design_page(replace(two_agents, family=family)), tmp_path / "range.html")
    table = rp.get_rule("mean")(PERCENTS).reshape(101, 101)
    half, fortieths = np.arange(1, 200) / 200, low + (high - low) * np.arange(41) / 40
    with opened(browser, tmp_path / "range.html") as page:
        page.locator("#least").select_option("0")
        for first, second in [(70, 60), (30, 10), (0, 25)]:
            move(page, first, second, "mean")
            found = json.loads(page.locator("#structure").get_attribute("data-structure") or "null")
            assert low <= found["prior"] <= high
            around = np.round(1000 * found["prior"]) / 1000 + np.arange(-9, 10) / 1000
            priors = np.concatenate((half, fortieths, around))
            inside = priors[(priors >= low) & (priors <= high)]
            assert found["regret"] == pytest.approx(worst_by_force(table, first, second, inside, 0.0), abs=2e-6)
            assert worst_by_force(table, first, second, half, 0.0) > found["regret"] + 1e-4  # elsewhere it is worse
        move(page, 70, 60, "mean")
        for number, mu in enumerate((low, (low + high) / 2, high)):
            posterior = rp.aggregate([0.7, 0.6], f"bordley:prior={mu}")
            assert text(page, f"#base-{number}") == f"{100 * posterior:.1f} %"


def test_base_rates_are_bayes(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["two"]) as page:
        for first, second in [(70, 60), (1, 50), (99, 2)]:
            move(page, first, second, "minimax")
            for number, mu in enumerate((0.1, 0.5, 0.9)):
                posterior = rp.aggregate([first / 100, second / 100], f"bordley:prior={mu}", clip=0)
                assert text(page, f"#base-{number}") == f"{100 * posterior:.1f} %"
        for first, second in [(0, 50), (30, 100), (100, 100)]:
            move(page, first, second, "minimax")
            assert "One report is certain." in text(page, "#base-rates")
            assert page.locator("#base-rates span").count() == 0
            said = {rp.aggregate([first / 100, second / 100], f"bordley:prior={mu}", clip=0) for mu in (0.1, 0.5, 0.9)}
            assert said == {1.0 if second == 100 else 0.0}  # the same, whatever the base rate
        move(page, 70, 60, "minimax")
        assert page.locator("#base-rates span").count() == 3
