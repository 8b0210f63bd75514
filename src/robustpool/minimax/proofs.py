"""The certificates of the table's rows: files of the package, compressed, one for each `certify` command.

Only `robustpool table --recompute --save` writes them. A certificate that is too large for the package is left out.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..files import write_bytes
from .rows import verb

if TYPE_CHECKING:
    from .rows import Row

FOLDER = Path(__file__).with_name("certificates")

MOST_BYTES = 10**6
"""Of a compressed certificate that the package takes."""


@dataclass(frozen=True)
class Proof:
    """A certificate of a row: which of its bounds it proves, the command that wrote it, and the file; None if it is not in the package."""

    bounds: tuple[str, ...]
    command: str
    file: Path | None

    @property
    def name(self) -> str:
        """The name of the file, as it is outside the package."""
        return file_of(self.command).name.removesuffix(".gz")

    def content(self) -> bytes:
        """The certificate as `certify` wrote it."""
        assert self.file is not None
        return gzip.decompress(self.file.read_bytes())


def proofs(row: Row, folder: Path = FOLDER) -> tuple[Proof, ...]:
    """The certificates of a row; none for bounds that are found, or that a theorem gives.

    >>> from robustpool.minimax.rows import minimax_rows
    >>> [(proof.name, proof.bounds) for proof in proofs(minimax_rows("second-question")[0])]
    [('minimax-world-second-question.json', ('lower',)), ('minimax.json', ('upper',))]
    """
    commands: dict[str, list[str]] = {}
    for side, bound in (("lower", row.lower_from), ("upper", row.upper_from)):
        if bound.command is not None and verb(bound.command) == "certify":
            commands.setdefault(bound.command, []).append(side)
    return tuple(Proof(tuple(sides), command, _there(command, folder)) for command, sides in commands.items())


def file_of(command: str, folder: Path = FOLDER) -> Path:
    """Where the certificate of a command is kept.

    >>> file_of("certify minimax:unanimous=0 --agents 3").name
    'minimax-unanimous-0-agents-3.json.gz'
    """
    _, options = command.split(maxsplit=1)
    return folder / (re.sub(r"[^a-z0-9.]+", "-", options) + ".json.gz")


def save_certificate(command: str, certificate: Path, folder: Path = FOLDER) -> bool:
    """Keep a certificate for the package, unless it is too large; whether it was kept."""
    content = gzip.compress(certificate.read_bytes(), mtime=0)  # the same bytes whenever it is made
    if len(content) > MOST_BYTES:
        return False
    write_bytes(file_of(command, folder), content)
    _there.cache_clear()
    return True


@cache
def _there(command: str, folder: Path) -> Path | None:
    file = file_of(command, folder)
    return file if file.is_file() else None
