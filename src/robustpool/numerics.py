"""Small numerical tools that every layer uses."""

from __future__ import annotations

import math
from importlib.util import find_spec
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .typing import Floats, Integers

SAME_RELATIVE = 1e-9
SAME_ABSOLUTE = 1e-15

ROUNDING = 1e-6
"""By how much numbers of a checkpoint may miss what they should be; solvers' answers are more exact than that."""


def rounding(values: Floats) -> Floats:
    """How far apart two floats near ``values`` may lie and still be the same number computed in two ways.

    Relative to the distance from 0 *and* from 1, so that the reports 1e-12 and 2e-12 stay two reports.
    """
    return SAME_RELATIVE * np.minimum(np.abs(values), np.abs(1.0 - values)) + SAME_ABSOLUTE


def merge_rounded(values: Floats) -> tuple[Floats, Integers]:
    """Recognise numbers that are equal up to rounding.

    Returns the distinct numbers in increasing order (of each cluster its middle member) and, in the shape of
    ``values``, the index of each number's cluster.

    >>> distinct, index = merge_rounded(np.array([0.1 + 0.2, 0.5, 0.3, 1 - 0.7]))
    >>> distinct
    array([0.3, 0.5])
    >>> index
    array([0, 1, 0, 0])
    """
    ordered, position = np.unique(values, return_inverse=True)
    opens = np.concatenate(([True], np.diff(ordered) > rounding(ordered[1:])))
    first = np.flatnonzero(opens)
    last = np.concatenate((first[1:], [ordered.size])) - 1
    chained = ordered[last] - ordered[first] > 2 * rounding(ordered[last])  # a table finds its profiles within that
    if chained.any():
        at = int(np.flatnonzero(chained)[0])
        raise InputError(
            f"reports must be told apart by more than rounding; {last[at] - first[at] + 1} reports between "
            f"{float(ordered[first[at]])!r} and {float(ordered[last[at]])!r} lie closer together than that."
        )
    cluster = np.cumsum(opens) - 1
    return ordered[(first + last) // 2], cluster[position].reshape(values.shape)


def unique_rows(rows: Integers) -> tuple[Integers, Integers]:
    """The distinct rows in lexicographic order, and for each row the index of its distinct one.

    >>> unique_rows(np.array([[1, 0], [0, 5], [1, 0]]))[1]
    array([1, 0, 1])
    """
    base = rows.max(axis=0) + 1 if rows.size else np.ones(rows.shape[1], dtype=np.int64)
    if np.prod(base.astype(float)) < 2**62:  # one integer per row sorts much faster than rows do
        key = np.zeros(len(rows), dtype=np.int64)
        for column, width in zip(rows.T, base, strict=True):
            key = key * width + column
        _, first, index = np.unique(key, return_index=True, return_inverse=True)
    else:
        _, first, index = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return rows[first], index.reshape(-1)


def project_simplex(points: Floats) -> Floats:
    """The nearest probability vectors to the rows of ``points``, in the Euclidean norm.

    Sort a row downwards, u_1 >= u_2 >= ...; with rho the largest j that has u_j > (sum_{i<=j} u_i - 1)/j =: tau_j,
    the projection is max(y - tau_rho, 0).

    >>> project_simplex(np.array([[0.5, 0.9], [-1.0, 2.0]]))
    array([[0.3, 0.7],
           [0. , 1. ]])
    """
    points = points - points.max(axis=1, keepdims=True)  # changes nothing, and keeps the digits of huge entries
    descending = -np.sort(-points, axis=1)
    tau = (np.cumsum(descending, axis=1) - 1.0) / np.arange(1, points.shape[1] + 1)
    rho = np.count_nonzero(descending > tau, axis=1) - 1
    return np.maximum(points - np.take_along_axis(tau, rho[:, None], axis=1), 0.0)


def dot(a: Floats, b: Floats) -> float:
    """The sum of a_i b_i in an order that depends on nothing but its length; that of ``a @ b`` depends on the threads of BLAS.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    return float(np.sum(a * b))


def safe_divide(numerator: Floats, denominator: NDArray[Any]) -> Floats:
    """``numerator / denominator``, and 0 where the denominator is 0.

    >>> safe_divide(np.array([1.0, 1.0]), np.array([2.0, 0.0]))
    array([0.5, 0. ])
    """
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator != 0)


def logit(x: Floats) -> Floats:
    """log(x / (1 - x)), to full relative accuracy at both ends: 1 - x is exact from 1/2 on."""
    return np.asarray(np.log(x / (1 - x)))


def sigma(z: Floats) -> Floats:
    """1 / (1 + exp(-z)), as exp(z) / (1 + exp(z)) where z < 0, so that nothing overflows and small values keep digits."""
    odds = np.exp(-np.abs(z))
    return np.asarray(np.where(z < 0, odds, 1.0) / (1 + odds))


def normal_cdf(z: Floats) -> Floats:
    """Phi(z), to full relative accuracy in the lower tail; quicker where scipy is installed.

    >>> normal_cdf(np.array([0.0, -np.inf, 1.0])).round(4)
    array([0.5   , 0.    , 0.8413])
    """
    if find_spec("scipy"):
        from scipy.special import ndtr

        return np.asarray(ndtr(z))
    return np.asarray(np.frompyfunc(lambda x: math.erfc(-x / math.sqrt(2)) / 2, 1, 1)(z), dtype=np.float64)


def probit(x: Floats) -> Floats:
    """The inverse of Phi: -infinity at 0, infinity at 1, NaN at NaN.

    >>> probit(np.array([0.5, 0.0, 0.975, np.nan])).round(4)
    array([0.  , -inf, 1.96,  nan])
    """
    if find_spec("scipy"):
        from scipy.special import ndtri

        return np.asarray(ndtri(x))
    ends = {0.0: -math.inf, 1.0: math.inf}
    quantile = NormalDist().inv_cdf
    return np.asarray(
        np.frompyfunc(lambda p: p if math.isnan(p) else ends[p] if p in ends else quantile(p), 1, 1)(x),
        dtype=np.float64,
    )
