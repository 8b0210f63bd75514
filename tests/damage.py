"""Damage to files: bytes that are changed, and every place of a tree of JSON at which something can be changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Some bytes changed, cut out, doubled, or the end cut off."""
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        if not changed:
            break
        place, kind = rng.randrange(len(changed)), rng.randrange(5)
        if kind == 0:
            changed[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[place] = rng.choice(b'\x00\xff,"\n\r;%{}[]\\')
        elif kind == 2:
            del changed[place : place + rng.choice([1, 4, 100])]
        elif kind == 3:
            changed[place:place] = changed[place : place + rng.choice([1, 4, 100])]
        else:
            del changed[place:]
    return bytes(changed)


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Every object or list of a tree, with each of its keys."""
    if not isinstance(tree, (dict, list)):
        return []
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    return [place for key in keys for place in ((tree, key), *places(tree[key]))]
