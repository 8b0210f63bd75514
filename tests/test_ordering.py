"""The fast order of entries is the slow one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from robustpool.tables.ordering import by_question


def slow(rows: dict[str, Any]) -> list[int]:
    """By question, forecaster, time and option; of the rest the probability of no first, and then by place."""
    keys = [rows["r"]]
    keys += [~rows["no"]] if "no" in rows else []
    keys += [rows[name] for name in ("k", "t") if name in rows]
    return np.lexsort((*keys, rows["f"], rows["q"])).tolist()


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("extra", [(), ("t",), ("no", "t"), ("k",), ("k", "t")])
def test_entries_are_ordered_as_by_a_slow_sort(seed: int, extra: tuple[str, ...]) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(0, 60))
    hashes = rng.integers(0, 2**64, 9, dtype=np.uint64)
    hashes[5:] = hashes[0] ^ np.arange(4, dtype=np.uint64)  # questions whose hashes begin alike
    rows: dict[str, Any] = {"q": rng.choice(hashes, size), "f": rng.integers(-1, 4, size).astype(np.int32)}
    if seed % 3 == 0:  # so many forecasters that a word cannot hold them
        rows["f"] = rng.choice([1, 2**31 - 1, 2**30], size).astype(np.int32)
        rows["q"] = np.concatenate([rows["q"], rng.integers(0, 2**64, 70_000, dtype=np.uint64)])
        rows["f"] = np.concatenate([rows["f"], np.zeros(70_000, np.int32)])
    size = len(rows["q"])
    rows["r"] = np.arange(size) if seed % 2 else rng.permutation(size)
    columns = {"t": rng.integers(0, 3, size) * 1.0, "no": rng.random(size) < 0.5, "k": rng.integers(0, 3, size)}
    rows |= {name: columns[name] for name in extra}
    order, question = by_question(rows)
    assert order.tolist() == slow(rows)
    starts = rows["q"][order][1:] != rows["q"][order][:-1]
    assert question.tolist() == [0, *np.cumsum(starts).tolist()][:size]
