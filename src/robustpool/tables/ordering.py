"""The order of entries by question, forecaster and time: sorts of whole words, which are many times faster than of indices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..typing import Integers


def by_question(rows: dict[str, Any]) -> tuple[Integers, Integers]:
    """The order of rows by question (q, in the order of its hash), forecaster (f), time (t), option (k) and place (r).

    Of a row that gives the probability of no, beside one that gives that of yes, the other one comes last. Returned are the
    order, and the number of the question of each row in it.

    >>> rows = {"q": np.array([9, 7, 9], np.uint64), "f": np.array([1, 0, 0], np.int32), "r": np.array([0, 1, 2])}
    >>> by_question(rows)
    (array([1, 2, 0]), array([0, 1, 1]))
    """
    q, r = rows["q"], rows["r"]
    size = len(q)
    bits = size.bit_length()
    if not (r[1:] > r[:-1]).all():
        straight = _sorted(r.astype(np.uint64) << np.uint64(bits), bits)
        order, question = by_question({name: column[straight] for name, column in rows.items()})
        return straight[order], question
    order = _sorted(q & ~np.uint64((1 << bits) - 1), bits)
    hashes = q[order]
    if (hashes[1:] < hashes[:-1]).any():  # two questions that begin alike
        order = np.argsort(q, kind="stable")
        hashes = q[order]
    question = np.zeros(size, np.int64)
    np.cumsum(hashes[1:] != hashes[:-1], out=question[1:])
    f = rows["f"][order] + np.int64(1)
    wide = int(f.max(initial=0)).bit_length()
    if int(question[-1] if size else 0).bit_length() + wide + bits <= 63:
        packed = question << (wide + bits) | f << bits | order
        packed.sort()
        question, order = packed >> (wide + bits), packed & ((1 << bits) - 1)
    else:
        order = order[np.lexsort((f, question))]
    keys = [~rows[name] if name == "no" else rows[name] for name in ("no", "k", "t") if name in rows]
    if keys:
        f = rows["f"][order]
        again = (question[1:] == question[:-1]) & (f[1:] == f[:-1])
        ties = np.zeros(size, np.bool_)
        ties[1:] |= again
        ties[:-1] |= again
        some = order[ties]
        order[ties] = some[np.lexsort((*(key[some] for key in keys), f[ties], question[ties]))]
    return order, question


def _sorted(keys: NDArray[np.uint64], bits: int) -> Integers:
    """The order of keys whose last bits are 0; equal ones keep their order."""
    packed = keys | np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    return (packed & np.uint64((1 << bits) - 1)).astype(np.int64)
