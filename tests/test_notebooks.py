"""What objects show in a notebook: well-formed, small, quick, escaped; and the gallery's scripts run.

The heat map's colours are compared with matplotlib's viridis, and each number that is shown with the one it stands for.
"""

from __future__ import annotations

import math
import re
import runpy
import warnings
from collections import Counter
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import robustpool as rp
from quick import slowly
from robustpool import html
from robustpool.aggregators.rules import RULES
from robustpool.families.nature import Mixture
from robustpool.wording import at_most, between, outward

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parent.parent
GALLERY = sorted((ROOT / "docs" / "gallery").glob("plot_*.py"))
EXAMPLES = ROOT / "src" / "robustpool" / "families" / "examples"
HOSTILE = "<script>alert('x')</script>&\""
LARGEST = 200_000  # characters


class Reader(HTMLParser):
    """Reads HTML strictly: every tag that is opened is closed, in order, and attributes stand once."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.words: list[str] = []
        self.complaints: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes.append((tag, dict(attrs)))
        if len(dict(attrs)) < len(attrs):
            self.complaints.append(f"{tag} has an attribute twice")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.complaints.append(f"</{tag}> closes something else")

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


def read(text: str) -> Reader:
    """Read a piece of HTML and see that it is whole."""
    reader = Reader()
    reader.feed(text)
    reader.close()
    complaints = [*reader.complaints, *(f"{tag} is not closed" for tag in reader.open)]
    assert not complaints, complaints
    return reader


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("<div><b>x</div></b>", "closes something else"),
        ("<div><div>x</div>", "div is not closed"),
        ('<div style="a" style="b">x</div>', "an attribute twice"),
    ],
)
def test_the_reader_sees_what_is_wrong(text: str, complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        read(text)


# --- the objects ------------------------------------------------------------------------------------------------------


def a_solution(**settings: Any) -> rp.Solution:
    return rp.solve(rp.ConditionallyIndependent(2, 6, 24), tolerance=1e-4, **settings)


def a_finite_solution() -> rp.Solution:
    return rp.solve(rp.load_family(EXAMPLES / "weather-unknown.json"))


def a_design(tmp_path: Path, solution: rp.Solution) -> rp.Design:
    rp.save_design(solution, tmp_path / "design.json")
    return rp.load_design(tmp_path / "design.json")


def a_hostile_family() -> rp.FiniteFamily:
    joints = np.array([[[0.5, 0.0], [0.25, 0.25]], [[0.25, 0.25], [0.5, 0.0]]])
    return rp.FiniteFamily.from_joints(joints, names=[HOSTILE, "other"], states=[HOSTILE, "b"], agents=[HOSTILE])


def a_large_family(count: int = 1_000_000) -> rp.FiniteFamily:
    """Many structures with four support points each, as flat arrays."""
    rng = np.random.default_rng(0)
    mass = np.full((4 * count, 2), 0.125)
    return rp.FiniteFamily(
        states=("no", "yes"),
        agents=("one", "two"),
        report=rp.load_family(EXAMPLES / "weather.json").report,
        reports=np.stack(np.meshgrid(*[np.linspace(0, 1, 101)] * 2, indexing="ij"), axis=-1).reshape(-1, 2, 1),
        start=np.arange(0, 4 * count + 1, 4),
        profile=rng.integers(0, 101**2, 4 * count).astype(np.int32),
        mass=mass,
        names=tuple(f"structure <{t}>" for t in range(count)),
    )


MADE: dict[str, Callable[[], Any]] = {
    "solution": a_solution,
    "solution, one round": lambda: a_solution(rounds=1, method="multiplicative-weights"),
    "solution, any prior": lambda: rp.solve(rp.ConditionallyIndependent(2, 4, None), tolerance=1e-3),
    "solution, log loss": lambda: a_solution(loss="log"),
    "solution, ratio": lambda: a_solution(paradigm="ratio"),
    "solution, theory": lambda: rp.solve(a_hostile_family(), epsilon=0.5),
    "solution, finite": a_finite_solution,
    "solution, three agents": lambda: rp.solve(rp.ConditionallyIndependent(3, 3, 6), tolerance=1e-2),
    "mixture": lambda: a_solution().mixture,
    "mixture, finite": lambda: a_finite_solution().mixture,
    "grid, one agent": lambda: rp.GridAggregator(np.array([0.0, 0.5, 1.0])),
    "grid, two agents": lambda: rp.GridAggregator(np.array([[0.0, 0.5], [0.5, 1.0]])),
    "grid, three agents": lambda: rp.GridAggregator(np.full((5, 5, 5), 0.25)),
    "table": lambda: a_finite_solution().aggregator,
    "table, three states": lambda: rp.TableAggregator(np.full((1, 2, 3), 1 / 3), np.full((1, 3), 1 / 3)),
    "table, many agents": lambda: rp.TableAggregator(np.full((1, 50, 1), 0.5), np.array([0.5])),
    "binary structure": lambda: rp.BinaryStructure(0.3, [[0.2, 0.7], [0.0, 0.4]]),
    "binary structure, who learns nothing": lambda: rp.BinaryStructure(0.5, [[0.5, 0.5], [0.5, 1.0]]),
    "binary structure, ten agents": lambda: rp.BinaryStructure(0.3, [[0.2, 0.7]] * 10),
    "binary structure, a thousand agents": lambda: rp.BinaryStructure(0.3, [[0.2, 0.7]] * 1000),
    "structure": lambda: rp.InformationStructure([[[0.1, 0.2], [0.2, 0.0]], [[0.0, 0.1], [0.1, 0.3]]], name=HOSTILE),
    "structure, three states": lambda: rp.InformationStructure(np.full((3, 2), 1 / 6)),
    "structure, large": lambda: rp.InformationStructure(np.full((2, 1000, 1000), 1 / 2e6)),
    "structure, many agents": lambda: rp.InformationStructure(np.full((2,) * 17, 2.0**-17)),
    "family": a_hostile_family,
    "family, independent": rp.ConditionallyIndependent,
    "family, continuous": lambda: rp.ConditionallyIndependent(3, None, None, (0.1, 0.4)),
    "family, fine": lambda: rp.ConditionallyIndependent(2, 10**6, 10**6),
    "worst case": lambda: rp.worst_case("mean", rp.ConditionallyIndependent(2, 4, 8)),
    "worst case, finite": lambda: rp.worst_case("mean", a_hostile_family()),
    "certificate": lambda: rp.certify("minimax"),
    "certificate, finite": lambda: rp.certify("mean", str(EXAMPLES / "weather.json")),
    **{f"rule {name}": partial(rp.get_rule, name) for name in RULES if name != "bordley"},
    "rule bordley": lambda: rp.get_rule("bordley:prior=0.3"),
    "rule with a parameter": lambda: rp.get_rule("log-odds:alpha=0.6"),
}  # fmt: skip


def show(thing: Any) -> Reader:
    """What a notebook shows of a thing: whole, and not too long."""
    said = thing._repr_html_()
    assert len(said) < LARGEST
    return read(said)


def one_line(thing: Any) -> None:
    assert len(repr(thing)) <= 150
    assert repr(thing).isprintable()


def test_every_result_fits_in_a_line(tmp_path: Path) -> None:
    rows = [("q" * 30 + str(q), f"p{k}", 0.2 + q / 200 + k / 50, q % 2) for q in range(100) for k in range(9)]
    columns = ["question_id", "forecaster_id", "probability", "outcome"]
    table = rp.read_forecasts(pl.DataFrame(rows, schema=columns, orient="row"))
    one_line(table)
    one_line(table.rejected)
    one_line(rp.aggregate_table(table))
    one_line(rp.compare(table, rules=["mean", "robust"]))
    one_line(rp.explain([0.7, 0.6]))
    one_line(rp.verify(rp.certify("minimax")))
    for solution in (a_solution(), a_finite_solution(), rp.solve(a_hostile_family())):
        one_line(a_design(tmp_path, solution))


@pytest.mark.parametrize("name", MADE)
def test_everything_shows_itself(name: str) -> None:
    thing = MADE[name]()
    one_line(thing)
    reader = show(thing)
    assert not reader.tags["script"]
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in reader.attributes if tag == "th")
    pictures = [attributes for tag, attributes in reader.attributes if tag == "svg" and "role" in attributes]
    assert all(picture["role"] == "img" and picture["aria-label"] for picture in pictures)
    assert reader.tags["title"] == len(pictures)


def test_a_solution_shows_its_bounds_outward_and_what_they_are_worth() -> None:
    solution = a_solution()
    text = show(solution).text
    assert f"{outward(solution.lower, 'ROUND_FLOOR', 9)}, measured in floating point, not proved" in text
    assert f"{outward(solution.upper, 'ROUND_CEILING', 9)}, measured in floating point, not proved" in text
    assert f"at most {at_most(solution.gap)}" in text
    assert rp.Stopped.GAP.value in text
    assert all(name in text for name, _ in solution.mixture.heaviest(5))
    assert "x1" in text  # the heat map's axis
    continuous = replace(solution, searched=True)
    for searched in (continuous, MADE["solution, any prior"]()):
        assert "the worst that a search found, not proved" in show(searched).text


def test_a_solution_in_theory_mode_shows_its_guarantee() -> None:
    solution = MADE["solution, theory"]()
    assert solution.guarantee.says[:100] in show(solution).text


def test_a_design_shows_its_bounds_and_its_table(tmp_path: Path) -> None:
    for solution in (a_solution(), a_finite_solution()):
        design = a_design(tmp_path, solution)
        text = show(design).text
        assert f"{between(design.lower, design.upper, 9)}, not proved" in text
        assert design.name.removeprefix("design ") in text
        assert solution.stopped.value in text
        assert "Aggregator" in text
    continuous = a_design(tmp_path, rp.solve(rp.ConditionallyIndependent(2, 4, None), tolerance=1e-3))
    assert "found by search" in show(continuous).text


def test_a_hostile_design_shows_itself() -> None:
    design = a_finite_solution().design
    bounds, stopped = replace(design.bounds, lower=0.1, upper=0.2), replace(design.stopped, sentence=HOSTILE * 10_000)
    shown = show(replace(design, bounds=bounds, stopped=stopped, hash=HOSTILE))
    assert "between 0.100000000 and 0.200000001" in shown.text
    assert not shown.tags["script"]


def test_a_rule_shows_its_formula_its_source_and_its_worst_case() -> None:
    mean = show(rp.get_rule("mean")).text
    assert "f = mean x" in mean
    assert "[Guo2024, Table 1], simple averaging" in mean
    assert "between 0.062499999 and 0.062500499, proved" in mean
    tuned = show(rp.get_rule("log-odds:alpha=0.6")).text
    assert "alpha = 0.6" in tuned
    assert "proved for" not in tuned
    assert "not listed for these parameters" in tuned


def test_a_rule_that_is_only_found_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text('{"mean": {"found": 0.0625, "lower": null, "upper": null, "proved": false}}')
    monkeypatch.setattr("robustpool.aggregators.worst_cases.WORST_CASES", tmp_path / "w.json")
    assert "at least 0.062500000, found by search" in show(rp.get_rule("mean")).text


def test_a_binary_structure_shows_reports_chances_and_posteriors() -> None:
    reader = show(rp.BinaryStructure(0.3, [[0.2, 0.7], [0.0, 0.4]]))
    assert "prior 0.3" in reader.text
    assert reader.tags["tr"] == 1 + 2 + 1 + 4
    for number in ("0.2", "0.8", "0.7", "0.25", "0.75", "0.228571", "0.571429", "0.28", "0.784"):
        assert number in reader.words
    never = show(rp.BinaryStructure(0.5, [[0.5, 0.5], [0.5, 1.0]])).words
    assert never.count("never comes") == 2
    assert "2^1000 report profiles" in show(MADE["binary structure, a thousand agents"]()).text
    assert "and 1,008 more profiles" in show(MADE["binary structure, ten agents"]()).text


def test_a_structure_shows_signals_and_posteriors() -> None:
    reader = show(MADE["structure"]())
    assert HOSTILE in reader.text
    assert "prior 0.5" in reader.text
    assert {"0.25", "0.666667", "(0, 1)", "0.333333"} <= set(reader.words)
    assert reader.words.count("(1, 1)") == 1
    never = show(rp.InformationStructure([[0.5, 0.0], [0.5, 0.0]]))
    assert "never comes" in never.words
    assert "and 22 more signals" in show(MADE["structure, many agents"]()).text
    assert "signals 1,000 x 1,000" in show(MADE["structure, large"]()).text


def test_a_table_shows_its_first_profiles() -> None:
    rng = np.random.default_rng(0)
    table = rp.TableAggregator(rng.random((1234, 2, 1)), rng.random(1234))
    reader = show(table)
    assert reader.tags["tr"] == 11
    assert "and 1,224 more profiles" in reader.text
    assert f"{table.forecasts[9]:.6g}" in reader.words
    assert f"{table.forecasts[10]:.6g}" not in reader.words


def test_a_worst_case_is_called_found() -> None:
    text = show(rp.WorstCase(0.0625, rp.BinaryStructure(0.5, [[0.0, 1.0], [0.5, 0.5]]))).text
    assert "regret 0.062500000, found by search, not proved" in text
    assert "prior 0.5" in text
    assert "on structure 1,234 of the family" in show(rp.WorstCase(0.1, 1234)).text
    assert "regret inf" in show(rp.WorstCase(math.inf, 0)).text


def test_a_certificate_shows_what_is_proved() -> None:
    certificate = rp.certify("minimax")
    text = show(certificate).text
    assert "between 0.022542485937 and 0.022542485938 (proved)" in text
    assert "no aggregator below 0.022542485937, proved" in re.sub(r"\s+", " ", text)
    assert certificate.arithmetic in text
    assert len(certificate.claims) == 2
    assert all(claim in text for claim in certificate.claims)


def test_hostile_names_are_shown_and_do_nothing() -> None:
    family = a_hostile_family()
    solution = rp.solve(family, tolerance=1e-3)
    for thing in (family, solution, solution.mixture, rp.InformationStructure([[0.5, 0], [0, 0.5]], name=HOSTILE)):
        reader = show(thing)
        assert HOSTILE in reader.text
        assert not reader.tags["script"]


# --- large ones -------------------------------------------------------------------------------------------------------


def test_a_family_of_a_million_structures_is_not_gone_through() -> None:
    family = a_large_family()
    text = show(family).text
    assert "1,000,000" in text
    assert "structure <0>" in text
    assert "and 999,995 more structures" in text
    weights = np.random.default_rng(1).random(len(family))
    for mixed in (weights / weights.sum(), np.full(len(family), 1e-6)):
        mixture = Mixture(family, mixed)
        text = show(mixture).text
        assert "1,000,000 of 1,000,000 structures have weight" in text
        slowly = np.argsort(-mixed, kind="stable")[:10]
        assert [name for name, _ in mixture.heaviest(10)] == [family.name(int(t)) for t in slowly]


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 100])
def test_the_heaviest_structures_are_those_of_the_whole_order(count: int) -> None:
    family = a_large_family(5)
    mixture = Mixture(family, np.array([0.0, 0.25, 0.5, 0.25, 0.0]))
    assert [weight for _, weight in mixture.heaviest(count)] == [0.5, 0.25, 0.25][:count]
    assert [name for name, _ in mixture.heaviest(count)] == [f"structure <{t}>" for t in (2, 1, 3)][:count]


def test_the_paper_size_shows_itself() -> None:
    solution = rp.solve(rp.ConditionallyIndependent(2, 20, 400))
    assert "0.0225" in show(solution).text


@pytest.mark.parametrize("shape", [(1001, 1001), (101, 101, 101), (3,) * 10])
def test_large_grids_show_themselves(shape: tuple[int, ...]) -> None:
    reader = show(rp.GridAggregator(np.random.default_rng(0).random(shape)))
    assert f"{len(shape)} agents" in reader.text
    assert reader.tags["svg"] == (3 if len(shape) == 2 else 0)


# --- the pieces -------------------------------------------------------------------------------------------------------


def test_the_colours_are_those_of_viridis() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    viridis = matplotlib.colormaps["viridis"](np.linspace(0, 1, len(html.VIRIDIS)))
    assert list(html.VIRIDIS) == [matplotlib.colors.to_hex(colour) for colour in viridis]


def cells(picture: str) -> dict[tuple[int, int], str]:
    """The colour of each cell of a heat map, by column from the left and row from the top."""
    inner = picture[picture.index('viewBox="0 0 ', picture.index("</title>")) :].partition("</svg>")[0]
    rects = re.findall(r'<rect x="(\d+)" y="(\d+)" width="(\d+)" height="1" fill="(#\w+)"/>', inner)
    return {(int(x) + k, int(y)): colour for x, y, width, colour in rects for k in range(int(width))}


def test_a_heat_map_has_x1_to_the_right_and_x2_upwards() -> None:
    picture = html.heatmap([[0.0, 0.0, 1.0], [0.5, 0.5, 0.5], [1.0, 1.0, 0.0]])
    read(picture)
    dark, light, middle = html.VIRIDIS[0], html.VIRIDIS[-1], html.VIRIDIS[16]
    assert cells(picture) == {
        (0, 0): light,
        (1, 0): middle,
        (2, 0): dark,
        **{(0, y): dark for y in (1, 2)},
        **{(1, y): middle for y in (1, 2)},
        **{(2, y): light for y in (1, 2)},
    }


def test_a_heat_map_is_no_larger_than_anybody_sees() -> None:
    values = np.random.default_rng(0).random((3000, 50))
    picture = html.heatmap(values, "thing <b>")
    assert "Heat map of the thing &lt;b&gt; over the reports x1 and x2, 41 by 41 of 3000 by 50 values" in picture
    assert len(cells(picture)) == 41 * 41
    corner = html.VIRIDIS[round(values[-1, -1] * (len(html.VIRIDIS) - 1))]
    assert cells(picture)[40, 0] == corner


def test_a_heat_map_shows_nothing_where_there_is_no_number() -> None:
    assert set(cells(html.heatmap([[0.5, np.nan], [np.inf, 2.0]]))) == {(0, 1), (1, 0)}
    read(html.heatmap([[np.nan]]))


def test_texts_are_escaped_and_cut_wherever_they_stand() -> None:
    pieces = [
        html.line(HOSTILE),
        html.card(HOSTILE),
        html.table([HOSTILE], [[HOSTILE]], 3, HOSTILE),
        html.facts([(HOSTILE, HOSTILE)]),
        html.heatmap([[0.5]], HOSTILE),
    ]
    for piece in pieces:
        reader = read(piece)
        assert HOSTILE in reader.text
        assert not reader.tags["script"]
    assert len(html.line("x" * 10**6)) < 1000
    assert len(html.escape("<" * 10**6)) < 4000


@pytest.mark.parametrize(
    ("value", "rounding", "digits", "text"),
    [
        (0.0225424859, "ROUND_CEILING", 6, "0.022543"),
        (0.0225424859, "ROUND_FLOOR", 6, "0.022542"),
        (0.5, "ROUND_CEILING", 3, "0.500"),
        (0.1, "ROUND_CEILING", 3, "0.101"),  # the double 0.1 lies above 0.1
        (math.inf, "ROUND_CEILING", 3, "inf"),
        (math.nan, "ROUND_FLOOR", 3, "nan"),
        (1e300, "ROUND_FLOOR", 0, str(int(1e300))),
        (-1e-30, "ROUND_FLOOR", 3, "-0.001"),
    ],
)
def test_bounds_are_rounded_outward(value: float, rounding: str, digits: int, text: str) -> None:
    assert outward(value, rounding, digits) == text


def test_gaps_are_rounded_up() -> None:
    assert [at_most(x) for x in (0.0, 9.2e-7, 9.21e-7, 0.5, 123.0, math.inf)] == [
        "0", "9.2e-7", "9.3e-7", "0.5", "1.3e+2", "Infinity",
    ]  # fmt: skip


# --- the gallery ------------------------------------------------------------------------------------------------------


@pytest.fixture
def _figures_are_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    from matplotlib import pyplot as plt

    before = plt.get_backend()
    plt.switch_backend("Agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


def run(script: Path) -> dict[str, Any]:
    """Run a script of the gallery, with warnings as errors; the names that it leaves."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return runpy.run_path(str(script), run_name="__main__")


