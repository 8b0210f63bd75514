"""The core does its work without the packages of the extras, and what needs them says so in one sentence."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from openpyxl import Workbook

import robustpool as rp
from programs import run_python
from robustpool.aggregators.grid import GridAggregator
from robustpool.checks import EXTRAS

ROOT = Path(__file__).parent.parent
FAMILY = str(ROOT / "src/robustpool/families/examples/weather.json")
HIDDEN = "scipy numba clarabel cvxpy matplotlib sklearn joblib openpyxl pandas polars pyarrow fastapi starlette uvicorn"

CORE = [
    ["aggregate", "0.7", "0.6"],
    ["aggregate", "0.7", "0.6", "--explain", "--prior-range", "0.1", "0.3"],
    ["aggregate", "0.7", "0.6", "--json", "--rule", "beta-pool"],
    ["aggregate", "0.7", "0.6", "--rule", "design.json"],
    ["aggregate", "forecasts.csv"],
    ["aggregate", "forecasts.csv", "--rule", "design.json", "-o", "pooled.parquet"],
    ["compare", "forecasts.csv"],
    ["rules"],
    ["certify", "mean", "--family", FAMILY, "--out", "mean.json"],
    ["verify", "mean.json"],
    ["worst-case", "mean", "--agents", "3"],
    ["random-family", "--out", "family.json"],
    ["table"],
]
SOLVE = 'needs the packages of the extra "solve" (scipy, numba, clarabel); install robustpool[solve].'
CVXPY = 'needs the packages of the extra "cvxpy" (scipy, numba, clarabel, cvxpy); install robustpool[cvxpy].'
PLOTS = 'needs the package of the extra "plots" (matplotlib); install robustpool[plots].'
SKLEARN = 'needs the package of the extra "sklearn" (scikit-learn); install robustpool[sklearn].'
EXCEL = 'needs the package of the extra "excel" (openpyxl); install robustpool[excel].'
SERVE = 'needs the packages of the extra "serve" (scipy, numba, clarabel, matplotlib, openpyxl, fastapi, uvicorn, httptools)'
REFUSED = {
    f"design --family {FAMILY} --out new.json": f"a new design {SOLVE}",
    "lipschitz-curve": f"a new design {SOLVE}",
    "worst-case mean": f"the worst case of two agents {SOLVE}",
    "certify mean": f"a new certificate for independent agents {SOLVE}",
    "reproduce table1": f"reproducing the paper {SOLVE}",
    "compare forecasts.csv --report page.html": f"a report {PLOTS}",
    "aggregate forecasts.xlsx": f"an Excel file {EXCEL}",
    "serve": f"the server {SERVE}; install robustpool[serve].",
}
RAISED = {
    "rp.solve([])": f"a new design {SOLVE}",
    "rp.weakness('mean', [0, 1], [0.5])": f"the weakness of an aggregator {SOLVE}",
    "rp.ConvexLoss(abs)": f"a loss of your own {CVXPY}",
    "rp.Constrained(abs)": f"a constraint of your own {CVXPY}",
    "rp.RobustPool": f"an estimator {SKLEARN}",
    "__import__('robustpool.plots', fromlist='new_figure').new_figure()": f"a picture {PLOTS}",
}

DRIVER = """
import contextlib, hashlib, io, json, sys
work = json.load(sys.stdin)
sys.modules.update(dict.fromkeys(work["hidden"]))
import numpy as np
import robustpool as rp
from robustpool.aggregators.grid import GridAggregator
from robustpool.cli import main

def run(arguments):
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["robustpool", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
            status = 0
        except SystemExit as stop:
            status = stop.code
    return status, out.getvalue(), err.getvalue()

def attempt(expression):
    try:
        return repr(eval(expression))
    except rp.UnsupportedError as error:
        assert isinstance(error, ImportError)
        return str(error)

answers = {" ".join(line): run(line) for line in work["lines"]}
raised = {expression: attempt(expression) for expression in work["expressions"]}
x = np.random.default_rng(0).random((40_000, 2))
table = GridAggregator(np.random.default_rng(1).random((8, 8)))(x)
json.dump({"lines": answers, "raised": raised, "table": hashlib.sha256(table.tobytes()).hexdigest()}, sys.stdout)
"""


@pytest.fixture(scope="module")
def hidden(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the driver says, run once in a folder with a table of forecasts, a workbook and a design."""
    folder, rng = tmp_path_factory.mktemp("core"), np.random.default_rng(0)
    rows = ["question_id,forecaster_id,probability,outcome"]
    for question, p in enumerate(rng.uniform(0.1, 0.9, 60)):
        outcome = int(rng.random() < p)
        rows += [f"{question},{name},{p + rng.uniform(-0.1, 0.1):.2f},{outcome}" for name in "ab"]
    (folder / "forecasts.csv").write_text("\n".join(rows))
    Workbook().save(folder / "forecasts.xlsx")
    rp.save_design(rp.solve(rp.ConditionallyIndependent(2, 4, 20), tolerance=1e-3), folder / "design.json")
    lines = [*CORE, *(line.split() for line in REFUSED)]
    work = json.dumps({"hidden": HIDDEN.split(), "lines": lines, "expressions": list(RAISED)})
    run = run_python("-c", DRIVER, input=work, cwd=folder)
    assert run.returncode == 0, run.stderr
    return dict(json.loads(run.stdout))


@pytest.mark.parametrize("line", [" ".join(line) for line in CORE], ids=lambda line: line.replace(FAMILY, "FAMILY"))
def test_the_core_needs_no_extra(hidden: dict[str, Any], line: str) -> None:
    status, out, err = hidden["lines"][line]
    assert (status, "robustpool:" in err) == (0, False), err  # a slow machine shows progress
    assert out


@pytest.mark.parametrize(("line", "sentence"), REFUSED.items(), ids=[line.split()[0] for line in REFUSED])
def test_a_command_names_the_extra_that_it_needs(hidden: dict[str, Any], line: str, sentence: str) -> None:
    assert hidden["lines"][line] == [2, "", f"robustpool: {sentence}\n"]


@pytest.mark.parametrize(("expression", "sentence"), RAISED.items())
def test_a_function_names_the_extra_that_it_needs(hidden: dict[str, Any], expression: str, sentence: str) -> None:
    assert hidden["raised"][expression] == sentence


def test_a_table_of_forecasts_is_interpolated_to_the_same_bits_without_numba(hidden: dict[str, Any]) -> None:
    x = np.random.default_rng(0).random((40_000, 2))
    table = GridAggregator(np.random.default_rng(1).random((8, 8)))(x)
    assert hidden["table"] == hashlib.sha256(table.tobytes()).hexdigest()


def test_the_extras_are_those_of_the_package() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    ours = {name: [each.partition(">")[0] for each in packages] for name, packages in declared.items()}
    assert ours["cvxpy"].pop(0) == "robustpool[solve]"
    ours["cvxpy"] = ours["solve"] + ours["cvxpy"]
    assert (ours["serve"].pop(0), ours["serve"].pop()) == ("robustpool[solve,plots,excel]", "uvloop")  # not on Windows
    ours["serve"] = [*ours["solve"], *ours["plots"], *ours["excel"], *ours["serve"]]
    assert {name: list(packages) for name, packages in EXTRAS.items()} == {name: ours[name] for name in EXTRAS}
    assert set(declared) - set(EXTRAS) == {"parquet", "all"}
