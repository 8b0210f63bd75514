"""A module imports only from its own group or from those to its left; certificates and solvers never see each other."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

GROUPS = (
    "referee | errors __version__ | typing checks conic execution numerics processes files locks checkpoints html wording verification | structures losses aggregators"
    " | game | families designs | theory solvers certificates minimax | forecasts tables explanation | estimator evaluation learning"
    " | plots | views | practice | reproduction sweeps | web | cli | __main__ __init__"
)
LEVEL = {name: level for level, group in enumerate(GROUPS.split("|")) for name in group.split()}
APART = {("certificates", "solvers"), ("solvers", "certificates")}
PACKAGE = Path(__file__).parent.parent / "src" / "robustpool"


def imports(source: str, package: list[str]) -> set[str]:
    """What a source in a package such as ["robustpool", "game"] imports from robustpool, by top-level module."""
    names: list[list[str]] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = base + (node.module.split(".") if node.module else [])
            names += [[*base, alias.name] for alias in node.names]
    ours = {name[1] if len(name) > 1 else "" for name in names if name[0] == "robustpool"}
    return {
        name if name in LEVEL else "__init__" for name in ours
    }  # `from robustpool import solve` takes a public name


def complaints(path: str, source: str) -> list[str]:
    """What is wrong with the imports of a file, given by its path inside the package."""
    parts = Path(path).with_suffix("").parts
    module = parts[0]
    if module not in LEVEL:
        return [f"{module} stands in no group"]
    found = sorted(imports(source, ["robustpool", *parts[:-1]]))
    wrong = [name for name in found if LEVEL[name] > LEVEL[module] or (module, name) in APART]
    return [f"{module} may not import {name}" for name in wrong]


@pytest.mark.parametrize("path", sorted(str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py")))
def test_imports_point_left(path: str) -> None:
    assert complaints(path, (PACKAGE / path).read_text()) == []


@pytest.mark.parametrize(
    ("path", "source", "complaint"),
    [
        ("families/regret.py", "from ..structures.information_structure import InformationStructure", []),
        ("families/regret.py", "from . import finite\nfrom .nature import Mixture", []),
        ("structures/binary_structure.py", "from ..game.response import cost", ["structures may not import game"]),
        (
            "structures/binary_structure.py",
            "def f():\n    from robustpool import game",
            ["structures may not import game"],
        ),
        ("certificates/certify.py", "import robustpool.solvers.solve", ["certificates may not import solvers"]),
        ("solvers/solve.py", "from robustpool.certificates import certify", ["solvers may not import certificates"]),
        ("checks.py", "from . import errors, cli", ["checks may not import cli"]),
        ("checks.py", "import robustpool as rp", ["checks may not import __init__"]),
        ("solvers/solve.py", "from .. import __version__, checks", []),
        ("helpers.py", "", ["helpers stands in no group"]),
    ],
)
def test_a_wrong_import_is_found(path: str, source: str, complaint: list[str]) -> None:
    assert complaints(path, source) == complaint


def test_every_name_in_a_group_is_a_module() -> None:
    assert set(LEVEL) - {"__version__"} == {path.stem for path in PACKAGE.iterdir() if is_module(path)}


def is_module(path: Path) -> bool:
    """Whether a path in the package is a module or a package with code of its own."""
    return path.suffix == ".py" or (path / "__init__.py").exists()


def test_only_conic_knows_clarabel() -> None:
    named = {path.name for path in PACKAGE.rglob("*.py") if knows_clarabel(path.read_text())}
    assert named == {"conic.py"}
    assert knows_clarabel("problem.solve(solver=cp.CLARABEL)")
    assert knows_clarabel("def f():\n    from clarabel import DefaultSolver")
    assert not knows_clarabel('PACKAGES = ("numpy", "clarabel")  # to be installed')


def knows_clarabel(source: str) -> bool:
    """Whether a source imports Clarabel, or asks cvxpy for it."""
    for node in ast.walk(ast.parse(source)):
        imported = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        imported += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if "clarabel" in imported or (isinstance(node, ast.Attribute) and node.attr == "CLARABEL"):
            return True
    return False


@pytest.mark.parametrize("path", sorted((PACKAGE / "verification").glob("*.py")), ids=lambda path: path.stem)
def test_the_verifier_sees_nothing_of_what_made_the_certificate(path: Path) -> None:
    assert imports(path.read_text(), ["robustpool", "verification"]) <= {"errors", "verification"}
