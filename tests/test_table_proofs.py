"""The certificates that the package has are those of the table's rows: they prove the bounds on record."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest

import robustpool as rp
from robustpool.cli import minimax as cli
from robustpool.minimax import proofs as store
from robustpool.minimax.proofs import MOST_BYTES, file_of, proofs, save_certificate
from robustpool.minimax.recompute import SAME_PROVED, rounded
from robustpool.minimax.rows import minimax_rows
from robustpool.verification.verify import content_hash
from robustpool.views import minimax_table as view

if TYPE_CHECKING:
    from pathlib import Path

    from robustpool.minimax.rows import Row

ROWS = {row.name: row for row in minimax_rows()}
SHIPPED = {proof.name: proof for row in ROWS.values() for proof in proofs(row) if proof.file is not None}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_certificate_of_the_package_is_whole(name: str) -> None:
    data = json.loads(SHIPPED[name].content())
    assert data["hash"] == content_hash(data)


@pytest.mark.parametrize(
    "name", ["minimax.json", "minimax-world-second-question.json", "log-odds-alpha-0.72-prior-range-0.3-0.7.json"]
)
def test_a_certificate_of_the_package_is_verified(name: str) -> None:
    assert rp.verify(SHIPPED[name].content()).verified


LONG = {proof.name for row in view.as_shown(list(ROWS.values())) if row.budget for proof in row.proofs}
"""What takes twenty minutes to check; `table --recompute --row common-source-2` does it."""


def test_only_one_certificate_takes_longer_than_a_server_allows() -> None:
    assert {"common-source-world-common-source.json"} == LONG


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*SHIPPED} - LONG))
def test_every_certificate_of_the_package_is_verified(name: str) -> None:
    assert rp.verify(SHIPPED[name].content()).verified


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_certificate_proves_the_bounds_on_record(row: Row) -> None:
    for proof in proofs(row):
        if proof.file is None:
            continue
        data = json.loads(proof.content())
        for side in proof.bounds:
            source = row.lower_from if side == "lower" else row.upper_from
            bound = rounded(data[source.field or ""]["bound"], up=side == "upper")
            assert bound == pytest.approx(getattr(row, side), abs=SAME_PROVED)


def test_every_proved_bound_has_a_theorem_or_a_certificate() -> None:
    left_out = {row.name for row in ROWS.values() for proof in proofs(row) if proof.file is None}
    assert left_out == set()
    for row in ROWS.values():
        covered = {side for proof in proofs(row) for side in proof.bounds}
        for side, bound in (("lower", row.lower_from), ("upper", row.upper_from)):
            assert bound.proved == (side in covered or bound.theorem is not None)


def test_the_certificates_are_small_and_none_is_without_a_row() -> None:
    files = sorted(path.name for path in store.FOLDER.iterdir())
    assert files == sorted(f"{name}.gz" for name in SHIPPED)
    assert sum((store.FOLDER / file).stat().st_size for file in files) < 3_000_000


def test_a_certificate_that_is_too_large_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "c.json"
    file.write_text("{}")
    assert save_certificate("certify mean --agents 2", file, tmp_path / "kept")
    kept = file_of("certify mean --agents 2", tmp_path / "kept")
    assert (kept.name, gzip.decompress(kept.read_bytes())) == ("mean-agents-2.json.gz", b"{}")
    monkeypatch.setattr(store, "MOST_BYTES", 5)
    assert not save_certificate("certify mean --agents 3", file, tmp_path / "kept")
    assert not file_of("certify mean --agents 3", tmp_path / "kept").exists()
    assert MOST_BYTES == 10**6


@pytest.mark.parametrize("save", [True, False])
def test_only_save_keeps_the_certificates(save: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(
        store, "save_certificate", lambda command, file: kept.append((command, json.loads(file.read_text())))
    )
    monkeypatch.setattr("robustpool.minimax.recompute.save_record", print)
    cli._recompute([ROWS["prior-range-0.45-0.55"]], save=save)
    assert [command for command, _ in kept] == ["certify log-odds:alpha=0.945 --prior-range 0.45 0.55"] * save
    assert all(data["format"] == "robustpool-certificate/2" for _, data in kept)


def test_rows_say_where_their_bounds_come_from() -> None:
    shown = {row.name: row for row in view.as_shown(list(ROWS.values()))}
    assert {
        name: shown[name].how
        for name in ("independent-2", "correlated-2", "independent-5-found", "partial-information-1-2")
    } == {
        "independent-2": "Both bounds: a certificate.",
        "correlated-2": "Both bounds: a theorem (docs/worlds/arbitrary-correlation.md).",
        "independent-5-found": "Lower bound: a certificate. Upper bound: found by a search.",
        "partial-information-1-2": "Both bounds: a design, computed in floating point.",
    }
    assert {row.kind for row in shown.values()} == {"proved", "lower proved, upper found", "computed, not proved"}
    assert shown["correlated-2"].formula == "f = mean x"
    assert shown["log-3-found"].formula == rp.get_rule("minimax-log").formula
    assert shown["several-outcomes-3-2"].formula.startswith("n = 2: f ~ exp(w s)")
    assert shown["second-question-quarters-6"].formula == ""
    assert [row.name for row in shown.values() if not row.formula] == [
        row.name for row in shown.values() if row.rule == "a design"
    ]


def test_a_certificate_that_is_not_in_the_package_is_said_to_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "_there", lambda *_: None)
    assert (
        view.how(ROWS["independent-2"])
        == "Both bounds: a certificate that is too large for the package; the command makes it again."
    )