@pytest.mark.usefixtures("_figures_are_closed")
@pytest.mark.parametrize(
    "script", [path if "classifiers" not in path.stem else slowly(path) for path in GALLERY], ids=lambda path: path.stem
)
def test_the_gallery_runs(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib import pyplot as plt

    monkeypatch.chdir(tmp_path)
    run(script)
    assert len(plt.get_fignums()) >= 2
    assert all(figure.axes for figure in map(plt.figure, plt.get_fignums()))


def test_there_is_a_gallery() -> None:
    assert [path.stem for path in GALLERY] == [
        "plot_from_zero_to_a_robust_aggregator",
        "plot_the_papers_section_7",
        "plot_two_classifiers_one_probability",
        "plot_what_a_sweep_shows",
    ]


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_a_script_of_the_gallery_ends_with_what_it_claims(script: Path) -> None:
    """The last cell asserts what the text says; without it the script would run and show anything."""
    text = script.read_text()
    last = text.split("\n# %%\n")[-1]
    assert last.count("\nassert ") >= 4, "the last cell holds the claims of the page"
    assert not re.search(r"^assert ", text.removesuffix(last), flags=re.MULTILINE), "claims stand in the last cell"


def test_a_wrong_claim_of_a_script_fails(tmp_path: Path) -> None:
    script = tmp_path / "plot_wrong.py"
    script.write_text("assert 1 + 1 == 3, 'the page is wrong'\n")
    with pytest.raises(AssertionError, match="the page is wrong"):
        run(script)
