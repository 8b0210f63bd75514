"""Certificates for `fuzz_files.py`: honest ones, changes that are signed again, and what the verifier may say of them.

`fuzz_verifier.py` forges them with more care. Here the lines that are reached guide the changes.
"""

from __future__ import annotations

import json
import sys
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from changes import TOKENS, change_place, check_size, damaged, places

import forging
import oracle
import robustpool as rp

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

LARGEST = 1_000_000


@cache
def _honest() -> list[bytes]:
    return [json.dumps(forging.original(kind)).encode() for kind in forging.KINDS]


def seeds() -> list[bytes]:
    """An honest certificate of each kind."""
    return _honest()


def use_certificate(path: str) -> tuple[str, Callable[[], str | None]]:
    """What `verify` does; what it accepts is compared with the truth."""
    result = rp.verify(path, budget=forging.BUDGET)
    assert result.sentence.isprintable(), ascii(result.sentence)
    assert len(result.sentence) < 2000, result.sentence[:500]
    assert "could not be read (" not in result.sentence or "cannot be read" in result.sentence, result.sentence
    return ("read", partial(_falsehood, Path(path).read_bytes(), result)) if result else ("refused", lambda: None)


def _falsehood(content: bytes, result: rp.Verification) -> str | None:
    """The first claim that is false, if the certificate is not an honest one."""
    if content in _honest():
        return None
    data = json.loads(content)
    if data["loss"] == "square":
        forging.check_sentences(data, result.claims)
    return oracle.falsehood(data)


def changed(content: bytes, rng: random.Random) -> bytes:
    """Some bytes, some parts of the tree that is signed again, or a forgery that only mathematics can see."""
    chance = rng.random()
    if chance < 0.1:
        return json.dumps(forging.forge(rng)[1]).encode()
    if chance < 0.25:
        return damaged(content, rng, TOKENS)
    try:
        data = json.loads(content)
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            if found := places(data):
                change_place(data, *rng.choice(found), rng)
        check_size(data)
        text = json.dumps(forging.sign(data) if isinstance(data, dict) else data).encode()
    except (ValueError, RecursionError):  # kept for what it was, and now changed as bytes
        return damaged(content, rng, TOKENS)
    return text if len(text) < LARGEST else damaged(content, rng, TOKENS)
