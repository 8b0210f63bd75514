"""How what items have in common is sent: in parts that are told by their content, each to a worker once.

A ``common`` that is a tuple is sent entry by entry, so that a large game that stays the same does not travel again with
each small table that changes. A worker keeps the parts that it used last.
"""

from __future__ import annotations

import hashlib
import pickle
import traceback
import warnings
import weakref
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import InProcess, using

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KEPT = 16
"""Parts that a worker keeps, or as many as a message has; master and worker forget by the same rule."""

PLAIN = (bool, int, float, str, bytes, type(None), np.ndarray)


class Part(NamedTuple):
    """Some data as bytes, and the hash that tells them from others."""

    digest: str
    content: bytes


class Message(NamedTuple):
    """An item for a worker: the function and what is common, as parts (without content, if the worker has it), and the item."""

    parts: list[Part]
    is_tuple: bool  # whether what is common is a tuple of its parts
    item: bytes


class Kept(OrderedDict[str, Any]):
    """What was used last, by its hash; each thread that shares it has a message to itself."""

    def __init__(self) -> None:
        """Nothing is kept yet."""
        super().__init__()
        self._in_use = Lock()

    def use(self, digests: Sequence[str], content: Callable[[int], Any]) -> list[Any]:
        """What has these hashes; ``content`` makes that of a place if it is new. What else was used longest ago is forgotten."""
        with self._in_use:
            for place, digest in enumerate(digests):
                if digest not in self:
                    self[digest] = content(place)
                self.move_to_end(digest)
            values = [self[digest] for digest in digests]
            while len(self) > max(KEPT, len(set(digests))):
                self.popitem(last=False)
            return values


class Wrapping:
    """Makes parts of what is common; frozen records are hashed once, however often they come, if nobody else can change them."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[int, tuple[weakref.ref[Any], Part]] = {}

    def parts(self, common: Any) -> list[Part]:
        """The parts, in the order of a tuple's entries."""
        return [self._part(each) for each in (common if type(common) is tuple else (common,))]

    def _part(self, data: Any) -> Part:
        known, part = self._known.get(id(data), (None, None))
        if known is not None and known() is data:
            assert part is not None
            return part
        content = packed(data)
        part = Part(hashlib.blake2b(content, digest_size=16).hexdigest(), content)
        parameters = getattr(type(data), "__dataclass_params__", None)
        if parameters is not None and parameters.frozen and hasattr(type(data), "__weakref__") and _is_ours(data):
            number = id(data)
            self._known[number] = (weakref.ref(data, lambda _: self._known.pop(number, None)), part)
        return part


def _is_ours(data: Any) -> bool:
    """Whether robustpool made all of it, and users have no part of it that they could change."""
    if type(data) in PLAIN:
        return not getattr(getattr(data, "dtype", None), "hasobject", False)
    if not (type(data) in (tuple, list, dict) or type(data).__module__.startswith(f"{__package__.partition('.')[0]}.")):
        return False
    parts = data if isinstance(data, (tuple, list)) else data.values() if type(data) is dict else vars(data).values()
    return all(map(_is_ours, parts))


def answered(message: Message, kept: Kept) -> tuple[bool, bytes]:
    """A worker's answer: whether it went well, and the result or the error."""
    try:
        try:
            digests, contents = zip(*message.parts, strict=True)
            function, *parts = kept.use(digests, lambda place: pickle.loads(contents[place]))
            item = pickle.loads(message.item)
        except Exception as error:  # noqa: BLE001  # whatever is missing here
            raise CannotSendError(f"cannot read what it is sent ({type(error).__name__}: {error})") from None
        with using(InProcess(1)):  # one core for each worker; work inside work is done in place
            result = function(tuple(parts) if message.is_tuple else parts[0], item)
        try:
            return True, pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:  # noqa: BLE001  # whatever pickling makes of it
            raise CannotSendError(f"cannot send its result ({type(error).__name__}: {error})") from None
    except BaseException as error:  # noqa: BLE001  # the master raises it
        error.add_note(f"In a worker: {traceback.format_exc()}")
        return False, _sendable(error)


def _sendable(error: BaseException) -> bytes:
    """An error as bytes that can be read again."""
    try:
        content = pickle.dumps(error)
        pickle.loads(content)
    except Exception:  # noqa: BLE001  # an error with an __init__ of its own
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return content


def packed(data: Any) -> bytes:
    """Data as bytes; with cloudpickle, if it is there, also functions that stand in no module."""
    try:
        import cloudpickle
    except ImportError:
        return pickle.dumps(data, protocol=pickle.HIGHEST_PROTOCOL)
    return bytes(cloudpickle.dumps(data, protocol=pickle.HIGHEST_PROTOCOL))


class CannotSendError(Exception):
    """Something cannot be sent to a worker, or not read there: the work is done here instead."""


class NotSentWarning(UserWarning):
    """Work that others were to do is done in this process, on one core."""


class Refusals:
    """What could not be sent, told once for each function."""

    def __init__(self) -> None:
        """Nothing is told yet."""
        self._told = set[str]()

    def tell(self, function: Callable[..., Any], error: BaseException) -> None:
        """Warn of a function whose work stays here, and say why."""
        name = name_of(function)
        if name not in self._told:
            self._told.add(name)
            why = str(error) if isinstance(error, CannotSendError) else f"{type(error).__name__}: {error}"
            warnings.warn(
                f"the work {name!r} is done in this process, because it cannot be sent to another one ({why}).",
                NotSentWarning,
                stacklevel=3,
            )


def name_of(function: Any) -> str:
    """The name of a function, or of the one that a partial is about."""
    return getattr(getattr(function, "args", (function,))[0], "__name__", "work")
