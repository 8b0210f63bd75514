"""Fitted pools in files: plain JSON with a version and a hash."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_type_hints

from ..designs.aggregator_file import POOL_FORMAT
from ..designs.design_file import as_object, content_hash, read_json, read_value, unsealed
from ..files import write_json
from .records import FittedPool

if TYPE_CHECKING:
    from ..typing import FilePath


def save_pool(pool: FittedPool, path: FilePath) -> None:
    """Write a fitted pool, whole or not at all."""
    write_json(path, pool_to_json(pool))


def load_pool(path: FilePath) -> FittedPool:
    """Read a fitted pool and check that nobody changed it."""
    return unsealed(read_json(path, "pool"), path, "fitted pool", POOL_FORMAT, _pool)


def sealed(pool: FittedPool) -> FittedPool:
    """The pool with its hash."""
    return replace(pool, hash=content_hash(pool_to_json(pool)))


def pool_to_json(pool: FittedPool) -> dict[str, Any]:
    """The JSON object of a fitted pool."""
    derived = {"gain": pool.gain, "gain_low": pool.gain_low, "gain_high": pool.gain_high, "better": pool.better}
    return {"format": POOL_FORMAT, **derived, "formula": pool.aggregator.formula, **as_object(pool)}


def _pool(data: dict[str, Any]) -> FittedPool:
    hints = get_type_hints(FittedPool)
    return FittedPool(**{name: read_value(kind, data.get(name), name) for name, kind in hints.items()})
