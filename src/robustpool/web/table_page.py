"""What the page of the certified table shows, as texts: with a server, and as a file without one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from ..minimax.rows import minimax_rows
from ..views import minimax_table as view

if TYPE_CHECKING:
    from ..minimax.proofs import Proof

FOLDER = "certificates"
"""Where a page without a server has the certificates."""


def values(*, static: bool = False) -> dict[str, Any]:
    """What the template needs. Without a server the certificates are files beside the page, and commands replace buttons."""
    rows = _rows()
    return {
        "static": static,
        "rows": rows,
        "settings": list(dict.fromkeys(row.setting for row in rows)),
        "agents": sorted({int(row.agents) for row in rows}),
        "losses": list(dict.fromkeys(row.loss for row in rows)),
        "texts": {"what": view.WHAT, "kinds": view.KINDS},
        "proved": sum(row.proved for row in rows),
        "certificate": _file if static else _call,
    }


def files() -> dict[str, bytes]:
    """The certificates that a page without a server links to, by their places."""
    found = {proof.name: proof for row in _rows() for proof in row.proofs if proof.file is not None}
    return {f"{FOLDER}/{name}": proof.content() for name, proof in found.items()}


def _file(_: view.Shown, proof: Proof) -> str:
    return f"{FOLDER}/{proof.name}"


def _call(row: view.Shown, proof: Proof) -> str:
    return f"api/v1/{view.place(row.name, proof)}"


@cache
def _rows() -> list[view.Shown]:
    return view.as_shown(minimax_rows())
