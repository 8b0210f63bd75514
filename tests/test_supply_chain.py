"""What robustpool is made of and how it reaches users: the lock file, the bill of materials, the audit and the wheel."""

from __future__ import annotations

import json
import os
import re
import site
import subprocess
import sys
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import robustpool as rp
from programs import run_program

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "robustpool"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCK = (ROOT / "requirements" / "dev.lock").read_text()


def key(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def direct() -> list[Requirement]:
    """Every package that pyproject.toml names."""
    extras = [text for texts in PROJECT["project"]["optional-dependencies"].values() for text in texts]
    groups = [text for name in ("unit", "test", "lint", "docs") for text in PROJECT["dependency-groups"][name]]
    texts = PROJECT["project"]["dependencies"] + extras + [text for text in groups if isinstance(text, str)]
    return [each for each in map(Requirement, texts) if each.name != "robustpool"]


# --- the lock file ----------------------------------------------------------------------------------------------------


def test_the_lock_file_has_what_pyproject_asks_for() -> None:
    locked: dict[str, list[Version]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==(\S+)", LOCK, re.MULTILINE):
        locked.setdefault(key(name), []).append(Version(version))
    for each in direct():
        assert locked.get(key(each.name)), f"{each.name} is not locked: run make lock"
        assert all(map(each.specifier.contains, locked[key(each.name)])), f"{each} is not what is locked: run make lock"


def test_every_locked_package_has_its_hashes_and_no_place() -> None:
    entries = re.split(r"^(?=[A-Za-z0-9])", LOCK, flags=re.MULTILINE)[1:]
    assert len(entries) > 100
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"://|^-|^/| @ ", LOCK, re.MULTILINE)


def test_lower_bounds_are_given() -> None:
    """Else the lowest versions could not be tested."""
    assert [str(each) for each in direct() if not each.specifier and not each.name.startswith("types-")] == []


# --- the bill of materials --------------------------------------------------------------------------------------------


def test_the_bill_of_materials(tmp_path: Path) -> None:
    """What CycloneDX 1.6 requires: the kind, the version, a serial number, components with a type and a name, and known references."""
    said = []
    for name in ("one.json", "two.json"):
        done = run_program(sys.executable, str(ROOT / "tools" / "sbom.py"), str(tmp_path / name))
        assert done.returncode == 0, done.stderr
        said.append((tmp_path / name).read_text())
    assert said[0] == said[1]
    bill = json.loads(said[0])
    assert (bill["bomFormat"], bill["specVersion"], bill["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bill["serialNumber"])
    components = [bill["metadata"]["component"], *bill["components"]]
    for each in components:
        assert each["type"] in ("application", "library")
        assert each["name"]
        assert each["purl"] == each["bom-ref"] == f"pkg:pypi/{key(each['name'])}@{each['version']}"
    references = [each["bom-ref"] for each in components]
    assert len(set(references)) == len(references)
    assert {each["ref"] for each in bill["dependencies"]} == set(references)
    own = next(each for each in bill["dependencies"] if each["ref"] == components[0]["bom-ref"])
    assert any(part.startswith("pkg:pypi/numpy@") for part in own["dependsOn"])
    assert {part for each in bill["dependencies"] for part in each["dependsOn"]} <= set(references)
    for each in components:
        for licence in each.get("licenses", []):
            assert licence.get("expression") or licence["license"]["name"]


# --- the audit --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("packages", "ci", "status", "sentence"),
    [
        ([{"name": "a", "version": "1", "vulns": []}], False, 0, "None of 1 packages has a known vulnerability."),
        ([{"name": "a", "version": "1", "vulns": [{"id": "X", "fix_versions": []}]}], False, 1, "a 1 has X; fixed in no version."),
        ([{"name": "a", "skip_reason": "?"}], False, 0, "The database cannot be reached: none of 1 packages was looked up."),
        ([{"name": "a", "skip_reason": "?"}], True, 1, "The database cannot be reached: none of 1 packages was looked up."),
        ([{"name": "a", "version": "1", "vulns": []}, {"name": "b", "skip_reason": "?"}], False, 1, "1 of 2 packages were not looked up: b."),
    ],
)  # fmt: skip
def test_what_the_audit_says(
    packages: list[dict[str, Any]], ci: bool, status: int, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", "true")
    from audit import verdict  # type: ignore[import-not-found]

    assert verdict(packages) == (status, [sentence])


LOST = "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='pypi.org', port=443): Max retries exceeded"


@pytest.mark.parametrize(
    ("words", "ci", "status", "sentence"),
    [
        (f"Traceback (most recent call last):\n{LOST}\n", False, 0, f"The database cannot be reached: {LOST}"),
        (LOST, True, 1, f"The database cannot be reached: {LOST}"),
        ("Could not connect to the feed\nERROR: Tip: your network may be blocking this service.", False, 0, "The database cannot be reached: ERROR"),
        ("python: No module named pip_audit", False, 1, "pip-audit ended with status 3 and no list of packages (python: No module"),
        ("ERROR:pip_audit._cli:requirement a is not hashed", False, 1, "pip-audit ended with status 3 and no list of packages (ERROR"),
        ("", False, 1, "pip-audit ended with status 3 and no list of packages (it says nothing)."),
    ],
)  # fmt: skip
def test_only_a_lost_connection_is_no_failure_of_the_audit(
    words: str,
    ci: bool,
    status: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    monkeypatch.delenv("CI", raising=False)
    if ci:
        monkeypatch.setenv("CI", "true")
    import audit

    done = subprocess.CompletedProcess([], 3, stdout="", stderr=words)
    monkeypatch.setattr(audit.subprocess, "run", lambda *_, **__: done)
    assert audit.main() == status
    assert capsys.readouterr().out.startswith(sentence)


# --- the wheel --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, which `tools/wheel.py` keeps only if two builds are the same."""
    if find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed; make test installs it")
    folder = tmp_path_factory.mktemp("dist")
    time = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    done = run_program(sys.executable, str(ROOT / "tools" / "wheel.py"), str(folder), env=time)
    assert done.returncode == 0, done.stderr
    assert "built twice" in done.stdout
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    """Templates, certificates, examples and schemas too; and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if not name.startswith(f"robustpool-{rp.__version__}.dist-info/")}
        years = {each.date_time[0] for each in archive.infolist()}
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert inside == {f"robustpool/{path.relative_to(PACKAGE).as_posix()}" for path in files}
    assert years == {2023}
    for part in ("templates/page.html", "families/family.schema.json", "families/examples/weather.json", "py.typed"):
        assert f"robustpool/{part}" in inside


@pytest.mark.slow
def test_the_wheel_works_without_the_source_tree(wheel: Path, tmp_path: Path) -> None:
    """In a fresh environment, which takes the other packages from this one; an editable robustpool is not among them."""
    folder = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(install, check=True)
    where = "import site; print(site.getsitepackages()[0])"
    packages = Path(run_program(str(python), "-c", where).stdout.strip())
    (packages / "others.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def say(*arguments: str) -> str:
        done = run_program(str(python), "-m", "robustpool", *arguments, env=clean, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    place = run_program(str(python), "-c", "import robustpool; print(robustpool.__file__)", env=clean, cwd=tmp_path)
    assert Path(place.stdout.strip()).is_relative_to(folder)
    assert say("aggregate", "0.7", "0.6").strip() == "0.654281"
    assert "0.654" in say("aggregate", "0.7", "0.6", "--explain")  # templates
    assert json.loads(say("table", "--json"))["rows"]  # certificates on record
    program = python.with_name("robustpool.exe" if os.name == "nt" else "robustpool")
    assert run_program(str(program), "aggregate", "0.7", "0.6", env=clean, cwd=tmp_path).stdout.strip() == "0.654281"
