"""The paper, reproduced at a small size: numbers, pictures from numbers, claims, the page, and the command."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typer.testing import CliRunner

import browser
import robustpool as rp
from robustpool.aggregators.rules import WORST_CASES
from robustpool.cli.app import app
from robustpool.game.regret import regrets
from robustpool.plots.style import png
from robustpool.reproduction.claims import JUDGES, claims
from robustpool.reproduction.figures import FIGURES
from robustpool.reproduction.figures.losses import afforded, bands
from robustpool.reproduction.figures.report_distribution import report_distribution, shares
from robustpool.reproduction.run import Reproduction, reproduce, reproduction
from robustpool.reproduction.settings import FULL, QUICK, Settings
from robustpool.reproduction.table_1 import PUBLISHED, Row
from robustpool.reproduction.workbench import Workbench

if TYPE_CHECKING:
    from robustpool.reproduction.figures.figure import Numbers

SMALL = Settings(
    rules=("mean",), reports=6, priors=24, rounds=120, knots=(6,), cells=10, slopes=(1, 4), drawn_slopes=(2,),
    gap=1e-4, proof_gap=2e-5,
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduced")


@pytest.fixture(scope="module")
def figures(folder: Path) -> Reproduction:
    """All figures at a small size."""
    return reproduce("figures", folder, settings=SMALL)


# --- the figures ------------------------------------------------------------------------------------------------------


def test_each_figure_is_saved_with_its_numbers_and_drawn_from_them(figures: Reproduction, folder: Path) -> None:
    assert [figure.name for figure in FIGURES] == list(figures.pictures)
    for figure in FIGURES:
        with np.load(folder / "figures" / f"{figure.name}.npz") as saved:
            numbers = dict(saved)
        picture = (folder / "figures" / f"{figure.name}.png").read_bytes()
        assert picture == figures.pictures[figure.name] == png(figure.draw(numbers)), figure.name
        assert (folder / "figures" / f"{figure.name}.pdf").read_bytes().startswith(b"%PDF")
        assert figure.meaning(numbers) == figure.meaning(figures.numbers[figure.name])
        assert figure.alt
        assert len(figure.alt) < 400


def test_pictures_change_with_their_numbers(figures: Reproduction) -> None:
    for figure in FIGURES:
        changed = {name: _changed(values) for name, values in figures.numbers[figure.name].items()}
        assert png(figure.draw(changed)) != figures.pictures[figure.name], figure.name


def _changed(values: Any) -> Any:
    array = np.asarray(values)
    if array.dtype.kind == "f" and array.ndim:
        return np.where(np.isfinite(array), 0.9 * array + 0.01, array)
    return ~array if array.dtype == bool else array if array.ndim < 2 else array[::-1]


def test_report_distribution_is_that_of_the_mixture_written_out() -> None:
    family = rp.ConditionallyIndependent(2, 4, 8)
    solution = rp.solve(family, method="multiplicative-weights", rounds=30, tolerance=0)
    chances = report_distribution(solution.mixture, 4)
    expected = np.zeros((5, 5))
    structures: Any = solution.mixture.structures
    for number in np.flatnonzero(solution.mixture.weights):
        structure = structures.structure(int(number))
        swapped = rp.BinaryStructure(structure.prior, structure.reports[::-1])
        for one in (structure, swapped, structure.mirrored(), swapped.mirrored()):
            for profile, chance in zip(one.profiles(), one.probabilities(), strict=True):
                place = tuple(np.rint(4 * profile).astype(int))
                expected[place] += solution.mixture.weights[number] * chance / 4
    assert chances == pytest.approx(expected, abs=1e-14)
    assert chances.sum() == pytest.approx(1)


def test_shares_of_a_distribution() -> None:
    chances = np.zeros((5, 5))
    chances[2, 2], chances[0, 0], chances[1, 3], chances[0, 2], chances[1, 2] = 0.1, 0.2, 0.3, 0.1, 0.3
    assert shares(chances) == pytest.approx(
        {"centre": 0.1, "corners": 0.2, "borders": 0.3, "borders and second diagonal": 0.7}
    )


def test_losses_are_those_of_each_structure(figures: Reproduction) -> None:
    bench = figures.bench
    assert bench is not None
    flat = bench.family.enumerate().flat
    table = bench.algorithm_1("additive").aggregator
    over = regrets(table, flat)
    numbers = figures.numbers["losses"]
    assert float(numbers["additive_largest_regret"]) == pytest.approx(over.max(), abs=1e-12)
    assert float(numbers["additive_mean"]) == pytest.approx(over.mean(), abs=1e-12)
    assert float(numbers["additive_value"]) == pytest.approx(over.max(), abs=1e-12)
    assert (numbers["additive_least"] >= numbers["additive_omniscient"].min() - 1e-12).all()


def test_bands_hold_all_losses() -> None:
    losses = np.array([3.0, 1.0, 2.0, 5.0, 4.0])
    found = bands(np.arange(5.0), losses, np.full(5, 9.0), groups=2)
    assert found["least"].tolist() == [1.0, 2.0]
    assert found["most"].tolist() == [3.0, 5.0]
    assert found["omniscient"].tolist() == [0.0, 3.0]


def test_what_can_be_afforded() -> None:
    omniscient = np.array([0.0, 0.1])
    assert afforded("additive", omniscient, 0.02) == pytest.approx([0.02, 0.12])
    assert afforded("absolute", omniscient, 0.25).tolist() == [0.25, 0.25]
    assert afforded("ratio", omniscient, 3.0) == pytest.approx([0.0, 0.3])


# --- claims -----------------------------------------------------------------------------------------------------------


def test_claims_are_judged_by_the_numbers(figures: Reproduction) -> None:
    judged = {claim.paper: claim for claim in figures.claims}
    assert len(judged) == sum(map(len, JUDGES.values()))
    assert judged["Absolute: only the reports (0.5, 0.5)"].agrees
    assert judged["As the prior increases, the posterior decreases"].agrees
    assert all(claim.ours for claim in judged.values())


@pytest.mark.parametrize(
    ("figure", "paper", "change"),
    [
        ("report-distribution", "Absolute: only the reports (0.5, 0.5)", {"algorithm_1_absolute": np.full((3, 3), 1 / 9)}),
        ("report-distribution", "Ratio: only (0, 0) and (1, 1)", {"algorithm_1_ratio": np.full((3, 3), 1 / 9)}),
        ("report-distribution", "Additive: the borders and the second diagonal", {"exact_additive": np.full((7, 7), 1 / 49)}),
        ("sensitivity-to-prior", "As the prior increases, the posterior decreases", {"low": np.arange(999.0)}),
        ("aggregators", "All aggregators but simple averaging follow a report that is almost certain", {"minimax": np.full((101, 101), 0.5)}),
        ("aggregators", "Our aggregator is more extreme than the others at (0.1, 0.1) and (0.9, 0.9)", {"minimax": np.full((101, 101), 0.5)}),
        ("lipschitz-values", "The aggregator becomes near-optimal at L around 20", {"L": np.array([1.0, 4.0]), "upper": np.array([0.03, 0.03])}),
        ("convergence", "The maximum regret converges more quickly than nature's mixture", {"algorithm_1_upper": np.full(120, 0.9)}),
    ],
)  # fmt: skip
def test_a_claim_that_the_numbers_contradict_does_not_hold(
    figures: Reproduction, figure: str, paper: str, change: Numbers
) -> None:
    numbers = {figure: {**figures.numbers[figure], **change}}
    (claim,) = [claim for claim in claims([], numbers) if claim.paper == paper]
    assert not claim.agrees


def test_table_1_agrees_only_to_all_four_digits() -> None:
    row = Row("mean", "simple averaging", 0.0625, 0.0625, 0.06249, 0.06251, "mean.json")
    assert row.agrees
    assert not replace(row, upper=0.06256).agrees
    assert not replace(row, lower=0.0624).agrees
    assert replace(row, published=None).agrees is None
    assert not row.improves
    assert replace(row, upper=0.022599).improves
    assert not replace(row, upper=PUBLISHED["algorithm-1"]).improves
    told = claims([row, replace(row, name="algorithm-1", published=0.0226)], {})
    assert [claim.agrees for claim in told] == [True, False, False]
    assert "a search bounds the worst case from below only" in told[1].why


# --- the table, the page, the command ---------------------------------------------------------------------------------


def test_table_1(tmp_path: Path) -> None:
    done: list[str] = []
    result = reproduce("table1", tmp_path / "new", settings=SMALL, tell=lambda what, _: done.append(what))
    rows = {row.name: row for row in result.rows}
    assert list(rows) == ["mean", "algorithm-1", "continuous-6", "minimax"]
    assert rows["mean"].agrees
    assert rows["minimax"].improves
    for row in rows.values():
        assert row.lower <= row.upper
        assert row.found <= row.upper + 1e-15
        verified = rp.verify(json.loads((tmp_path / "new" / row.certificate).read_text()))
        assert verified.verified
        assert verified.upper == row.upper
    with (tmp_path / "new" / "table1.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    assert [line["name"] for line in written] == list(rows)
    assert float(written[0]["proved at most"]) >= rows["mean"].upper
    assert "proving mean" in done
    page = result.report.read_text(encoding="utf-8")
    assert "Table 1, recomputed" in page
    assert "Where our numbers differ from the paper's" in page.replace("&#x27;", "'")
    assert page.count("certificates/minimax.json") == 1


@pytest.mark.parametrize("rule", FULL.rules)
def test_the_papers_rules_are_proved_to_have_the_papers_numbers(rule: str) -> None:
    proved = json.loads(WORST_CASES.read_text(encoding="utf-8"))[rule]  # tests/test_rule_bounds.py proves it again
    assert proved["proved"]
    row = Row(rule, rule, PUBLISHED[rule], proved["found"], proved["lower"], proved["upper"], "")
    assert row.agrees


@pytest.mark.slow
def test_the_whole_table_at_the_papers_size(tmp_path: Path) -> None:
    rows = {row.name: row for row in reproduce("table1", tmp_path, settings=QUICK).rows}
    assert all(rows[name].agrees for name in FULL.rules)
    assert not rows["algorithm-1"].agrees  # proved to cost at least 0.02268, where the paper has 0.0226
    assert round(rows["continuous-20"].upper, 4) == PUBLISHED["algorithm-1"]
    assert rows["continuous-50"].improves
    assert rows["minimax"].improves


def test_the_page_says_what_was_done(figures: Reproduction) -> None:
    page = figures.report.read_text(encoding="utf-8")
    assert figures.report.stat().st_size < 8e6
    for figure in FIGURES:
        assert f"figures/{figure.name}.npz" in page
    assert "N = 6" in page
    assert rp.__version__ in page
    assert "stopped before its end" not in page
    assert "algorithm-1-additive.json" in {file.name for file in (figures.folder / "designs").iterdir()}


def test_the_page_in_a_browser(figures: Reproduction) -> None:
    with browser.chromium() as chromium:
        for width in browser.WIDTHS:
            with browser.opened(chromium, figures.report.resolve(), width) as page:
                assert page.locator("figure img").count() == len(FIGURES)
                assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
                assert browser.overflow(page) == 0
                assert browser.findings(page) == []


def test_ctrl_c_keeps_what_was_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(_bench: Workbench, paradigm: str = "additive") -> Any:
        raise KeyboardInterrupt(paradigm)

    plain = [figure for figure in FIGURES if figure.name in ("areas", "coupling", "convergence")]
    monkeypatch.setattr("robustpool.reproduction.run.FIGURES", [plain[1], plain[2], plain[0]])
    monkeypatch.setattr(Workbench, "algorithm_1", stop)
    result = reproduce("figures", tmp_path, settings=SMALL)
    assert not result.finished
    assert list(result.pictures) == ["areas", "coupling"]
    assert "stopped before its end" in result.report.read_text(encoding="utf-8")
    monkeypatch.setattr("robustpool.reproduction.run.FIGURES", [plain[0]])
    with pytest.raises(KeyboardInterrupt):
        reproduce("figures", tmp_path / "nothing", settings=SMALL)
    assert not (tmp_path / "nothing" / "report.html").exists()


def test_an_interrupted_solver_stops_the_reproduction(tmp_path: Path) -> None:
    def interrupt(_what: str, share: float) -> None:
        if share > 0:
            raise KeyboardInterrupt

    bench = Workbench(SMALL, tmp_path, interrupt)
    with pytest.raises(KeyboardInterrupt):
        bench.algorithm_1()
    assert not bench.solutions


def test_where_it_may_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(rp.InputError, match="it is not a folder"):
        reproduce("figures", tmp_path / "file", settings=SMALL)
    with pytest.raises(rp.InputError, match=r"what must be one of table1, figures, all; it is 'tables'"):
        next(reproduction(Reproduction(SMALL, tmp_path), "tables"))


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustpool.reproduction.settings.QUICK", SMALL)
    monkeypatch.setattr(
        "robustpool.reproduction.run.FIGURES", [f for f in FIGURES if f.name in ("areas", "convergence")]
    )
    out = str(tmp_path / "there")
    done = CliRunner().invoke(app, ["reproduce", "figures", "--quick", "--out", out, "--json"])
    assert done.exit_code == 0, done.output
    data = json.loads(done.stdout)
    assert data["output"] == out
    assert data["report"] == str(Path(out) / "report.html")
    assert data["figures"] == ["areas", "convergence"]
    assert data["finished"]
    assert "solving: Algorithm 1, additive" in done.stderr
    done = CliRunner().invoke(app, ["reproduce", "figures", "--quick", "--out", out])
    assert done.stdout.endswith(f"the report is {Path(out) / 'report.html'}\n")


def test_sizes() -> None:
    assert (FULL.reports, FULL.priors, FULL.rounds) == (20, 400, 1000)  # [Guo2024, Section 7.1]
    assert (QUICK.reports, QUICK.priors) == (20, 400)
